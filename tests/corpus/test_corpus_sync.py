from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from folders import TOML, article, front, ids, write

from refdesk.corpus import drafts, sync
from refdesk.corpus.files import Text
from refdesk.corpus.report import CorpusReading
from refdesk.corpus.sync import read_corpus
from refdesk.errors import CorpusError, FolderUnsteady, MassDeletion

BODY = "# Refunds\n\nWithin 30 days.\n"


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write(tmp_path, {"a.md": front(id="a") + BODY, "b.md": "# B\n\nText", "c.md": "# C\n\nText"})


def again(corpus: Path, reading: CorpusReading, **options: bool) -> CorpusReading:
    return read_corpus(corpus, reading.articles, **options)


def test_the_first_sync_adds_everything(corpus: Path):
    report = read_corpus(corpus).report
    assert (report.added, report.changed, report.removed, report.unchanged) == (("a", "b", "c"), (), (), 0)


def test_unchanged_articles_are_the_same_objects(corpus: Path):
    first = read_corpus(corpus)
    second = again(corpus, first)
    assert all(new is old for new, old in zip(second.articles, first.articles, strict=True))
    assert second.report.unchanged == 3
    assert (second.report.added, second.report.changed) == ((), ())


def test_a_reading_survives_storage(corpus: Path):
    first = read_corpus(corpus)
    stored = msgspec.msgpack.decode(msgspec.msgpack.encode(first), type=CorpusReading)
    assert again(corpus, stored).report.unchanged == 3


@pytest.mark.parametrize(
    "text",
    [
        front(id="a", title="New") + BODY,
        front(id="a", audience="[staff]") + BODY,
        front(id="a", updated="2020-01-01") + BODY,
        front(id="a") + BODY + "More.",
    ],
)
def test_content_and_metadata_change_the_version(corpus: Path, text: str):
    first = read_corpus(corpus)
    (corpus / "a.md").write_text(text)
    second = again(corpus, first)
    assert second.report.changed == ("a",)
    assert second.report.unchanged == 2
    assert article(second, "a").version != article(first, "a").version


def test_only_the_file_time_changes_the_date(corpus: Path):
    first = read_corpus(corpus)
    os.utime(corpus / "a.md", (0, 86_400 * 365))
    second = again(corpus, first)
    assert article(second, "a").updated == "1971-01-01"
    assert second.report.changed == ("a",)


def test_a_renamed_file_with_an_id_is_one_article(corpus: Path):
    first = read_corpus(corpus)
    (corpus / "a.md").rename(corpus / "z.md")
    second = again(corpus, first)
    assert ids(second) == ["a", "b", "c"]
    assert article(second, "a").path == "z.md"
    assert second.report.removed == ()


def test_a_shorter_text_leaves_no_tail(corpus: Path):
    (corpus / "b.md").write_text("# B\n\n" + "\n\n".join(f"## S{n}\n\nText {n}." for n in range(4)))
    first = read_corpus(corpus)
    (corpus / "b.md").write_text("# B\n\nOnly this.")
    assert len(article(first, "b").passages) == 4
    assert len(article(again(corpus, first), "b").passages) == 1


def test_archived_and_deleted_files_are_removed(corpus: Path):
    first = read_corpus(corpus)
    (corpus / "a.md").write_text(front(id="a", status="archived") + BODY)
    second = again(corpus, first)
    assert second.report.removed == ("a",)


def test_a_sync_that_would_remove_more_than_half_stops(corpus: Path):
    first = read_corpus(corpus)
    (corpus / "a.md").unlink()
    (corpus / "b.md").unlink()
    with pytest.raises(MassDeletion, match="2 of 3"):
        again(corpus, first)
    assert again(corpus, first, force=True).report.removed == ("a", "b")


def test_half_may_go(tmp_path: Path):
    write(tmp_path, {"a.md": "x", "b.md": "y"})
    first = read_corpus(tmp_path)
    (tmp_path / "a.md").unlink()
    assert again(tmp_path, first).report.removed == ("a",)


def test_withholding_most_articles_is_a_mass_deletion_too(corpus: Path):
    first = read_corpus(corpus)
    for name in "abc":
        (corpus / f"{name}.md").write_text(front(id=name, audience="staff") + BODY)
    with pytest.raises(MassDeletion, match="withheld"):
        again(corpus, first)


def test_declaring_a_role_changes_no_version(corpus: Path):
    first = read_corpus(corpus)
    write(corpus, {}, TOML.replace('"partner"', '"partner", "vip"'))
    assert again(corpus, first).report.unchanged == 3


def test_progress_ends_at_the_total(corpus: Path):
    calls: list[tuple[int, int, str]] = []
    read_corpus(corpus, progress=lambda *call: calls.append(call))
    assert (3, 3, "reading files") in calls
    assert calls[-1] == (3, 3, "splitting articles")
    assert all(done <= total for done, total, _ in calls)


def test_translations_that_name_no_article_are_reported(tmp_path: Path):
    write(tmp_path, {"a.md": front(translation_of="gone") + "x", "b.md": front(id="b", translation_of="b") + "x"})
    assert sorted(n.path for n in read_corpus(tmp_path).report.warnings) == ["a.md", "b.md"]


