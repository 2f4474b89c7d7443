"""The built widget is the one of these sources: noticed here too by those who have no Node."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path

WIDGET = Path(__file__).parents[1] / "widget"
REMEDY = "run `npm ci && npm run build` in widget/ and commit widget/dist"


def test_the_built_widget_belongs_to_its_sources() -> None:
    meta = json.loads((WIDGET / "dist" / "refdesk.meta.json").read_text())
    names = [*sorted(f"src/{path.name}" for path in (WIDGET / "src").iterdir()), "build.mjs", "package-lock.json"]
    digest = hashlib.sha256()
    for name in names:
        digest.update(name.encode() + b"\0" + (WIDGET / name).read_bytes() + b"\0")
    assert meta["source_sha256"] == digest.hexdigest(), REMEDY


def test_the_built_file_is_the_one_that_was_measured() -> None:
    meta = json.loads((WIDGET / "dist" / "refdesk.meta.json").read_text())
    script = (WIDGET / "dist" / "refdesk.js").read_bytes()
    assert meta["sha256"] == hashlib.sha256(script).hexdigest(), REMEDY
    assert len(gzip.compress(script, 9)) <= 36 * 1024


def test_the_lock_file_names_no_registry() -> None:
    assert '"resolved"' not in (WIDGET / "package-lock.json").read_text()
