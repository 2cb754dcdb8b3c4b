"""The objects of connect requests: ``kubectl exec``, ``attach``, ``port-forward``, proxies.

These kinds are never stored and are not in Kubernetes' OpenAPI documents; their fields are the query parameters of the
request.

    Admission(PodExecOptions, of=Pod, subresource="exec").validates(no_shells, on=("connect",))
"""

from __future__ import annotations

from typing import ClassVar

from setpoint.meta import ApiModel, Object, Resource


def _options(kind: str, plural: str, *, namespaced: bool = True) -> Resource:
    return Resource(group="", version="v1", kind=kind, plural=plural, namespaced=namespaced, verbs=("create", "get"))


class PodAttachOptions(Object, ApiModel):
    """The options of ``pods/attach``."""

    resource: ClassVar[Resource] = _options("PodAttachOptions", "pods")

    stdin: bool = False
    stdout: bool = False
    stderr: bool = False
    tty: bool = False
    container: str = ""


class PodExecOptions(Object, ApiModel):
    """The options of ``pods/exec``. ``command`` is not run in a shell."""

    resource: ClassVar[Resource] = _options("PodExecOptions", "pods")

    stdin: bool = False
    stdout: bool = False
    stderr: bool = False
    tty: bool = False
    container: str = ""
    command: list[str] = []


class PodPortForwardOptions(Object, ApiModel):
    """The options of ``pods/portforward``.

    ``ports`` is set only by clients of the old WebSocket protocol. It is empty for clients that use SPDY, even through
    a WebSocket, as kubectl does: they send the ports within the stream.
    """

    resource: ClassVar[Resource] = _options("PodPortForwardOptions", "pods")

    ports: list[int] = []


class PodProxyOptions(Object, ApiModel):
    """The options of ``pods/proxy``."""

    resource: ClassVar[Resource] = _options("PodProxyOptions", "pods")

    path: str = ""


class ServiceProxyOptions(Object, ApiModel):
    """The options of ``services/proxy``."""

    resource: ClassVar[Resource] = _options("ServiceProxyOptions", "services")

    path: str = ""


class NodeProxyOptions(Object, ApiModel):
    """The options of ``nodes/proxy``."""

    resource: ClassVar[Resource] = _options("NodeProxyOptions", "nodes", namespaced=False)

    path: str = ""
