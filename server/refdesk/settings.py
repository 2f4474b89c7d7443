"""The settings: the only reader of the environment.

One table (`SETTINGS`) holds name, meaning, default and parser of each; the command line's help and the README's table
are made from it, so a setting exists in one place only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from refdesk.errors import SettingError

MIN_SECRET = 32
KID = re.compile(r"[A-Za-z0-9_-]{1,32}\Z")
SAMPLE_WORDS = re.compile(
    r"change[-_ ]?me|change[-_ ]?this|replace[-_ ]?me|your[-_ ].*(secret|key|token)|placeholder|example|sample|"
    r"insert[-_ ]|password|not[-_ ]?so[-_ ]?secret|test[-_ ]?secret|supersecret",
    re.I,
)


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    corpus: Path
    data: Path
    host: str
    port: int
    public_url: str
    allowed_origins: tuple[str, ...]
    model: str
    identity_secrets: dict[str, str]
    """By `kid`; one plain secret has the kid `default`."""
    staff_key: str
    metrics_key: str
    """Opens `/metrics` and nothing else; empty: a staff key does."""
    database_url: str
    """PostgreSQL; empty: SQLite in the data folder."""
    redact: bool
    retention_days: int
    gaps_k: int
    """Visitors who must have asked a question before its text is shown in the docs-gap queue."""
    gaps_close: bool
    gaps_model: bool
    gaps_webhook_url: str
    gaps_webhook_secret: str
    dense: bool
    encoders: Path
    """Where the converted encoders are kept; `encoders` in the data folder unless set."""
    rate_limits: bool
    log: str
    turn_seconds: float
    idle_seconds: float
    heartbeat_seconds: float
    anthropic_api_key: str
    anthropic_base_url: str
    persona: str
    """The operator's tone and glossary, added to the system prompt; never replaces its contract."""

    @property
    def own_origin(self) -> str:
        return origin_of(self.public_url) or f"http://localhost:{self.port}"


class Setting(msgspec.Struct, frozen=True):
    env: str
    field: str
    default: str
    parse: Callable[[str, str], Any]
    help: str
    secret: bool = False

    @property
    def flag(self) -> str | None:
        """Secrets have no flag: a command line is visible to every user of the machine."""
        return None if self.secret else "--" + self.field.replace("_", "-")


