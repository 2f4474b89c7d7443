"""Makes the gnome sets: the help of the GNOME desktop with everyday questions of our own in three
languages (some in five), and the Debian FAQ, whose headings are questions that their answers have lost.

    apt-get download gnome-user-docs debian-faq debian-faq-ru; dpkg-deb -x each into FOLDER
    python tests/bench/gnome_set.py FOLDER OUT

Writes OUT/gnome_{en,ru,cs,de,ja}.json, gnome_en_q{ru,cs,de,ja}.json, and faq_{en,ru}.json.
"""

from __future__ import annotations

import json
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from office_set import write_sets

HELP, FAQ = "usr/share/help", "usr/share/doc/debian/FAQ"
FOLDERS = {"en": "C", "ru": "ru", "cs": "cs", "de": "de", "ja": "ja"}
MALLARD = "{http://projectmallard.org/1.0/}"
LEFT_OUT = ("info", "title", "comment", "links")
BLOCKS = ("p", "title", "screen", "code", "td")


def text_of(element: ElementTree.Element | None) -> str:
    return "" if element is None else " ".join("".join(element.itertext()).split())


def named(element: ElementTree.Element) -> str:
    return element.tag.removeprefix(MALLARD)


def paragraphs(element: ElementTree.Element) -> list[str]:
    """Of the element but for the sections in it, which are asked for themselves."""
    found: list[str] = []
    for child in element:
        if named(child) in BLOCKS and named(child) != "title":
            found.append(text_of(child))
        elif named(child) not in (*LEFT_OUT, "section"):
            found += paragraphs(child)
    return [text for text in found if text]


def page(path: Path) -> dict[str, Any] | None:
    root = ElementTree.parse(path).getroot()
    description = text_of(root.find(f"{MALLARD}info/{MALLARD}desc"))
    sections = [{"heads": [], "text": "\n".join(filter(None, [description, *paragraphs(root)]))}]
    for section in root.iter(f"{MALLARD}section"):
        sections.append({"heads": [text_of(section.find(f"{MALLARD}title"))], "text": "\n".join(paragraphs(section))})
    sections = [section for section in sections if section["text"]]
    title = text_of(root.find(f"{MALLARD}title"))
    return {"id": path.stem, "title": title, "sections": sections} if title and sections else None


def pages(folder: Path) -> list[dict[str, Any]]:
    return [made for path in sorted(folder.glob("*.page")) if (made := page(path))]


class Answers(HTMLParser):
    """(heading, text under it) of a chapter of the FAQ."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []
        self._heading, self._text, self._in_heading, self._skipped = "", "", False, 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("h1", "h2", "h3", "h4"):
            self.close_answer()
            self._in_heading = True
        self._skipped += tag in ("head", "script", "style")

    def handle_endtag(self, tag: str) -> None:
        self._in_heading = self._in_heading and tag not in ("h1", "h2", "h3", "h4")
        self._skipped -= tag in ("head", "script", "style")
        if tag in ("p", "li", "pre", "div"):
            self._text += "\n"

    def handle_data(self, data: str) -> None:
        if self._in_heading:
            self._heading += data
        elif not self._skipped:
            self._text += data

    def close_answer(self) -> None:
        heading = " ".join(self._heading.split()).lstrip("0123456789. ")
        text = "\n".join(filter(None, (" ".join(line.split()) for line in self._text.split("\n"))))
        if heading and len(text.split()) > 20:
            self.found.append((heading, text))
        self._heading = self._text = ""


def faq(folder: Path, language: str) -> dict[str, Any]:
    docs, queries = [], []
    for path in sorted(folder.glob(f"*.{language}.html")):
        reader = Answers()
        reader.feed(path.read_text("utf-8"))
        reader.close_answer()
        for number, (question, text) in enumerate(found for found in reader.found if found[0].endswith("?")):
            name = f"{path.name.split('.')[0]}-{number}"
            docs.append({"id": name, "title": "", "sections": [{"heads": [], "text": text}]})
            queries.append({"q": question, "gold": [name]})
    return {"lang": language, "qlang": language, "docs": docs, "queries": queries}


def main() -> None:
    source, out = Path(sys.argv[1]), Path(sys.argv[2])
    write_sets("gnome", {code: pages(source / HELP / name / "gnome-help") for code, name in FOLDERS.items()}, out)
    for language, folder in (("en", source / FAQ), ("ru", source / FAQ / "ru")):
        made = faq(folder, language)
        (out / f"faq_{language}.json").write_text(json.dumps(made, ensure_ascii=False))
        print("faq", language, len(made["docs"]), "answers")


if __name__ == "__main__":
    main()
