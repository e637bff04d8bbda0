"""podium new: what it writes passes podium check at once, for any contract."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from podium.check.finding import Finding
from podium.check.method import check_method
from podium.cli.check import check
from podium.cli.new import new_method
from podium.declarations import toml
from podium.declarations.entry import EntryFile
from podium.declarations.task import TaskSpec
from podium.errors import InputError, MissingError
from podium.plan.spec import Location
from podium.registry.model import Entry, Task
from podium.registry.registry import Registry
from podium.scaffold.method import method_files

EVERYTHING_TOML = '''
id = "everything"
version = 1
title = "Every kind of \\"array\\""
summary = "One array of each kind."

[[arrays.public]]
name = "pixels"
dtype = "uint8"
shape = ["images", 2, "wide-side"]
description = """a description with "quotes", a \\\\ and $money"""

[[arrays.public]]
name = "hints"
dtype = "float64"
shape = ["images"]
optional = true
finite = false

PREDICTED

[[metrics]]
name = "m"
title = "M"
direction = "higher"
range = [0.0, 1.0]
primary = true

[limits.smoke]
seconds = 20
memory_gib = 1

[[problems]]
id = "only"
title = "Only"
tiers = ["smoke"]
'''

PREDICTED = [
    ("plain", "float64", '["images", "wide-side"]', ""),
    ("share", "float32", '["images"]', "minimum = 0.0\nmaximum = 0.1"),
    ("half", "float16", '["samples", 3]', "minimum = 2.0"),
    ("label", "int64", '["images"]', "minimum = 0"),
    ("small", "int32", '["images"]', "minimum = -3\nmaximum = 3"),
    ("byte", "uint8", '["samples"]', ""),
    ("flag", "bool", '["images", 1]', ""),
    ("word", "str", '["images"]', "optional = true"),
    ("number", "float64", "[]", "maximum = 1.0"),
]

CODE = """
from podium.contracts import Instance

def build(recipe, context):
    pixels = context.rng("pixels").integers(0, 256, (3, 2, 4)).astype("uint8")
    return Instance(public={"pixels": pixels})

def score(prediction, instance, recipe):
    return {"m": 0.5}
