"""The files in `deploy/`: every path, setting and command that they name exists, and they grant no more than is needed.

What wants a Docker daemon is not run here; tests/api/test_confined.py runs the server as the image does.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from refdesk.cli import build_parser
from refdesk.settings import SETTINGS, load

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "deploy"
KNOWN = {setting.env for setting in SETTINGS}
ROOTS_OWN = ("pip", "apt", "curl", "wget")
"""What must not be in the stage that runs."""


def ours(names: Any) -> set[str]:
    return {name for name in names if name.startswith(("REFDESK_", "ANTHROPIC_"))}


def instructions() -> list[tuple[str, str]]:
    """Of the Dockerfile, in order, continued lines joined."""
    text = "\n".join(line for line in (FOLDER / "Dockerfile").read_text("utf-8").splitlines() if line[:1] != "#")
    found = re.findall(r"^([A-Z]+) (.*)$", text.replace("\\\n", " "), re.MULTILINE)
    return [(name, " ".join(value.split())) for name, value in found]


def last_stage() -> list[tuple[str, str]]:
    given = instructions()
    start = max(number for number, (name, _) in enumerate(given) if name == "FROM")
    return given[start:]


def test_the_image_is_built_of_what_is_there() -> None:
    stages = [value for name, value in instructions() if name == "FROM"]
    assert len(stages) == 2
    assert all("slim" in stage and ":" in stage for stage in stages)
    ignored = (FOLDER / "Dockerfile.dockerignore").read_text("utf-8").split()
    for name, value in instructions():
        if name == "COPY" and not value.startswith("--from"):
            for source in value.split()[:-1]:
                assert (ROOT / source).exists(), source
                assert f"!{source}" in ignored, source


def test_what_is_packed_besides_the_server_is_there_and_in_the_image() -> None:
    """A wheel, and so the image, cannot be built without it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    packed = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert set(packed.values()) == {"refdesk/widget/refdesk.js", "refdesk/widget/refdesk.d.ts"}
    copied = [source for name, value in instructions() if name == "COPY" for source in value.split()[:-1]]
    for file in packed:
        assert (ROOT / file).is_file()
        assert any(file == source or file.startswith(f"{source}/") for source in copied), file


def test_the_image_does_not_run_as_root_and_needs_only_its_data() -> None:
    stage = last_stage()
    names = [name for name, _ in stage]
    [user] = [value for name, value in stage if name == "USER"]
    assert re.fullmatch(r"[1-9]\d{3,}:[1-9]\d{3,}", user)
    assert names.index("USER") > max(number for number, name in enumerate(names) if name in ("RUN", "COPY"))
    [environment] = [dict(pair.split("=", 1) for pair in value.split()) for name, value in stage if name == "ENV"]
    assert ours(environment) <= KNOWN
    settings = load(environment)
    assert (settings.host, settings.port, settings.log) == ("0.0.0.0", 8000, "json")
    assert dict(stage)["VOLUME"] == str(settings.data)
    assert dict(stage)["EXPOSE"] == str(settings.port)
    commands = [value for name, value in stage if name == "RUN"]
    assert not [tool for tool in ROOTS_OWN for command in commands if re.search(rf"\b{tool}\b", command)]
    assert "/health/ready" in dict(stage)["HEALTHCHECK"]
    entry, given = (yaml.safe_load(dict(stage)[name]) for name in ("ENTRYPOINT", "CMD"))
    assert entry == ["refdesk"]
    assert build_parser().parse_args(given).command == "serve"


def test_the_health_check_is_a_program_that_fails_where_nothing_serves() -> None:
    check = re.search(r"CMD (\[.*\])", dict(last_stage())["HEALTHCHECK"])
    assert check is not None
    _, *arguments = yaml.safe_load(check[1])
    done = subprocess.run(
        [sys.executable, *arguments], env={"REFDESK_PORT": "1"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "URLError" in done.stderr


def test_compose_names_what_there_is_and_no_secret() -> None:
    composed = yaml.safe_load((FOLDER / "compose.yaml").read_text("utf-8"))
    server, database = composed["services"]["refdesk"], composed["services"]["postgres"]
    assert (FOLDER / server["build"]["context"] / server["build"]["dockerfile"]).is_file()
    assert server["env_file"] == ".env", "or a setting that is written there never reaches the server"
    assert ours(server["environment"]) == set(server["environment"])
    assert set(server["environment"]) <= KNOWN
    for value in (*server["environment"].values(), *database["environment"].values()):
        assert "$" in value or value == "refdesk", value
    assert server["read_only"]
    assert server["cap_drop"] == ["ALL"]
    assert server["security_opt"] == ["no-new-privileges:true"]
    assert all(port.startswith("127.0.0.1:") for port in server["ports"])
    assert "ports" not in database
    mounted = {volume.rsplit(":", 2)[-2 if volume.endswith(":ro") else -1]: volume for volume in server["volumes"]}
    environment = next(value for name, value in last_stage() if name == "ENV")
    for name in ("REFDESK_CORPUS", "REFDESK_DATA"):
        assert re.search(rf"{name}=(\S+)", environment)[1] in mounted, name  # type: ignore[index]
    assert mounted["/corpus"].endswith(":ro")
    volumes = {volume.partition(":")[0] for service in (server, database) for volume in service["volumes"]}
    assert volumes - {"$", "${ARTICLES"} == set(composed["volumes"])
    wanted = set(re.findall(r"\$\{(\w+)", (FOLDER / "compose.yaml").read_text("utf-8"))) - {"ARTICLES"}
    assert wanted <= variables()


def variables() -> set[str]:
    """Of the file of settings to be filled in."""
    lines = (FOLDER / "refdesk.env").read_text("utf-8").splitlines()
    named = [line.split("=") for line in lines if line and not line.startswith("#")]
    assert [value for _, value in named if value] == [], "a value that someone might keep"
    return {name for name, _ in named}


def test_the_file_of_settings_to_fill_in_names_settings() -> None:
    assert ours(variables()) <= KNOWN
    load(dict.fromkeys(variables(), ""))  # as it is, it starts


def unit() -> dict[str, list[str]]:
    lines = (FOLDER / "refdesk.service").read_text("utf-8").splitlines()
    values: dict[str, list[str]] = {}
    for name, value in (line.split("=", 1) for line in lines if "=" in line and not line.startswith("#")):
        values.setdefault(name, []).append(value)
    return values


def test_the_unit_starts_the_server_without_root() -> None:
    found = unit()
    [command] = found["ExecStart"]
    assert build_parser().parse_args(shlex.split(command)[1:]).command == "serve"
    assert found["User"] != ["root"]
    environment = dict(pair.split("=", 1) for line in found["Environment"] for pair in line.split())
    assert ours(environment) <= KNOWN
    assert environment["REFDESK_DATA"] == f"/var/lib/{found['StateDirectory'][0]}"
    assert found["RestartPreventExitStatus"] == ["2 3"]
    for switch in ("NoNewPrivileges", "ProtectHome", "PrivateTmp", "PrivateDevices", "RestrictNamespaces"):
        assert found[switch] == ["yes"], switch
    assert found["ProtectSystem"] == ["strict"]
    assert found["CapabilityBoundingSet"] == [""]


@pytest.mark.long
@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    text = (FOLDER / "refdesk.service").read_text("utf-8")
    here = tmp_path / "refdesk.service"
    here.write_text(text.replace("/opt/refdesk/bin/refdesk", sys.executable), "utf-8")
    done = subprocess.run(["systemd-analyze", "verify", str(here)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
