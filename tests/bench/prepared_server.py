"""`refdesk serve` whose encoders have seen the questions already, so that a question costs what search costs.

    python tests/bench/prepared_server.py QUESTIONS --port 8800 --corpus FOLDER …      (what `refdesk serve` takes)

QUESTIONS is a file of a JSON list of texts. The other servers of a comparison use an embedder that costs next to
nothing and finds next to nothing; this one costs as little, and the product's search is what is left. It remembers no
search yet.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from refdesk import cli
from refdesk.adapters import dense_backend, onnx_embedder


def main() -> int:
    questions: list[str] = json.loads(Path(sys.argv[1]).read_text())
    onnx_embedder.REMEMBERED = 2 * len(questions)
    loaded = dense_backend.DenseBackend.embedders

    def prepared(backend: Any) -> dict[str, Any]:
        made = loaded(backend)
        for embedder in made.values():
            embedder.embed_queries(questions)
        return made

    dense_backend.DenseBackend.embedders = prepared  # type: ignore[method-assign]
    return cli.main(["serve", *sys.argv[2:]])


if __name__ == "__main__":
    sys.exit(main())
