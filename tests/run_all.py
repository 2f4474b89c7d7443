"""The whole check, from nothing: environment, types, lint, import layers, tests. Standard library only.

python3 tests/run_all.py            everything
python3 tests/run_all.py --no-install    with the environment as it is
"""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = ROOT / ".venv" / "bin"

# Most of a test's time is waiting (for a server, a disk, a page), so there are more workers than cores.
CHECKS = (
    ("format", ["ruff", "format", "--check", "server", "tests"]),
    ("lint", ["ruff", "check", "server", "tests"]),
    ("types", ["mypy"]),
    ("import layers", ["lint-imports"]),
    ("tests", ["pytest", "-q", "-n", "5", "--dist", "loadfile", "--ignore-glob=*/browser*"]),
    ("browser tests", ["pytest", "-q", "-n", "3", "--dist", "loadfile", "tests/browser", "tests/browser_console"]),
)


def install() -> None:
    if not BIN.exists():
        venv.create(ROOT / ".venv", with_pip=True)
    command = [BIN / "python", "-m", "pip", "install", "-q", "-c", "constraints.txt", "-e", ".[test]"]
    subprocess.run(command, cwd=ROOT, check=True)


def main() -> int:
    if "--no-install" not in sys.argv:
        install()
    failed = []
    for name, command in CHECKS:
        print(f"== {name}", flush=True)
        if subprocess.run([BIN / command[0], *command[1:]], cwd=ROOT, check=False).returncode:
            failed.append(name)
    print(f"failed: {', '.join(failed)}" if failed else "all checks passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
