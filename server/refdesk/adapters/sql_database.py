"""What the stores ask of a database: jobs, which are plain functions of a connection, run in one transaction each.

Written once as synchronous SQLAlchemy Core, a job runs on SQLite in a thread of its own (`sqlite_database.py`) and on
PostgreSQL asynchronously (`postgres_database.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar

from sqlalchemy import Connection, exc

from refdesk.errors import StorageUnavailable

T = TypeVar("T")
Job = Callable[[Connection], T]


class Database(Protocol):
    """Every method raises StorageUnavailable when the database does not answer; a later call may succeed."""

    server_id: str
    """Names this process among those that share the database."""

    async def write(self, job: Job[T]) -> T:
        """Runs the job in a transaction; durable when it returns, undone when it raises."""

    async def read(self, job: Job[T]) -> T: ...

    async def interrupt_running(self) -> int:
        """Running turns of processes that are gone become `interrupted`. Returns how many."""

    def forget_deleted(self) -> None:
        """Text was deleted: sees to it, in the background, that it leaves the database's files too."""

    async def close(self) -> None: ...


@contextmanager
def mapped() -> Iterator[None]:
    """A fault of the database becomes StorageUnavailable; a refused value or a wrong statement stays what it is."""
    try:
        yield
    except (exc.IntegrityError, exc.ProgrammingError, exc.DataError):
        raise
    except exc.DBAPIError as error:
        raise StorageUnavailable(f"database: {first_line(error.orig)}") from error
    except (exc.TimeoutError, TimeoutError) as error:
        raise StorageUnavailable("database: no answer in time") from error


def first_line(error: BaseException | None) -> str:
    return str(error).strip().partition("\n")[0]
