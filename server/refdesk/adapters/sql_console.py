"""ConsoleStore on SQLAlchemy Core, for SQLite and PostgreSQL; beside SqlStore on the same database."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from refdesk.adapters import sql_annotations, sql_articles, sql_log, sql_privacy, sql_staff, sql_stats
from refdesk.adapters.sql_database import Database
from refdesk.domain.article_then import KeptArticle
from refdesk.domain.articles import Article
from refdesk.domain.console import (
    Annotations,
    AuditEntry,
    AuditPage,
    DayCounts,
    LogFilter,
    LogPage,
    Note,
    Retention,
    StaffAccount,
    StaffKey,
    StaffRole,
    TurnPage,
    TurnVerdict,
)
from refdesk.domain.conversation import Conversation, Visitor

PIECE = 200
"""Turns that retention deletes in one transaction."""
TOGETHER = 250
"""Articles that are kept in one transaction, so that turns come in between."""


class SqlLog:
    def __init__(self, database: Database) -> None:
        self.database = database

    async def log(self, wanted: LogFilter, *, cursor: str | None = None, limit: int = 50) -> LogPage:
        return await self.database.read(partial(sql_log.log, wanted=wanted, cursor=cursor, limit=limit))

    async def exported(self, wanted: LogFilter, *, cursor: str | None = None, limit: int = 500) -> TurnPage:
        return await self.database.read(partial(sql_log.exported, wanted=wanted, cursor=cursor, limit=limit))

    async def annotations(self, conversation_id: str) -> Annotations:
        return await self.database.read(partial(sql_annotations.of_conversation, conversation_id=conversation_id))

    async def add_note(self, conversation_id: str, note: Note) -> bool:
        job = partial(sql_annotations.add_note, conversation_id=conversation_id, note=note)
        return await self.database.write(job)

    async def change_tags(
        self, conversation_id: str, *, add: Sequence[str] = (), remove: Sequence[str] = (), author: str, at: str
    ) -> bool:
        change = partial(sql_annotations.change_tags, conversation_id=conversation_id, add=add, remove=remove)
        return await self.database.write(partial(change, author=author, at=at))

    async def set_verdict(self, verdict: TurnVerdict) -> bool:
        return await self.database.write(partial(sql_annotations.set_verdict, verdict=verdict))


class SqlStaff:
    def __init__(self, database: Database) -> None:
        self.database = database

    async def add_staff(self, account: StaffAccount) -> bool:
        return await self.database.write(partial(sql_staff.add, account=account))

    async def staff_account(self, name: str) -> StaffAccount | None:
        return await self.database.read(partial(sql_staff.account, name=name))

    async def staff_accounts(self) -> list[StaffAccount]:
        return await self.database.read(sql_staff.accounts)

    async def change_staff(
        self,
        name: str,
        *,
        role: StaffRole | None = None,
        password_hash: str | None = None,
        disabled: bool | None = None,
    ) -> bool:
        given = {"role": role, "password_hash": password_hash, "disabled": disabled}
        changes = {column: value for column, value in given.items() if value is not None}
        return await self.database.write(partial(sql_staff.change, name=name, changes=changes))

    async def open_staff_session(self, token_hash: bytes, name: str, *, at: str, expires_at: str) -> None:
        job = partial(sql_staff.open_session, token_hash=token_hash, name=name, at=at, expires_at=expires_at)
        await self.database.write(job)

    async def staff_by_session(self, token_hash: bytes, *, now: str) -> StaffAccount | None:
        return await self.database.read(partial(sql_staff.by_session, token_hash=token_hash, now=now))

    async def close_staff_session(self, token_hash: bytes) -> bool:
        return await self.database.write(partial(sql_staff.close_session, token_hash=token_hash))

    async def add_staff_key(self, key: StaffKey, key_hash: bytes) -> bool:
        return await self.database.write(partial(sql_staff.add_key, key=key, key_hash=key_hash))

    async def staff_by_key(self, kid: str, key_hash: bytes) -> StaffAccount | None:
        return await self.database.read(partial(sql_staff.by_key, kid=kid, key_hash=key_hash))

    async def staff_keys(self, name: str | None = None) -> list[StaffKey]:
        return await self.database.read(partial(sql_staff.keys, name=name))

    async def disable_staff_key(self, kid: str) -> bool:
        return await self.database.write(partial(sql_staff.disable_key, kid=kid))

    async def add_audit(self, entry: AuditEntry) -> None:
        await self.database.write(partial(sql_staff.add_audit, entry=entry))

    async def audit(self, *, cursor: str | None = None, limit: int = 100) -> AuditPage:
        return await self.database.read(partial(sql_staff.audit_page, cursor=cursor, limit=limit))


class SqlPrivacy:
    def __init__(self, database: Database) -> None:
        self.database = database

    async def sign_in(
        self, visitor: Visitor, token_hash: bytes, *, at: str, expires_at: str | None, earlier: str | None
    ) -> Visitor:
        job = partial(sql_privacy.sign_in, visitor=visitor, token_hash=token_hash, at=at)
        return await self.database.write(partial(job, expires_at=expires_at, earlier=earlier))

    async def visitors_of(self, subject: str) -> list[str]:
        return await self.database.read(partial(sql_privacy.visitors_of, subject=subject))

    async def conversations_of(self, visitor_id: str) -> list[Conversation]:
        return await self.database.read(partial(sql_privacy.conversations_of, visitor_id=visitor_id))

    async def erase_visitor(self, visitor_id: str) -> bool:
        return self._forget(await self.database.write(partial(sql_privacy.erase, visitor_ids=[visitor_id])))

    async def erase_subject(self, subject: str) -> bool:
        return self._forget(await self.database.write(partial(sql_privacy.erase_subject, subject=subject)))

    async def retain(self, *, since: str, force: bool = False) -> Retention:
        plan = await self.database.read(partial(sql_privacy.due, since=since, force=force))
        if plan.stopped:
            return plan
        deleted = 0
        while piece := await self.database.write(partial(sql_privacy.delete_some, since=since, most=PIECE)):
            deleted += piece
        await self.database.write(partial(sql_privacy.delete_leftovers, since=since))
        await self.database.write(partial(sql_articles.forget, since=since))
        self._forget(deleted > 0)
        return Retention(deleted=deleted, due=plan.due, total=plan.total)

    async def day_counts(self, *, since: str, until: str) -> list[DayCounts]:
        return await self.database.read(partial(sql_stats.of_days, since=since, until=until))

    def _forget(self, deleted: bool) -> bool:
        if deleted:
            self.database.forget_deleted()
        return deleted


class SqlArticles:
    def __init__(self, database: Database) -> None:
        self.database = database

    async def keep_articles(self, articles: Sequence[Article], *, at: str) -> None:
        for start in range(0, len(articles), TOGETHER):
            some = articles[start : start + TOGETHER]
            await self.database.write(partial(sql_articles.keep, articles=some, at=at))

    async def kept_article(self, article_id: str, version: str) -> KeptArticle | None:
        return await self.database.read(partial(sql_articles.one, article_id=article_id, version=version))


class SqlConsole(SqlLog, SqlStaff, SqlPrivacy, SqlArticles):
    pass
