"""Alembic scripts, inside the package so that they are in the wheel."""

HEAD = "0004"
"""The newest revision, known without importing alembic: a start on an up-to-date database stays fast."""

KNOWN = frozenset({"0001", "0002", "0003", "0004"})
"""Every revision of this version and before; any other was made by a newer version."""