def origin_of(url: str) -> str | None:
    """scheme://host[:port], lower case, the default port left out; None if the text is no http(s) origin."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
        return None
    if re.search(r"[^a-z0-9.\-:\[\]]", parts.hostname) or parts.hostname.endswith("."):
        return None
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    default = {"http": 80, "https": 443}[parts.scheme]
    return f"{parts.scheme}://{host}" + (f":{port}" if port and port != default else "")


def parse_path(name: str, value: str) -> Path:
    if not value:
        raise SettingError(name, "must name a folder")
    return Path(value).expanduser()


def parse_encoders(name: str, value: str) -> Path | None:
    return Path(value).expanduser() if value else None


def parse_text(name: str, value: str) -> str:
    return value


def parse_model(name: str, value: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._:@/-]{0,127}", value):
        raise SettingError(
            name, f"{value!r} is no model id; allowed: letters, digits and . _ : @ / - as in claude-haiku-5-5"
        )
    return value


def parse_port(name: str, value: str) -> int:
    if not value.isascii() or not value.isdigit() or not 0 <= int(value) <= 65535:
        raise SettingError(name, f"{value!r} is no port; allowed: a number from 0 to 65535")
    return int(value)


def parse_switch(name: str, value: str) -> bool:
    if value not in ("on", "off"):
        raise SettingError(name, f"{value!r} is not allowed; allowed: on, off")
    return value == "on"


def parse_log(name: str, value: str) -> str:
    if value not in ("json", "console"):
        raise SettingError(name, f"{value!r} is not allowed; allowed: json, console")
    return value


def parse_seconds(name: str, value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        seconds = -1
    if not 0 < seconds <= 3600:
        raise SettingError(name, f"{value!r} is not allowed; allowed: a number of seconds above 0, up to 3600")
    return seconds


def parse_days(name: str, value: str) -> int:
    if not value.isascii() or not value.isdigit() or not 1 <= int(value) <= 36_500:
        raise SettingError(name, f"{value!r} is not allowed; allowed: a number of days from 1 to 36500")
    return int(value)


def parse_visitors(name: str, value: str) -> int:
    if not value.isascii() or not value.isdigit() or not 1 <= int(value) <= 1000:
        raise SettingError(name, f"{value!r} is not allowed; allowed: a number of visitors from 1 to 1000")
    return int(value)


def parse_database_url(name: str, value: str) -> str:
    """The value holds a password, so no message repeats it."""
    if not value:
        return ""
    try:
        parts = urlsplit(value)
        known = parts.scheme in ("postgresql", "postgres") and (parts.port or 1) > 0
    except ValueError:
        known, parts = False, urlsplit("")
    split_password = value.count("@") > 1 or ("@" in value and "@" not in parts.netloc)  # half of it passes for a host
    if not known or split_password or not parts.path.strip("/") or not value.isprintable() or " " in value:
        allowed = "postgresql://user:password@host[:port]/database, in the password %40 for @ and so on; empty: SQLite"
        raise SettingError(name, f"allowed: {allowed}")
    return value


def parse_url(name: str, value: str) -> str:
    if not value:
        return ""
    if origin_of(value) is None or any(urlsplit(value)[3:]):
        raise SettingError(name, f"{value!r} is no http(s) address; allowed: https://host[:port][/path]")
    return value.rstrip("/")


def parse_webhook_url(name: str, value: str) -> str:
    """The address may hold a token, so no message repeats it."""
    if value and (origin_of(value) is None or urlsplit(value).fragment or not value.isprintable() or " " in value):
        raise SettingError(name, "allowed: https://host[:port]/path")
    return value


def parse_public_url(name: str, value: str) -> str:
    url = parse_url(name, value)
    if url and urlsplit(url).path:
        raise SettingError(name, f"{value!r} has a path; allowed: https://host[:port] without a path")
    return url


def parse_origins(name: str, value: str) -> tuple[str, ...]:
    found = []
    for item in re.split(r"[\s,]+", value.strip()) if value.strip() else []:
        origin = origin_of(item)
        if origin is None or any(urlsplit(item)[2:]):
            raise SettingError(
                name,
                f"{item!r} is no origin; allowed: a comma-separated list of https://host[:port], no path, no wildcard",
            )
        found.append(origin)
    return tuple(dict.fromkeys(found))


def is_weak(secret: str) -> str | None:
    """Why a secret is refused, or None. A guessable secret is worse than none: it looks like protection."""
    if len(secret) < MIN_SECRET:
        return f"is too short ({len(secret)} characters); at least {MIN_SECRET} random ones"
    if SAMPLE_WORDS.search(secret):
        return "looks like a sample value"
    if len(set(secret)) < 10 or secret in (secret + secret)[1:-1]:
        return "repeats itself"
    steps = sum(ord(b) - ord(a) == 1 for a, b in pairwise(secret))
    if steps > 2 * len(secret) / 3:
        return "is a plain sequence of characters"
    return None


def checked_secret(name: str, secret: str) -> str:
    if not secret.isascii() or not secret.isprintable() or " " in secret:
        raise SettingError(name, "allowed: printable ASCII characters without spaces")
    if why := is_weak(secret):
        raise SettingError(name, f"{why}; make one with: python3 -c 'import secrets; print(secrets.token_urlsafe(32))'")
    return secret


def parse_staff_key(name: str, value: str) -> str:
    return checked_secret(name, value) if value else ""


def parse_identity(name: str, value: str) -> dict[str, str]:
    """`SECRET` or `kid:SECRET,kid:SECRET` (at most two, so that one can be rotated out)."""
    if not value:
        return {}
    if ":" not in value:
        return {"default": checked_secret(name, value)}
    secrets: dict[str, str] = {}
    for item in value.split(","):
        kid, _, secret = item.strip().partition(":")
        if not KID.match(kid) or not secret or kid in secrets:
            raise SettingError(name, "allowed: one secret, or kid:secret,kid:secret with two different kids")
        secrets[kid] = checked_secret(name, secret)
    if len(secrets) > 2:
        raise SettingError(name, f"{len(secrets)} secrets are given; allowed: at most two, the new one and the old one")
    return secrets


SETTINGS: tuple[Setting, ...] = (
    Setting("REFDESK_CORPUS", "corpus", "corpus", parse_path, "folder of Markdown articles"),
    Setting("REFDESK_DATA", "data", "data", parse_path, "folder for the database and the index; made if missing"),
    Setting("REFDESK_HOST", "host", "127.0.0.1", parse_text, "address to listen on"),
    Setting("REFDESK_PORT", "port", "8000", parse_port, "port to listen on"),
    Setting(
        "REFDESK_PUBLIC_URL",
        "public_url",
        "",
        parse_public_url,
        "where visitors reach this server, https://host[:port]",
    ),
    Setting(
        "REFDESK_ALLOWED_ORIGINS",
        "allowed_origins",
        "",
        parse_origins,
        "origins of the web pages that may use the API, comma-separated; empty: same origin only",
    ),
    Setting("REFDESK_MODEL", "model", "claude-haiku-5-5", parse_model, "model id for the Messages API"),
    Setting(
        "REFDESK_IDENTITY_SECRET",
        "identity_secrets",
        "",
        parse_identity,
        "secret that signs visitors' identity tokens, or kid:secret,kid:secret while rotating",
        secret=True,
    ),
    Setting(
        "REFDESK_STAFF_KEY",
        "staff_key",
        "",
        parse_staff_key,
        "API key for the console's API; empty: closed",
        secret=True,
    ),
    Setting(
        "REFDESK_METRICS_KEY",
        "metrics_key",
        "",
        parse_staff_key,
        "key that opens /metrics and nothing else; empty: only staff keys do",
        secret=True,
    ),
    Setting(
        "REFDESK_DATABASE_URL",
        "database_url",
        "",
        parse_database_url,
        "PostgreSQL that any number of servers share, postgresql://user:password@host/database; empty: SQLite",
        secret=True,
    ),
    Setting(
        "REFDESK_REDACT",
        "redact",
        "off",
        parse_switch,
        "on or off: mask mail, phone, card and bank numbers and keys in questions before they are stored or answered",
    ),
    Setting(
        "REFDESK_RETENTION_DAYS",
        "retention_days",
        "90",
        parse_days,
        "days after which conversations are deleted (counts per day stay)",
    ),
    Setting(
        "REFDESK_GAPS_K",
        "gaps_k",
        "1",
        parse_visitors,
        "visitors who must ask a question before the gap queue shows it",
    ),
    Setting(
        "REFDESK_GAPS_CLOSE", "gaps_close", "off", parse_switch, "on or off: close a gap once an article answers it"
    ),
    Setting(
        "REFDESK_GAPS_MODEL",
        "gaps_model",
        "off",
        parse_switch,
        "on or off: let the model check after a sync whether gaps are answered, which costs",
    ),
    Setting(
        "REFDESK_GAPS_WEBHOOK_URL",
        "gaps_webhook_url",
        "",
        parse_webhook_url,
        "address that is told of new and reopened gaps and of thumbs down, https://host/path",
    ),
    Setting(
        "REFDESK_GAPS_WEBHOOK_SECRET",
        "gaps_webhook_secret",
        "",
        parse_staff_key,
        "secret that signs what the webhook is told",
        secret=True,
    ),
    Setting("REFDESK_DENSE", "dense", "on", parse_switch, "on or off: search by meaning besides words"),
    Setting("REFDESK_ENCODERS", "encoders", "", parse_encoders, "folder that servers share converted encoders in"),
    Setting(
        "REFDESK_RATE_LIMITS", "rate_limits", "on", parse_switch, "on or off (off only behind something that limits)"
    ),
    Setting("REFDESK_LOG", "log", "console", parse_log, "json or console"),
    Setting("REFDESK_TURN_SECONDS", "turn_seconds", "60", parse_seconds, "longest time of one turn, seconds"),
    Setting("REFDESK_IDLE_SECONDS", "idle_seconds", "20", parse_seconds, "longest silence of the model, seconds"),
    Setting(
        "REFDESK_HEARTBEAT_SECONDS", "heartbeat_seconds", "15", parse_seconds, "longest silence of a stream to a client"
    ),
    Setting("REFDESK_PERSONA", "persona", "", parse_text, "tone and glossary for the assistant, added to its prompt"),
    Setting(
        "ANTHROPIC_API_KEY",
        "anthropic_api_key",
        "",
        parse_text,
        "key of the Messages API; empty: evidence only",
        secret=True,
    ),
    Setting("ANTHROPIC_BASE_URL", "anthropic_base_url", "", parse_url, "another endpoint that speaks the Messages API"),
)


def load(environ: Mapping[str, str], flags: Mapping[str, str | None] | None = None) -> Settings:
    """Flags (by field name) win over the environment. Raises SettingError naming the setting and what is allowed."""
    values: dict[str, Any] = {}
    for setting in SETTINGS:
        flag = (flags or {}).get(setting.field)
        text = flag if flag is not None else environ.get(setting.env) or setting.default
        values[setting.field] = setting.parse(setting.env, text.strip())
    if values["gaps_webhook_url"] and not values["gaps_webhook_secret"]:
        raise SettingError("REFDESK_GAPS_WEBHOOK_SECRET", "is missing: what REFDESK_GAPS_WEBHOOK_URL is told is signed")
    values["encoders"] = values["encoders"] or values["data"] / "encoders"
    return Settings(**values)


def unknown_names(environ: Mapping[str, str]) -> list[str]:
    """REFDESK_* variables that mean nothing: most likely misspelt, so the start names them."""
    known = {setting.env for setting in SETTINGS}
    return sorted(name for name in environ if name.startswith("REFDESK_") and name not in known)


def settings_table() -> str:
    """The table of README.md: variable, flag, default, meaning."""
    rows = ["| variable | flag | default | meaning |", "|---|---|---|---|"]
    for s in SETTINGS:
        flag = f"`{s.flag}`" if s.flag else ""
        rows.append(f"| `{s.env}` | {flag} | {f'`{s.default}`' if s.default else ''} | {s.help} |")
    return "\n".join(rows)
