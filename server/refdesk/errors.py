"""Every exception that Refdesk raises on purpose.

RefdeskError
├── SettingError            a setting is missing or wrong: the start stops, exit 2
├── CorpusError             the corpus folder is missing, empty or unreadable: exit 2
│   ├── MassDeletion        a sync would remove more than half of the articles
│   ├── FolderUnsteady      the corpus folder changes so much while it is read that what was read is no picture of it
│   ├── FileGone            a file was there and is not any more: the folder is read anew
│   └── FileWithheld        one file cannot be served: named in the report, the others are served
├── DataFolderError         the data folder is damaged or in use: exit 3
│   └── FolderInUse         another process has it
├── DenseUnavailable        an encoder or the vector index does not work: lexical search goes on, `degraded`
├── StorageUnavailable      the database does not answer now: 503 with Retry-After
├── RequestError            what a client did; the API maps it to a problem (status, code)
└── ModelFailure            the model gave no answer: never shown as one
"""

from __future__ import annotations


class RefdeskError(Exception):
    """Base of all; the message is safe to show to an operator, not to a visitor."""


class SettingError(RefdeskError):
    def __init__(self, name: str, problem: str) -> None:
        super().__init__(f"{name}: {problem}")
        self.name = name


class CorpusError(RefdeskError):
    pass


class MassDeletion(CorpusError):
    pass


class FolderUnsteady(CorpusError):
    pass


class FileGone(CorpusError):
    pass


class FileWithheld(CorpusError):
    """`line` counts from 1 in the file; None where no single line is at fault."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.reason, self.line = reason, line


class DataFolderError(RefdeskError):
    pass


class FolderInUse(DataFolderError):
    pass


class DenseUnavailable(RefdeskError):
    """Raised by every encoder and vector index for whatever ails it; search catches this one class. `folder`: the one
    at fault, for the log; the message is shown at /health/ready."""

    def __init__(self, message: str, folder: str | None = None) -> None:
        super().__init__(message)
        self.folder = folder


class StorageUnavailable(RefdeskError):
    def __init__(self, message: str, retry_after: int = 5) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class RequestError(RefdeskError):
    """A refusal that a client can act on. `detail` names the field and the remedy and is sent to the client."""

    def __init__(
        self, status: int, code: str, detail: str, *, retry_after: int | None = None, field: str | None = None
    ) -> None:
        super().__init__(detail)
        self.status, self.code, self.detail, self.retry_after, self.field = status, code, detail, retry_after, field


def as_request_error(error: Exception) -> RequestError:
    """What a client is told of an error: of what is unforeseen nothing, of an outage when to try again."""
    if isinstance(error, RequestError):
        return error
    if isinstance(error, StorageUnavailable):
        detail = "The store does not answer now; try again."
        return RequestError(503, "storage_unavailable", detail, retry_after=error.retry_after)
    if isinstance(error, CorpusError):
        return RequestError(503, "corpus_unavailable", "The articles cannot be read now; try again.", retry_after=5)
    return RequestError(500, "internal_error", "The error was logged under this request id.")


MODEL_ERRORS = (
    "not_configured",
    "timeout",
    "overloaded",
    "rate_limited",
    "unavailable",
    "invalid_response",
    "refused",
    "unverified",
    "budget",
)
"""Every `model_error` (provenance.md)."""


class ModelFailure(RefdeskError):
    """Why there is no answer. `kind` is the visitor's `model_error` (provenance.md); `hint` is for the operator.

    `permanent`: no later call can succeed before somebody changes something (a wrong key, a spent budget)."""

    def __init__(
        self,
        kind: str,
        hint: str = "",
        *,
        status: int | None = None,
        retry_after: float | None = None,
        permanent: bool = False,
    ) -> None:
        super().__init__(f"{kind}: {hint}" if hint else kind)
        self.kind, self.hint, self.status, self.retry_after = kind, hint, status, retry_after
        self.permanent = permanent
