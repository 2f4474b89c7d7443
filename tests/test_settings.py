"""Settings: one table, wrong values named with what is allowed, weak secrets refused."""

from pathlib import Path

import pytest

from refdesk.domain.prices import Price, price_of
from refdesk.errors import SettingError
from refdesk.settings import SETTINGS, load, settings_table, unknown_names

GOOD = "hT3vQ9zLw7RkX2mB8nPcY5sD1fGj6aUe"
README = Path(__file__).parent.parent / "README.md"


def test_defaults_need_nothing():
    settings = load({})
    assert (settings.corpus, settings.data) == (Path("corpus"), Path("data"))
    assert settings.identity_secrets == {}
    assert settings.rate_limits


def test_a_flag_wins_over_the_environment():
    assert load({"REFDESK_PORT": "9000"}, {"port": "9001"}).port == 9001
    assert load({"REFDESK_PORT": "9000"}, {"port": None}).port == 9000


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("REFDESK_PORT", "eighty"),
        ("REFDESK_PORT", "70000"),
        ("REFDESK_PORT", "9" * 5000),
        ("REFDESK_GAPS_K", "9" * 5000),
        ("REFDESK_RATE_LIMITS", "yes"),
        ("REFDESK_REDACT", "true"),
        ("REFDESK_RETENTION_DAYS", "0"),
        ("REFDESK_RETENTION_DAYS", "-1"),
        ("REFDESK_RETENTION_DAYS", "90d"),
        ("REFDESK_RETENTION_DAYS", "1e3"),
        ("REFDESK_RETENTION_DAYS", "9" * 5000),
        ("REFDESK_DATABASE_URL", "mysql://host/db"),
        ("REFDESK_DATABASE_URL", "sqlite:///file.db"),
        ("REFDESK_DATABASE_URL", "postgresql://host"),
        ("REFDESK_DATABASE_URL", "postgresql://host:port/db"),
        ("REFDESK_LOG", "xml"),
        ("REFDESK_MODEL", "two words"),
        ("REFDESK_PUBLIC_URL", "help.example.com"),
        ("REFDESK_PUBLIC_URL", "https://help.example.com/docs"),
        ("REFDESK_PUBLIC_URL", "https://user:pw@help.example.com"),
        ("REFDESK_PUBLIC_URL", "https://[help.example.com"),
        ("REFDESK_ALLOWED_ORIGINS", "*"),
        ("REFDESK_ALLOWED_ORIGINS", "https://*.example.com"),
        ("REFDESK_ALLOWED_ORIGINS", "https://shop.example.com/"),
        ("REFDESK_ALLOWED_ORIGINS", "https://shop.example.com./"),
        ("REFDESK_ALLOWED_ORIGINS", "https://[shop.example.com"),
        ("REFDESK_TURN_SECONDS", "0"),
        ("REFDESK_TURN_SECONDS", "nan"),
        ("REFDESK_TURNS_PER_VISITOR", "-1"),
        ("REFDESK_TURNS_PER_VISITOR", "5/min"),
        ("REFDESK_TURNS_PER_MINUTE", "1000001"),
        ("REFDESK_TURNS_PER_MINUTE", "٣"),
        ("REFDESK_MODEL_CALLS", "9" * 5000),
        ("REFDESK_MODEL_WAIT_SECONDS", "11"),
        ("REFDESK_TRUSTED_PROXIES", "*"),
        ("REFDESK_TRUSTED_PROXIES", "10.0.0.1/8"),
        ("REFDESK_TRUSTED_PROXIES", "proxy.internal"),
        ("REFDESK_BREAKER_SECONDS", "0"),
        ("REFDESK_PRICES", "0.10/0.50"),
        ("REFDESK_PRICES", "claude-haiku-5-5=0.10"),
        ("REFDESK_PRICES", "claude-haiku-5-5=-1/2"),
        ("REFDESK_PRICES", "claude-haiku-5-5=nan/2"),
        ("REFDESK_PRICES", "=1/2"),
        ("REFDESK_PRICES", "one=1/2,one=1/3"),
        ("REFDESK_SPEND_PER_DAY", "-5"),
        ("REFDESK_SPEND_PER_DAY", "5 EUR"),
        ("REFDESK_SPEND_PER_TURN", "inf"),
        ("ANTHROPIC_BASE_URL", "ftp://models"),
        ("ANTHROPIC_BASE_URL", "https://models/a b"),
        ("ANTHROPIC_API_KEY", "ключ"),
        ("ANTHROPIC_API_KEY", "sk-one\nsk-two"),
        ("ANTHROPIC_API_KEY", "\udcff"),
        ("REFDESK_PERSONA", "Tone: \udcff"),
        ("REFDESK_IDENTITY_SECRET", "short"),
        ("REFDESK_STAFF_KEY", "changeme-changeme-changeme-changeme"),
        ("REFDESK_STAFF_KEY", "your-staff-key-goes-here-0123456789ab"),
        ("REFDESK_STAFF_KEY", "abcabcabcabcabcabcabcabcabcabcabc"),
        ("REFDESK_STAFF_KEY", "0123456789abcdefghijklmnopqrstuvwxyz"),
        ("REFDESK_STAFF_KEY", "a" * 40),
        ("REFDESK_IDENTITY_SECRET", f"old:{GOOD},new:{GOOD[::-1]},third:{GOOD}x"),
        ("REFDESK_IDENTITY_SECRET", f"one:{GOOD},one:{GOOD}"),
    ],
)
def test_a_wrong_value_names_the_setting_and_what_is_allowed(name, value):
    with pytest.raises(SettingError) as caught:
        load({name: value})
    assert str(caught.value).startswith(f"{name}: ")
    assert len(value) < 10 or value not in str(caught.value) or "SECRET" not in name
    assert name != "ANTHROPIC_API_KEY" or value not in str(caught.value)


