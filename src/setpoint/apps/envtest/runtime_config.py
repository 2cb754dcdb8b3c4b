"""``--runtime-config``: selects the built-in versions and resources to serve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from setpoint.apiserver import ApiServer
from setpoint.apps.envtest.flags import FlagError

_TRUTHS: Final = {"": True, "true": True, "1": True, "false": False, "0": False}
_SETS: Final = frozenset({"api/all", "api/ga", "api/beta", "api/alpha"})


def restrict(server: ApiServer, settings: Sequence[str]) -> None:
    """Removes the resources that ``settings`` turns off. Each entry is ``api/all``, ``api/ga``, a version, or a version
    with a resource (``apps/v1/deployments``), followed by ``=true`` or ``=false``. For each resource the most
    specific entry applies.

    Raises:
        FlagError: an entry turns on something that can't be served here, or its value is neither true nor false.
    """
    wanted: dict[str, bool] = {}
    for text in settings:
        key, _, value = text.partition("=")
        if value.lower() not in _TRUTHS:
            raise FlagError(f'invalid argument "{text}" for "--runtime-config" flag: the value is true or false')
        wanted[key] = _TRUTHS[value.lower()]
    names = {*_SETS}
    for served in server.registry:
        resource = served.resource
        version = resource.api_version
        names |= {version, f"{version}/{resource.plural}"}
        keys = ("api/all", "api/ga", version, f"{version}/{resource.plural}")
        if not next((wanted[key] for key in reversed(keys) if key in wanted), True):
            server.registry.remove(served)
    for key, on in wanted.items():
        if on and (key not in names or key in ("api/beta", "api/alpha")):
            raise FlagError(
                f"--runtime-config={key}=true is not supported by setpoint's kube-apiserver, which serves the versions "
                "that 1.37 serves by default (docs/served.md lists them): leave it out, or use the real one"
            )
