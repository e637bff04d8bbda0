"""The commit that this podium was built from.

Standard library only: ``setup.py`` loads this file where nothing is installed yet.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path


def build_commit(package: Path) -> tuple[str | None, bool | None]:
    """Return the commit that the podium in ``package`` was built from, and whether it was changed.

    A wheel carries the commit in ``_build.py``. A checkout is asked itself, but only if the
    repository is Podium's own: it tracks ``podium/provenance.py`` from its root.
    Anything else, such as an environment inside somebody's repository, gives ``(None, None)``.
    """
    built = _recorded(package / "_build.py")
    if built is not None:
        return built
    # The variables would point git at another repository, for example inside a hook.
    env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    env["GIT_OPTIONAL_LOCKS"] = "0"

    def git(*words: str) -> str | None:
        command = ["git", "-C", str(package.parent), *words]
        try:
            done = subprocess.run(command, env=env, capture_output=True, timeout=20, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None

    if not (package.parent / ".git").exists():
        return None, None
    tracked = git("ls-files", "--full-name", "--error-unmatch", "podium/provenance.py")
    if tracked is None or tracked.strip() != "podium/provenance.py":
        return None, None
    status = git("status", "--porcelain=v2", "--branch", "--untracked-files=no")
    if status is None:
        return None, None
    lines = status.splitlines()
    commit = next((w.split()[2] for w in lines if w.startswith("# branch.oid ")), "(initial)")
    if commit == "(initial)":
        return None, None
    return commit, any(not line.startswith("#") for line in lines)


def _recorded(file: Path) -> tuple[str | None, bool | None] | None:
    """Read what ``setup.py`` writes into a built package, without running it."""
    if not file.is_file():
        return None
    import ast

    values: dict[str, object] = {}
    for statement in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            values[statement.targets[0].id] = ast.literal_eval(statement.value)
    commit, dirty = values.get("COMMIT"), values.get("DIRTY")
    return (
        commit if isinstance(commit, str) else None,
        dirty if isinstance(dirty, bool) else None,
    )
