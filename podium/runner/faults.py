"""From an exception to what a record says of it."""

from __future__ import annotations

import importlib
import re
import traceback
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

from podium.errors import FIX, PodiumError
from podium.store.record import Status

REASON_LENGTH = 500
_FAULT_KEPT = 100
TRACEBACK_LENGTH = 6000
_ENGINE = (
    str(Path(__file__).parent),
    str(Path(__file__).parents[1] / "registry"),
    "<frozen importlib",
    importlib.__file__,
)

_FRAME = re.compile(r'  File "(.*)"(, line .*)$')


def status_of(error: BaseException) -> Status:
    """Return ``out_of_memory`` for an allocation that failed, else ``failed``."""
    if isinstance(error, MemoryError):
        return "out_of_memory"
    kind = type(error)
    if kind.__name__ == "OutOfMemoryError" and kind.__module__.partition(".")[0] == "torch":
        return "out_of_memory"
    # torch on a CPU raises a plain RuntimeError.
    if isinstance(error, RuntimeError) and "can't allocate memory" in str(error):
        return "out_of_memory"
    return "failed"


def reason_of(error: BaseException) -> str:
    """Return the exception as one line: its type and the first line of its message."""
    try:
        message = str(error)
    except Exception:
        message = "(its message cannot be shown)"
    if isinstance(error, PodiumError):
        message = message.replace("\n  ", "; ")
    first = next((line.strip() for line in message.splitlines() if line.strip()), "")
    return one_line(f"{type(error).__name__}: {first}" if first else type(error).__name__)


def one_line(text: str, length: int = REASON_LENGTH) -> str:
    """Return ``text`` as one line of bounded length."""
    flat = " ".join(_unicode(text).split())
    return flat if len(flat) <= length else flat[: length - 1] + "…"


def with_fix(what: str, fix: str | None) -> str:
    """Return a fault and its fix as one line; where it is too long, the fault is cut first."""
    if fix is None:
        return one_line(what)
    tail = FIX + one_line(fix)
    return one_line(what, max(REASON_LENGTH - len(tail), _FAULT_KEPT)) + tail


def traceback_end(error: BaseException) -> str:
    """Return the end of the traceback from where the entry's or the task's code begins.

    Paths are cut to their last three parts: a record names no machine and no person.
    """
    inner = error.__traceback__
    while inner is not None and inner.tb_next is not None and _is_engine(inner):
        inner = inner.tb_next
    try:
        shown = traceback.TracebackException(type(error), error, inner, compact=True)
        _shorten(shown, set())
        text = "".join(shown.format())
    except Exception:
        # An exception with hostile attributes must not take the record of its run with it.
        text = reason_of(error)
    return end(_unicode(text), TRACEBACK_LENGTH)


def stack_end(text: str) -> str | None:
    """Return what ``faulthandler`` wrote without the engine's own frames; ``None`` if nothing."""
    lines = []
    for line in text.splitlines():
        frame = _FRAME.match(line)
        if frame is None and not line.startswith("Extension modules:"):
            lines.append(line)
        elif frame is not None and not frame[1].startswith((*_ENGINE, "<")):
            lines.append(f'  File "{_cut(frame[1])}"{frame[2]}')
    return "\n".join(lines).strip() or None


def with_output(text: str | None, output: str) -> str | None:
    """Join a traceback and the end of what the run printed."""
    if not output.strip():
        return text
    printed = f"--- end of the output ---\n{output.rstrip()}\n"
    return f"{text.rstrip()}\n{printed}" if text else printed


def end(text: str, length: int) -> str:
    """Return the last ``length`` characters of ``text``, from the start of a line."""
    if len(text) <= length:
        return text
    cut = text[-length:]
    return "…\n" + cut[cut.find("\n") + 1 :]


def tail(path: Path, length: int = 2000) -> str:
    """Return the end of a text file; empty where there is none."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - 4 * length))
            text = file.read().decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
    return end(text.replace("\0", ""), length)


def _unicode(text: str) -> str:
    """Escape what UTF-8 cannot hold, such as the odd bytes of a file name in an error."""
    return text.encode("utf-8", "backslashreplace").decode()


def _cut(path: str) -> str:
    return "/".join(Path(path).parts[-3:])


def _is_engine(frame: TracebackType) -> bool:
    return frame.tb_frame.f_code.co_filename.startswith(_ENGINE)


def _shorten(shown: traceback.TracebackException, seen: set[int]) -> None:
    """Cut the paths of a traceback and of those that led to it."""
    if id(shown) in seen:
        return
    seen.add(id(shown))
    for frame in shown.stack:
        _ = frame.line  # read the source line while the path still leads to it
        frame.filename = _cut(frame.filename)
    others: Iterable[traceback.TracebackException | None] = (
        shown.__cause__,
        shown.__context__,
        *(shown.exceptions or ()),
    )
    for other in others:
        if other is not None:
            _shorten(other, seen)
