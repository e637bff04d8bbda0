"""Faults in TOML name the file and the line; nothing unknown is let through."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.declarations import toml
from podium.declarations.entry import EntryFile
from podium.declarations.schema import FOLDER, PUBLISHED, schema_text
from podium.declarations.task import TaskSpec
from podium.errors import InputError

ENTRY = """\
id = "mine"
kind = "baseline"
title = "Mine"
summary = "A method."
tasks = ["granger_recovery"]
"""
TASK = """\
id = "toy"
version = 1
title = "Toy"
summary = "A toy."

[[arrays.public]]
name = "x"
dtype = "float64"
shape = ["n"]

[[arrays.prediction]]
name = "y"
dtype = "float64"
shape = ["n"]

[[metrics]]
name = "error"
title = "Error"
direction = "lower"
range = [0.0, inf]
primary = true

[[problems]]
id = "one"
title = "One"
tiers = ["smoke", "small"]

[[claims]]
id = "better"
statement = "a beats b"
source = "section 1"
metric = "error"
problems = ["one"]
left = "a"
right = "b"
at_least = 0.1
"""


def fault(text: str, kind: type = EntryFile) -> InputError:
    with pytest.raises(InputError) as caught:
        toml.parse(text, kind, where="entry.toml")
    return caught.value


def test_good_declarations_load() -> None:
    assert toml.parse(ENTRY, EntryFile, where="e").entries()[0].id == "mine"
    task = toml.parse(TASK, TaskSpec, where="t")
    assert task.primary.name == "error"
    assert task.claims[0].shape == "at_least"


def test_repeated_key_is_named_with_its_line() -> None:
    error = fault(ENTRY + 'title = "Other"\n')
    assert error.where == "entry.toml:6"
    assert "stands twice" in error.what


def test_repeated_table_is_named_with_its_line() -> None:
    assert fault(ENTRY + "[config]\na = 1\n[config]\nb = 1\n").where == "entry.toml:8"


def test_unknown_key_is_named_with_its_line_and_a_suggestion() -> None:
    error = fault(ENTRY + 'sumary = "x"\n')
    assert error.where == "entry.toml:6"
    assert "'sumary'" in error.what
    assert error.fix is not None
    assert "'summary'" in error.fix


def test_unknown_key_in_a_list_of_tables_is_found_in_the_right_one() -> None:
    text = TASK + '\n[[problems]]\nid = "two"\ntitle = "Two"\ntiers = ["small"]\nseed = 3\n'
    error = fault(text, TaskSpec)
    assert error.where == f"entry.toml:{text.count(chr(10))}"
    assert error.expected is not None
    assert "params" in error.expected


def test_unknown_key_in_an_inline_table() -> None:
    text = TASK.replace("summary", "limits = { small = { seconds = 1, memory = 2 } }\nsummary", 1)
    assert fault(text, TaskSpec).where == "entry.toml:4"


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ('id = "toy"', 'id = "a/b"', 1, "regex"),
        ("version = 1", "version = 0", 2, ">= 1"),
        ("version = 1", "version = 1.5", 2, "int"),
        ('direction = "lower"', 'direction = "up"', 19, "up"),
        ("range = [0.0, inf]", "range = [1.0, 0.0]", 16, "low to high"),
        ('tiers = ["smoke", "small"]', "tiers = []", 26, "length >= 1"),
        ('title = "One"', 'title = "One"\nparams = { a = [1, [inf]] }', 23, "must be finite"),
        ('metric = "error"', 'metric = "loss"', 1, "unknown metric 'loss'"),
        ('problems = ["one"]', 'problems = ["two"]', 1, "unknown problem 'two'"),
        ("at_least = 0.1", "", 28, "exactly one of"),
        ("at_least = 0.1", "at_least = 0.1\nwithin = 0.1", 28, "at_least and within"),
        ("primary = true", "primary = false", 1, "exactly one metric"),
    ],
)
def test_wrong_values_are_named_with_their_line(old: str, new: str, line: int, words: str) -> None:
    text = TASK.replace(old, new, 1)
    error = fault(text, TaskSpec)
    assert words in error.what
    assert error.where is not None
    found = int(error.where.rpartition(":")[2])
    assert found == line, error


def test_missing_file_and_binary_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        toml.load(tmp_path / "entry.toml", EntryFile)
    (tmp_path / "entry.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="not UTF-8"):
        toml.load(tmp_path / "entry.toml", EntryFile)
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(InputError, match="cannot be read"):
        toml.load(tmp_path / "folder.toml", EntryFile)


def test_two_ids_in_one_entry_file() -> None:
    variant = '[[variants]]\nid = "mine"\ntitle = "Again"\nconfig = {}\n'
    assert "found twice: mine" in fault(ENTRY + variant).what


@given(st.text())
def test_any_text_gives_a_declaration_or_an_input_error(text: str) -> None:
    try:
        toml.parse(text, EntryFile, where="entry.toml")
    except InputError as error:
        assert error.where is not None
        assert error.where.startswith("entry.toml:")


@given(st.text(alphabet='abc[]{}"=.\n1, ', max_size=80))
def test_line_of_stays_inside_the_text(text: str) -> None:
    assert 1 <= toml.line_of(text, ".a[0].b") <= max(1, len(text.splitlines()))


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_schemas_are_current(name: str) -> None:
    file = FOLDER / f"{name}.schema.json"
    assert file.read_text(encoding="utf-8") == schema_text(name), (
        "run: python -m podium.declarations.schema"
    )


def test_schema_accepts_and_refuses_what_the_loader_does() -> None:
    import json
    import tomllib

    schema = json.loads(schema_text("entry"))
    jsonschema.validate(tomllib.loads(ENTRY), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(tomllib.loads(ENTRY + "colour = 1\n"), schema)


def test_claims_may_speak_of_costs_and_metrics_may_not_take_their_names() -> None:
    claim = TASK.replace('metric = "error"', 'metric = "cpu_seconds"')
    task = toml.parse(claim, TaskSpec, where="t")
    assert task.metric("cpu_seconds").direction == "lower"
    clash = TASK.replace('name = "error"', 'name = "cpu_seconds"')
    assert "measured by the runner" in fault(clash, TaskSpec).what


def test_a_word_that_is_none_of_the_values_names_them() -> None:
    error = fault(ENTRY.replace('kind = "baseline"', 'kind = "baselin"'))
    assert error.what == "kind: 'baselin' is none of its values"
    assert error.expected == "one of baseline, control, reference, submission"
    assert error.fix == "did you mean 'baseline'?"
    assert error.where is not None
    assert error.where.startswith("entry.toml:")
