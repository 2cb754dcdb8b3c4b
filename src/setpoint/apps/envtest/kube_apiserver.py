"""The replacement for ``kube-apiserver``: the embedded server over TLS, with kube-apiserver's flags."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from setpoint.apps.envtest.feature_gates import check_gates
from setpoint.apps.envtest.flags import FlagError, help_text, parse
from setpoint.apps.envtest.server_flags import FLAGS, REFUSED
from setpoint.meta.optional_dependencies import MissingExtra

if TYPE_CHECKING:
    from setpoint.apps.envtest.flags import Flags

_ABOUT = "setpoint's embedded Kubernetes API server in the place of kube-apiserver 1.37."
_MODES = ("AlwaysAllow", "Node", "RBAC")


def main(arguments: Sequence[str]) -> int:
    """Runs until SIGTERM or SIGINT, and returns the exit status."""
    try:
        flags = parse(FLAGS, ["--help" if argument == "-h" else argument for argument in arguments])
        if flags.true("help", False):
            print(help_text("kube-apiserver", _ABOUT, FLAGS))  # noqa: T201
            return 0
        if flags.true("version", False):
            print("Kubernetes v1.37.0+setpoint")  # noqa: T201
            return 0
        _check(flags)
    except FlagError as problem:
        _say(f"Error: {problem}")
        return 1
    from setpoint.apps.envtest.serving import ServingError, run

    try:
        run(flags)
    except (FlagError, ServingError, MissingExtra, OSError) as problem:
        _say(f"Error: {problem}")
        return 1
    return 0


def _check(flags: Flags) -> None:
    """Prints a line for each given flag that has no effect here.

    Raises:
        FlagError: a flag is not supported, and the result of a test could depend on it; or a flag has an unsupported
            value.
    """
    for name in REFUSED:
        if flags.text(name):
            raise FlagError(
                f"--{name} is not supported by setpoint's kube-apiserver: leave it out, or use the real one"
            )
    modes = flags.several("authorization-mode")
    wrong = [mode for mode in modes if mode not in _MODES]
    if wrong:
        raise FlagError(f"--authorization-mode={','.join(wrong)} is not supported here: use {', '.join(_MODES)}")
    check_gates(flags.several("feature-gates"))
    for name in flags.meaningless:
        _say(f"--{name} does nothing in setpoint's kube-apiserver")


def _say(text: str) -> None:
    print(f"kube-apiserver: {text}", file=sys.stderr, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
