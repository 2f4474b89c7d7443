"""Files that are no articles, on a real file system: none is indexed, none stops the others, each is named."""

from __future__ import annotations

import errno
import os
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from folders import article, front, ids, read_one, withheld, write

from refdesk.corpus import drafts
from refdesk.corpus.files import MAX_FILE_BYTES, Text
from refdesk.corpus.sync import read_corpus
from refdesk.errors import CorpusError


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write(tmp_path / "corpus", {"good.md": "# Good\n\nText.\n", "sub/also.md": "Text"})


def test_special_files_and_links(corpus: Path, tmp_path: Path):
    secret = tmp_path / "secret.md"
    secret.write_text("secret")
    (corpus / "passwd.md").symlink_to("/etc/passwd")
    (corpus / "secret.md").symlink_to(secret)
    (corpus / "dangling.md").symlink_to("nowhere")
    (corpus / "self.md").symlink_to("self.md")
    (corpus / "sub" / "loop").symlink_to(corpus, target_is_directory=True)
    (corpus / "outside").symlink_to(tmp_path, target_is_directory=True)
    (corpus / "picture.png").symlink_to("/etc/passwd")
    os.mkfifo(corpus / "pipe.md")
    os.mkfifo(corpus / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(corpus / "socket.md"))
        reading = read_corpus(corpus)
    assert ids(reading) == ["good", "sub-also"]
    assert set(withheld(reading)) == {
        "passwd.md", "secret.md", "dangling.md", "self.md", "sub/loop", "outside", "picture.png", "pipe.md", "pipe",
        "socket.md",
    }  # fmt: skip


def test_files_and_folders_that_nobody_may_read(corpus: Path):
    (corpus / "locked.md").write_text("x")
    (corpus / "locked.md").chmod(0)
    (corpus / "closed").mkdir()
    (corpus / "closed" / "x.md").write_text("x")
    (corpus / "closed").chmod(0)
    try:
        reading = read_corpus(corpus)
    finally:
        (corpus / "closed").chmod(0o755)
    assert ids(reading) == ["good", "sub-also"]
    assert set(withheld(reading)) == {"locked.md", "closed"}


@contextmanager
def as_nobody() -> Iterator[None]:
    """Permissions bind root only as somebody else."""
    mine = os.geteuid()
    if mine == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(mine)


def test_a_folder_whose_files_are_listed_but_out_of_reach():
    """Its files are not taken for files that are gone: that would be so at every try, and nothing ever be synced."""
    with tempfile.TemporaryDirectory() as name:  # not below a folder that is its owner's alone, as tmp_path is
        corpus = write(Path(name), {"good.md": "# Good\n\nText.\n", "listed/file.md": "Text"})
        corpus.chmod(0o755)
        (corpus / "listed" / "link.md").symlink_to("../good.md")
        os.mkfifo(corpus / "listed" / "pipe.md")
        read_corpus(corpus)  # loads what is loaded late, for nobody may not
        (corpus / "listed").chmod(0o644)
        with as_nobody():
            reading = read_corpus(corpus)
    assert ids(reading) == ["good"]
    assert set(withheld(reading)) == {"listed/file.md", "listed/link.md", "listed/pipe.md"}


def test_settings_out_of_reach_are_not_taken_for_no_settings():
    with tempfile.TemporaryDirectory() as name:
        corpus = write(Path(name), {"good.md": "Text"})
        corpus.chmod(0o644)
        with as_nobody(), pytest.raises(CorpusError, match="toml: it cannot be read"):
            read_corpus(corpus)


@pytest.mark.parametrize("target", ["/proc/1/exe", "/proc/1/cwd/secret.md", "/proc/2/exe"])
def test_a_link_that_the_system_does_not_resolve(corpus: Path, target: str):
    """Those of other people's processes, and of processes without a program."""
    (corpus / "link.md").symlink_to(target)
    reading = read_corpus(corpus)
    assert (ids(reading), set(withheld(reading))) == (["good", "sub-also"], {"link.md"})


@pytest.mark.parametrize(
    ("call", "lost"),
    [("open", {"bad.md"}), ("scandir", {"folder/bad"}), ("lstat", {"folder/bad", "link-bad.md"})],
)
def test_what_is_listed_and_never_there(corpus: Path, monkeypatch: pytest.MonkeyPatch, call: str, lost: set[str]):
    """As names that a network drive cannot open, and folders that are not mounted: that stays so, and others are
    served."""
    write(corpus, {"bad.md": "Text", "folder/bad/x.md": "Text"}, toml=None)
    (corpus / "link-bad.md").symlink_to("good.md")
    works = getattr(os, call)
    assert withheld(read_corpus(corpus)) == {}

    def refusing(path: object, *arguments: object, **options: object) -> object:
        if os.fspath(path).endswith(("bad", "bad.md")):
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", os.fspath(path))
        return works(path, *arguments, **options)

    monkeypatch.setattr(os, call, refusing)
    reading = read_corpus(corpus)
    assert set(withheld(reading)) == lost
    assert len(reading.articles) == 5 - len(lost)


