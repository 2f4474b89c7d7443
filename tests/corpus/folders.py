"""Corpus folders for tests: real files."""

from __future__ import annotations

from pathlib import Path

from refdesk.corpus.report import CorpusReading
from refdesk.corpus.sync import read_corpus
from refdesk.domain.articles import Article

TOML = 'name = "Acme Help"\nlanguages = ["en", "ru", "cs"]\nroles = ["partner", "staff"]\n'


def write(folder: Path, files: dict[str, str | bytes], toml: str | None = TOML) -> Path:
    if toml is not None:
        files = {"help-center.toml": toml, **files}
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def front(**keys: str) -> str:
    return "---\n" + "".join(f"{key}: {value}\n" for key, value in keys.items()) + "---\n"


def read_one(folder: Path, text: str | bytes, name: str = "one.md") -> CorpusReading:
    """One file beside a harmless one, so that a withheld file leaves a corpus."""
    return read_corpus(write(folder, {name: text, "other.md": "# Other\n\nText.\n"}))


def article(reading: CorpusReading, article_id: str) -> Article:
    return next(found for found in reading.articles if found.id == article_id)


def ids(reading: CorpusReading) -> list[str]:
    return sorted(found.id for found in reading.articles)


def withheld(reading: CorpusReading) -> dict[str, tuple[str, int | None]]:
    return {notice.path: (notice.reason, notice.line) for notice in reading.report.withheld}
