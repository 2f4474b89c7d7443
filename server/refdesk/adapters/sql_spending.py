"""SpendStore on SQLAlchemy Core: a row for each account and day, changed by one statement that also holds its cap."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from functools import partial

from sqlalchemy import Connection, select, text

from refdesk.adapters.sql_database import Database
from refdesk.adapters.sql_tables import spending
from refdesk.errors import RefdeskError
from refdesk.limit_ports import Charge

CHARGE = text(
    "INSERT INTO spending (day, who, nanodollars) VALUES (:day, :who, :amount) ON CONFLICT (day, who) DO UPDATE"
    " SET nanodollars = spending.nanodollars + excluded.nanodollars"
    " WHERE spending.nanodollars + excluded.nanodollars <= :cap RETURNING nanodollars"
)
SETTLE = text("UPDATE spending SET nanodollars = nanodollars + :amount WHERE day = :day AND who = :who")
FORGET = text("DELETE FROM spending WHERE day < :day")


class OverCap(RefdeskError):
    """Undoes the transaction, so that no account was charged."""


class SqlSpending:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._day = ""
        """The last one on which something was charged."""

    async def charge(self, day: str, charges: Sequence[Charge]) -> bool:
        try:
            await self._database.write(partial(charge, day=day, charges=charges, first=day != self._day))
        except OverCap:
            return False
        self._day = day
        return True

    async def settle(self, day: str, charges: Sequence[Charge]) -> None:
        await self._database.write(partial(settle, day=day, charges=charges))

    async def spent(self, day: str, who: str = "") -> int:
        return await self._database.read(partial(spent, day=day, who=who))


def charge(connection: Connection, day: str, charges: Sequence[Charge], first: bool) -> None:
    """Raises OverCap. The first time on a day it forgets the days before yesterday, of which no call still runs."""
    if first:
        connection.execute(FORGET, {"day": str(date.fromisoformat(day) - timedelta(days=1))})
    for one in charges:
        values = {"day": day, "who": one.who, "amount": one.amount, "cap": one.cap}
        if one.amount > one.cap or connection.execute(CHARGE, values).first() is None:
            raise OverCap(one.who)


def settle(connection: Connection, day: str, charges: Sequence[Charge]) -> None:
    connection.execute(SETTLE, [{"day": day, "who": one.who, "amount": one.amount} for one in charges])


def spent(connection: Connection, day: str, who: str) -> int:
    found = select(spending.c.nanodollars).where(spending.c.day == day, spending.c.who == who)
    return int(connection.execute(found).scalar() or 0)
