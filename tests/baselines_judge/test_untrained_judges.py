"""The judges that train nothing, and the controls."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import RidgeCV
from sklearn.preprocessing import StandardScaler

from podium.baselines.human_ceiling import method as human_ceiling
from podium.baselines.ridge import method as ridge
from podium.baselines.scale_mean import method as scale_mean
from podium.baselines.shuffled_labels import method as shuffled_labels
from podium.baselines.text_length import method as text_length
from podium.baselines.vader import method as vader
from podium.contracts import Array, Problem
from podium.errors import InputError
from podium.judging.items import read_items
from podium.seeding import generator

JUDGES = (ridge, shuffled_labels, scale_mean, text_length, vader)


class UntrainedContext:
    """One seed."""

    device = "cpu"
    threads = 1
    scratch = Path("unused")
    budget_left = float("inf")

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def rng(self, name: str) -> np.random.Generator:
        return generator(self.seed, name)

    def torch_generator(self, name: str, device: str | None = None) -> Any:
        raise AssertionError(f"nothing is trained: {name} {device}")

    def log(self, step: int, **values: float) -> None:
        raise AssertionError(f"nothing is trained: {step} {values}")

    def progress(self, done: float, total: float, note: str = "") -> None:
        assert 0 <= done <= total
        assert note

    def emit(self, name: str, chunk: Array) -> None:
        raise AssertionError(f"predictions are small: {name} {chunk.shape}")


def rated_problem(items: int = 60, train: int = 200, **changes: Array) -> Problem:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(items + train, 5)).astype(np.float32)
    y = np.clip(x @ np.array([1.0, -1, 0.5, 0, 0]), -4, 4)
    texts = np.array([("good " if v > 0 else "bad ") * (1 + round(abs(v))) + "." for v in y])
    public: dict[str, Array] = {
        "ids": np.array([f"id {row}" for row in range(items)]),
        "texts": texts[train:],
        "rubric": np.array(["Rate the sentiment."]),
        "levels": np.arange(-4.0, 5.0),
        "train_texts": texts[:train],
        "train_scores": y[:train].astype(np.float64),
        "features": x[train:, None],
        "train_features": x[:train, None],
        "lengths": np.ones(items, np.int64),
        "train_lengths": np.ones(train, np.int64),
        "embeddings": x[train:],
        "train_embeddings": x[:train],
    }
    for array in public.values():
        array.flags.writeable = False
    return Problem("judge_correlation", "test", "smoke", {**public, **changes})


@pytest.mark.parametrize("judge", JUDGES, ids=lambda judge: judge.__name__.split(".")[-2])
def test_judges_score_every_item_on_the_scale(judge: ModuleType) -> None:
    problem = rated_problem()
    found = judge.run(problem, UntrainedContext())
    assert np.array_equal(found["ids"], problem.public["ids"])
    assert found["scores"].dtype == np.float64
    assert (np.abs(found["scores"]) <= 4).all()


@pytest.mark.parametrize("judge", JUDGES, ids=lambda judge: judge.__name__.split(".")[-2])
def test_judges_take_an_empty_text_and_a_single_train_length(judge: ModuleType) -> None:
    texts = rated_problem().public["texts"].copy()
    texts[0] = ""
    found = judge.run(rated_problem(texts=texts), UntrainedContext())
    assert np.isfinite(found["scores"]).all()


def test_ridge_finds_a_line_and_shuffled_scores_do_not() -> None:
    problem = rated_problem()
    truth = problem.public["embeddings"] @ np.array([1.0, -1, 0.5, 0, 0])
    scores = ridge.run(problem, UntrainedContext())["scores"]
    assert np.corrcoef(scores, truth)[0, 1] > 0.99
    shuffled = [
        np.corrcoef(shuffled_labels.run(problem, UntrainedContext(seed))["scores"], truth)[0, 1]
        for seed in range(8)
    ]
    assert abs(np.mean(shuffled)) < 0.6
    assert len(set(shuffled)) == 8


def test_ridge_is_scikit_learns() -> None:
    public = rated_problem().public
    scaler = StandardScaler().fit(public["train_embeddings"].astype(np.float64))
    model = RidgeCV(np.geomspace(1e-3, 1e3, 13) * 200)
    model.fit(scaler.transform(public["train_embeddings"]), public["train_scores"])
    expected = model.predict(scaler.transform(public["embeddings"]))
    scores = ridge.run(rated_problem(), UntrainedContext())["scores"]
    assert scores == pytest.approx(np.clip(expected, -4, 4), abs=1e-5)


@pytest.mark.parametrize(
    "setting", [{"weakest": 0.0}, {"weakest": 2.0, "strongest": 1.0}, {"penalties": 0}]
)
def test_bad_penalties_are_named(setting: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="penalties"):
        ridge.run(rated_problem(), UntrainedContext(), **setting)


def test_too_few_train_items_are_named() -> None:
    with pytest.raises(InputError, match="train items"):
        ridge.run(rated_problem(train=1), UntrainedContext())
    with pytest.raises(InputError, match="train items"):
        text_length.run(rated_problem(train=0), UntrainedContext())


def test_vader_knows_good_from_bad() -> None:
    problem = rated_problem()
    for calibrated in (True, False):
        scores = vader.run(problem, UntrainedContext(), calibrated=calibrated)["scores"]
        good = np.char.startswith(problem.public["texts"], "good")
        assert scores[good].min() > scores[~good].max()
    # vaderSentiment's own example: "VADER is smart, handsome, and funny." has compound .8316.
    texts = np.array(["VADER is smart, handsome, and funny."] * 60)
    example = vader.run(rated_problem(texts=texts), UntrainedContext(), calibrated=False)
    assert example["scores"] == pytest.approx(4 * 0.8316)


def test_text_length_is_the_line_of_least_squares() -> None:
    public = rated_problem().public
    lengths, train = (np.log1p([len(t) for t in public[name]]) for name in ("texts", "train_texts"))
    expected = np.polyval(np.polyfit(train, public["train_scores"], 1), lengths)
    scores = text_length.run(rated_problem(), UntrainedContext())["scores"]
    assert scores == pytest.approx(np.clip(expected, -4, 4))
    equal = np.array(["abc"] * 200)
    flat = text_length.run(rated_problem(train_texts=equal), UntrainedContext())["scores"]
    assert np.ptp(flat) == 0


def test_scale_mean_says_nothing() -> None:
    found = scale_mean.run(rated_problem(), UntrainedContext())
    assert (found["scores"] == 0).all()
    assert found["distribution"].sum(axis=1) == pytest.approx(1.0)


def test_people_answer_nothing_themselves() -> None:
    found = human_ceiling.run(rated_problem(), UntrainedContext())
    assert np.isnan(found["scores"]).all()
    assert found["human"].tolist() == [True]
    assert set(found) == {"ids", "scores", "human"}
    assert read_items(rated_problem()).ids.size == found["ids"].size
