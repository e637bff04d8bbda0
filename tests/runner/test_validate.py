from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from podium.declarations.task import ArraySpec
from podium.runner.validate import array_faults, named_lengths, read_only, with_declared_integers


def spec(**changes: Any) -> ArraySpec:
    fields: dict[str, Any] = {"name": "y", "dtype": "float64", "shape": ("n", 3)}
    return ArraySpec(**{**fields, **changes})


GOOD = np.zeros((4, 3))


def test_a_sound_array_has_no_fault() -> None:
    assert array_faults([spec()], {"y": GOOD}, {"n": 4}) == []


def test_all_faults_are_listed_at_once() -> None:
    broken = np.full((5, 2), np.nan, dtype="float32")
    faults = array_faults([spec(), spec(name="z")], {"y": broken, "extra": GOOD}, {"n": 4})
    text = "\n".join(faults)
    assert len(faults) == 6
    for part in (
        "y: dtype float32, expected float64",
        "y: length 5 along axis 0, expected n = 4",
        "y: length 2 along axis 1, expected 3",
        "y: 10 values are not finite, the first (nan) at [0, 0]",
        "z: missing, expected float64 of shape [n, 3]",
        "'extra': unexpected, the task declares y, z",
    ):
        assert part in text


@pytest.mark.parametrize(
    ("value", "part"),
    [
        ([[1.0]], "list, expected a numpy.ndarray"),
        (None, "NoneType, expected"),
        (np.ma.masked_array(GOOD), "MaskedArray"),
        (np.float64(1.0), "numpy.float64, expected a numpy.ndarray"),
        (np.zeros(4), "1 dimensions, expected float64 of shape [n, 3]"),
        (np.zeros((4, 3), dtype=">f8"), "dtype >f8, expected float64"),
        (np.zeros((4, 3), dtype=object), "dtype object, expected float64"),
    ],
)
def test_what_is_no_such_array_is_named(value: object, part: str) -> None:
    (fault,) = array_faults([spec()], {"y": value}, {"n": 4})
    assert part in fault


def test_words_bind_across_arrays() -> None:
    specs = [spec(), spec(name="z", shape=("n",))]
    assert array_faults(specs, {"y": GOOD, "z": np.zeros(4)}, None) == []
    (fault,) = array_faults(specs, {"y": GOOD, "z": np.zeros(5)}, None)
    assert "z: length 5 along axis 0, expected n = 4" in fault
    assert named_lengths(specs, {"y": GOOD, "z": np.zeros(4)}) == {"n": 4}


def test_known_lengths_are_not_changed() -> None:
    known = {"n": 4}
    array_faults([spec(shape=("n", "m"))], {"y": GOOD}, known)
    assert known == {"n": 4}


def test_optional_range_and_text() -> None:
    assert array_faults([spec(optional=True)], {}, None) == []
    limited = spec(minimum=0.0, maximum=1.0)
    values = GOOD.copy()
    values[1, 2], values[3, 0] = -0.5, 7.0
    (fault,) = array_faults([limited], {"y": values}, None)
    assert fault == "y: 2 values outside [0, 1], the first (-0.5) at [1, 2]"
    text = spec(dtype="str", shape=("n",))
    assert array_faults([text], {"y": np.array(["a", "bc"])}, None) == []
    assert array_faults([text], {"y": np.zeros(2)}, None) == ["y: dtype float64, expected str"]


def test_infinity_is_allowed_where_declared_and_named_once() -> None:
    values = GOOD.copy()
    values[2, 1] = np.inf
    assert array_faults([spec(finite=False)], {"y": values}, None) == []
    (fault,) = array_faults([spec(maximum=1.0)], {"y": values}, None)
    assert "1 values are not finite, the first (inf) at [2, 1]" in fault


@given(
    hnp.arrays(
        np.float64,
        hnp.array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=6),
        elements=st.floats(width=64),
    ),
    st.booleans(),
)
def test_faults_agree_with_numpy(values: np.ndarray[Any, Any], fortran: bool) -> None:
    array = np.asfortranarray(values) if fortran else values
    faults = array_faults([spec(shape=("n", "m"), minimum=-1.0)], {"y": array}, None)
    bad = ~np.isfinite(values)
    low = np.isfinite(values) & (values < -1.0)
    assert any("not finite" in f for f in faults) == bool(bad.any())
    assert any("outside" in f for f in faults) == bool(low.any())
    for mask, word in ((bad, "not finite"), (low, "outside")):
        if mask.any():
            first = [int(i) for i in np.argwhere(mask)[0]]
            (fault,) = [f for f in faults if word in f]
            assert fault.startswith(f"y: {mask.sum()} values")
            assert fault.endswith(f"at [{first[0]}, {first[1]}]")


def test_a_read_only_array_stays_so() -> None:
    base = np.zeros(3)
    view = read_only(base)
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1
    with pytest.raises(ValueError, match="WRITEABLE"):
        view.flags.writeable = True
    with pytest.raises(ValueError, match="read-only"):
        base[0] = 1


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint8", "uint64", ">i8", "int64"])
def test_integers_that_fit_are_taken_in_the_declared_dtype(dtype: str) -> None:
    given = np.array([0, 1, 127], dtype=dtype)
    whole = spec(dtype="int64", shape=("n",))
    fitted = with_declared_integers([whole], {"y": given})
    assert array_faults([whole], fitted, {"n": 3}) == []
    np.testing.assert_array_equal(fitted["y"], given)


@pytest.mark.parametrize(
    ("declared", "given"),
    [
        ("int64", np.array([2**63], dtype="uint64")),
        ("int32", np.array([-(2**31) - 1])),
        ("uint8", np.array([-1])),
        ("int64", np.array([1.0])),
        ("int64", np.array([True])),
        ("float64", np.array([1])),
        ("float64", np.array([1.0], dtype="float32")),
    ],
)
def test_what_does_not_fit_is_left_as_it_is(declared: str, given: np.ndarray[Any, Any]) -> None:
    whole = spec(dtype=declared, shape=("n",))
    fitted = with_declared_integers([whole], {"y": given})
    assert fitted["y"] is given
    (fault,) = array_faults([whole], fitted, {"n": 1})
    assert f"dtype {given.dtype}, expected {declared}" in fault


def test_an_empty_array_of_integers_fits() -> None:
    whole = spec(dtype="uint8", shape=("n",))
    fitted = with_declared_integers([whole], {"y": np.zeros(0, dtype="int64")})
    assert array_faults([whole], fitted, {"n": 0}) == []
