"""What is a gap, and why, from the turn's own sets."""

import pytest
from test_sources import sources
from trails import full, passage, title, trail

from refdesk.domain.gaps import gap_cause, is_gap

A = "refund-window"


@pytest.mark.parametrize(
    ("kind", "status", "shown", "gap"),
    [
        ("question", "insufficient", False, True),
        ("question", "answered", False, True),
        ("question", "answered", True, False),
        ("smalltalk", "answered", False, False),
        ("catalogue", "answered", False, False),
        ("catalogue", "insufficient", False, False),
        ("clarification", "answered", False, False),
        ("question", "evidence", False, False),
        ("question", "stopped", False, False),
        ("question", "interrupted", False, False),
        ("question", "failed", False, False),
    ],
)
def test_what_is_a_gap(kind, status, shown, gap):
    assert is_gap(kind, status, sources(trail(full(A) if shown else title(A)), [A])) is gap


def test_causes():
    assert gap_cause(trail(), hits=0) == "nothing_found"
    assert gap_cause(trail(title(A)), hits=0) == "nothing_found"
    assert gap_cause(trail(), hits=3) == "weak_evidence"
    assert gap_cause(trail(passage(A)), hits=1) == "weak_evidence"
    assert gap_cause(trail(passage(A), full(A)), hits=1) == "opened_but_silent"
    assert gap_cause(trail(full(A)), hits=1, restricted=True) == "restricted"
    assert gap_cause(trail(full(A)), hits=1, missed_by="faq") == "missed"
    assert gap_cause(trail(), hits=0, out_of_scope=True) == "out_of_scope"
