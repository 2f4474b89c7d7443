"""The answer while it is being written: claims are checked as they come, text goes out through the link resolver.

Nothing leaves before the outcome and all claims are known, and nothing at all if claims were stated and none holds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from refdesk.domain import claims as checking
from refdesk.domain.citations import MAX_ANSWER, AnswerResolver
from refdesk.domain.claims import Verified
from refdesk.domain.conflicts import VerifiedConflict, verify_conflicts
from refdesk.domain.conversation import Claim, QuotedText, RejectedClaim
from refdesk.domain.trail import Trail

OUTCOMES = ("answered", "insufficient", "clarify", "smalltalk")
MOST_CLAIMS = 50
MOST_SENTENCES = 20
LONGEST_SENTENCE = 500


class AnswerDraft:
    """One `answer` call, or a plain text. `show` gets the text that a visitor may see, never to be taken back."""

    def __init__(
        self,
        trail: Trail,
        new_resolver: Callable[[], AnswerResolver],
        show: Callable[[str], None],
        *,
        stated_before: bool,
    ) -> None:
        self._trail, self._new_resolver, self._show = trail, new_resolver, show
        self._stated_before = stated_before
        self._verdicts: list[checking.Verdict] = []
        self._raw: dict[str, Any] = {}
        self._outcomes: list[checking.Outcome] | None = None
        self._held = ""
        self._resolver: AnswerResolver | None = None
        self._ended = self._may_repair = False
        self.outcome = "answered"

    # --- what arrives ---

    def take(self, name: str, value: Any) -> None:
        """One item of the reader (see answer_reader.Item)."""
        if name == "claims":
            self._take_claim(value)
        elif name == "claims_end":
            self._settle()
        elif name == "conflicts":
            self._raw.setdefault("conflicts", []).append(value)
        elif name == "answer":
            if len(self._held) <= MAX_ANSWER:
                self._held += value
            self._release()
        elif name in ("outcome", "missing_information"):
            self._raw[name] = value
            self._take_field(name, value)

    def _take_claim(self, raw: Any) -> None:
        self._raw.setdefault("claims", []).append(raw)
        if len(self._verdicts) < MOST_CLAIMS:
            self._verdicts.append(checking.verify(raw, self._trail, self._verdicts))

    def _take_field(self, name: str, value: Any) -> None:
        if name == "outcome" and value in OUTCOMES:
            self.outcome = str(value)
        self._release()

    def _settle(self) -> None:
        self._outcomes = checking.settle(self._verdicts)
        self._release()

    def _release(self) -> None:
        """Text goes on once what it depends on is known; an endpoint may write the fields in any order."""
        if "outcome" in self._raw and self._outcomes is not None and not self.withheld and not self.wants_repair:
            self._write(self._held)
            self._held = ""

    def _write(self, text: str) -> None:
        if not text and self._resolver is None:
            return
        if self._resolver is None:
            self._resolver = self._new_resolver()
        self._show(self._resolver.feed(text))

    # --- where it ends ---

    def plain(self, text: str, *, cut: bool) -> None:
        """A model that wrote its answer as plain text: no claims, the same resolver."""
        self._raw["outcome"], self._outcomes, self._held = "answered", [], text
        self.end(cut=cut)

    def end(self, *, cut: bool) -> None:
        if self._ended:
            return
        self._ended = True
        self._raw.setdefault("outcome", "answered")
        if self._outcomes is None:
            self._settle()
        if not self.withheld:
            self._write(self._held)
            self._held = ""
        if self._resolver is not None:
            self._show(self._resolver.finish(cut=cut))

    def abandon(self) -> None:
        """The turn was stopped: what was shown stays; what was still held back never arrived."""
        self._ended = True
        if self._resolver is not None:
            self._show(self._resolver.finish(cut=True))

    # --- what it holds ---

    @property
    def begun(self) -> bool:
        """Whether text of the answer has arrived."""
        return self._resolver is not None or bool(self._held)

    @property
    def empty(self) -> bool:
        """Nothing to show: neither text nor anything that stands in for it."""
        written = self.text.strip() or (self.withheld and self._held.strip())
        return not written and self.outcome != "insufficient"

    @property
    def text(self) -> str:
        return self._resolver.output if self._resolver is not None else ""

    @property
    def cited(self) -> list[str]:
        return list(self._resolver.citations) if self._resolver is not None else []

    @property
    def links_dropped(self) -> tuple[str, ...]:
        return tuple(self._resolver.dropped) if self._resolver is not None else ()

    @property
    def allowed(self) -> frozenset[str]:
        """Every destination that a link of its text may have."""
        return self._resolver.allowed if self._resolver is not None else frozenset()

    @property
    def answer_cut(self) -> bool:
        """The text was longer than an answer may be."""
        return self._resolver is not None and self._resolver.capped

    @property
    def wants_repair(self) -> bool:
        """Claims of an answer were rejected, nothing of its text has gone out, and the loop allows a repair."""
        return self._may_repair and bool(self.rejected)

    def allow_repair(self, allowed: bool) -> None:
        self._may_repair = allowed

    @property
    def rejected(self) -> tuple[RejectedClaim, ...]:
        if self._outcomes is None or self.outcome != "answered":
            return ()
        return checking.rejected(self._outcomes)

    @property
    def claims(self) -> tuple[Claim, ...]:
        return checking.finalise(self._outcomes or [])

    @property
    def stated(self) -> int:
        return len(self._verdicts)

    @property
    def withheld(self) -> bool:
        """Claims were stated, in this attempt or the one before it, and none holds."""
        if self.outcome != "answered" or self._outcomes is None:
            return False
        return (self.stated > 0 or self._stated_before) and not self.claims

    def verified_conflicts(self) -> tuple[VerifiedConflict, ...]:
        return verify_conflicts(self._raw.get("conflicts"), self._trail)

    @property
    def missing_information(self) -> tuple[str, ...]:
        listed = self._raw.get("missing_information")
        sentences = [s.strip() for s in listed if isinstance(s, str)] if isinstance(listed, list) else []
        return tuple(s[:LONGEST_SENTENCE] for s in sentences if s)[:MOST_SENTENCES]

    @property
    def quoted(self) -> tuple[QuotedText, ...]:
        return tuple(o.quoted.kept() for o in self._outcomes or [] if isinstance(o, Verified) and o.quoted is not None)

    def arrived(self) -> dict[str, Any]:
        """The part of the tool's input that had arrived, for the model to repair."""
        return dict(self._raw)

    def reasons(self) -> list[str]:
        return [
            f"claim {number}: {outcome.why}"
            for number, outcome in enumerate(self._outcomes or [])
            if isinstance(outcome, RejectedClaim)
        ]
