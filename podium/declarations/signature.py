"""Read a method's configuration from its source, without importing it.

The keyword-only arguments of an entry's function are its configuration. Their annotations and
defaults are read from the syntax tree, so that planning a run never imports torch.
"""

from __future__ import annotations

import ast
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from podium.errors import InputError

REQUIRED = object()
_ASSIGNMENT = re.compile(
    r"^(?:(?P<entry>[a-z][a-z0-9_-]*)\.)?(?P<name>[A-Za-z_]\w*)=(?P<text>.*)$", re.S
)


@dataclass(frozen=True)
class Parameter:
    """One keyword argument: its annotation as written, and its literal default."""

    name: str
    annotation: str
    default: Any
    line: int


@dataclass(frozen=True)
class Signature:
    """The keyword arguments of a function, and where it stands."""

    file: str
    line: int
    function: str
    parameters: dict[str, Parameter]


def read_signature(file: Path, function: str) -> Signature:
    """Read the keyword-only arguments of ``function`` from a Python source file.

    Raises:
        InputError: the file is missing or not Python, has no such function, or an argument has no
            annotation, an annotation that cannot be checked, or a default that is not a literal.
    """
    try:
        tree = ast.parse(file.read_bytes(), filename=str(file))
    except FileNotFoundError:
        raise InputError("no such file", where=str(file), expected="the method's code") from None
    except OSError as error:
        raise InputError(
            "the file cannot be read", where=str(file), found=error.strerror or str(error)
        ) from None
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        where = f"{file}:{line}" if line else str(file)
        raise InputError(
            "not valid Python",
            where=where,
            found=getattr(error, "msg", str(error)) or "too deeply nested",
        ) from None
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == function:
            return _signature(file, node)
    raise InputError(
        f"no function {function!r}",
        where=str(file),
        expected=f"def {function}(problem, context, *, ...)",
    )


def _signature(file: Path, node: ast.FunctionDef) -> Signature:
    positional = [*node.args.posonlyargs, *node.args.args]
    if len(positional) != 2 or node.args.vararg or node.args.kwarg:
        raise InputError(
            f"{node.name} does not have a method's signature",
            where=f"{file}:{node.lineno}",
            expected=f"def {node.name}(problem, context, *, name: type = default, ...)",
            found=f"def {node.name}({ast.unparse(node.args)})",
        )
    parameters = {}
    for argument, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
        where = f"{file}:{argument.lineno}"
        if argument.annotation is None:
            raise InputError(
                f"argument {argument.arg!r} has no annotation",
                where=where,
                expected="int, float, bool, str, Literal[...], tuple[...], or one of these | None",
            )
        value: Any = REQUIRED
        if default is not None:
            try:
                value = ast.literal_eval(default)
            except (ValueError, TypeError):
                raise InputError(
                    f"the default of {argument.arg!r} is not a literal",
                    where=where,
                    expected="a number, string, truth value, tuple or None, written out",
                    found=ast.unparse(default),
                ) from None
        annotation = ast.unparse(argument.annotation)
        parameter = Parameter(argument.arg, annotation, value, argument.lineno)
        if value is not REQUIRED:
            check_value(parameter, value, where=where)
        parameters[argument.arg] = parameter
    return Signature(str(file), node.lineno, node.name, parameters)


def effective_config(
    signature: Signature, config: dict[str, Any], overrides: dict[str, Any], *, where: str
) -> dict[str, Any]:
    """Merge defaults, an entry's fixed configuration and overrides into one checked mapping.

    Raises:
        InputError: an unknown argument, a value of the wrong type, or a required one not given.
    """
    for name in (*config, *overrides):
        if name not in signature.parameters:
            raise unknown_argument(name, signature, where=where)
    result: dict[str, Any] = {}
    for name, parameter in signature.parameters.items():
        value = overrides.get(name, config.get(name, parameter.default))
        if value is REQUIRED:
            raise InputError(
                f"argument {name!r} has no value",
                where=where,
                expected=f"{name}: {parameter.annotation}, set in config or as a default",
            )
        result[name] = check_value(parameter, value, where=where)
    return result