@pytest.mark.parametrize("value", ["help.example.com", "https://help.example.com/docs", "https://help.example.com?a"])
def test_a_wrong_public_url_is_told_without_the_path_that_is_refused(value):
    with pytest.raises(SettingError, match=r"allowed: https://host\[:port\] without a path$"):
        load({"REFDESK_PUBLIC_URL": value})


def test_origins_are_normalised_like_a_browser_sends_them():
    settings = load({"REFDESK_ALLOWED_ORIGINS": "https://SHOP.example.com:443, http://localhost:3000"})
    assert settings.allowed_origins == ("https://shop.example.com", "http://localhost:3000")


def test_two_identity_secrets_while_one_is_rotated_out():
    assert load({"REFDESK_IDENTITY_SECRET": GOOD}).identity_secrets == {"default": GOOD}
    both = load({"REFDESK_IDENTITY_SECRET": f"new:{GOOD}, old:{GOOD[::-1]}"}).identity_secrets
    assert both == {"new": GOOD, "old": GOOD[::-1]}


def test_limits_that_are_not_set_and_prices_of_several_models():
    settings = load({"REFDESK_PRICES": "claude-x=0.25/1, other/model:7=3/15.5", "REFDESK_TURNS_PER_MINUTE": "0"})
    assert settings.prices == {"claude-x": Price(0.25, 1), "other/model:7": Price(3, 15.5)}
    assert (settings.turns_per_minute, settings.spend_per_day) == (0, 0)
    assert price_of("claude-x-20260101", settings.prices) == Price(0.25, 1)
    assert price_of("claude-haiku-5-5", settings.prices) == price_of("claude-haiku-5-5")
    assert price_of("claude-haiku-5-5", {"claude-haiku-5-5": Price(7, 7)}) == Price(7, 7)


@pytest.mark.parametrize("cap", ["REFDESK_SPEND_PER_TURN", "REFDESK_SPEND_PER_VISITOR", "REFDESK_SPEND_PER_DAY"])
def test_a_cap_on_what_is_spent_needs_a_price(cap):
    with pytest.raises(SettingError, match="REFDESK_PRICES: has no price for somebody-else-7"):
        load({cap: "5", "REFDESK_MODEL": "somebody-else-7"})
    assert load({cap: "5", "REFDESK_MODEL": "somebody-else-7", "REFDESK_PRICES": "somebody-else-7=1/2"})


def test_no_secret_can_be_given_on_the_command_line():
    assert [s.env for s in SETTINGS if s.secret] == [
        "REFDESK_IDENTITY_SECRET",
        "REFDESK_STAFF_KEY",
        "REFDESK_METRICS_KEY",
        "REFDESK_DATABASE_URL",
        "REFDESK_GAPS_WEBHOOK_SECRET",
        "ANTHROPIC_API_KEY",
    ]
    assert all(s.flag is None for s in SETTINGS if s.secret)


@pytest.mark.parametrize(
    "url",
    ["postgresql://host:x/C_DSN", "mysql://a:C_DSN@host/db", "C_DSN", "postgresql://a:x@C_DSN@host/db",
     "postgresql://a:1/C_DSN@host/db", "postgresql://a:C_DSN[@host/db", "postgresql://a:x?C_DSN@host/db",
     "postgresql://a:x#C_DSN@host/db"],
)  # fmt: skip
def test_a_refused_database_url_is_not_repeated(url):
    with pytest.raises(SettingError, match="postgresql://") as caught:
        load({"REFDESK_DATABASE_URL": url})
    assert "C_DSN" not in str(caught.value)


def test_misspelt_names_are_found():
    assert unknown_names({"REFDESK_PROT": "1", "REFDESK_PORT": "1", "HOME": "/"}) == ["REFDESK_PROT"]


def test_the_readme_has_the_table_of_settings():
    assert settings_table() in README.read_text("utf-8")
