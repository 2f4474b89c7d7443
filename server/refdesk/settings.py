"""The settings: the only reader of the environment.

One table (`SETTINGS`) holds name, meaning, default and parser of each; the command line's help and the README's table
are made from it, so a setting exists in one place only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from refdesk.domain.prices import Price, price_of
from refdesk.errors import SettingError
from refdesk.setting_limits import (
    parse_count,
    parse_days,
    parse_dollars,
    parse_networks,
    parse_prices,
    parse_seconds,
    parse_visitors,
    parse_wait,
)
from refdesk.setting_secrets import parse_database_url, parse_identity, parse_model_key, parse_staff_key


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
    turns_per_visitor: int
    """A minute, as the four below; 0: no limit."""
    turns_per_address: int
    turns_per_minute: int
    """Of all visitors together."""
    sessions_per_address: int
    searches_per_minute: int
    """Of one address."""
    turns_at_once: int
    """Of one visitor."""
    trusted_proxies: tuple[IPv4Network | IPv6Network, ...]
    model_calls: int
    """At once; 0: no limit."""
    model_wait_seconds: float
    breaker_turns: int
    """Turns in a row without the model's service, after which it is left alone for a while; 0: never."""
    breaker_seconds: float
    prices: dict[str, Price]
    """By model; what is not in it costs what the list says."""
    spend_per_turn: float
    """US dollars, as the two below; 0: no cap."""
    spend_per_visitor: float
    """In a UTC day."""
    spend_per_day: float
    """Of the whole deployment."""
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
    """Bytes that are no UTF-8 come from the environment as lone surrogates, which nothing can send on."""
    if not value.isprintable() and any("\ud800" <= character <= "\udfff" for character in value):
        raise SettingError(name, "is not UTF-8; allowed: text in UTF-8")
    return value


def parse_model(name: str, value: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._:@/-]{0,127}", value):
        raise SettingError(
            name, f"{value!r} is no model id; allowed: letters, digits and . _ : @ / - as in claude-haiku-5-5"
        )
    return value


def parse_port(name: str, value: str) -> int:
    if not re.fullmatch("[0-9]{1,5}", value) or int(value) > 65535:
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


def parse_url(name: str, value: str) -> str:
    if not value:
        return ""
    if origin_of(value) is None or any(urlsplit(value)[3:]) or not value.isascii() or " " in value:
        raise SettingError(name, f"{value!r} is no http(s) address; allowed: https://host[:port][/path]")
    return value.rstrip("/")


def parse_webhook_url(name: str, value: str) -> str:
    """The address may hold a token, so no message repeats it."""
    if value and (origin_of(value) is None or urlsplit(value).fragment or not value.isprintable() or " " in value):
        raise SettingError(name, "allowed: https://host[:port]/path")
    return value


def parse_public_url(name: str, value: str) -> str:
    if value and (origin_of(value) is None or any(urlsplit(value.rstrip("/"))[2:])):
        raise SettingError(name, f"{value!r} is no such address; allowed: https://host[:port] without a path")
    return value.rstrip("/")


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
    Setting("REFDESK_TURNS_PER_VISITOR", "turns_per_visitor", "20", parse_count, "questions of one visitor a minute"),
    Setting("REFDESK_TURNS_PER_ADDRESS", "turns_per_address", "60", parse_count, "questions of one address a minute"),
    Setting("REFDESK_TURNS_PER_MINUTE", "turns_per_minute", "600", parse_count, "questions of all visitors a minute"),
    Setting("REFDESK_SESSIONS_PER_ADDRESS", "sessions_per_address", "30", parse_count, "new sessions of it a minute"),
    Setting(
        "REFDESK_SEARCHES_PER_MINUTE", "searches_per_minute", "300", parse_count, "searches of one address a minute"
    ),
    Setting("REFDESK_TURNS_AT_ONCE", "turns_at_once", "2", parse_count, "questions of one visitor answered at once"),
    Setting(
        "REFDESK_TRUSTED_PROXIES",
        "trusted_proxies",
        "",
        parse_networks,
        "networks of proxies whose X-Forwarded-For is believed, comma-separated; empty: of none",
    ),
    Setting("REFDESK_MODEL_CALLS", "model_calls", "100", parse_count, "questions at once that may ask the model"),
    Setting(
        "REFDESK_MODEL_WAIT_SECONDS", "model_wait_seconds", "0.1", parse_wait, "longest wait for one of them, then 503"
    ),
    Setting(
        "REFDESK_BREAKER_TURNS", "breaker_turns", "5", parse_count, "failures in a row that open the circuit breaker"
    ),
    Setting("REFDESK_BREAKER_SECONDS", "breaker_seconds", "10", parse_seconds, "before one question tries again"),
    Setting(
        "REFDESK_PRICES",
        "prices",
        "",
        parse_prices,
        "MODEL=INPUT/OUTPUT, US dollars for a million tokens, comma-separated; empty: list prices",
    ),
    Setting("REFDESK_SPEND_PER_TURN", "spend_per_turn", "", parse_dollars, "most US dollars a question may cost"),
    Setting("REFDESK_SPEND_PER_VISITOR", "spend_per_visitor", "", parse_dollars, "most US dollars of a visitor a day"),
    Setting("REFDESK_SPEND_PER_DAY", "spend_per_day", "", parse_dollars, "most US dollars of all visitors a day (UTC)"),
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
        parse_model_key,
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
    capped = any(values[name] for name in ("spend_per_turn", "spend_per_visitor", "spend_per_day"))
    if capped and price_of(values["model"], values["prices"]) is None:
        raise SettingError("REFDESK_PRICES", f"has no price for {values['model']}, and a cap of spending needs one")
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
