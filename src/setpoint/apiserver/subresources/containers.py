"""``log``, ``exec``, ``attach`` and ``portforward`` of pods: the logs of containers, and connections to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, Final

from setpoint.apiserver.errors import ApiStatusError, bad_request
from setpoint.apiserver.http_types import Response, Socket, Upgrade
from setpoint.apiserver.requests.call import Call
from setpoint.apiserver.streams.channels import COMMAND_PROTOCOLS, PORT_PROTOCOLS, serve_command, serve_ports
from setpoint.apiserver.streams.kubelets import CommandRequest, Kubelets, LogRequest, Streams
from setpoint.apiserver.streams.pipes import Output
from setpoint.apiserver.streams.tunnel import TUNNEL_PROTOCOLS, PortTunnel
from setpoint.meta import parse_time

JsonObject = dict[str, Any]
_NO_KUBELETS: Final = "this server has no nodes, so no container runs"


def log(call: Call) -> Response:
    """The response to GET pods/NAME/log. The log of a pod that is not on a node yet is empty. Raises ApiStatusError."""
    pod = _pod(call)
    query = call.query
    request = LogRequest(
        container=_container(pod, query.get("container", "")),
        follow=bool(query.flag("follow")),
        previous=bool(query.flag("previous")),
        timestamps=bool(query.flag("timestamps")),
        since=_since(call),
        tail=_least(query.integer("tailLines"), 0, "tailLines"),
        limit=_least(query.integer("limitBytes"), 1, "limitBytes"),
    )
    if not pod["spec"].get("nodeName"):
        return Response(200, {"content-type": "text/plain"}, b"")
    return Response(200, {"content-type": "text/plain"}, _kubelets(call).log(pod, request))


def execute(call: Call) -> Response:
    """The response to GET or POST pods/NAME/exec. Raises ApiStatusError."""
    arguments = tuple(call.query.all("command"))
    if not arguments:
        raise bad_request("you must specify at least one command for the container")
    return _command(call, arguments)


def attach(call: Call) -> Response:
    """The response to GET or POST pods/NAME/attach. Raises ApiStatusError."""
    return _command(call, ())


def forward(call: Call) -> Response:
    """The response to GET or POST pods/NAME/portforward. Raises ApiStatusError."""
    pod = _placed(call)
    kubelets = _kubelets(call)
    protocol = _protocol(call, (*TUNNEL_PROTOCOLS, *PORT_PROTOCOLS))
    if protocol in TUNNEL_PROTOCOLS:
        return _upgraded(protocol, lambda socket: PortTunnel(socket, lambda port: kubelets.port(pod, port)).serve())
    texts = [text for value in call.query.all("ports") for text in value.split(",")]
    if not texts or not all(text.isdecimal() and 0 < int(text) < 65536 for text in texts):
        raise bad_request('query parameter "ports" must be the numbers of ports, such as ports=8080')
    talks = [(int(text), kubelets.port(pod, int(text))) for text in texts]
    return _upgraded(protocol, lambda socket: serve_ports(socket, talks))


CONNECTIONS: Final[dict[tuple[str, str], Callable[[Call], Response]]] = {
    ("pods", "exec"): execute,
    ("pods", "attach"): attach,
    ("pods", "portforward"): forward,
}
"""The handlers by resource and subresource."""


def _command(call: Call, arguments: tuple[str, ...]) -> Response:
    pod, query = _placed(call), call.query
    wanted = {name: bool(query.flag(name)) for name in ("stdin", "stdout", "stderr", "tty")}
    if not (wanted["stdin"] or wanted["stdout"] or wanted["stderr"]):
        raise bad_request("you must specify at least 1 of stdin, stdout, stderr")
    request = CommandRequest(_container(pod, query.get("container", "")), arguments, wanted["tty"])
    run = _kubelets(call).command(pod, request)
    protocol = _protocol(call, COMMAND_PROTOCOLS)

    async def serve(socket: Socket) -> None:
        streams = Streams(
            stdout=Output(open=wanted["stdout"]), stderr=Output(open=wanted["stderr"] and not wanted["tty"])
        )
        if not wanted["stdin"]:
            streams.stdin.end()
        await serve_command(socket, run, streams)

    return _upgraded(protocol, serve)


def _upgraded(protocol: str, serve: Any) -> Response:
    return Response(101, {}, b"", Upgrade(protocol, serve))


def _kubelets(call: Call) -> Kubelets:
    kubelets = call.state.kubelets
    if kubelets is None:
        raise ApiStatusError(501, "", _NO_KUBELETS)
    return kubelets


def _protocol(call: Call, supported: Sequence[str]) -> str:
    headers = call.request.headers
    if headers.get("upgrade", "").lower() != "websocket":
        raise bad_request("Upgrade request required: this server supports only WebSocket here")
    offered = [text.strip() for text in headers.get("sec-websocket-protocol", "").split(",")]
    for protocol in supported:
        if protocol in offered:
            return protocol
    raise bad_request(
        f"requested protocol(s) are not supported: [{' '.join(offered)}]; supports [{' '.join(supported)}]"
    )


def _pod(call: Call) -> JsonObject:
    return call.versions.decoded(call.served, call.existing())


def _placed(call: Call) -> JsonObject:
    pod = _pod(call)
    if not pod["spec"].get("nodeName"):
        raise bad_request(f"pod {call.path.name} does not have a host assigned")
    return pod


def _container(pod: JsonObject, name: str) -> str:
    """The name of the container that a request addresses: ``name`` or, if ``name`` is empty, the name of the pod's only
    container. Raises ApiStatusError (400).
    """
    spec, pod_name = pod["spec"], pod["metadata"]["name"]
    names: list[str]
    names, inits, extra = (
        [container["name"] for container in spec.get(key) or ()]
        for key in ("containers", "initContainers", "ephemeralContainers")
    )
    if not name:
        if len(names) == 1:
            return names[0]
        message = f"a container name must be specified for pod {pod_name}, choose one of: [{' '.join(names)}]"
        raise bad_request(f"{message} or one of the init containers: [{' '.join(inits)}]" if inits else message)
    if name not in (*names, *inits, *extra):
        raise bad_request(f"container {name} is not valid for pod {pod_name}")
    return name


def _since(call: Call) -> Any:
    seconds = _least(call.query.integer("sinceSeconds"), 1, "sinceSeconds")
    text = call.query.get("sinceTime")
    if seconds is not None and text:
        raise bad_request("at most one of `sinceTime` or `sinceSeconds` may be specified")
    if seconds is not None:
        return call.now() - timedelta(seconds=seconds)
    if not text:
        return None
    try:
        return parse_time(text)
    except ValueError:
        raise bad_request(f'query parameter "sinceTime" must be a time of RFC 3339, not {text!r}') from None


def _least(number: int | None, least: int, name: str) -> int | None:
    if number is not None and number < least:
        raise bad_request(f"{name}: Invalid value: {number}: must be greater than or equal to {least}")
    return number
