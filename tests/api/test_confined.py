"""The server as a container runs it: a read-only root, a user without a name and a home, two folders to write to."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from refdesk_server import PATIENCE, RefdeskServer

from refdesk import app

CONFINE = """
set -e
mount --make-rprivate /
mount --bind {data} {data}
mount --bind {scratch} {scratch}
mount -o remount,bind,ro /
! touch {folder}/written 2>/dev/null
exec "$@"
"""
MAY_MOUNT = os.geteuid() == 0 and subprocess.run(["unshare", "-m", "true"], check=False).returncode == 0


@pytest.mark.long
@pytest.mark.skipif(not MAY_MOUNT, reason="a mount namespace needs root")
def test_a_read_only_root_is_enough(tmp_path: Path) -> None:
    """With vectors: their encoders are converted, their index is built by a child."""
    server = RefdeskServer(tmp_path / "server", REFDESK_DENSE="on")
    scratch = tmp_path / "scratch"
    for folder in (server.data, scratch):
        folder.mkdir()
    script = CONFINE.format(data=server.data, scratch=scratch, folder=tmp_path)
    command = [sys.executable, "-m", "refdesk.cli", "serve", "--port", str(server.port)]
    environment = {**server.environment, "TMPDIR": str(scratch), "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("HOME", None)
    with server.log_file.open("ab") as log:
        confined = ["unshare", "-m", "sh", "-c", script, "sh", *command]
        process = subprocess.Popen(confined, env=environment, stdout=log, stderr=log)
    try:
        assert server.await_vectors()["status"] == "ok"
        with server.client(server.token()) as client:
            assert client.post("/v1/ask", json={"question": "When are refunds issued?"}).status_code == 200
        process.terminate()
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
    assert {record["level"] for record in server.log_records()} == {"info"}


def test_a_user_without_a_home_gets_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chroma cannot be imported without, and search by meaning would stay off."""

    def nowhere(_: type[Path]) -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setenv("HOME", "/before")
    monkeypatch.setattr(Path, "home", classmethod(nowhere))
    app.name_a_home()
    assert Path(os.environ["HOME"]).is_dir()
