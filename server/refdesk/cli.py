"""The command line. Exit codes: 0 good, 1 something is wrong with the corpus, 2 settings or corpus, 3 data folder."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import structlog
import uvloop

from refdesk import __version__, backup_commands, commands, gap_commands, staff_commands
from refdesk.domain.gap_queue import CAUSES, STATUSES
from refdesk.errors import CorpusError, DataFolderError, RefdeskError, SettingError
from refdesk.evaluation import commands as evaluation
from refdesk.evaluation.prices import read_price
from refdesk.logs import configure_logging
from refdesk.memory import keep_house
from refdesk.serving import serve
from refdesk.settings import SETTINGS, Settings, load, unknown_names
from refdesk.staff_commands import ACTIONS
from refdesk.terminal import Terminal

log = structlog.get_logger()

READING = ("corpus", "data")
ASKING = (*READING, "model", "anthropic_base_url", "turn_seconds", "persona")


def settings_help() -> str:
    lines = [f"  {s.env:<26} {s.help}" + (f" (default: {s.default})" if s.default else "") for s in SETTINGS]
    return "Settings, from flags or from the environment:\n\n" + "\n".join(lines)


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="refdesk", description="A help-centre assistant whose sources are true.")
    parser.add_argument("--version", action="version", version=f"refdesk {__version__}")
    adding = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, text: str, settings: Sequence[str] | None) -> argparse.ArgumentParser:
        raw = argparse.RawDescriptionHelpFormatter
        made = adding.add_parser(name, help=text, description=text, epilog=settings_help(), formatter_class=raw)
        for setting in SETTINGS:
            if setting.flag and (settings is None or setting.field in settings):
                made.add_argument(setting.flag, dest=setting.field, metavar="VALUE", help=setting.help)
        return made

    command("serve", "Serve the API and the pages.", None)
    sync = command("sync", "Read the corpus and build its index.", READING)
    sync.add_argument("--force", action="store_true", help="even if more than half of the articles would be removed")
    command("check", "Report what is wrong with the corpus, changing nothing.", ("corpus",))
    asking = command("ask", "Ask a question and print the turn.", ASKING)
    searching = command("search", "Print the passages that a search finds.", READING)
    searching.add_argument(
        "--explain", action="store_true", help="print the figures behind the order and the gate's word"
    )
    for made in (asking, searching):
        made.add_argument("--words", action="store_true", help="search by words only, without waiting for vectors")
        made.add_argument("question")
        made.add_argument("--json", action="store_true", help="print JSON instead of text")
    evaluating = command("eval", "Measure retrieval, gate and answers on your own questions.", (*ASKING,))
    evaluating.add_argument(
        "questions", nargs="?", type=Path, help="JSON lines: question, articles, tag, language, roles"
    )
    evaluating.add_argument(
        "--answer", action="store_true", help="let the model answer every question too; no cap on spending applies"
    )
    evaluating.add_argument("--builtin", action="store_true", help="play the built-in scenarios instead")
    evaluating.add_argument("--price", metavar="IN/OUT", help="US dollars per million tokens, for the cost of answers")
    calibrating = command("calibrate", "Show what thresholds of the gate trade, and keep one.", READING)
    calibrating.add_argument("questions", nargs="?", type=Path, help="as for eval; without: titles and headings")
    calibrating.add_argument("--set", metavar="CHOICE", help="keep a threshold: best, default, or a number")
    for made in (evaluating, calibrating):
        made.add_argument("--json", action="store_true", help="print JSON instead of text")
    staff = command("staff", "Accounts and keys of the console.", ("data",))
    staff.add_argument("action", choices=ACTIONS)
    staff.add_argument("name", nargs="?", default="", help="of the account, or the id of a key")
    staff.add_argument("--role", choices=("agent", "admin"), help="for add (default: agent) and role")
    staff.add_argument("--label", default="command line", help="what a new key is for")
    staff.add_argument("--keys-only", action="store_true", help="add an account without a password")
    staff.add_argument("--json", action="store_true", help="print JSON instead of text")
    listing = command("gaps", "List what was asked and not answered: what to write next.", ("data",))
    listing.add_argument("--status", choices=STATUSES, help="only these (default: open and in progress)")
    listing.add_argument("--cause", choices=CAUSES, help="only these (default: all but out_of_scope)")
    listing.add_argument("--limit", type=int, default=20, metavar="N", help="at most so many, those of most visitors")
    listing.add_argument("--json", action="store_true", help="print JSON lines instead of text")
    saving = command("backup", "Write the conversations into one file, also while a server runs (SQLite).", ("data",))
    saving.add_argument("file", type=Path, help="to be made")
    bringing_back = command("restore", "Put a backup in the place of the conversations (SQLite).", ("data",))
    bringing_back.add_argument("file", type=Path, help="that `refdesk backup` made")
    bringing_back.add_argument("--replace", action="store_true", help="even if there are conversations already")
    command("openapi", "Print the OpenAPI document.", ())
    return parser


def run_serve(settings: Settings, _: argparse.Namespace, terminal: Terminal) -> int:
    configure_logging(settings.log)
    for name in unknown_names(os.environ):
        log.warning("unknown setting", name=name, remedy="see refdesk serve --help")
    keep_house()
    uvloop.run(serve(settings, terminal.progress))
    return 0


def question_of(args: argparse.Namespace) -> str:
    question: str = args.question
    if not question.strip():
        raise SettingError("QUESTION", "is blank: write what is to be asked")
    return question


def run_eval(settings: Settings, args: argparse.Namespace, terminal: Terminal) -> int:
    price = read_price(args.price) if args.price else None
    if args.builtin:
        return evaluation.run_builtin(settings, terminal, as_json=args.json)
    if args.questions is None:
        raise SettingError("QUESTIONS", "is missing: name a file of questions, or use --builtin")
    options = evaluation.Options(own_data=bool(args.data), as_json=args.json, answers=args.answer, price=price)
    return evaluation.run_eval(settings, terminal, args.questions, options)


def run_calibrate(settings: Settings, args: argparse.Namespace, terminal: Terminal) -> int:
    return evaluation.run_calibrate(settings, terminal, args.questions, choice=args.set, as_json=args.json)


def run_staff(settings: Settings, args: argparse.Namespace, terminal: Terminal) -> int:
    order = staff_commands.StaffOrder(
        action=args.action,
        name=args.name,
        role=args.role,
        label=args.label,
        keys_only=args.keys_only,
        as_json=args.json,
    )
    return staff_commands.run_staff(settings, terminal, order, sys.stdin)


def show_gaps(settings: Settings, args: argparse.Namespace, terminal: Terminal) -> int:
    if not 1 <= args.limit <= 1000:
        raise SettingError("--limit", "allowed: a number from 1 to 1000")
    order = gap_commands.GapsOrder(status=args.status, cause=args.cause, most=args.limit, as_json=args.json)
    return gap_commands.run_gaps(settings, terminal, order)


COMMANDS: dict[str, Callable[[Settings, argparse.Namespace, Terminal], int]] = {
    "serve": run_serve,
    "sync": lambda settings, args, terminal: commands.run_sync(settings, terminal, force=args.force),
    "check": lambda settings, _, terminal: commands.run_check(settings, terminal),
    "ask": lambda settings, args, terminal: commands.run_ask(
        settings, terminal, question_of(args), as_json=args.json, words=args.words
    ),
    "search": lambda settings, args, terminal: commands.run_search(
        settings, terminal, question_of(args), as_json=args.json, explain=args.explain, words=args.words
    ),
    "eval": run_eval,
    "calibrate": run_calibrate,
    "staff": run_staff,
    "gaps": show_gaps,
    "backup": lambda settings, args, terminal: backup_commands.run_backup(settings, terminal, args.file),
    "restore": lambda settings, args, terminal: backup_commands.run_restore(
        settings, terminal, args.file, replace=args.replace
    ),
    "openapi": lambda _settings, _args, terminal: commands.run_openapi(terminal),
}


def complaining(args: argparse.Namespace, terminal: Terminal) -> Callable[[str], None]:
    """Where the reason goes for which a command ends: of a server whose log is read by a program, into the log."""
    form = vars(args).get("log") or os.environ.get("REFDESK_LOG")
    if args.command != "serve" or form != "json":
        return terminal.error
    configure_logging("json")
    return lambda reason: log.critical("not started", reason=reason)


def main(arguments: Sequence[str] | None = None) -> int:
    args = build_parser().parse_args(arguments)
    terminal = Terminal(sys.stdout, sys.stderr)
    complain = complaining(args, terminal)
    try:
        settings = load(os.environ, vars(args))
        if args.command != "serve":
            configure_logging("console", logging.ERROR)
        return COMMANDS[args.command](settings, args, terminal)
    except (SettingError, CorpusError) as error:
        complain(str(error))
        return 2
    except DataFolderError as error:
        complain(str(error))
        return 3
    except RefdeskError as error:
        complain(str(error))
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
