"""POT with numpy as its only backend; import this module only where POT is used.

Entries name it as their ``preload``, so that loading POT is no part of a run's time.
"""

from __future__ import annotations

import os
from typing import Any

_OTHER_BACKENDS = ("PYTORCH", "JAX", "CUPY", "TENSORFLOW")


def _load() -> Any:
    """Switch off, where POT is not loaded yet, the backends that take seconds to look for."""
    for backend in _OTHER_BACKENDS:
        os.environ.setdefault(f"POT_BACKEND_DISABLE_{backend}", "1")
    import ot
    import ot.gromov

    return ot


ot: Any = _load()