"""


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Task:
    """A task with an array of each dtype, with and without bounds."""
    folder = tmp_path_factory.mktemp("everything")
    arrays = [
        f'[[arrays.prediction]]\nname = "{name}"\ndtype = "{dtype}"\nshape = {shape}\n{more}\n'
        for name, dtype, shape, more in PREDICTED
    ]
    text = EVERYTHING_TOML.replace("PREDICTED", "\n".join(arrays))
    (folder / "task.toml").write_text(text, encoding="utf-8")
    (folder / "task.py").write_text(CODE, encoding="utf-8")
    spec = toml.load(folder / "task.toml", TaskSpec)
    return Task(spec=spec, at=Location(package=None, folder=str(folder)), origin="test")


def write(task: Task, folder: Path) -> Entry:
    folder.mkdir()
    written = method_files(
        task.spec,
        name="my-method",
        id="my_method",
        folder="my-method",
        task_folder=Path(task.at.folder),
    )
    for name, text in written.items():
        (folder / name).write_text(text, encoding="utf-8")
    (spec,) = toml.load(folder / "entry.toml", EntryFile).entries()
    return Entry(spec=spec, at=Location(package=None, folder=str(folder)), origin="test")


def not_ok(findings: list[Finding]) -> list[Finding]:
    return [f for f in findings if f.state != "ok"]


def test_the_written_method_passes_the_checks_on_any_contract(
    everything: Task, tmp_path: Path
) -> None:
    entry = write(everything, tmp_path / "my-method")
    registry = Registry(
        tasks={everything.id: everything}, entries={entry.id: entry}, suites={}, broken=()
    )
    assert not_ok(check_method(entry, registry)) == []


def test_the_written_method_shows_the_whole_contract(everything: Task, tmp_path: Path) -> None:
    write(everything, tmp_path / "my-method")
    text = (tmp_path / "my-method" / "method.py").read_text(encoding="utf-8")
    for spec in (*everything.spec.arrays.public, *everything.spec.arrays.prediction):
        assert f"#   {spec.name}: {spec.dtype} [{', '.join(map(str, spec.shape))}]" in text
    assert 'a description with "quotes", a \\ and $money' in text
    for feature in ("rng(", "torch_generator(", "budget_left", "log(", "progress(", "emit("):
        assert f"context.{feature}" in text


def test_a_task_may_have_a_template_of_its_own(everything: Task, tmp_path: Path) -> None:
    def written(template: str) -> str:
        (tmp_path / "method.py.tmpl").write_text(template, encoding="utf-8")
        names = {"name": "mine", "id": "mine", "folder": "mine"}
        return method_files(everything.spec, **names, task_folder=tmp_path)["method.py"]

    assert written("# $title\n$prediction\n# 1 $$").startswith("# Mine\n#   plain: float64")
    for faulty in ("$nothing", "1 $"):
        with pytest.raises(InputError, match="cannot be filled in"):
            written(faulty)


@pytest.mark.skipif(importlib.util.find_spec("ruff") is None, reason="ruff is not installed")
def test_the_written_code_is_formatted_and_clean(everything: Task, tmp_path: Path) -> None:
    write(everything, tmp_path / "my-method")
    config = Path(__file__).parents[2] / "pyproject.toml"
    for verb in (["format", "--check"], ["check", "--no-cache"]):
        command = [sys.executable, "-m", "ruff", *verb, "--config", str(config), "my-method"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_from_the_name_to_a_checked_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    new_method("my-method", task="granger_recovery", folder=None)
    out = capsys.readouterr().out
    assert "podium check my-method" in out
    assert "podium run granger_recovery --entry my-method" in out
    declared = toml.load(tmp_path / "my-method" / "entry.toml", EntryFile)
    assert (declared.id, declared.kind, declared.tasks) == (
        "my_method",
        "submission",
        ("granger_recovery",),
    )
    assert check("my-method", as_json=False) == 0


@pytest.mark.parametrize("task", ["granger_recovery", "gw_alignment", "gcd_accuracy"])
def test_the_next_step_holds_for_every_template(
    task: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "mine"
    new_method("mine", task=task, folder=place)
    out = capsys.readouterr().out
    assert f"edit {place / 'method.py'}: put your method in place of what it starts as" in out
    assert "It starts as " in (place / "method.py").read_text()


def test_the_folder_can_be_chosen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "a b" / "c"
    new_method("mine", task="granger_recovery", folder=place)
    assert {p.name for p in place.iterdir()} == {"entry.toml", "method.py", "README.md"}
    assert f"podium check '{place}'" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("é😀", "cannot be the name"),
        ("a" * 300, "too long"),
        ("Mine", "podium new method mine"),
        ("../mine", "cannot be the name"),
        ("1st", "cannot be the name"),
        ("", "cannot be the name"),
        ("random-scores", "'random_scores' is taken"),
        ("granger_recovery", "is taken"),
    ],
)
def test_a_name_that_cannot_be_an_id_is_refused(
    name: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=said):
        new_method(name, task="granger_recovery", folder=None)
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_task_is_named_with_near_ones(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="did you mean 'granger_recovery'"):
        new_method("mine", task="granger_recover", folder=tmp_path / "mine")
    assert not (tmp_path / "mine").exists()


@pytest.mark.parametrize("kind", ["folder", "file", "broken link"])
def test_what_exists_is_never_touched(kind: str, tmp_path: Path) -> None:
    place = tmp_path / "mine"
    if kind == "folder":
        place.mkdir()
    elif kind == "file":
        place.write_text("kept")
    else:
        place.symlink_to(tmp_path / "nowhere")
    with pytest.raises(InputError, match="exists already"):
        new_method("mine", task="granger_recovery", folder=place)
    assert [p.name for p in tmp_path.iterdir()] == ["mine"]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(MissingError, match="cannot be written") as caught:
        new_method("mine", task="granger_recovery", folder=tmp_path / "file" / "mine")
    assert str(tmp_path / "file" / "mine") in str(caught.value)


def test_nothing_is_left_of_a_folder_that_could_not_be_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> int:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(MissingError, match="No space left"):
        new_method("mine", task="granger_recovery", folder=tmp_path / "mine")
    assert list(tmp_path.iterdir()) == []


def test_the_readme_leaves_what_it_starts_as_to_the_method(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for task in ("granger_recovery", "gcd_accuracy", "gw_alignment"):
        new_method(f"my-{task}", task=task, folder=None)
        readme = (tmp_path / f"my-{task}" / "README.md").read_text()
        assert "random guessing" not in readme
        assert "random_state" in readme
