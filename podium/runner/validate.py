"""Arrays against the contract that a task declares for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from podium.contracts import Array
from podium.declarations.task import INTEGERS, ArraySpec

_BLOCK = 1 << 20
"""Numbers looked at in one go, so that checking an array never doubles its memory."""


def array_faults(
    specs: Sequence[ArraySpec], arrays: Mapping[str, object], dims: Mapping[str, int] | None
) -> list[str]:
    """Return every way in which ``arrays`` break ``specs``; an empty list means none.

    Checked: missing and unexpected names, plain ndarrays, dtype, number of dimensions, fixed and
    named lengths (``dims`` holds those already known; a name not in it is set by the first array
    that has it), finite numbers, and the declared range.
    """
    known = dict(dims or {})
    faults = []
    for spec in specs:
        if spec.name in arrays:
            faults += _faults(spec, arrays[spec.name], known)
        elif not spec.optional:
            faults.append(f"{spec.name}: missing, expected {_expected(spec)}")
    declared = [s.name for s in specs]
    for name in arrays:
        if name not in declared:
            faults.append(f"{name!r}: unexpected, the task declares {', '.join(declared)}")
    return faults


def with_declared_integers(
    specs: Sequence[ArraySpec], arrays: Mapping[str, object]
) -> dict[str, Any]:
    """Return ``arrays`` with integers of another size or byte order in the declared dtype.

    Converted are plain integer arrays whose every value fits; nothing else. Floats stay as they
    are: float32 in place of float64 says that digits were lost before.
    """
    declared = {s.name: np.dtype(s.dtype) for s in specs if s.dtype in INTEGERS}
    fitted: dict[str, Any] = dict(arrays)
    for name, array in arrays.items():
        dtype = declared.get(name)
        if dtype is not None and type(array) in (np.ndarray, np.memmap):
            assert isinstance(array, np.ndarray)
            if array.dtype.kind in "iu" and array.dtype != dtype and _fits(array, dtype):
                fitted[name] = array.astype(dtype)
    return fitted


def _fits(array: Array, dtype: np.dtype[Any]) -> bool:
    if not array.size:
        return True
    limits = np.iinfo(dtype)
    return int(array.min()) >= limits.min and int(array.max()) <= limits.max


def named_lengths(specs: Sequence[ArraySpec], arrays: Mapping[str, Array]) -> dict[str, int]:
    """Return the length that each word of the declared shapes has in ``arrays``."""
    return {
        word: length
        for spec in specs
        if spec.name in arrays
        for word, length in zip(spec.shape, arrays[spec.name].shape, strict=True)
        if isinstance(word, str)
    }


def read_only(array: Array) -> Array:
    """Return a view that cannot be written, of an array that no longer can be either."""
    array.flags.writeable = False
    return array.view()


def _expected(spec: ArraySpec) -> str:
    return f"{spec.dtype} of shape [{', '.join(map(str, spec.shape))}]"


def _faults(spec: ArraySpec, array: object, known: dict[str, int]) -> list[str]:
    name = spec.name
    if type(array) not in (np.ndarray, np.memmap):
        kind = f"{type(array).__module__}.{type(array).__qualname__}".removeprefix("builtins.")
        return [f"{name}: {kind}, expected a numpy.ndarray, {_expected(spec)}"]
    assert isinstance(array, np.ndarray)
    faults = []
    right = array.dtype.kind == "U" if spec.dtype == "str" else array.dtype == spec.dtype
    if not right:
        faults.append(f"{name}: dtype {array.dtype}, expected {spec.dtype}")
    if array.ndim != len(spec.shape):
        faults.append(f"{name}: {array.ndim} dimensions, expected {_expected(spec)}")
    else:
        faults += _length_faults(spec, array, known)
    if array.dtype.kind in "iufb" and array.size:
        faults += _value_faults(spec, array)
    return faults


def _length_faults(spec: ArraySpec, array: Array, known: dict[str, int]) -> list[str]:
    faults = []
    for axis, (word, length) in enumerate(zip(spec.shape, array.shape, strict=True)):
        wanted = known.setdefault(word, length) if isinstance(word, str) else word
        if length != wanted:
            label = f"{word} = {wanted}" if isinstance(word, str) else str(word)
            faults.append(f"{spec.name}: length {length} along axis {axis}, expected {label}")
    return faults


def _value_faults(spec: ArraySpec, array: Array) -> list[str]:
    """Look at the values in blocks: how many are not finite, how many out of range."""
    limits = (spec.minimum, spec.maximum)
    check_finite = spec.finite and array.dtype.kind == "f"
    if not check_finite and limits == (None, None):
        return []
    counts = {"finite": 0, "range": 0}
    first: dict[str, int] = {}
    flat = array.reshape(-1) if array.flags.c_contiguous else array.flat
    for start in range(0, array.size, _BLOCK):
        block = np.asarray(flat[start : start + _BLOCK])
        bad = {}
        if check_finite:
            bad["finite"] = ~np.isfinite(block)
        outside = np.zeros(block.shape, dtype=bool)
        if spec.minimum is not None:
            outside |= block < spec.minimum
        if spec.maximum is not None:
            outside |= block > spec.maximum
        if check_finite:
            outside &= ~bad["finite"]  # an infinity is named once, as not finite
        bad["range"] = outside
        for kind, mask in bad.items():
            found = int(np.count_nonzero(mask))
            if found:
                first.setdefault(kind, start + int(np.argmax(mask)))
                counts[kind] += found
    faults = []
    if counts["finite"]:
        where = _position(first["finite"], array)
        faults.append(f"{spec.name}: {counts['finite']} values are not finite, the first {where}")
    if counts["range"]:
        low = "-inf" if spec.minimum is None else f"{spec.minimum:g}"
        high = "inf" if spec.maximum is None else f"{spec.maximum:g}"
        where = _position(first["range"], array)
        faults.append(
            f"{spec.name}: {counts['range']} values outside [{low}, {high}], the first {where}"
        )
    return faults


def _position(index: int, array: Array) -> str:
    position = np.unravel_index(index, array.shape)
    value = array[position]
    return f"({value}) at [{', '.join(str(int(i)) for i in position)}]"
