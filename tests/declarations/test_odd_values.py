"""Values that TOML can hold and that a record, a limit or a verdict cannot."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.declarations import toml
from podium.declarations.entry import EntryFile
from podium.declarations.task import TaskSpec
from podium.errors import InputError

TASK = """
id = "t"
version = 1
title = "T"
summary = "S"
[[arrays.public]]
name = "x"
dtype = "float64"
shape = ["n"]
[[arrays.prediction]]
name = "y"
dtype = "float64"
shape = ["n"]
[[metrics]]
name = "m"
title = "M"
direction = "higher"
range = [-inf, inf]
primary = true
tolerance = 0.5
[limits.small]
seconds = 1.0
memory_gib = 1.0
[[problems]]
id = "p"
title = "P"
tiers = ["small"]
params = { n = 1 }
[[claims]]
id = "c"
statement = "S"
source = "S"
metric = "m"
problems = ["p"]
left = "a"
right = "b"
compare = "ratio"
at_least = 2.0
min_seeds = 5
[[claims]]
id = "o"
statement = "S"
source = "S"
metric = "m"
problems = ["p"]
order = ["a", "b", "c"]
"""
ENTRY = 'id = "e"\nkind = "baseline"\ntitle = "T"\nsummary = "S"\ntasks = ["t"]\n'
HUGE = 10**30


def test_the_plain_task_is_good() -> None:
    assert toml.parse(TASK, TaskSpec, where="task.toml").id == "t"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "{ n = 1 }",
            "{ n = 2020-01-01 }",
            "params.n must be numbers, text or truth values, got date",
        ),
        ("{ n = 1 }", "{ n = [[10:00:00]] }", "got time"),
        ("{ n = 1 }", f"{{ n = {{ a = {HUGE} }} }}", "must fit 64 bits"),
        ("version = 1", f"version = {HUGE}", "version"),
        ("min_seeds = 5", f"min_seeds = {HUGE}", "min_seeds"),
        ("seconds = 1.0", "seconds = inf", "seconds"),
        ("memory_gib = 1.0", "memory_gib = inf", "memory_gib"),
        ("memory_gib = 1.0", "memory_gib = 1e300", "memory_gib"),
        ("tolerance = 0.5", "tolerance = inf", "tolerance must be finite"),
        ('shape = ["n"]', "shape = [-3]", "shape"),
        ('shape = ["n"]', 'shape = [""]', "shape"),
        ("at_least = 2.0", "at_least = nan", "at_least must be finite"),
        ("at_least = 2.0", "within = inf", "within must be finite"),
        ("at_least = 2.0", "at_least = -1.0", "a ratio is above 0"),
        ('right = "b"', 'right = "a"', "entries of a claim must differ"),
        ('order = ["a", "b", "c"]', 'order = ["a", "b", "a"]', "entries of a claim must differ"),
        ('problems = ["p"]', 'problems = ["p", "p"]', "problems of a claim must differ"),
    ],
)
def test_it_is_refused_with_its_line(old: str, new: str, said: str) -> None:
    assert old in TASK
    with pytest.raises(InputError, match=r"^task\.toml:\d+: ") as caught:
        toml.parse(TASK.replace(old, new, 1), TaskSpec, where="task.toml")
    assert said in str(caught.value)


@pytest.mark.parametrize("value", ["2020-01-01", str(HUGE), "[inf]"])
def test_an_entry_has_no_such_configuration(value: str) -> None:
    for text in (
        f"{ENTRY}[config]\nk = {value}\n",
        f'{ENTRY}[[variants]]\nid = "v"\ntitle = "V"\nconfig = {{ k = {value} }}\n',
    ):
        with pytest.raises(InputError, match=r"config\.k must"):
            toml.parse(text, EntryFile, where="entry.toml")


def test_the_declarations_of_podium_itself_hold() -> None:
    root = Path(__file__).parents[2]
    for file in root.glob("benchmarks/*/task.toml"):
        toml.load(file, TaskSpec)
