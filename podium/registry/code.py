"""Import the code behind a declaration: the only place where tasks and methods are loaded."""

from __future__ import annotations

import hashlib
import importlib
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from podium.errors import InputError
from podium.plan.spec import Location


def load_module(at: Location, name: str) -> ModuleType:
    """Import the module ``name`` of a task's or an entry's folder.

    A folder without a package is given one of its own (``podium_external_<digest>``), so that two
    folders of one name never share modules and relative imports inside the folder work.

    Raises:
        InputError: the folder has no such module. Errors of the module itself pass through.
    """
    file = Path(at.folder).joinpath(*name.split(".")).with_suffix(".py")
    if not file.is_file():
        raise InputError(
            f"no module {name!r} in this folder",
            where=at.folder,
            expected=f"a file {file.name}",
            found="no such file",
        )
    package = at.package
    if package is None:
        package = f"podium_external_{hashlib.sha256(os.fsencode(at.folder)).hexdigest()[:12]}"
        if package not in sys.modules:
            spec = importlib.machinery.ModuleSpec(package, None, is_package=True)
            spec.submodule_search_locations = [at.folder]
            sys.modules[package] = importlib.util.module_from_spec(spec)
    return importlib.import_module(f"{package}.{name}")


def load_function(at: Location, target: str) -> Callable[..., Any]:
    """Import ``module:function`` from a folder.

    Raises:
        InputError: there is no such module or function.
    """
    module_name, _, function_name = target.partition(":")
    module = load_module(at, module_name)
    function = getattr(module, function_name, None)
    if not callable(function):
        raise InputError(
            f"no function {function_name!r} in {module_name}.py",
            where=at.folder,
            expected=f"def {function_name}(problem, context, *, ...)",
            found="no such name" if function is None else type(function).__name__,
        )
    result: Callable[..., Any] = function
    return result
