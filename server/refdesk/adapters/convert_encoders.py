"""Writes an encoder's folder: `python -m refdesk.adapters.convert_encoders NAME CACHE`. Run by encoder_files.ensure().

A separate program, so that onnx is imported by nobody else.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import struct
import sys
from pathlib import Path

import numpy as np
from sentencepiece import SentencePieceNormalizer
from sentencepiece import sentencepiece_model_pb2 as model_file

from refdesk.adapters import bert_graph, e5_weights, minilm_weights
from refdesk.adapters.bert_weights import Bert
from refdesk.adapters.e5_weights import Vocabulary
from refdesk.adapters.encoder_files import E5, FOLDER_FAULT, MANIFEST, MINILM, EncoderSource, file_sha256, whole
from refdesk.adapters.word_table import write_words
from refdesk.errors import DenseUnavailable


def convert(source: EncoderSource, cache: Path) -> None:
    """The folder is written beside its place and renamed: a reader sees all of it or nothing."""
    cache.mkdir(parents=True, exist_ok=True)
    folder = cache / source.model_id
    with (cache / f"{source.model_id}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if whole(folder):
            return
        making = cache / f"{source.model_id}.making"
        shutil.rmtree(making, ignore_errors=True)
        making.mkdir()
        _write(source, making)
        sums = {path.name: file_sha256(path) for path in sorted(making.iterdir())}
        (making / MANIFEST).write_text(json.dumps(sums))
        shutil.rmtree(folder, ignore_errors=True)
        making.rename(folder)


def _write(source: EncoderSource, folder: Path) -> None:
    data = source.read()
    try:
        if source is E5:
            bert, vocabulary = e5_weights.read(data)
            (folder / "tokenizer.model").write_bytes(_sentencepiece(vocabulary))
        else:
            bert = minilm_weights.read(data)
    except (struct.error, ValueError, KeyError, StopIteration) as error:
        raise DenseUnavailable(f"the weights of {source.name} have an unknown format: {error!r}") from error
    _write_encoder(bert, folder)


def _write_encoder(bert: Bert, folder: Path) -> None:
    (folder / "encoder.onnx").write_bytes(bert_graph.encoder(bert))
    write_words(bert.words, folder / "words.bin")
    np.save(folder / "places.npy", bert.places)


def _sentencepiece(vocabulary: Vocabulary) -> bytes:
    """A model file for the sentencepiece library: it holds this vocabulary in 40 MB, where `tokenizers` takes 300."""
    made = model_file.ModelProto()  # type: ignore[attr-defined]  # made at import
    rule = SentencePieceNormalizer(rule_name="nmt_nfkc").serialized_model_proto()
    made.normalizer_spec.CopyFrom(type(made).FromString(rule).normalizer_spec)
    made.normalizer_spec.add_dummy_prefix = True
    made.normalizer_spec.remove_extra_whitespaces = True
    made.normalizer_spec.escape_whitespaces = True
    kinds = type(made).SentencePiece
    control = {vocabulary.begin, vocabulary.end, vocabulary.padding, len(vocabulary.pieces) - 1}  # the last is <mask>
    for number, (piece, score) in enumerate(vocabulary.pieces):
        kind = kinds.CONTROL if number in control else kinds.NORMAL
        made.pieces.add(piece=piece, score=score, type=kinds.UNKNOWN if number == vocabulary.unknown else kind)
    trainer = made.trainer_spec
    trainer.model_type, trainer.vocab_size = trainer.UNIGRAM, len(vocabulary.pieces)
    trainer.bos_id, trainer.eos_id, trainer.pad_id = vocabulary.begin, vocabulary.end, vocabulary.padding
    trainer.unk_id = vocabulary.unknown
    trainer.bos_piece, trainer.eos_piece, trainer.pad_piece = "<s>", "</s>", "<pad>"
    return bytes(made.SerializeToString())


def main() -> int:
    name, cache = sys.argv[1:]
    os.nice(5)
    try:
        convert({source.name: source for source in (E5, MINILM)}[name], Path(cache))
    except DenseUnavailable as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:  # without its path: visitors may read it
        print(error.strerror or type(error).__name__, file=sys.stderr)
        return FOLDER_FAULT
    return 0


if __name__ == "__main__":
    sys.exit(main())
