"""A method's configuration is read from its source and checked by its annotations."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.declarations.signature import (
    Parameter,
    check_value,
    effective_config,
    parse_assignment,
    read_signature,
)
from podium.errors import InputError
from podium.plan.planner import signature_of
from podium.registry.code import load_function
from podium.registry.registry import load_registry
from podium.registry.requirements import is_installed


def write(tmp_path: Path, source: str) -> Path:
    file = tmp_path / "method.py"
    file.write_text(source, encoding="utf-8")
    return file


def test_reads_names_annotations_and_defaults_without_importing(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        "import does_not_exist\n"
        "def run(problem, context, *, lags: int = 5, rate: float = 1e-2,\n"
        "        mode: Literal['a', 'b'] = 'a', grid: tuple[float, ...] = (0.1, 1.0)):\n"
        "    return {}\n",
    )
    signature = read_signature(file, "run")
    assert {n: p.default for n, p in signature.parameters.items()} == {
        "lags": 5,
        "rate": 0.01,
        "mode": "a",
        "grid": (0.1, 1.0),
    }


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("def other(): ...", "no function 'run'"),
        ("def run(problem, context, *, a=1): ...", "no annotation"),
        ("def run(problem, context, *, a: int = f()): ...", "not a literal"),
        ("def run(problem, context, *, a: int = 'x'): ...", "wrong type"),
        ("def run(problem, context, *, a: Thing = 1): ...", "cannot be checked"),
        ("def run(problem, context, a: int = 1): ...", "method's signature"),
        ("def run(problem, context, **kw: int): ...", "method's signature"),
        ("def run(problem context): ...", "not valid Python"),
        ("x = '\0'", "not valid Python"),
        ("def run(problem, context, *, a: Literal[x] = 'b'): ...", "cannot be checked"),
        ("def run(problem, context, *, a: Literal[-x] = 'b'): ...", "cannot be checked"),
        ("x = " + "-" * 100_000 + "1", "not valid Python"),
        ("x = " + "(" * 100_000, "not valid Python"),
    ],
)
def test_faulty_methods_are_named_with_their_file(tmp_path: Path, source: str, words: str) -> None:
    file = write(tmp_path, source)
    with pytest.raises(InputError, match=words) as caught:
        read_signature(file, "run")
    assert str(file) in str(caught.value)


def test_missing_method_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_signature(tmp_path / "method.py", "run")


def fit(annotation: str, value: Any) -> Any:
    return check_value(Parameter("a", annotation, None, 1), value, where="here")


@pytest.mark.parametrize(
    ("annotation", "value", "result"),
    [
        ("int", 3, 3),
        ("float", 3, 3.0),
        ("bool", True, True),
        ("str", "x", "x"),
        ("int | None", None, None),
        ("float | int", 2, 2.0),
        ("Literal['a', 2]", 2, 2),
        ("tuple[float, ...]", [1, 2], (1.0, 2.0)),
        ("tuple[int, str]", (1, "x"), (1, "x")),
    ],
)
def test_values_that_fit(annotation: str, value: Any, result: Any) -> None:
    found = fit(annotation, value)
    assert found == result
    assert type(found) is type(result)


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        ("int", True),
        ("int", 1.5),
        ("int", "3"),
        ("float", float("nan")),
        ("float", float("inf")),
        ("tuple[float, ...]", (1.0, float("-inf"))),
        ("float", "x"),
        ("bool", 1),
        ("str", None),
        ("Literal[1]", True),
        ("Literal['a']", "b"),
        ("tuple[int, ...]", 3),
        ("tuple[int, str]", (1,)),
        ("int | None", "x"),
    ],
)
def test_values_that_do_not_fit_name_argument_and_type(annotation: str, value: Any) -> None:
    with pytest.raises(InputError) as caught:
        fit(annotation, value)
    assert "'a'" in caught.value.what
    assert caught.value.expected == annotation


def test_effective_config_merges_and_refuses_unknown_names(tmp_path: Path) -> None:
    file = write(tmp_path, "def run(problem, context, *, lags: int = 5, rate: float): ...")
    signature = read_signature(file, "run")
    merged = effective_config(signature, {"rate": 1}, {"lags": 2}, where="e")
    assert merged == {"lags": 2, "rate": 1.0}
    with pytest.raises(InputError, match="no value"):
        effective_config(signature, {}, {}, where="e")
    with pytest.raises(InputError, match="did you mean 'lags'"):
        effective_config(signature, {"rate": 1.0, "lag": 2}, {}, where="e")


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("a=1", (None, "a", 1)),
        ("a=1e-3", (None, "a", 1e-3)),
        ("a=true", (None, "a", True)),
        ("a=max", (None, "a", "max")),
        ("a=", (None, "a", "")),
        ("a=x=y", (None, "a", "x=y")),
        ("info_shap.a=(1, 2)", ("info_shap", "a", (1, 2))),
        ("my-method.a=1", ("my_method", "a", 1)),
    ],
)
def test_assignments(text: str, parsed: tuple[str | None, str, Any]) -> None:
    assert parse_assignment(text) == parsed


@given(st.text())
def test_any_assignment_text_parses_or_says_why(text: str) -> None:
    try:
        _, name, _ = parse_assignment(text)
    except InputError as error:
        assert "--set" in (error.where or "")
    else:
        assert name.isidentifier()


@pytest.mark.parametrize("name", sorted(load_registry(plugins=False).entries))
def test_source_and_imported_function_agree(name: str) -> None:
    """What the planner reads from the source is what Python sees after the import."""
    entry = load_registry(plugins=False).entries[name]
    for package in entry.spec.file.requires:
        if not is_installed(package):
            pytest.skip(f"{package} is not installed")
    signature = signature_of(entry)
    function = inspect.signature(load_function(entry.at, entry.spec.file.function))
    imported = {
        n: p.default
        for n, p in function.parameters.items()
        if p.kind is inspect.Parameter.KEYWORD_ONLY
    }
    assert {n: p.default for n, p in signature.parameters.items()} == imported
