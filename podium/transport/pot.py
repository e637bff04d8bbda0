"""Load POT for this process alone, with numpy as its only backend."""

from __future__ import annotations

import os
from typing import Any

_OTHER_BACKENDS = ("PYTORCH", "JAX", "CUPY", "TENSORFLOW")


def load_pot() -> Any:
    """Import POT and return it.

    Every backend other than numpy is switched off first, where POT is not loaded yet: looking for
    them takes seconds and the entries do not use them.
    """
    for backend in _OTHER_BACKENDS:
        os.environ.setdefault(f"POT_BACKEND_DISABLE_{backend}", "1")
    import ot
    import ot.gromov

    return ot
