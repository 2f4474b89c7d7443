"""Every test that a record names exists: a row that names none holds nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
RECORDS = TESTS.parent / "server" / "decisions"
NAMED = re.compile(r"`([\w/]+\.py)::(test_\w+)`")


@pytest.mark.parametrize("name", ["attacks.md", "reported-faults.md"])
def test_the_tests_that_a_record_names_exist(name: str) -> None:
    text = (RECORDS / name).read_text("utf-8")
    named = NAMED.findall(text)
    assert len(named) > 100
    for file, test in named:
        assert re.search(rf"^(async )?def {test}\(", (TESTS / file).read_text("utf-8"), re.MULTILINE), (file, test)
    for row in re.findall(r"^\| \d.*$", text, re.MULTILINE):
        *_, held, end = row.split("|")
        assert held.strip(), row
        assert end == "", row