def unknown_argument(name: str, signature: Signature, *, where: str) -> InputError:
    """Return the error for a configuration name that the function does not have."""
    from difflib import get_close_matches

    close = get_close_matches(name, list(signature.parameters), n=1)
    return InputError(
        f"unknown argument {name!r}",
        where=where,
        expected=f"one of {', '.join(signature.parameters)}"
        if signature.parameters
        else "no arguments: this method takes none",
        fix=f"did you mean {close[0]!r}?" if close else None,
    )


def check_value(parameter: Parameter, value: Any, *, where: str) -> Any:
    """Return ``value`` as its annotation has it (lists become tuples, integers become floats).

    Raises:
        InputError: the value does not fit the annotation.
    """
    try:
        return _fit(ast.parse(parameter.annotation, mode="eval").body, value)
    except TypeError:
        raise InputError(
            f"argument {parameter.name!r} has the wrong type",
            where=where,
            expected=parameter.annotation,
            found=f"{value!r} ({type(value).__name__})",
        ) from None
    except NotImplementedError:
        raise InputError(
            f"argument {parameter.name!r} has an annotation that cannot be checked",
            where=where,
            expected="int, float, bool, str, Literal[...], tuple[...], or one of these | None",
            found=parameter.annotation,
        ) from None


def _fit(node: ast.expr, value: Any) -> Any:
    """Fit a value to an annotation; TypeError where it does not, NotImplementedError if unknown."""
    if isinstance(node, ast.Constant) and node.value is None:
        if value is None:
            return None
        raise TypeError
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        try:
            return _fit(node.left, value)
        except TypeError:
            return _fit(node.right, value)
    if isinstance(node, ast.Name):
        return _fit_plain(node.id, value)
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if node.value.id == "Literal":
            try:
                choices = [ast.literal_eval(item) for item in items]
            except ValueError:  # a name, not a literal
                raise NotImplementedError from None
            if any(type(value) is type(choice) and value == choice for choice in choices):
                return value
            raise TypeError
        if node.value.id == "tuple":
            return _fit_tuple(items, value)
    raise NotImplementedError


def _fit_plain(name: str, value: Any) -> Any:
    if name not in ("int", "float", "bool", "str"):
        raise NotImplementedError
    if name == "bool" and isinstance(value, bool):
        return value
    if name == "str" and isinstance(value, str):
        return value
    if name == "int" and isinstance(value, int) and not isinstance(value, bool):
        return value
    if name == "float" and isinstance(value, int | float) and not isinstance(value, bool):
        if not math.isfinite(value):
            raise TypeError
        return float(value)
    raise TypeError


def _fit_tuple(items: list[ast.expr], value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise TypeError
    if len(items) == 2 and isinstance(items[1], ast.Constant) and items[1].value is Ellipsis:
        return tuple(_fit(items[0], item) for item in value)
    if len(items) != len(value):
        raise TypeError
    return tuple(_fit(item, v) for item, v in zip(items, value, strict=True))


def parse_assignment(text: str) -> tuple[str | None, str, Any]:
    """Read ``key=value`` or ``entry.key=value`` from the command line.

    The value is a Python literal (``0.1``, ``True``, ``(1, 2)``, ``None``) or else plain text.

    Raises:
        InputError: there is no ``=`` or no proper name before it.
    """
    match = _ASSIGNMENT.match(text)
    if match is None:
        raise InputError(
            "not an assignment",
            where=f"--set {text}",
            expected="key=value, or entry.key=value",
        )
    try:
        value = ast.literal_eval(match["text"])
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        value = {"true": True, "false": False}.get(match["text"].lower(), match["text"])
    owner = match["entry"]
    # A folder my-method holds the entry my_method.
    return owner and owner.replace("-", "_"), match["name"], value
