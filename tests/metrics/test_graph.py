"""The graph metrics: golden predictors, identities, and agreement with scikit-learn."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.metrics import average_precision_score, roc_auc_score

from podium.contracts import Undefined
from podium.errors import InputError
from podium.metrics.graph import auprc, auroc, structural_hamming_distance

Diagonal = Literal["keep", "drop"]
GRAPH = np.array([[1, 1, 0, 0], [0, 1, 0, 1], [1, 0, 1, 0], [0, 0, 1, 1]], dtype=np.uint8)


def reason(value: float) -> str:
    assert isinstance(value, Undefined)
    assert math.isnan(value)
    return value.reason


@st.composite
def scored_graphs(draw: st.DrawFn) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Scores with many ties, and a graph with both classes off the diagonal."""
    d = draw(st.integers(2, 6))
    values = st.one_of(st.integers(-2, 2).map(float), st.floats(-1e6, 1e6))
    scores = draw(hnp.arrays(np.float64, (d, d), elements=values))
    graph = draw(hnp.arrays(np.bool_, (d, d)))
    graph[0, 1], graph[1, 0] = True, False
    return scores, graph


@pytest.mark.parametrize("diagonal", ["keep", "drop"])
def test_golden_predictors(diagonal: Diagonal) -> None:
    oracle = GRAPH.astype(np.float64)
    off = ~np.eye(4, dtype=bool)
    share = GRAPH.mean() if diagonal == "keep" else GRAPH[off].mean()
    assert auroc(oracle, GRAPH, diagonal=diagonal) == 1.0
    assert auprc(oracle, GRAPH, diagonal=diagonal) == 1.0
    assert auroc(-oracle, GRAPH, diagonal=diagonal) == 0.0
    assert auroc(np.full((4, 4), 7.0), GRAPH, diagonal=diagonal) == 0.5
    assert auprc(np.full((4, 4), 7.0), GRAPH, diagonal=diagonal) == pytest.approx(share)


def test_random_scores_are_worth_a_half() -> None:
    rng = np.random.default_rng(0)
    graph = rng.random((200, 200)) < 0.3
    # The standard deviation of AUROC at 40,000 pairs is about .003.
    assert auroc(rng.random((200, 200)), graph, diagonal="keep") == pytest.approx(0.5, abs=0.015)
    assert auprc(rng.random((200, 200)), graph, diagonal="keep") == pytest.approx(0.3, abs=0.015)


def test_by_hand() -> None:
    # Off the diagonal: edges score 4, 2, 2, 1; non-edges 3, 2, 0, ... (ties of 2 are halves).
    graph = np.array([[0, 1, 0], [1, 0, 0], [0, 1, 0]])
    scores = np.array([[9.0, 4.0, 3.0], [2.0, 9.0, 2.0], [0.0, 1.0, 9.0]])
    # Pairs: 4 beats 3, 2, 0; 2 loses to 3, ties 2, beats 0; 1 beats 0 only: (3 + 1.5 + 1) / 9.
    assert auroc(scores, graph, diagonal="drop") == pytest.approx(5.5 / 9)
    # Thresholds 4, 3, 2, 1: recall gains 1/3, 0, 1/3, 1/3 at precisions 1, 1/2, 2/4, 3/5.
    assert auprc(scores, graph, diagonal="drop") == pytest.approx((1 + 2 / 4 + 3 / 5) / 3)


def test_the_diagonal_rule_decides() -> None:
    graph = np.array([[1, 0], [1, 1]])
    scores = np.array([[0.0, 1.0], [2.0, 0.0]])
    assert auroc(scores, graph, diagonal="drop") == 1.0
    assert auroc(scores, graph, diagonal="keep") == pytest.approx(1 / 3)


@given(scored_graphs(), st.sampled_from(["keep", "drop"]))
def test_agrees_with_scikit_learn(
    case: tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]], diagonal: Diagonal
) -> None:
    scores, graph = case
    mask = np.ones_like(graph)
    if diagonal == "drop":
        np.fill_diagonal(mask, False)
    s, y = scores[mask], graph[mask]
    assert auroc(scores, graph, diagonal=diagonal) == pytest.approx(roc_auc_score(y, s), abs=1e-12)
    assert auprc(scores, graph, diagonal=diagonal) == pytest.approx(
        average_precision_score(y, s), abs=1e-12
    )


@given(scored_graphs(), st.randoms(use_true_random=False))
def test_invariances(case: tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]], rnd: Any) -> None:
    scores, graph = case
    order = list(range(len(graph)))
    rnd.shuffle(order)
    both = np.ix_(order, order)
    # Ranks are a monotone map that keeps ties exactly, whatever the scale.
    ranks = np.unique(scores, return_inverse=True)[1].reshape(scores.shape) * 3.0 - 5.0
    for metric in (auroc, auprc):
        value = metric(scores, graph, diagonal="drop")
        assert metric(scores[both], graph[both], diagonal="drop") == pytest.approx(value, abs=1e-12)
        assert metric(ranks, graph, diagonal="drop") == pytest.approx(value, abs=1e-12)
    flipped = auroc(-scores, graph, diagonal="drop")
    assert flipped == pytest.approx(1 - auroc(scores, graph, diagonal="drop"), abs=1e-12)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int64, np.bool_])
def test_other_dtypes(dtype: type) -> None:
    levels = np.arange(16).reshape(4, 4) % 5
    scores = (levels > 2) if dtype is np.bool_ else levels
    value = auroc(scores.astype(np.float64), GRAPH, diagonal="keep")
    assert auroc(scores.astype(dtype), GRAPH.astype(np.bool_), diagonal="keep") == value


