"""Tasks that the stock lm-eval runs, and whose metrics are ours."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from podium.contracts import Instance
from podium.errors import InputError, MissingError
from podium.judging.parsing import read_score
from podium.lm.export import task_name, write_task
from podium.metrics.agreement import kendall_tau_b, pearson, rmse, spearman

SCALE = np.arange(-4.0, 5.0)
COUNT = 24
HIDE = """
import sys
try:
    import torchvision
except Exception:
    for name in [n for n in sys.modules if n.partition(".")[0] == "torchvision"]:
        del sys.modules[name]
    sys.modules["torchvision"] = None
"""


def instance(*, shifted: bool = False) -> Instance:
    rng = np.random.default_rng(1)
    moved = np.zeros(COUNT, dtype=np.bool_)
    moved[COUNT // 2 :] = shifted
    texts = [f"text {row}: {{x}} % é" for row in range(COUNT - 1)] + [""]
    return Instance(
        public={
            "ids": np.array([f"item-{row}" for row in range(COUNT)]),
            "texts": np.array(texts),
            "rubric": np.array(["Rate it."]),
            "levels": SCALE,
        },
        hidden={"gold": rng.uniform(-4, 4, COUNT).round(1), "shifted": moved},
    )


def utils_of(folder: Path) -> Any:
    spec = importlib.util.spec_from_file_location("exported_utils", folder / "utils.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def ours(words: list[str], gold: np.ndarray) -> dict[str, float]:
    scores = np.array([read_score(text, -4, 4) for text in words])
    answered = ~np.isnan(scores)
    filled = np.where(answered, scores, 0.0)
    return {
        "pearson": pearson(filled, gold),
        "spearman": spearman(filled, gold),
        "kendall": kendall_tau_b(filled, gold),
        "rmse": rmse(filled, gold, 8.0),
        "parse_rate": float(answered.mean()),
    }


def stock(folder: Path, out: Path, model: str, *arguments: str) -> tuple[dict[str, Any], list[Any]]:
    """Run the stock command somewhere else; return its results and its log of items."""
    (out / "site").mkdir(parents=True)
    (out / "site" / "sitecustomize.py").write_text(HIDE)
    name = task_name("my-set")
    command = [sys.executable, "-m", "lm_eval", "run", "--include_path", str(folder)]
    command += ["--tasks", name, "--model", model, *arguments]
    command += ["--output_path", str(out / "results"), "--log_samples"]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    environment |= {"PYTHONPATH": str(out / "site"), "HF_HOME": str(out / "home")}
    done = subprocess.run(command, cwd=out, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    (results,) = (out / "results").rglob("results_*.json")
    (samples,) = (out / "results").rglob("samples_*.jsonl")
    rows = [json.loads(line) for line in samples.read_text().splitlines()]
    return json.loads(results.read_text())["results"][name], rows


def test_random_replies_score_as_ours(tmp_path: Path) -> None:
    built = instance(shifted=True)
    write_task(tmp_path, "my-set", "Mine", 1, built)
    utils = utils_of(tmp_path)
    rows = list(utils.load("podium_judge_my_set.jsonl")["test"])
    replies = ["4", "-2", "Score: 3.5", "nothing", "99", "", "0", "two"]
    words = [replies[row % len(replies)] for row in range(COUNT)]
    found = [utils.process_results(doc, [text]) for doc, text in zip(rows, words, strict=True)]
    here = ~built.hidden["shifted"]
    expected = ours(
        [w for w, keep in zip(words, here, strict=True) if keep], built.hidden["gold"][here]
    )
    for metric in ("pearson", "spearman", "kendall", "rmse"):
        value = getattr(utils, metric)([row[metric] for row in found])
        assert value == pytest.approx(expected[metric], abs=1e-9)
    moved = ours(
        [w for w, keep in zip(words, here, strict=True) if not keep], built.hidden["gold"][~here]
    )
    for metric in ("pearson", "rmse"):
        value = getattr(utils, metric)([row[f"{metric}_shifted"] for row in found])
        assert value == pytest.approx(moved[metric], abs=1e-9)
    assert np.mean([row["parse_rate"] for row in found]) == 5 / 8


def test_a_constant_judge_has_no_correlation(tmp_path: Path) -> None:
    write_task(tmp_path, "my-set", "Mine", 1, instance())
    utils = utils_of(tmp_path)
    rows = list(utils.load("podium_judge_my_set.jsonl")["test"])
    found = [utils.process_results(doc, [None]) for doc in rows]
    for metric in ("pearson", "spearman", "kendall"):
        assert math.isnan(getattr(utils, metric)([row[metric] for row in found]))
    assert math.isfinite(utils.rmse([row["rmse"] for row in found]))


def test_the_stock_command_agrees_on_a_dummy_model(tmp_path: Path) -> None:
    built = instance()
    write_task(tmp_path / "made", "my-set", "Mine", 1, built)
    shutil.move(tmp_path / "made", tmp_path / "moved")  # it may lie anywhere
    results, rows = stock(tmp_path / "moved", tmp_path / "out", "dummy")
    expected = ours([row["filtered_resps"][0] for row in rows], built.hidden["gold"])
    assert results["parse_rate,none"] == expected["parse_rate"] == 0
    assert results["rmse,none"] == pytest.approx(expected["rmse"], abs=1e-9)
    assert math.isnan(results["pearson,none"])
    assert math.isnan(expected["pearson"])


def test_the_stock_command_agrees_on_a_model_with_a_limit(
    tmp_path: Path, number_model: Path
) -> None:
    built = instance()
    write_task(tmp_path / "tasks", "my-set", "Mine", 1, built)
    arguments = ["--model_args", f"pretrained={number_model},dtype=float32", "--limit", "16"]
    arguments += ["--device", "cpu", "--gen_kwargs", "max_gen_toks=1,do_sample=False"]
    results, rows = stock(tmp_path / "tasks", tmp_path / "out", "hf", *arguments)
    words = [row["filtered_resps"][0] for row in sorted(rows, key=lambda row: row["doc_id"])]
    assert len(words) == 16
    expected = ours(words, built.hidden["gold"][:16])
    assert expected["parse_rate"] == 1
    assert math.isfinite(expected["pearson"])
    for metric, value in expected.items():
        assert results[f"{metric},none"] == pytest.approx(value, abs=1e-9)


def test_writing_again_replaces_and_strangers_are_left_alone(tmp_path: Path) -> None:
    write_task(tmp_path, "my-set", "Mine", 1, instance())
    write_task(tmp_path, "my-set", "Mine", 2, instance())
    assert "version: 2" in (tmp_path / "podium_judge_my_set.yaml").read_text()
    (tmp_path / "utils.py").write_text("print('mine')\n")
    with pytest.raises(InputError, match="not from an export"):
        write_task(tmp_path, "my-set", "Mine", 1, instance())
    assert (tmp_path / "utils.py").read_text() == "print('mine')\n"


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(MissingError, match="cannot be written"):
        write_task(tmp_path / "file", "my-set", "Mine", 1, instance())
