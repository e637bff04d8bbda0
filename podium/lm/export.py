"""Write items of judge correlation as tasks that the stock ``lm-eval`` command runs."""

from __future__ import annotations

import json
from pathlib import Path

from podium.contracts import Instance
from podium.errors import InputError, MissingError
from podium.judging import parsing
from podium.lm import exported
from podium.lm.harness import GENERATION
from podium.lm.prompts import judge_prompt

_UTILS, _PARSING = "utils.py", "podium_parsing.py"


def task_name(problem: str) -> str:
    """Return the name of a problem's task in lm-eval: ``podium_judge_hutto_tweets``."""
    return "podium_judge_" + problem.replace("-", "_")


def write_task(folder: Path, problem: str, title: str, version: int, instance: Instance) -> str:
    """Write a problem into ``folder``: its YAML, its items, and the code that scores them.

    The folder may be moved, and read on a machine without Podium. It holds people's scores.

    Args:
        folder: made if it is not there; what an earlier export left in it is replaced.
        problem, title, version: of the problem and its task.
        instance: the built problem.

    Returns:
        The task's name.

    Raises:
        InputError: a file of the same name in the folder comes from somewhere else.
        MissingError: the folder cannot be written.
    """
    name = task_name(problem)
    files = {
        f"{name}.jsonl": _items(instance),
        f"{name}.yaml": _declaration(name, title, version, bool(instance.hidden["shifted"].any())),
        _UTILS: Path(exported.__file__).read_text(encoding="utf-8"),
        _PARSING: Path(parsing.__file__).read_text(encoding="utf-8"),
    }
    for code in (_UTILS, _PARSING):
        _check_ours(folder / code, files[code])
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file, text in files.items():
            (folder / file).write_text(text, encoding="utf-8")
    except OSError as error:
        raise MissingError(
            "the tasks cannot be written",
            where=str(folder),
            expected="a folder you may write to",
            found=error.strerror or str(error),
        ) from error
    return name


def _items(instance: Instance) -> str:
    public, hidden = instance.public, instance.hidden
    levels, rubric = public["levels"], str(public["rubric"][0])
    some = bool(hidden["shifted"].any())
    rows = zip(public["ids"], public["texts"], hidden["gold"], hidden["shifted"], strict=True)
    lines = [
        json.dumps(
            {
                "id": str(id),
                "prompt": judge_prompt(rubric, str(text), levels),
                "gold": float(gold),
                "low": float(levels[0]),
                "high": float(levels[-1]),
                "shifted": bool(shifted),
                "some_shifted": some,
            }
        )
        for id, text, gold, shifted in rows
    ]
    return "\n".join(lines) + "\n"


def _declaration(name: str, title: str, version: int, shifted: bool) -> str:
    metrics = {"pearson": True, "spearman": True, "kendall": True, "rmse": False}
    lines = [
        f"# {title}: written by `podium export lm-eval-tasks`.",
        f"task: {name}",
        "tag: podium_judge",
        "custom_dataset: !function utils.load",
        "test_split: test",
        "output_type: generate_until",
        "doc_to_text: prompt",
        'doc_to_target: "{{gold}}"',
        "process_results: !function utils.process_results",
        f"generation_kwargs: {json.dumps(GENERATION)}",
        "metric_list:",
    ]
    table = [(metric, metric, up) for metric, up in metrics.items()]
    if shifted:
        table += [(f"{m}_shifted", m, metrics[m]) for m in ("pearson", "rmse")]
    for metric, function, up in table:
        lines += [
            f"  - metric: {metric}",
            f"    aggregation: !function utils.{function}",
            f"    higher_is_better: {json.dumps(up)}",
        ]
    lines += ["  - metric: parse_rate", "    aggregation: mean", "    higher_is_better: true"]
    lines += ["metadata:", f"  version: {version}", f"  items: {name}.jsonl"]
    return "\n".join(lines) + "\n"


def _check_ours(path: Path, text: str) -> None:
    """Refuse to replace a file that is none of an export's."""
    if not path.exists():
        return
    if path.read_bytes()[:60] != text.encode()[:60]:
        raise InputError(
            "a file of this name is there already, and not from an export",
            where=str(path),
            fix="export into another folder",
        )
