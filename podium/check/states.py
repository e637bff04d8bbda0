"""The global random states of a process: read them, and give them known values.

Only the checks do this, in a child process of their own: code that reads a global state is found
by setting that state differently before two calls, code that writes one by comparing it after.
"""

from __future__ import annotations

import json
import random
import sys

import numpy as np
from numpy.random.mtrand import get_bit_generator


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
    random.setstate(random.Random(number).getstate())
    get_bit_generator().state = np.random.MT19937(number).state
    if "torch" in sys.modules:
        import torch

        torch.set_rng_state(torch.Generator().manual_seed(number).get_state())


def touched(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """Return the names of the states that differ; one that was not there before is left out."""
    return [name for name in before if before[name] != after[name]]
