"""The encoder, against transformers; the published weights are used where they are at hand."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from podium.benchmarks import judge_correlation
from podium.data.resolver import Resolver
from podium.declarations import toml
from podium.declarations.task import TaskSpec
from podium.errors import InputError, MissingError
from podium.text.minilm import MiniLM

TEXTS = [
    "A man is eating food.",
    "",
    "The girl is carrying a baby.",
    "word " * 400,
    "Ein Text — mit Zeichen, die kein ASCII sind: ñ, 漢字, 🙂.",
    "He eats a meal.",
    "a",
]


@pytest.fixture(scope="module")
def archive() -> Path:
    spec = toml.load(Path(judge_correlation.__file__).parent / "task.toml", TaskSpec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PODIUM_OFFLINE", "1")
        try:
            return Resolver(spec.files).path("minilm/model.zip")
        except MissingError:
            pytest.skip("MiniLM's archive is not on this machine: podium run judge_correlation")


@pytest.fixture(scope="module")
def network(archive: Path) -> MiniLM:
    return MiniLM(archive)


def test_batches_do_not_matter(network: MiniLM) -> None:
    texts = [*TEXTS, *(f"{word} number {word}" for word in ("one", "two", "three") * 20)]
    first = network.encode(texts, longest=32, batch=1)
    for batch in (7, 64):
        other = network.encode(texts, longest=32, batch=batch)
        assert np.array_equal(other.lengths, first.lengths)
        assert other.tokens == pytest.approx(first.tokens, abs=1e-5)
        assert other.embeddings == pytest.approx(first.embeddings, abs=1e-6)


def test_lengths_and_embeddings(network: MiniLM) -> None:
    found = network.encode(TEXTS, longest=16)
    assert found.lengths[1] == 2  # an empty text: [CLS] and [SEP]
    assert found.lengths[3] == 16  # a long one is cut
    assert found.tokens.shape == (found.lengths.sum(), 384)
    assert np.linalg.norm(found.embeddings, axis=1) == pytest.approx(1.0, abs=1e-5)
    similar = found.embeddings @ found.embeddings.T
    assert similar[0, 5] > similar[0, 2] + 0.3  # eating food: a meal, not a baby


def test_what_utf8_cannot_hold_is_a_question_mark(network: MiniLM) -> None:
    broken, plain = network.encode(["a \ud800 b", "a ? b"], longest=8).embeddings
    assert broken == pytest.approx(plain, abs=1e-6)


def test_no_text_has_no_tokens(network: MiniLM) -> None:
    found = network.encode([], longest=8)
    assert found.tokens.shape == (0, 384)
    assert found.embeddings.shape == (0, 384)


@pytest.mark.parametrize("longest", [2, 513])
def test_a_bad_number_of_tokens_is_refused(longest: int, network: MiniLM) -> None:
    with pytest.raises(InputError, match="longest"):
        network.encode(["a"], longest=longest)


def test_transformers_agrees(
    archive: Path, network: MiniLM, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    transformers: Any = pytest.importorskip("transformers")
    # A torchvision built for another torch cannot be imported; a text model does not need it.
    for module in ("transformers.utils", "transformers.utils.import_utils"):
        monkeypatch.setattr(f"{module}.is_torchvision_available", lambda: False)
    with zipfile.ZipFile(archive) as bundle:
        for name in ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"):
            (tmp_path / name).write_bytes(bundle.read(name))
    theirs = transformers.AutoModel.from_pretrained(tmp_path).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    found = network.encode(TEXTS, longest=64)
    start = 0
    for row, text in enumerate(TEXTS):
        given = tokenizer(text, truncation=True, max_length=64, return_tensors="pt")
        with torch.inference_mode():
            states = theirs(**given).last_hidden_state[0].numpy()
        assert found.lengths[row] == len(states)
        assert found.tokens[start : start + len(states)] == pytest.approx(states, abs=1e-5)
        mean = states.mean(axis=0)
        assert found.embeddings[row] == pytest.approx(mean / np.linalg.norm(mean), abs=1e-6)
        start += len(states)


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x05\x06" + b"\0" * 18])
def test_another_file_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "model.zip"
    path.write_bytes(content)
    with pytest.raises(InputError, match="all-MiniLM-L6-v2"):
        MiniLM(path)


@pytest.mark.parametrize("words", [b"{}", b"no json"])
def test_a_damaged_member_is_refused(words: bytes, archive: Path, tmp_path: Path) -> None:
    path = tmp_path / "model.zip"
    with zipfile.ZipFile(archive) as bundle, zipfile.ZipFile(path, "w") as out:
        out.writestr("model.safetensors", bundle.read("model.safetensors"))
        out.writestr("tokenizer.json", words)
    with pytest.raises(InputError, match="all-MiniLM-L6-v2"):
        MiniLM(path)
