"""An evidence receipt: which text of which article, in which version, supported which sentence, and when."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from refdesk.domain.conversation import Claim, Source, StoredTurn

FORMAT = "refdesk-evidence-receipt/1"


def receipt(stored: StoredTurn) -> dict[str, Any]:
    """Plain values. `sha256` is that of the rest as JSON with sorted keys and no spaces, so whoever holds a receipt can
    show that it is as it was issued."""
    turn, trail = stored.turn, stored.trail
    sources = {source.id: source for source in turn.sources}
    versions = {**trail.article_versions, **{source.id: source.version for source in turn.sources}}
    body: dict[str, Any] = {
        "format": FORMAT,
        "turn_id": turn.id,
        "conversation_id": turn.conversation_id,
        "asked_at": turn.created_at,
        "question": turn.question,
        "answer": turn.answer,
        "status": turn.status,
        "grounded": turn.grounded,
        "verification": turn.verification,
        "model": trail.usage.model,
        "index": trail.generation,
        "statements": [statement(claim, sources, versions) for claim in turn.claims],
        "shown_sources": [shown(source) for source in turn.sources if source.show],
    }
    return {**body, "sha256": digest(body)}


def statement(claim: Claim, sources: dict[str, Source], versions: dict[str, str]) -> dict[str, Any]:
    source = sources.get(claim.source_id or "")
    return {
        "sentence": claim.text,
        "kind": claim.kind,
        "quote": claim.quote,
        "match": claim.match,
        "location": claim.location,
        "article": claim.source_id,
        "title": source.title if source is not None else None,
        "version": versions.get(claim.source_id or ""),
        "premises": list(claim.premises),
    }


def shown(source: Source) -> dict[str, Any]:
    return {
        "article": source.id,
        "title": source.title,
        "version": source.version,
        "updated_at": source.updated_at,
        "retrieved_at": source.retrieved_at,
        "basis": source.basis,
    }


def digest(body: dict[str, Any]) -> str:
    return hashlib.sha256(msgspec.json.encode(body, order="sorted")).hexdigest()
