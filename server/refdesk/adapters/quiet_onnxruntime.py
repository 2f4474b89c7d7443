"""onnxruntime that keeps to itself: as delivered it gives the machine an id, kept in the user's home, and tells its
makers what runs on it. The switch is looked at while it is loaded, so it is set here, and it is imported nowhere else.
"""

from __future__ import annotations

import os

os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import onnxruntime

__all__ = ["onnxruntime"]
