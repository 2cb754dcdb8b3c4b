"""``setpoint record``: writes the changes in a live cluster to a file that simulations replay."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from setpoint.apps.error_reports import UsageError
from setpoint.apps.program_runner import run
from setpoint.client import Client, NoMatchError
from setpoint.meta import resource_of
from setpoint.meta.text_escaping import visible
from setpoint.simulation import RecordingError
from setpoint.simulation.scenario.recorder import Full, Recorder


def record(
    kinds: Sequence[str],
    *,
    out: Path,
    kubeconfig: Path | None,
    context: str | None,
    namespace: str | None,
    redact: Sequence[str],
    most: int,
) -> None:
    """Records until a signal arrives or the file has reached its maximum size.

    Raises:
        UsageError: an argument is invalid.
    """
    if not kinds:
        raise UsageError("name the kinds to record, as for kubectl get: setpoint record --out FILE pods mykinds")

    def new_recorder() -> Recorder:
        try:
            return Recorder(out, redact=redact, most=most, report_retry=_say)
        except (RecordingError, ValueError) as problem:
            raise UsageError(str(problem)) from None

    async def work() -> None:
        try:
            async with Client.from_environment(kubeconfig, context=context) as client:
                classes = [await client.kind(name) for name in kinds]
                recorder = new_recorder()  # creates the file, once the kinds are known
                try:
                    names = ", ".join(str(resource_of(kind).group_resource) for kind in classes)
                    _say(f"recording {names} to {out}; Ctrl-C ends it")
                    await recorder.record(client, classes, namespace)
                except* Full:
                    _say(f"{out} has {most // 1_000_000} MB, the most that --max-size allows; the recording ends")
                finally:
                    recorder.close()
                    _say(f"recorded changes in {out}: {recorder.events}")
        except NoMatchError as problem:
            raise UsageError(str(problem)) from None

    run("setpoint", work())


def _say(text: str) -> None:
    sys.stderr.write(visible(f"{text}\n"))
    sys.stderr.flush()
