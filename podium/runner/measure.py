"""What a stretch of code costs, measured from inside its process."""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path
from types import TracebackType


class Stopwatch:
    """Wall and CPU seconds of a ``with`` block; CPU includes children that were waited for."""

    wall = 0.0
    cpu = 0.0

    def __enter__(self) -> Stopwatch:
        self._wall, self._cpu = time.perf_counter(), _cpu_seconds()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.wall = time.perf_counter() - self._wall
        self.cpu = _cpu_seconds() - self._cpu


def peak_bytes() -> int:
    """Return the largest resident size so far of this process or of a child it waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    return max(_own_peak(), children)


def start_device(device: str) -> None:
    """Forget earlier memory peaks of a GPU; nothing on a CPU."""
    if device.startswith("cuda"):
        import torch

        torch.cuda.reset_peak_memory_stats(device)


def finish_device(device: str) -> int | None:
    """Wait for a GPU and return its peak of allocated bytes; ``None`` on a CPU."""
    if not device.startswith("cuda"):
        return None
    import torch

    torch.cuda.synchronize(device)
    return int(torch.cuda.max_memory_allocated(device))


def device_fault(device: str) -> str | None:
    """Return why ``device`` cannot be used here; ``None`` where it can.

    A CPU is always there, and asking for it imports nothing.
    """
    kind, _, number = device.partition(":")
    if kind == "cpu" and not number:
        return None
    if kind != "cuda" or not (number.isdigit() or not number):
        return f"unknown device {device!r}; expected cpu, cuda or cuda:N"
    import torch

    if not torch.cuda.is_available():
        return (
            f"device {device} is not available: torch {torch.__version__} sees no CUDA GPU; "
            "use --device cpu, or install a CUDA build of torch on a machine with a GPU"
        )
    count = torch.cuda.device_count()
    if number and int(number) >= count:
        return f"device {device} is not available: there are {count} CUDA devices"
    return None


def device_name(device: str) -> str | None:
    """Return the model of the GPU; ``None`` on a CPU."""
    if not device.startswith("cuda"):
        return None
    import torch

    return str(torch.cuda.get_device_name(device))


def limit_torch_threads(threads: int) -> None:
    """Hold torch, where it is loaded, to a number of threads; numpy reads the environment."""
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(threads)


def _cpu_seconds() -> float:
    # Not os.times: it counts in ticks of 10 ms.
    own, children = (
        resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def _own_peak() -> int:
    # Not ru_maxrss: after a fork it still holds the peak of the process it was forked from.
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
