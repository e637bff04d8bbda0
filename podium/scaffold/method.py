"""Fill in the templates of a new method from its task's contract."""

from __future__ import annotations

import json
import re
import textwrap
from importlib.resources import files
from pathlib import Path
from string import Template

from podium.check.samples import FREE_LENGTH, bounds
from podium.declarations.task import INTEGERS, ArraySpec, TaskSpec
from podium.errors import InputError

WIDTH = 100


def method_files(
    task: TaskSpec, *, name: str, id: str, folder: str, task_folder: Path
) -> dict[str, str]:
    """Return the files of a new method's folder by their names.

    The method is a valid entry of ``task``: it draws predictions of the declared dtypes, shapes
    and ranges with the run's generator. A task whose scorer refuses such predictions (a plan that
    must carry mass, say) has a ``method.py.tmpl`` of its own in its folder, with the same fields.

    Args:
        task: the task's declaration.
        name: what the person called the method.
        id: the id of its entry.
        folder: its folder, as it stands in the commands of the README.
        task_folder: where the task is declared.

    Raises:
        InputError: the task's template cannot be filled in.
    """
    predicted = task.arrays.prediction
    draws = [f'            "{spec.name}": {_draw(spec)},' for spec in predicted]
    values = {
        "id": id,
        "title": re.sub("[-_]+", " ", name).strip().capitalize(),
        "task": task.id,
        "task_title": task.title,
        "summary": json.dumps(
            f"What it does, in one sentence (for {task.title}).", ensure_ascii=False
        ),
        "folder": folder,
        "public": _described(task.arrays.public),
        "prediction": _described(predicted),
        "lengths": "".join(f"    {line}\n" for line in _lengths(task)),
        "draws": "\n".join(draws),
        "logged": _logged(predicted),
        "imports": "\nimport numpy as np\n" if any(not spec.shape for spec in predicted) else "",
    }
    here = files("podium.scaffold")
    written = {
        name: Template(here.joinpath(f"{name}.tmpl").read_text(encoding="utf-8")).substitute(values)
        for name in ("entry.toml", "method.py", "README.md")
    }
    own = task_folder / "method.py.tmpl"
    if own.is_file():
        try:
            written["method.py"] = Template(own.read_text(encoding="utf-8")).substitute(values)
        except (KeyError, ValueError) as error:
            raise InputError(
                "the template cannot be filled in",
                where=str(own),
                expected=f"$name of {', '.join(values)}; $$ for a dollar sign",
                found=str(error),
            ) from None
    return written


def _described(specs: tuple[ArraySpec, ...]) -> str:
    """Return arrays as comment lines: name, dtype, shape and range, then what they are."""
    lines = []
    for spec in specs:
        head = f"{spec.name}: {spec.dtype} [{', '.join(map(str, spec.shape))}]"
        lines.append(f"#   {', '.join([head, *_conditions(spec)])}")
        lines += textwrap.wrap(
            spec.description, WIDTH, initial_indent="#       ", subsequent_indent="#       "
        )
    return "\n".join(lines) or "#   (none)"


def _conditions(spec: ArraySpec) -> list[str]:
    parts = []
    if spec.minimum is not None:
        parts.append(f"at least {spec.minimum:g}")
    if spec.maximum is not None:
        parts.append(f"at most {spec.maximum:g}")
    if not spec.finite:
        parts.append("NaN and infinities allowed")
    if spec.optional:
        parts.append("optional")
    return parts


def _lengths(task: TaskSpec) -> list[str]:
    """Return a statement for each word that the shapes of the predictions use."""
    words = [w for spec in task.arrays.prediction for w in spec.shape if isinstance(w, str)]
    # An array that may be missing is asked only for a length that no other has.
    public = sorted(task.arrays.public, key=lambda spec: spec.optional)
    lines = []
    for word in dict.fromkeys(words):
        source = next((spec for spec in public if word in spec.shape), None)
        if source is None:
            lines.append(f"{_variable(word)} = {FREE_LENGTH}  # a length the task leaves open")
        else:
            axis = source.shape.index(word)
            lines.append(f'{_variable(word)} = problem.public["{source.name}"].shape[{axis}]')
    return lines


def _variable(word: str) -> str:
    return "n_" + re.sub(r"\W", "_", word)


def _draw(spec: ArraySpec) -> str:
    """Return the expression that draws an array of a contract with ``rng``."""
    sizes = [_variable(n) if isinstance(n, str) else str(n) for n in spec.shape]
    size = f"({sizes[0]},)" if len(sizes) == 1 else f"({', '.join(sizes)})"
    drawn = _drawn(spec, size)
    # Without a size numpy returns a number, not an array.
    return drawn if spec.shape else f'np.asarray({drawn}, dtype="{spec.dtype}")'


def _drawn(spec: ArraySpec, size: str) -> str:
    low, high = bounds(spec)
    if spec.dtype == "str":
        return f'rng.choice(["a", "b"], {size})'
    if spec.dtype == "bool":
        return f"rng.random({size}) < 0.5"
    if spec.dtype in INTEGERS:
        kind = "" if spec.dtype == "int64" else f', dtype="{spec.dtype}"'
        return f"rng.integers({round(low)}, {round(high)}, {size}, endpoint=True{kind})"
    if (low, high) == (0.0, 1.0):
        drawn = f"rng.random({size})"
    else:
        drawn = f"rng.uniform({low!r}, {high!r}, {size})"
    return drawn if spec.dtype == "float64" else f'{drawn}.astype("{spec.dtype}")'


def _logged(specs: tuple[ArraySpec, ...]) -> str:
    first = next((spec for spec in specs if spec.dtype != "str"), None)
    if first is None:
        return f'drawn=float(prediction["{specs[0].name}"].size)'
    return f'mean=float(prediction["{first.name}"].mean())'
