"""Commands of ``setpoint`` that people run while an operator works: pause, resume, step-down, reconcile."""

from __future__ import annotations

from typing import Annotated, Final

from cyclopts import Parameter
from cyclopts.validators import Number

from setpoint.cli.pause_flags import PauseFlags
from setpoint.cli.run_flags import KubeconfigFlags

_DEFAULT_CLUSTER: Final = KubeconfigFlags()
_DEFAULT_PLACE: Final = PauseFlags()


def pause(
    kind: str,
    name: str,
    *,
    reason: str = "",
    place: PauseFlags = _DEFAULT_PLACE,
    cluster: KubeconfigFlags = _DEFAULT_CLUSTER,
) -> None:
    """The command that `setpoint.cli.main` describes.

    Parameters
    ----------
    kind
        The kind of the object, as in kubectl get; or the word controller.
    name
        The name of the object (NAME or NAMESPACE/NAME) or of the controller, as in its metrics and logs.
    reason
        The reason, which the object's condition, explain and top show.
    """
    from setpoint.cli.pause import Target
    from setpoint.cli.pause import pause as stop

    stop(Target.of(kind, name, place), reason, cluster)


def resume(
    kind: str,
    name: str,
    *,
    place: PauseFlags = _DEFAULT_PLACE,
    cluster: KubeconfigFlags = _DEFAULT_CLUSTER,
) -> None:
    """The command that `setpoint.cli.main` describes.

    Parameters
    ----------
    kind
        The kind of the object, as in kubectl get; or the word controller.
    name
        The name of the object (NAME or NAMESPACE/NAME) or of the controller.
    """
    from setpoint.cli.pause import Target
    from setpoint.cli.pause import resume as go_on

    go_on(Target.of(kind, name, place), cluster)


def step_down(
    lease: str,
    *,
    namespace: Annotated[str | None, Parameter(name=["--namespace", "-n"])] = None,
    timeout: Annotated[float, Parameter(validator=Number(gt=0))] = 60.0,
    cluster: KubeconfigFlags = _DEFAULT_CLUSTER,
) -> None:
    """The command that `setpoint.cli.main` describes.

    Parameters
    ----------
    lease
        The name of the election's Lease: NAME or NAMESPACE/NAME. The leader must run with --lost-lease standby.
    namespace
        The Lease's namespace; default: that of the context.
    timeout
        Seconds to wait for the next leader.
    """
    from setpoint.cli.step_down import step_down as hand_over

    hand_over(lease, namespace, cluster, timeout)


def reconcile(
    kind: str,
    name: str,
    *,
    wait: Annotated[bool, Parameter(negative="")] = False,
    timeout: Annotated[float, Parameter(validator=Number(gt=0))] = 300.0,
    namespace: Annotated[str | None, Parameter(name=["--namespace", "-n"])] = None,
    annotation: str = "",
    cluster: KubeconfigFlags = _DEFAULT_CLUSTER,
) -> None:
    """The command that `setpoint.cli.main` describes.

    Parameters
    ----------
    kind
        The kind of the object, as in kubectl get.
    name
        The name of the object: NAME or NAMESPACE/NAME.
    wait
        Wait until the reconcile has ended; the exit status is 1 if a condition says that it failed.
    timeout
        With --wait: the number of seconds after which the command gives up.
    namespace
        The object's namespace; default: that of the context.
    annotation
        The annotation that the controller declares (request_annotation=), if it is not GROUP/reconcile-at.
    """
    from setpoint.cli.pause import Target
    from setpoint.cli.reconcile import reconcile as request

    target = Target(kind=kind, name=name, namespace=namespace, annotation=annotation)
    request(target, cluster, timeout if wait else None)
