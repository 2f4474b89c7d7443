"""What the help centre says of the widget is what the widget's sources say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from widget_types import declared

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "widget" / "src"


def article(name: str) -> str:
    return (ROOT / "corpus" / "en" / f"{name}.md").read_text("utf-8")


def source(name: str) -> str:
    return (SOURCES / name).read_text("utf-8")


def section(text: str, heading: str) -> str:
    return text.partition(f"## {heading}\n")[2].partition("\n## ")[0]


def test_every_call_is_told() -> None:
    cells = re.findall(r"^\| (`.*?) \|", section(article("widget-api"), "Calls"), re.MULTILINE)
    told = {name for cell in cells for name in re.findall(r"`(\w+)\(", cell)}
    assert told == set(declared("RefdeskApi"))


def test_every_event_is_told_and_what_can_be_prevented() -> None:
    text = section(article("widget-api"), "Events")
    sentence, _, rest = text.partition("Each is also")
    events = re.findall(r'"([a-z-]+)"', source("events.ts").partition("EVENTS = [")[2].partition("]")[0])
    assert set(re.findall(r"`([a-z-]+)`", sentence)) == set(events) == set(declared("RefdeskEvents"))
    cancelable = re.search(r"CANCELABLE = .*?\(\[(.*?)\]\)", source("events.ts"))
    assert cancelable
    prevented = rest.partition("can prevent")[2]
    assert re.findall(r"`([a-z-]+)`", prevented) == re.findall(r'"([a-z-]+)"', cancelable[1])


def test_every_property_is_told() -> None:
    used = set(re.findall(r"--refdesk-[a-z-]+", source("styles.ts")))
    assert set(re.findall(r"--refdesk-[a-z-]+", article("widget-look"))) == used


def test_the_parts_told_exist() -> None:
    texts = "".join(path.read_text("utf-8") for path in SOURCES.iterdir())
    parts = {name for names in re.findall(r'part(?:=|: |", )"([\w ]+)"', texts) for name in names.split()}
    told = re.search(r"Its parts, such as (.*?), can be styled", article("widget-look"))
    assert told
    assert set(re.findall(r"`([a-z]+)`", told[1])) <= parts


def test_the_settings_of_the_declarations_are_those_of_the_code() -> None:
    body = re.search(r"export interface Settings {\n(.*?)^}", source("settings.ts"), re.MULTILINE | re.DOTALL)
    assert body
    assert set(re.findall(r"^  (\w+)\?:", body[1], re.MULTILINE)) == set(declared("RefdeskSettings"))


@pytest.mark.parametrize("language", ["en", "ru", "cs"])
def test_the_policy_that_is_asked_for_is_the_one_the_strict_demo_has(language: str) -> None:
    text = (ROOT / "corpus" / language / "widget-embed.md").read_text("utf-8")
    demo = (ROOT / "server" / "refdesk" / "api" / "demo.py").read_text("utf-8")
    told = set(re.findall(r"`([a-z]+-src)`", text))
    assert told == set(re.findall(r"([a-z]+-src) {host}", demo))
