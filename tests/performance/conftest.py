"""The field's own implementations, imported as the tests of the metrics import them."""

from __future__ import annotations

import importlib.util
from pathlib import Path

_spec = importlib.util.spec_from_file_location(
    "peers_of_metrics", Path(__file__).parents[1] / "metrics" / "conftest.py"
)
assert _spec is not None
assert _spec.loader is not None
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)

peer = _module.peer
