"""The command line as a person at a terminal and a script meet it: what it prints, and how it ends."""

from __future__ import annotations

import io
import json
import os
import shutil
import socket
from pathlib import Path

import pytest

from evaluation_parts import write
from refdesk.cli import main
from refdesk.terminal import Terminal

QUESTION = "When are apple trees pruned?"


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith(("REFDESK_", "ANTHROPIC_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("REFDESK_DENSE", "off")
    monkeypatch.setenv("REFDESK_CORPUS", str(write(tmp_path / "corpus")))
    monkeypatch.setenv("REFDESK_DATA", str(tmp_path / "data"))
    return tmp_path


def test_a_question_gets_verbatim_sentences_with_their_article(folders: Path, capsys: pytest.CaptureFixture) -> None:
    assert main(["ask", QUESTION]) == 0
    shown = capsys.readouterr().out
    quoted = [line.strip().strip("“”") for line in shown.split("\n") if "“" in line]
    articles = [" ".join(file.read_text("utf-8").split()) for file in (folders / "corpus").glob("*.md")]
    assert quoted
    assert all(any(quote in article for article in articles) for quote in quoted)
    assert "/articles/" in shown
    assert "\x1b" not in shown


def test_the_same_as_json_is_one_turn(folders: Path, capsys: pytest.CaptureFixture) -> None:
    assert main(["ask", QUESTION, "--json"]) == 0
    turn = json.loads(capsys.readouterr().out)
    assert (turn["status"], turn["model_error"], turn["question"]) == ("evidence", "not_configured", QUESTION)


def test_asking_leaves_no_conversation_in_the_data_folder(folders: Path) -> None:
    assert main(["ask", "my card is 4111 1111 1111 1111"]) == 0
    kept = b"".join(file.read_bytes() for file in (folders / "data").rglob("*") if file.is_file())
    assert b"4111" not in kept
    assert not (folders / "data" / "refdesk.db").exists()


def test_a_sync_tells_what_it_did_and_what_is_withheld(folders: Path, capsys: pytest.CaptureFixture) -> None:
    assert main(["sync"]) == 0
    assert "added:" in capsys.readouterr().out
    (folders / "corpus" / "bad.md").write_text("---\ntitle: Bad\naudience: []\n---\nText.\n", "utf-8")
    assert main(["sync"]) == 1
    shown = capsys.readouterr().out
    assert "withheld: bad.md:3:" in shown
    assert "audience" in shown
    assert main(["check"]) == 1
    assert "bad.md:3:" in capsys.readouterr().out


def test_a_sync_that_would_remove_most_asks_for_force(folders: Path, capsys: pytest.CaptureFixture) -> None:
    assert main(["sync"]) == 0
    for file in sorted((folders / "corpus").glob("*.md"))[1:]:
        file.unlink()
    assert main(["sync"]) == 2
    assert "--force" in capsys.readouterr().err
    assert main(["sync", "--force"]) == 0


@pytest.mark.parametrize("command", [["serve"], ["sync"], ["check"], ["ask", "a"], ["search", "a", "--words"]])
@pytest.mark.parametrize("state", ["missing", "empty", "a file"])
def test_without_a_corpus_nothing_starts(
    folders: Path, capsys: pytest.CaptureFixture, command: list[str], state: str
) -> None:
    corpus = folders / "corpus"
    shutil.rmtree(corpus)
    if state == "empty":
        corpus.mkdir()
    elif state == "a file":
        corpus.write_text("# An article\n")
    assert main(command) == 2
    said = capsys.readouterr().err
    assert str(corpus) in said
    assert said.startswith("error: ")


def damaged(folder: Path, how: str) -> None:
    folder.mkdir(parents=True)
    database = folder / "refdesk.db"
    if how == "no database":
        database.write_bytes(b"not a database " * 1000)
    elif how == "emptied":
        database.touch()
    elif how == "a log without its database":
        (folder / "refdesk.db-wal").write_bytes(b"\x37\x7f\x06\x82" + bytes(100))
    elif how == "a file for the index":
        (folder / "generations").touch()


@pytest.mark.parametrize("how", ["no database", "emptied", "a log without its database", "a file for the index"])
def test_a_damaged_data_folder_stops_the_start_and_is_left_as_it_was(
    folders: Path, capsys: pytest.CaptureFixture, how: str
) -> None:
    damaged(folders / "data", how)
    before = {file: file.read_bytes() for file in (folders / "data").iterdir()}
    assert main(["serve", "--port", "0"]) == 3
    assert str(folders / "data") in capsys.readouterr().err
    assert {file: file.read_bytes() for file in before} == before


def test_a_file_for_a_data_folder_stops_the_start(folders: Path, capsys: pytest.CaptureFixture) -> None:
    (folders / "data").write_text("mine")
    assert main(["serve", "--port", "0"]) == 3
    assert "data folder" in capsys.readouterr().err
    assert (folders / "data").read_text() == "mine"


def test_an_address_that_cannot_be_listened_on_is_named_before_anything_is_done(
    folders: Path, capsys: pytest.CaptureFixture
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert main(["serve", "--port", str(taken.getsockname()[1])]) == 2
    assert capsys.readouterr().err.startswith("error: REFDESK_PORT: ")
    for host in ("203.0.113.9", "no host"):
        assert main(["serve", "--port", "0", "--host", host]) == 2
        assert capsys.readouterr().err.startswith("error: REFDESK_HOST: ")
    assert not (folders / "data").exists()


def test_a_wrong_setting_stops_the_start(
    folders: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REFDESK_STAFF_KEY", "change-me-change-me-change-me-change-me")
    assert main(["serve"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: REFDESK_STAFF_KEY: ")
    assert "change-me" not in said
    assert not (folders / "data").exists()


def test_help_shows_every_setting(capsys: pytest.CaptureFixture) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["serve", "--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    for (
        name
    ) in "CORPUS DATA PUBLIC_URL ALLOWED_ORIGINS MODEL IDENTITY_SECRET STAFF_KEY RATE_LIMITS LOG PERSONA DENSE".split():
        assert f"REFDESK_{name} " in shown
    assert "ANTHROPIC_API_KEY" in shown
    assert "ANTHROPIC_BASE_URL" in shown


class FakeTerminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_colours_are_for_terminals_and_no_text_brings_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    shown, plain = FakeTerminal(), io.StringIO()
    for out in (shown, plain):
        terminal = Terminal(out, out)
        terminal.line("bold \x1b[31mred\x07 [link]", "bold")
        terminal.error("wrong")
    assert "\x1b[1m" in shown.getvalue()
    assert "\x1b[31mred" not in shown.getvalue()
    assert plain.getvalue() == "bold [31mred [link]\nerror: wrong\n"
