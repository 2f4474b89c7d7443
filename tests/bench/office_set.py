"""Makes the office sets: the guides of LibreOffice help with everyday questions of our own in three languages.

    apt-get download libreoffice-help-{en-us,ru,cs}; dpkg-deb -x each into FOLDER
    python tests/bench/office_set.py FOLDER OUT

Writes OUT/office_{en,ru,cs}.json, and office_en_q{ru,cs}.json with the questions in another language than the text.
"""

from __future__ import annotations

import json
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

HELP = "usr/share/libreoffice/help"
FOLDERS = {"en": "en-US", "ru": "ru", "cs": "cs"}
MODULES = ("swriter", "scalc", "simpress", "shared")
NOT_GUIDES = ("main", "keyboard")
HEADINGS, BLOCKS = ("h1", "h2", "h3", "h4"), ("p", "h1", "h2", "h3", "h4", "li", "td", "th", "div")


class Page(HTMLParser):
    """The blocks of the display area, as (tag, text)."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks: list[tuple[str, str]] = []
        self._inside, self._skipping, self._tag, self._text = False, False, "p", ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self._skipping = tag in ("script", "style")
        if tag in BLOCKS:
            self.end_block()
            self._tag = tag
        if given.get("id") == "DisplayArea":
            self._inside = True
        if (given.get("class") or "").startswith("related"):  # links to other pages, at the end
            self._inside = False

    def handle_endtag(self, tag: str) -> None:
        self._skipping = False
        if tag in BLOCKS:
            self.end_block()

    def handle_data(self, data: str) -> None:
        if self._inside and not self._skipping:
            self._text += data

    def end_block(self) -> None:
        if text := " ".join(self._text.split()):
            self.blocks.append((self._tag if self._tag in HEADINGS else "p", text))
        self._text, self._tag = "", "p"


def article(path: Path) -> dict[str, Any] | None:
    page = Page()
    page.feed(path.read_text())
    page.end_block()
    title, sections = "", [{"heads": [], "text": ""}]
    for tag, text in page.blocks:
        if tag == "h1":
            title = title or text
        elif tag in HEADINGS:
            sections.append({"heads": [text], "text": ""})
        else:
            sections[-1]["text"] += f"{text}\n"
    sections = [section for section in sections if section["text"]]
    name = f"{path.parent.parent.name}/{path.stem}"
    return {"id": name, "title": title, "sections": sections} if title and sections else None


def articles(folder: Path) -> list[dict[str, Any]]:
    paths = [path for module in MODULES for path in sorted((folder / module / "guide").glob("*.html"))]
    return [made for path in paths if path.stem not in NOT_GUIDES and (made := article(path))]


def write_sets(name: str, docs: dict[str, list[dict[str, Any]]], out: Path) -> None:
    """OUT/NAME_{language}.json, and NAME_en_q{language}.json with the questions in another language than the text.

    Questions stand in NAME_questions.json beside this file."""
    questions = json.loads(Path(__file__).with_name(f"{name}_questions.json").read_text())
    for language in docs:
        for asked_in in docs if language == "en" else (language,):
            asked = [one for one in questions if asked_in in one]
            queries = [{"q": one[asked_in], "gold": one["articles"], "tag": one.get("tag", "")} for one in asked]
            suffix = "" if asked_in == language else f"_q{asked_in}"
            made = {"lang": language, "qlang": asked_in, "docs": docs[language], "queries": queries}
            (out / f"{name}_{language}{suffix}.json").write_text(json.dumps(made, ensure_ascii=False))
        print(language, len(docs[language]), "articles,", len(queries), "questions")


def main() -> None:
    source, out = Path(sys.argv[1]), Path(sys.argv[2])
    write_sets("office", {code: articles(source / HELP / name / "text") for code, name in FOLDERS.items()}, out)


if __name__ == "__main__":
    main()
