"""The global random states of a process: read them, and give them known values.

Only the checks do this, in a child process of their own: code that reads a global state is found
by setting that state differently before two calls, code that writes one by comparing it after.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import random
import sys
from pathlib import Path

import numpy as np
from numpy.random.mtrand import get_bit_generator

_UNUSUAL = 982_451_653
"""Added to a number that states are set from: code that seeds with 0 or 1 must change the state."""


def read_states() -> dict[str, str]:
    """Return the global random states as text, under the names a person knows them by.

    torch is asked only where it is loaded: code that never imports it cannot touch it.
    """
    states = {
        "random": repr(random.getstate()),
        "numpy.random": json.dumps(
            get_bit_generator().state, default=np.ndarray.tolist, sort_keys=True
        ),
    }
    if "torch" in sys.modules:
        import torch

        states["torch"] = torch.get_rng_state().numpy().tobytes().hex()
    return states


def set_states(number: int) -> None:
    """Set every global random state from ``number`` (>= 0)."""
    number += _UNUSUAL
    random.setstate(random.Random(number).getstate())
    get_bit_generator().state = np.random.MT19937(number).state
    if "torch" in sys.modules:
        import torch

        torch.set_rng_state(torch.Generator().manual_seed(number).get_state())


def touched(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """Return the names of the states that differ; one that was not there before is left out."""
    return [name for name in before if before[name] != after[name]]


def touched_on_import(folder: Path) -> list[str]:
    """Return the states that the modules of a folder change as they are imported.

    Each is executed a second time, when the libraries it imports are loaded: what those do as they
    load is not the folder's doing. A module that cannot be executed twice is left out.
    """
    set_states(0)
    before = read_states()
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if file is not None and Path(file).is_relative_to(folder):
            with contextlib.suppress(Exception):
                importlib.reload(module)
    return touched(before, read_states())
