"""Start-up of the command line: what it imports, and what that costs."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

HEAVY = {"numpy", "pandas", "torch", "scipy", "gradio", "rich", "sklearn", "pooch", "pydantic"}
# A typer program that does nothing takes .09 s of CPU where the targets are .15 and .2 s.
HELP_LIMIT = 0.15 / 0.09
LIST_LIMIT = 0.20 / 0.09


def cpu_seconds(commands: dict[str, list[str]], repeats: int = 12) -> dict[str, float]:
    """Return the least CPU seconds of each Python command; they take turns."""
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(repeats):
        for name, arguments in commands.items():
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            times[name].append(spent)
    return {name: min(spent) for name, spent in times.items()}


def imported(*arguments: str) -> set[str]:
    """Return the top-level modules that a command imports."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "podium", *arguments],
        check=True,
        capture_output=True,
        text=True,
    )
    rows = (line.rpartition("|")[2].strip() for line in done.stderr.splitlines())
    return {name.partition(".")[0] for name in rows}


@pytest.mark.parametrize(
    "arguments",
    [("--help",), ("--version",), ("run", "--help"), ("list",), ("info", "granger_recovery")],
    ids=" ".join,
)
def test_light_commands_import_nothing_heavy(arguments: tuple[str, ...]) -> None:
    modules = imported(*arguments)
    assert "typer" in modules
    assert not modules & HEAVY


@pytest.mark.parametrize(
    "arguments",
    [
        ("show", "granger_recovery", "--only", "bundled"),
        ("claims", "granger_recovery", "--only", "bundled"),
        ("compare", "granger_recovery", "info_shap", "var_granger", "--only", "bundled"),
    ],
    ids=" ".join,
)
def test_reading_records_needs_no_torch(arguments: tuple[str, ...]) -> None:
    modules = imported(*arguments)
    assert "numpy" in modules
    assert not modules & {"torch", "scipy", "sklearn", "pandas", "gradio"}


@pytest.mark.performance
def test_cpu_time_of_light_commands() -> None:
    verbs = ("--help", "--version", "list")
    commands = {verb: ["-m", "podium", verb] for verb in verbs}
    seconds = cpu_seconds({"typer": ["-c", "import typer"], **commands})
    ratios = {verb: seconds[verb] / seconds["typer"] for verb in verbs}
    print({name: f"{spent:.3f} s" for name, spent in seconds.items()})
    assert ratios["--help"] <= HELP_LIMIT
    assert ratios["--version"] <= HELP_LIMIT
    assert ratios["list"] <= LIST_LIMIT


@pytest.mark.performance
@pytest.mark.parametrize("verb", ["--help", "--version", "list"])
def test_peak_memory_of_light_commands(verb: str) -> None:
    """At most 30 MiB, as the process itself ends with.

    The parent's view (``ru_maxrss``) would count the memory of the forking test runner too.
    """
    code = (
        "import runpy, sys\n"
        f"sys.argv = ['podium', {verb!r}]\n"
        "try:\n    runpy.run_module('podium', run_name='__main__')\n"
        "except SystemExit:\n    pass\n"
        "print(open('/proc/self/status').read(), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    (peak,) = (line for line in done.stderr.splitlines() if line.startswith("VmHWM"))
    kib = int(peak.split()[1])
    print(f"{verb}: {kib / 1024:.1f} MiB")
    assert kib <= 30 * 1024