def test_an_undeclared_language_is_served_and_reported(tmp_path: Path):
    reading = read_corpus(write(tmp_path, {"a.md": front(id="a", language="de") + "x"}))
    assert article(reading, "a").language == "de"
    assert "'de'" in reading.report.warnings[0].reason


def test_what_an_author_comments_out_is_no_text_of_the_article(tmp_path: Path):
    body = "# A <!-- secret -->\n\n<!-- secret\n\n# secret -->\n\nMore\n\n```\n<!-- shown -->\n```\n"
    found = article(read_corpus(write(tmp_path, {"a.md": body})), "a")
    assert found.title == "A"
    assert "secret" not in found.body
    assert "<!-- shown -->" in found.body
    assert found.body.split("\n").index("More") == body.split("\n").index("More")


@pytest.fixture
def movable(tmp_path: Path) -> Path:
    return write(tmp_path / "corpus", {"a.md": front(id="a") + BODY, "b.md": "# B\n\nText", "c.md": "# C\n\nText"})


@pytest.fixture
def reading_hook(monkeypatch: pytest.MonkeyPatch) -> dict[str, Callable[[], None]]:
    """What happens just before a file is read, by path; once."""
    hooks: dict[str, Callable[[], None]] = {}
    read = drafts.read_text

    def hooked(root: Path, relative: str) -> Text:
        hooks.pop(relative, lambda: None)()
        return read(root, relative)

    monkeypatch.setattr(drafts, "read_text", hooked)
    return hooks


def test_a_file_that_goes_while_it_is_read_is_removed_and_not_withheld(
    movable: Path, reading_hook: dict[str, Callable[[], None]]
):
    before = read_corpus(movable)
    path = before.articles[0].path
    reading_hook[path] = (movable / path).unlink
    after = read_corpus(movable, before.articles)
    assert after.report.removed == (before.articles[0].id,)
    assert after.report.withheld == before.report.withheld


def test_a_folder_that_is_put_away_while_it_is_read_loses_nothing(
    movable: Path, tmp_path: Path, reading_hook: dict[str, Callable[[], None]]
):
    before = read_corpus(movable)
    away = tmp_path / "away"
    reading_hook[before.articles[0].path] = lambda: movable.rename(away) and None
    with pytest.raises(CorpusError, match="does not exist"):
        read_corpus(movable, before.articles)
    away.rename(movable)
    assert read_corpus(movable, before.articles).articles == before.articles


@pytest.mark.parametrize("emptied", [True, False])
def test_another_folder_in_its_place_is_noticed(
    movable: Path, tmp_path: Path, reading_hook: dict[str, Callable[[], None]], emptied: bool
):
    """As where a folder is unmounted after its last file was opened, or its settings are changed meanwhile."""
    before = read_corpus(movable)

    def swap() -> None:
        if emptied:
            movable.rename(tmp_path / "unmounted")
            movable.mkdir()
        else:
            (movable / "help-center.toml").write_text(TOML.replace("partner", "reseller"), "utf-8")

    reading_hook[before.articles[-1].path] = swap
    if emptied:
        with pytest.raises(CorpusError):
            read_corpus(movable, before.articles)
    else:
        assert read_corpus(movable, before.articles).centre.roles == ("reseller", "staff")


def test_a_folder_that_never_stands_still_is_not_taken_for_a_corpus(movable: Path, monkeypatch: pytest.MonkeyPatch):
    states = iter(range(100))
    monkeypatch.setattr(sync, "_state", lambda _: sync._State((next(states),), ()))
    with pytest.raises(FolderUnsteady, match="while it is read"):
        read_corpus(movable)


CALLS = ("stat", "lstat", "open", "scandir", "readlink")


@pytest.mark.parametrize("others", [0, 7])
def test_a_folder_that_is_away_for_one_call_of_the_system_loses_nothing(
    movable: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, others: int
):
    """Whichever call it is: as a network drive that drops out for a moment. `others`: as many calls later once more."""
    write(movable, {"deep/d.md": front(audience="[partner]") + "Text"}, toml=None)
    (movable / "link.md").symlink_to("deep/d.md")
    (movable / "nowhere.md").symlink_to("nothing.md")
    before, away = read_corpus(movable), tmp_path / "away"
    assert (len(before.articles), len(before.report.withheld)) == (5, 1)
    turn, outages = 0, set[int]()

    def flapping(call: Callable[..., object]) -> Callable[..., object]:
        def wrapped(*arguments: object, **options: object) -> object:
            nonlocal turn
            turn += 1
            out = turn in outages
            if out:
                movable.rename(away)
            try:
                return call(*arguments, **options)
            finally:
                if out:
                    away.rename(movable)

        return wrapped

    for name in CALLS:
        monkeypatch.setattr(os, name, flapping(getattr(os, name)))
    last, read = 0, 0
    while turn >= last:
        last += 1
        turn, outages = 0, {last, last + others + 1} if others else {last}
        try:
            after = read_corpus(movable)
        except CorpusError:
            continue
        read += 1
        assert (after.centre, after.articles, after.report.withheld) == (
            before.centre,
            before.articles,
            before.report.withheld,
        )
    assert last > 40
    assert read > last / 2
