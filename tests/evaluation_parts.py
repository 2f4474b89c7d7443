"""A help centre to be measured, searched by words only: the vectors have tests of their own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fake_model import FakeChatModel, Reply
from refdesk.app import Parts, close_parts, open_parts
from refdesk.evaluation.measuring import Asked
from refdesk.evaluation.questions import Question
from refdesk.settings import load

BASKET = {
    "apples.md": "---\nid: apples\ntitle: Growing apples\n---\n\nApple trees want sun and are pruned in late winter.\n",
    "pears.md": "---\nid: pears\ntitle: Storing pears\n---\n\nPears ripen in a cool cellar within two weeks.\n",
    "plums.md": "---\nid: plums\ntitle: Drying plums\n---\n\nPlums dry on a rack in the oven for twelve hours.\n",
    "prices.md": "---\nid: prices\ntitle: Wholesale\naudience: [partner]\n---\n\nWholesale crates cost nine crowns.\n",
    "help-center.toml": 'name = "Orchard"\nlanguages = ["en"]\nroles = ["partner"]\n',
}


def write(folder: Path, files: Mapping[str, str] = BASKET) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")
    return folder


@asynccontextmanager
async def orchard(folder: Path, corpus: Path | None = None, replies: Sequence[Reply] = ()) -> AsyncIterator[Parts]:
    settings = load({"REFDESK_CORPUS": str(corpus or write(folder / "corpus")), "REFDESK_DATA": str(folder / "data")})
    parts = await open_parts(settings, database_folder=folder / "database")
    parts.library.dense = None
    model: Any = FakeChatModel(replies) if replies else None
    parts.model = model
    try:
        yield parts
    finally:
        await close_parts(parts)


def asked(
    wanted: str = "", found: str = "", *, tag: str = "", score: float = 0.9, passes: bool = True, **more
) -> Asked:
    """`wanted`, `found`: ids with spaces between."""
    question = Question(text=f"{wanted or tag}?", articles=tuple(wanted.split()), tag=tag)
    values = {"judged": True, "signals": {"coverage": 0.5}, "ms": 10.0, **more}
    return Asked(question=question, found=tuple(found.split()), passes=passes, score=score, **values)


def silent(done: int, total: int, what: str) -> None:
    pass
