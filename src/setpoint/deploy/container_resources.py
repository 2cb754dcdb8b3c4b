"""Resources: the requests and limits of the operator's container, either guessed or measured in a run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

_MEBIBYTE: Final = 1 << 20
_STEP: Final = 16
"""Memory is rounded up to a multiple of this, in MiB, so that two runs give the same figures."""
_LEAST_CPU: Final = 10
"""The smallest CPU request, in thousandths of a core."""


class ResourcesError(Exception):
    """A file of measurements can't be used; the message names it and the remedy."""


class Measured(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The CPU and memory that a run used, as ``run --measure FILE`` writes them."""

    seconds: float
    """The length of the run."""
    cpu_seconds: float
    """The CPU time of the whole run."""
    busiest_cpu: float
    """The highest CPU use over ten seconds, in cores."""
    peak_memory: int
    """The largest resident set, in bytes."""


@dataclass(frozen=True)
class Resources:
    """Requests and limits. CPU is not limited, because a throttled leader loses its lease."""

    cpu: str
    memory: str
    memory_limit: str
    origin: str
    """The source of the figures, for a comment."""

    def document(self) -> dict[str, Any]:
        return {"requests": {"cpu": self.cpu, "memory": self.memory}, "limits": {"memory": self.memory_limit}}

    @classmethod
    def of(cls, measured: Measured) -> Resources:
        """The resources for a measured run. The memory request is 1.25 times the peak, and the CPU
        request is the use in the busiest ten seconds; the memory limit is twice the peak, because a
        program that reaches its limit is killed.
        """
        return cls(
            cpu=f"{max(_LEAST_CPU, -(-round(measured.busiest_cpu * 1000) // 5) * 5)}m",
            memory=_memory(measured.peak_memory * 1.25),
            memory_limit=_memory(measured.peak_memory * 2),
            origin=f"measured in a run of {measured.seconds:.0f} s",
        )


GUESSED: Final = Resources(
    "20m", "96Mi", "384Mi", "guessed; run --measure FILE measures them, and --resources FILE uses the result"
)
"""A guess: an idle program takes about 60 MiB, and its caches some hundreds of bytes for each object."""


def measured_in(path: Path) -> Resources:
    """The resources from a file that ``run --measure`` has written.

    Raises:
        ResourcesError: the file can't be read, or is not a file of measurements.
    """
    try:
        return Resources.of(msgspec.json.decode(path.read_bytes(), type=Measured))
    except OSError as problem:
        raise ResourcesError(f"{path}: {problem.strerror}; create it with run --measure {path}") from None
    except msgspec.DecodeError as problem:
        raise ResourcesError(f"{path}: not a file of run --measure: {problem}") from None


def _memory(size: float) -> str:
    return f"{-(-int(size) // (_STEP * _MEBIBYTE)) * _STEP}Mi"