def test_a_link_to_a_place_that_has_no_short_name(corpus: Path):
    """Each link leads to one that is 2,000 characters deeper: the path of the last folder is too long to be opened."""
    steps = ["d" * 200] * 10
    folder = os.open(corpus, os.O_RDONLY)
    for _ in range(3):
        os.symlink("/".join(steps), "next", dir_fd=folder)
        for step in steps:
            os.mkdir(step, dir_fd=folder)
            above, folder = folder, os.open(step, os.O_RDONLY, dir_fd=folder)
            os.close(above)
    os.close(os.open("deep.md", os.O_CREAT | os.O_WRONLY, dir_fd=folder))
    os.close(folder)
    (corpus / "link.md").symlink_to("next/next/next/deep.md")
    assert (corpus / "link.md").exists()
    reading = read_corpus(corpus)
    assert ids(reading) == ["good", "sub-also"]
    assert "link.md" in withheld(reading)


@pytest.mark.parametrize("moment", [2.0**60, 2.0**40, -(2.0**60)])
def test_a_last_change_that_is_no_date(corpus: Path, monkeypatch: pytest.MonkeyPatch, moment: float):
    """Some file systems keep any number."""
    read = drafts.read_text
    monkeypatch.setattr(
        drafts, "read_text", lambda root, path: Text(read(root, path).text, moment if path == "good.md" else 0.0)
    )
    reading = read_corpus(corpus)
    assert (ids(reading), set(withheld(reading))) == (["sub-also"], {"good.md"})
    assert article(reading, "sub-also").updated == "1970-01-01"


def test_a_link_to_a_file_inside_is_followed(corpus: Path):
    hidden = corpus / "..2026" / "mounted.md"
    hidden.parent.mkdir()
    hidden.write_text("Mounted")
    (corpus / "mounted.md").symlink_to(hidden)
    assert article(read_corpus(corpus), "mounted").body == "Mounted"


def test_hidden_files_and_other_suffixes_are_skipped(corpus: Path):
    write(corpus, {".git/x.md": "x", ".hidden.md": "x", "notes.txt": "x", "UPPER.MD": "x", "long.markdown": "x"})
    reading = read_corpus(corpus)
    assert ids(reading) == ["good", "long", "sub-also", "upper"]
    assert withheld(reading) == {}


@pytest.mark.parametrize(
    ("data", "line"),
    [
        ("# Возврат\n\nТекст".encode("utf-16"), 1),
        ("# Возврат\n\nТекст".encode("utf-16-le"), None),
        ("# Возврат\n\nТекст".encode("utf-32"), 1),
        (b"ok\nna\xefve caf\xe9\n", 2),
        ("Привет".encode("cp1251"), 1),
        (b"a\n\nb\x00c", 3),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", None),
        (b"\xed\xa0\x80", 1),
    ],
)
def test_other_encodings_are_withheld(tmp_path: Path, data: bytes, line: int | None):
    reading = read_one(tmp_path, data)
    assert ids(reading) == ["other"]
    assert line in (None, withheld(reading)["one.md"][1])


def test_a_byte_order_mark_and_line_ends_are_not_part_of_the_body(tmp_path: Path):
    reading = read_one(tmp_path, b"\xef\xbb\xbf---\r\nid: a\r\n---\r\nLine one\r\nLine two\r\n")
    assert article(reading, "a").body == "Line one\nLine two\n"


def test_an_empty_file_is_an_article_without_text(tmp_path: Path):
    reading = read_one(tmp_path, b"")
    assert article(reading, "one").passages == ()
    assert [(n.path, n.reason) for n in reading.report.warnings] == [("one.md", "the article is empty")]


def test_two_megabytes_are_served_and_fifty_are_not(tmp_path: Path):
    with open(tmp_path / "huge.md", "wb") as file:
        file.truncate(50 * 1024 * 1024)
    reading = read_one(tmp_path, "# Long\n\n" + "A sentence of this article. " * 75_000)
    assert ids(reading) == ["one", "other"]
    assert str(MAX_FILE_BYTES // 1024) in withheld(reading)["huge.md"][0]


def test_a_file_name_that_is_no_text(corpus: Path):
    with open(os.fsencode(corpus) + b"/\xff.md", "wb") as file:
        file.write(b"x")
    assert set(withheld(read_corpus(corpus))) == {"\\udcff.md"}


def test_one_bad_file_leaves_the_others(tmp_path: Path):
    reading = read_one(tmp_path, front(audience="[staff"))
    assert ids(reading) == ["other"]


@pytest.mark.parametrize("make", [lambda p: None, lambda p: p.mkdir(), lambda p: p.write_text("x")])
def test_a_missing_or_empty_folder_is_an_error(tmp_path: Path, make):
    folder = tmp_path / "corpus"
    make(folder)
    with pytest.raises(CorpusError, match=str(folder)):
        read_corpus(folder)
