"""The flags that pause and resume share; they are in a light module so that the help needs no other code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from cyclopts import Parameter


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class PauseFlags:
    """The place of a pause.

    Parameters
    ----------
    namespace
        The object's namespace, or the one in which the controller's program runs; default: that of the context.
    annotation
        The annotation that the controller declares (pause_annotation=), if it is not GROUP/paused.
    config_map
        The ConfigMap that the program follows (--pause-switch), if it is not setpoint-paused.
    """

    namespace: Annotated[str | None, Parameter(name=["--namespace", "-n"])] = None
    annotation: str = ""
    config_map: str = ""
