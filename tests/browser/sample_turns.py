"""Turns as the API gives them, in every state that a visitor can see, and the article that they quote."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

SSO = {
    "id": "sso-setup",
    "title": "SSO setup",
    "url": "/articles/sso-setup",
    "section": "Steps",
    "excerpt": "Paste the metadata URL of your identity provider.",
    "language": "en",
    "updated_at": "2026-02-03",
    "cited": True,
    "basis": "opened",
    "show": True,
}
LISTED = {**SSO, "id": "plans", "title": "Plans", "url": "/articles/plans", "basis": "listing", "show": False}
CZECH = {**SSO, "id": "faktury", "title": "Faktury", "url": "/articles/faktury", "language": "cs", "basis": "search"}
CLAIM = {
    "text": "SSO is configured with the metadata URL.",
    "kind": "fact",
    "source_id": "sso-setup",
    "location": "Steps",
    "quote": "Paste the metadata URL of your identity provider.",
    "match": "exact",
    "premises": [],
    "step": None,
}
ARTICLE = {
    "id": "sso-setup",
    "title": "SSO setup",
    "url": "/articles/sso-setup",
    "category": "",
    "language": "en",
    "updated_at": "2026-02-03",
    "version": "v1",
    "body": "# SSO setup\n\nAbout.\n",
    "html": "<h1>SSO setup</h1>" + "<p>Filler paragraph about signing in.</p>" * 40 + "<h2>Steps</h2>"
    "<p>Open <strong>Settings</strong>. Paste the <em>metadata URL</em> of your identity provider. Save.</p>"
    '<p><a href="/articles/plans">Plans</a> <img src="/media/a.png" alt="A form"></p>' + "<p>More.</p>" * 30,
}


def turn(**fields: Any) -> Json:
    return {
        "id": "t_1",
        "conversation_id": "c_1",
        "created_at": "2026-05-01T10:00:00Z",
        "question": "How do I set up SSO?",
        "kind": "question",
        "language": "en",
        "status": "answered",
        "grounded": True,
        "verification": "full",
        "truncated": None,
        "model_error": None,
        "answer": "Open **Settings** and paste the metadata URL ([SSO setup](/articles/sso-setup)). "
        "Which plan you need is in [Plans](/articles/plans).",
        "sources": [SSO, LISTED],
        "claims": [CLAIM],
        "conflicts": [],
        "missing_information": [],
        "evidence": [],
        "suggestions": [],
        "feedback": None,
        **fields,
    }


INSUFFICIENT = turn(
    status="insufficient",
    grounded=False,
    answer="The articles of this help centre do not answer that.",
    sources=[LISTED],
    claims=[],
    missing_information=["Which countries are delivered to."],
    suggestions=[{"id": "sso-setup", "title": "SSO setup", "url": "/articles/sso-setup"}],
)
EVIDENCE = turn(
    status="evidence",
    grounded=False,
    model_error="overloaded",
    answer="The assistant cannot answer right now.",
    sources=[],
    claims=[],
    evidence=[
        {
            "source_id": "sso-setup",
            "title": "SSO setup",
            "url": "/articles/sso-setup",
            "section": "Steps",
            "quote": "Paste the metadata URL of your identity provider.",
        }
    ],
)
REFUNDS = {**SSO, "id": "refunds", "title": "Refunds", "url": "/articles/refunds", "excerpt": "Within 30 days."}
VRACENI = {**CZECH, "id": "vraceni", "title": "Vrácení peněz", "url": "/articles/vraceni", "excerpt": "Do 14 dnů."}
CONFLICT = turn(
    answer="Either 30 or 14 days: the articles do not agree ([Refunds](/articles/refunds), "
    "[Vrácení peněz](/articles/vraceni)).",
    claims=[],
    conflicts=[
        {
            "topic": "Refund window",
            "criterion": "the newer date",
            "positions": [
                {"source_id": "refunds", "quote": "Within 30 days.", "location": "A", "updated_at": "2026-02-03"},
                {"source_id": "vraceni", "quote": "Do 14 dnů.", "location": "B", "updated_at": "2024-01-01"},
            ],
        }
    ],
    sources=[REFUNDS, VRACENI],
)
