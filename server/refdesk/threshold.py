"""The owner's threshold of the gate, in the data folder: `refdesk calibrate --set` writes it, every start and every
sync hands it to the snapshot that serves.

It outlives the generations of the index: what counts as evidence is measured anew for each of them (against what
off-topic questions reach there), and so one threshold stays good while articles come and go.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import structlog

from refdesk.domain.gate import OwnThreshold
from refdesk.errors import DataFolderError

FILE = "threshold.json"

log = structlog.get_logger()


def own_threshold(data: Path) -> OwnThreshold | None:
    """None: the built-in one. A file that cannot be used is no reason not to serve: it is named in the log."""
    try:
        kept = msgspec.json.decode((data / FILE).read_bytes(), type=OwnThreshold)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError) as error:
        log.warning("threshold unusable", file=str(data / FILE), reason=str(error))
        return None
    return kept if 0 < kept.threshold < 1 else None


def keep_threshold(data: Path, chosen: OwnThreshold | None) -> None:
    """None: back to the built-in one. Raises DataFolderError."""
    path = data / FILE
    try:
        if chosen is None:
            path.unlink(missing_ok=True)
            return
        data.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".unfinished")
        unfinished.write_bytes(msgspec.json.encode(chosen) + b"\n")
        unfinished.replace(path)
    except OSError as error:
        raise DataFolderError(f"{path} cannot be written ({error.strerror})") from error
