"""Vectors of questions, each embedded once in the life of a server."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from refdesk.domain.gap_grouping import Encoded, Vectors
from refdesk.domain.gap_nearness import Matrix
from refdesk.domain.gap_wordings import without_preamble
from refdesk.errors import DenseUnavailable
from refdesk.ports import ENGLISH, MULTILINGUAL, Embedder
from refdesk.retrieval.baselines import off_topic

Embedders = Mapping[str, Embedder]


class Encoding:
    """Blocking: 5 to 10 ms for a question that is new. `embedders`: empty while there are none."""

    def __init__(self, embedders: Callable[[], Embedders]) -> None:
        self._embedders = embedders
        self._known: dict[tuple[str, str], Matrix] = {}
        self._stopped = False

    def stop(self) -> None:
        """The server ends: whoever waits for vectors gets DenseUnavailable."""
        self._stopped = True

    def encoded(self, questions: Sequence[str], languages: Sequence[str]) -> Encoded | None:
        """None: no encoders. Raises DenseUnavailable."""
        embedders = self._embedders()
        if not embedders:
            return None
        asked = [without_preamble(*question) for question in zip(questions, languages, strict=True)]
        beside = {
            name: {spoken: self._vectors(embedders, name, texts) for spoken, texts in off_topic().items()}
            for name in (MULTILINGUAL,)
        }
        beside[ENGLISH] = {"en": self._vectors(embedders, ENGLISH, off_topic()["en"])}
        everywhere = self._vectors(embedders, MULTILINGUAL, asked)
        english = np.zeros((len(asked), embedders[ENGLISH].dimensions), np.float32)
        rows = [row for row, language in enumerate(languages) if language == "en"]
        if rows:
            english[rows] = self._vectors(embedders, ENGLISH, [asked[row] for row in rows])
        self._forget({*asked, *(text for texts in off_topic().values() for text in texts)})
        return Encoded(Vectors(everywhere, beside[MULTILINGUAL]), Vectors(english, beside[ENGLISH]))

    def _vectors(self, embedders: Embedders, name: str, texts: Sequence[str]) -> Matrix:
        for text in texts:
            if self._stopped:
                raise DenseUnavailable("the server ends")
            if (name, text) not in self._known:
                self._known[name, text] = embedders[name].embed_queries([text])[0]
        return np.stack([self._known[name, text] for text in texts])

    def _forget(self, kept: set[str]) -> None:
        """What is no longer in the queue: erased questions leave the memory too."""
        self._known = {key: vector for key, vector in self._known.items() if key[1] in kept}
