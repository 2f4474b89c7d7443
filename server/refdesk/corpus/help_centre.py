"""`help-center.toml`, strictly: an unknown key or a wrong value stops the sync and names the key and the remedy.

A silently ignored key would be worst here: a misspelt `roles` or `notice` changes who sees what and what visitors are
told."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import msgspec

from refdesk.corpus.addresses import canonical_url
from refdesk.corpus.files import inside, read_bytes
from refdesk.domain.articles import BUILT_IN_ROLES, Contact, HelpCentre
from refdesk.errors import CorpusError, FileGone, FileWithheld

FILE_NAME = "help-center.toml"
MAX_BYTES = 256 * 1024

LANGUAGE = re.compile(r"([a-z]{2,3})(?:[-_][a-z0-9]{1,8})*", re.IGNORECASE)
"""A BCP 47 tag; only its first part decides (stemming, translations), so `en-GB` counts as `en`."""

_ROLE = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_MAIL = re.compile(r"[^\s@<>]+@[^\s@<>]+")


class _Contact(Contact, frozen=True, forbid_unknown_fields=True):
    pass


class _File(HelpCentre, frozen=True, forbid_unknown_fields=True):
    name: str = ""
    contact: _Contact = _Contact()


def read_help_centre(root: Path) -> HelpCentre:
    """`languages` stays empty where the file names none: they are recognised from the articles. Raises CorpusError,
    and FileGone without the file."""
    given = _read(root)
    return msgspec.structs.replace(
        HelpCentre(**{field: getattr(given, field) for field in given.__struct_fields__}),
        name=_name(given, root),
        languages=_languages(given),
        roles=_roles(given),
        article_url=_article_url(given),
        contact=Contact(**msgspec.structs.asdict(given.contact)),
    )


def unsettled(root: Path) -> HelpCentre:
    """Of a folder without settings."""
    return HelpCentre(name=root.name or "Help centre")


def language_of(tag: str) -> str | None:
    """The lower-case first part of a language tag; None if it is no tag."""
    match = LANGUAGE.fullmatch(tag.strip())
    return match[1].lower() if match else None


def _read(root: Path) -> _File:
    try:
        data = read_bytes(inside(root, FILE_NAME), MAX_BYTES).data
        given = msgspec.convert(tomllib.loads(data.decode("utf-8-sig")), _File)
    except FileGone:
        if (root / FILE_NAME).is_symlink():
            raise CorpusError(f"{FILE_NAME}: the link leads nowhere") from None
        raise
    except FileWithheld as error:
        raise CorpusError(f"{FILE_NAME}: {error.reason}") from None
    except UnicodeDecodeError:
        raise CorpusError(f"{FILE_NAME}: the file is not UTF-8; save it as UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise CorpusError(f"{FILE_NAME}: it does not parse as TOML: {error}") from None
    except msgspec.ValidationError as error:
        raise _wrong_shape(error) from None
    _check_texts(given)
    _check_contact(given)
    return given


def _wrong_shape(error: msgspec.ValidationError) -> CorpusError:
    problem = str(error)
    if unknown := re.search(r"unknown field `(.*?)`(?: - at `\$\.?(.*)`)?", problem):
        of_contact = unknown[2] == "contact"
        known = ", ".join(sorted((_Contact if of_contact else _File).__struct_fields__))
        where = " in `contact`" if of_contact else ""
        return CorpusError(f"{FILE_NAME}: unknown key `{unknown[1]}`{where}; the keys are {known}")
    message, _, key = problem.partition(" - at `$.")
    return _wrong(key.rstrip("`"), message[:1].lower() + message[1:])


def _wrong(key: str, problem: str) -> CorpusError:
    return CorpusError(f"{FILE_NAME}: `{key}`: {problem}")


def _name(given: _File, root: Path) -> str:
    name = " ".join(given.name.split())
    if given.name and not name:
        raise _wrong("name", "it is blank; write the help centre's name or leave the key out")
    return name or root.name or "Help centre"


def _languages(given: _File) -> tuple[str, ...]:
    languages = []
    for tag in given.languages:
        language = language_of(tag)
        if language is None:
            raise _wrong("languages", f'{tag!r} is no language code; write codes such as "en"')
        languages.append(language)
    return tuple(dict.fromkeys(languages))


def _roles(given: _File) -> tuple[str, ...]:
    for role in given.roles:
        if not _ROLE.fullmatch(role):
            raise _wrong("roles", f"{role!r} is no role name; use lower-case letters, digits and -")
    return tuple(dict.fromkeys(role for role in given.roles if role not in BUILT_IN_ROLES))


def _article_url(given: _File) -> str:
    if "{id}" not in given.article_url:
        raise _wrong("article_url", 'it lacks {id}; write for example "/articles/{id}"')
    if canonical_url(given.article_url.replace("{id}", "id")) is None:
        raise _wrong("article_url", "it must be an http(s) address without a user name, or begin with a single /")
    return given.article_url


def _check_texts(given: _File) -> None:
    for key in ("greeting", "starter_questions", "disclosure", "refusal", "notice"):
        for language in getattr(given, key):
            if language_of(language) is None:
                raise _wrong(key, f"{language!r} is no language code; write for example {key} = {{ en = … }}")
    for group in given.synonyms:
        if len(group) < 2 or not all(word.strip() for word in group):
            raise _wrong("synonyms", "each group needs at least two words that are not blank")


def _check_contact(given: _File) -> None:
    mail = given.contact.mail
    for key, url in (("url", given.contact.url), ("callback", given.contact.callback)):
        if url and canonical_url(url) is None:
            raise _wrong(
                f"contact.{key}", "it must be an http(s) address without a user name, or begin with a single /"
            )
    if mail and not _MAIL.fullmatch(mail):
        raise _wrong("contact.mail", f"{mail!r} is no mail address")
