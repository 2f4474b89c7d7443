"""Every test that a record names exists: a row that names none holds nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
RECORDS = TESTS.parent / "server" / "decisions"
NAMED = re.compile(r"`([\w/]+\.py)::(test_\w+)`")
FILE = re.compile(r"`([\w/]+\.(?:py|ts|md))(?:::\w+)?`")


@pytest.mark.parametrize("name", ["attacks.md", "reported-faults.md"])
def test_the_tests_that_a_record_names_exist(name: str) -> None:
    text = (RECORDS / name).read_text("utf-8")
    named = NAMED.findall(text)
    assert len(named) > 100
    for file, test in named:
        assert re.search(rf"^(async )?def {test}\(", (TESTS / file).read_text("utf-8"), re.MULTILINE), (file, test)
    numbers = []
    for row in re.findall(r"^\| \d.*$", text, re.MULTILINE):
        _, number, kind, held, end = row.split("|")
        assert kind.strip(), row
        assert end == "", row
        numbers.append(int(number))
        tests = NAMED.findall(held)
        assert tests or held.strip().startswith(("not applicable: ", "measured, not tested: ")), row
        assert len(set(tests)) == len(tests), row
        for file in FILE.findall(held):
            assert any((place / file).is_file() for place in (TESTS, TESTS.parent)), (row, file)
    assert numbers == sorted(set(numbers))