def test_float16_counts_are_exact() -> None:
    # 300 x 300 pairs overflow float16 if ranks are summed in the scores' own dtype.
    rng = np.random.default_rng(0)
    scores = rng.random((300, 300)).astype(np.float16)
    graph = rng.random((300, 300)) < 0.5
    expected = roc_auc_score(graph.ravel(), scores.astype(np.float64).ravel())
    assert auroc(scores, graph, diagonal="keep") == pytest.approx(expected, abs=1e-12)


def test_infinite_scores_are_the_ends_of_the_order() -> None:
    graph = np.array([[0, 1], [0, 0]])
    scores = np.array([[0.0, np.inf], [-np.inf, 0.0]])
    assert auroc(scores, graph, diagonal="drop") == 1.0
    assert auprc(scores, graph, diagonal="drop") == 1.0


def test_undefined_says_why() -> None:
    ones, zeros = np.ones((3, 3)), np.zeros((3, 3))
    scores = np.arange(9.0).reshape(3, 3)
    assert "non-edge" in reason(auroc(scores, ones, diagonal="keep"))
    assert "no scored pair is an edge" in reason(auroc(scores, zeros, diagonal="keep"))
    assert "no scored pair is an edge" in reason(auprc(scores, zeros, diagonal="keep"))
    assert auprc(scores, ones, diagonal="keep") == 1.0
    for metric in (auroc, auprc):
        assert "no pair" in reason(metric(np.zeros((0, 0)), np.zeros((0, 0)), diagonal="keep"))
        assert "no pair" in reason(metric([[1.0]], [[1]], diagonal="drop"))
        holed = scores.copy()
        holed[0, 1] = np.nan
        assert "1 of 9 scores are NaN" in reason(metric(holed, np.eye(3), diagonal="keep"))
    # A NaN that is not scored does no harm.
    holed = np.where(np.eye(3) == 1, np.nan, scores)
    assert auroc(holed, np.tri(3, k=-1), diagonal="drop") >= 0


def test_one_item() -> None:
    assert "non-edge" in reason(auroc([[1.0]], [[1]], diagonal="keep"))


@pytest.mark.parametrize(
    ("scores", "graph", "diagonal", "words"),
    [
        (np.ones((2, 3)), np.eye(2), "keep", "differ in shape"),
        (np.ones(4), np.eye(2), "keep", "differ in shape"),
        (np.ones((2, 3)), np.ones((2, 3)), "keep", "square"),
        (np.ones((2, 2)), np.full((2, 2), 0.5), "keep", "0 and 1"),
        (np.ones((2, 2)), np.eye(2), "ignore", "diagonal"),
    ],
)
def test_bad_input(scores: Any, graph: Any, diagonal: Any, words: str) -> None:
    for metric in (auroc, auprc):
        with pytest.raises(InputError, match=words):
            metric(scores, graph, diagonal=diagonal)


def edges(*pairs: tuple[int, int], size: int = 3) -> npt.NDArray[np.uint8]:
    graph = np.zeros((size, size), dtype=np.uint8)
    for target, source in pairs:
        graph[target, source] = 1
    return graph


def test_hamming_by_hand() -> None:
    def shd(a: Any, b: Any, diagonal: Diagonal, reversed_as: Literal[1, 2]) -> float:
        return structural_hamming_distance(a, b, diagonal=diagonal, reversed_as=reversed_as)

    empty, one, back = edges(), edges((0, 1)), edges((1, 0))
    both = edges((0, 1), (1, 0))
    assert shd(one, one, "keep", 1) == 0.0
    assert shd(empty, one, "drop", 1) == 1.0
    assert shd(one, back, "drop", 1) == 1.0
    assert shd(one, back, "drop", 2) == 2.0
    # Both directions against none are two missing edges under either rule.
    assert shd(both, empty, "drop", 1) == 2.0
    assert shd(both, one, "drop", 1) == 1.0
    loop = edges((2, 2))
    assert shd(loop, empty, "keep", 1) == 1.0
    assert shd(loop, empty, "drop", 1) == 0.0


@given(
    hnp.arrays(np.bool_, (4, 4)),
    hnp.arrays(np.bool_, (4, 4)),
    hnp.arrays(np.bool_, (4, 4)),
    st.sampled_from(["keep", "drop"]),
    st.sampled_from([1, 2]),
)
def test_hamming_is_a_metric(
    a: Any, b: Any, c: Any, diagonal: Diagonal, reversed_as: Literal[1, 2]
) -> None:
    def shd(x: Any, y: Any) -> float:
        return structural_hamming_distance(x, y, diagonal=diagonal, reversed_as=reversed_as)

    assert shd(a, a) == 0
    assert shd(a, b) == shd(b, a) == shd(a.T, b.T)
    assert shd(a, c) <= shd(a, b) + shd(b, c)
    if reversed_as == 2 and diagonal == "keep":
        assert shd(a, b) == (a != b).sum()


def test_hamming_refuses() -> None:
    three: Any = 3
    with pytest.raises(InputError, match="reversed_as"):
        structural_hamming_distance(edges(), edges(), diagonal="drop", reversed_as=three)
    with pytest.raises(InputError, match="differ in shape"):
        structural_hamming_distance(edges(), edges(size=4), diagonal="drop", reversed_as=1)
    assert "no pair" in reason(
        structural_hamming_distance([[1]], [[0]], diagonal="drop", reversed_as=1)
    )
