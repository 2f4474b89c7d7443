"""The two built-in encoders behind ports.Embedder: onnxruntime on the CPU, no download.

A text is embedded by itself, never padded to its neighbours: on these CPUs that is the fastest, and a vector does not
depend on what was embedded with it (activations are quantised over a whole batch).
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from sentencepiece import SentencePieceProcessor
from tokenizers import Tokenizer

from refdesk.adapters.encoder_files import E5, MINILM, EncoderSource, ensure
from refdesk.adapters.quiet_onnxruntime import onnxruntime
from refdesk.adapters.word_table import WordTable
from refdesk.errors import DenseUnavailable

Vectors: TypeAlias = NDArray[np.float32]
Tokenize: TypeAlias = Callable[[str], list[int]]

REMEMBERED = 1024
"""Question vectors kept (1.5 MB): starter questions, repeated ones, the follow-up's second search."""
E5_TOKENS, MINILM_TOKENS = 512, 256
"""The longest texts the models were trained on."""


class OnnxEmbedder:
    """`threads`: texts embedded at the same time. Safe to call from several threads."""

    def __init__(self, source: EncoderSource, folder: Path, tokenize: Tokenize, *, threads: int = 1) -> None:
        self.model_id = source.model_id
        self._tokenize, self._prefixes = tokenize, (source.query_prefix, source.passage_prefix)
        self._words = WordTable(folder / "words.bin")
        self._places = np.load(folder / "places.npy")
        self._session = onnxruntime.InferenceSession(str(folder / "encoder.onnx"), _options())
        self._pool = ThreadPoolExecutor(threads, "embed") if threads > 1 else None
        self._recent: OrderedDict[str, Vectors] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def dimensions(self) -> int:
        return int(self._places.shape[1])

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self._stacked([self._remembered(text) for text in texts])

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        prefixed = [self._prefixes[1] + text for text in texts]
        return self._stacked(list((self._pool.map if self._pool else map)(self._embed, prefixed)))

    def remembers(self, query: str) -> bool:
        return query in self._recent

    def _stacked(self, vectors: list[Vectors]) -> Vectors:
        return np.stack(vectors) if vectors else np.empty((0, self.dimensions), np.float32)

    def _remembered(self, text: str) -> Vectors:
        with self._lock:
            if text in self._recent:
                self._recent.move_to_end(text)
                return self._recent[text]
        vector = self._embed(self._prefixes[0] + text)
        with self._lock:
            self._recent[text] = vector
            if len(self._recent) > REMEMBERED:
                self._recent.popitem(last=False)
        return vector

    def _embed(self, text: str) -> Vectors:
        try:
            tokens = self._tokenize(text)
            vectors = self._words.vectors(tokens) + self._places[: len(tokens)]
            inputs = {"token_vectors": vectors[None], "attention_mask": np.ones((1, len(tokens)), np.int32)}
            vector: Vectors = self._session.run(None, inputs)[0][0]
        except Exception as error:  # onnxruntime's own classes have no public base
            raise DenseUnavailable(f"{self.model_id} failed: {error}") from error
        if not np.isfinite(vector).all():
            raise DenseUnavailable(f"{self.model_id} gave a vector that is not a number")
        return vector


def load_e5(cache: Path, *, threads: int = 1) -> OnnxEmbedder:
    """For every language. Raises DenseUnavailable, as the next does."""
    return _load(E5, cache, _e5_tokenizer, threads)


def load_minilm(cache: Path, *, threads: int = 1) -> OnnxEmbedder:
    """For English questions on English text, where it is much the better of the two."""
    return _load(MINILM, cache, _minilm_tokenizer, threads)


def _load(source: EncoderSource, cache: Path, tokenizer: Callable[[Path], Tokenize], threads: int) -> OnnxEmbedder:
    folder = ensure(source, cache)
    try:
        return OnnxEmbedder(source, folder, tokenizer(folder), threads=threads)
    except Exception as error:  # onnxruntime's own classes have no public base
        raise DenseUnavailable(f"{source.name} cannot be loaded: {error}") from error


def _e5_tokenizer(folder: Path) -> Tokenize:
    model = SentencePieceProcessor(model_file=str(folder / "tokenizer.model"))
    begin, end = model.bos_id(), model.eos_id()

    def tokenize(text: str) -> list[int]:
        return [begin, *model.encode(_storable(text))[: E5_TOKENS - 2], end]

    return tokenize


def _minilm_tokenizer(_: Path) -> Tokenize:
    model = Tokenizer.from_str(files("refdesk.adapters").joinpath("data/minilm-tokenizer.json").read_text("utf-8"))
    model.no_padding()
    model.enable_truncation(MINILM_TOKENS)

    def tokenize(text: str) -> list[int]:
        return list(model.encode(_storable(text)).ids)

    return tokenize


def _storable(text: str) -> str:
    """Without lone surrogates, which no tokenizer takes."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _options() -> onnxruntime.SessionOptions:
    """One thread a text, and nobody spins: the server has other work for its cores."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.enable_cpu_mem_arena = False
    return options
