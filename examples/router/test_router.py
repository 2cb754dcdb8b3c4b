"""The tests of router.py, and of its rules against those of the documentation of Ingress."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import itertools
import os
import pathlib
import re
import shutil
import subprocess
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

import pytest
from router import COMPLAINTS, CONFIG, CONTROLLER, Nginx, Options, controller
from routing import CLASS, PORT, Backend, Path, config, locations, served_by, server_name
from tests.ports import reserved_port

import setpoint as sp
from setpoint.models.core_v1 import (
    ConfigMap,
    LoadBalancerIngress,
    LoadBalancerStatus,
    Namespace,
    Service,
    ServicePort,
    ServiceSpec,
)
from setpoint.models.events_v1 import Event
from setpoint.models.networking_v1 import (
    HTTPIngressPath,
    HTTPIngressRuleValue,
    Ingress,
    IngressBackend,
    IngressClass,
    IngressClassSpec,
    IngressRule,
    IngressServiceBackend,
    IngressSpec,
    IngressTLS,
    ServiceBackendPort,
)

# -- the rules ---------------------------------------------------------------------------------------------------------


def path(text: str, kind: str = "Prefix", host: str = "", service: str = "default/web") -> Path:
    is_exact = kind == "Exact"
    normal = text if is_exact else text.rstrip("/") or "/"
    return Path(sp.ObjectKey("default/web"), host, normal, is_exact, False, Backend(service, 80))


@pytest.mark.parametrize(
    ("kind", "paths", "request_path", "expected"),
    [
        ("Prefix", ["/"], "/any/path", "/"),
        ("Exact", ["/foo"], "/foo", "/foo"),
        ("Exact", ["/foo"], "/bar", None),
        ("Exact", ["/foo"], "/foo/", None),
        ("Exact", ["/foo/"], "/foo", None),
        ("Prefix", ["/foo"], "/foo", "/foo"),
        ("Prefix", ["/foo"], "/foo/", "/foo"),
        ("Prefix", ["/foo/"], "/foo", "/foo"),
        ("Prefix", ["/aaa/bb"], "/aaa/bbb", None),
        ("Prefix", ["/aaa/bbb"], "/aaa/bbb/ccc", "/aaa/bbb"),
        ("Prefix", ["/aaa/bbb"], "/aaa/bbbxyz", None),
        ("Prefix", ["/", "/aaa"], "/aaa/ccc", "/aaa"),
        ("Prefix", ["/", "/aaa", "/aaa/bbb"], "/aaa/bbb", "/aaa/bbb"),
        ("Prefix", ["/", "/aaa", "/aaa/bbb"], "/ccc", "/"),
    ],
)
def test_paths_match_as_in_the_table_of_the_documentation(
    kind: str, paths: list[str], request_path: str, expected: str | None
) -> None:
    match = served_by([path(text, kind) for text in paths], request_path)
    assert (match.path if match else None) == expected


def nginx_finds(paths: list[Path], request: str) -> Path | str | None:
    """The choice of nginx: an equal location, or else the longest that the path begins with; and its own redirect."""
    places = locations(paths)
    if ("= ", request) in places:
        return places["= ", request]
    if ("= ", request + "/") in places or ("", request + "/") in places:
        return "redirected"
    return places["", max((place for sign, place in places if not sign and request.startswith(place)), key=len)]


def test_nginx_chooses_as_the_rules_say_whatever_paths_there_are() -> None:
    every = [path(text, kind) for text in ("/", "/a", "/a/", "/a/b", "/ab") for kind in ("Exact", "Prefix")]
    requests = ("/", "/a", "/a/", "/a/b", "/a/b/", "/a/c", "/ab", "/abc", "/b")
    for number in range(4):
        for paths in itertools.combinations(every, number):
            distinct = list({path_.place: path_ for path_ in paths}.values())
            for request in requests:
                assert nginx_finds(distinct, request) == served_by(distinct, request), (paths, request)


def test_a_wildcard_stands_for_one_label() -> None:
    assert server_name("*.example.org") == r'"~^[^.]+\\.example\\.org$"'
    assert (server_name("www.example.org"), server_name("")) == ('"www.example.org"', "_")


EVIL = ('/"; } evil {', "/a b;{}", "/$uri", "/\\", "/ü", "/#", "/'")


def test_no_path_gets_out_of_its_quotes() -> None:
    text = config([path(text_) for text_ in EVIL], {Backend("default/web", 80): "192.0.2.1:80"})
    assert '        location "/\\"; } evil {/" { proxy_pass http://default_web_80; }' in text.splitlines()


# -- the operator ------------------------------------------------------------------------------------------------------

OURS = IngressClass.named("ours", spec=IngressClassSpec(controller=CONTROLLER))
THEIRS = IngressClass.named("theirs", spec=IngressClassSpec(controller="example.com/other"))


class Judge(sp.simulation.External, Nginx):
    """An nginx that finds what it is told to find."""

    def __init__(self, problem: str = "", publish_service: str = "") -> None:
        Nginx.__init__(self, Options(publish_service=publish_service))
        self.complaint = problem

    def state(self) -> dict[str, Any]:
        return {}

    @sp.simulation.call
    async def problem(self, text: str) -> str:
        return self.complaint


def using(nginx: Nginx) -> Any:
    @asynccontextmanager
    async def lifespan(manager: sp.Manager) -> AsyncGenerator[Nginx]:
        yield nginx

    return lifespan


def running(*objects: sp.Object, nginx: Nginx | None = None) -> Any:
    objects_ = [Namespace.named("red"), OURS, THEIRS, *objects]
    return sp.testing.cluster(controller, objects=objects_, control_plane=False, lifespan=using(nginx or Judge()))


def service(name: str, namespace: str = "default", **spec: Any) -> Service:
    return Service.named(name, namespace, spec=ServiceSpec(ports=[ServicePort(name="http", port=80)], **spec))


def backend(name: str, port: int | str = 80) -> IngressBackend:
    number, text = (port, None) if isinstance(port, int) else (None, port)
    wanted = IngressServiceBackend(name=name, port=ServiceBackendPort(number=number, name=text))
    return IngressBackend(service=wanted)


def rule(host: str, *paths: str, to: str = "web", kind: str = "Prefix", port: int | str = 80) -> IngressRule:
    http_paths = [HTTPIngressPath(path=path_text, path_type=kind, backend=backend(to, port)) for path_text in paths]
    return IngressRule(host=host or None, http=HTTPIngressRuleValue(paths=http_paths))


def ingress(name: str, *rules: IngressRule, namespace: str = "default", by: str = "ours", **spec: Any) -> Ingress:
    return Ingress.named(name, namespace, spec=IngressSpec(ingress_class_name=by, rules=[*rules], **spec))


async def config_lines(cluster: sp.testing.Cluster) -> list[str]:
    """The lines of the configuration, without spaces at their sides."""
    return [line.strip() for line in (await cluster.get(ConfigMap, "router-ours")).data[CONFIG].splitlines()]


async def events(cluster: sp.testing.Cluster) -> list[tuple[str, str, str]]:
    listed = [event for event in await cluster.list(Event) if event.regarding is not None]
    return [(event.regarding.name or "", event.reason or "", event.note or "") for event in listed if event.regarding]


@sp.testing.virtual_time
async def test_ingresses_of_all_namespaces_become_servers_and_locations() -> None:
    async with running(service("web"), service("web", "red", cluster_ip="10.96.0.9")) as cluster:
        await cluster.create(ingress("a", rule("shop.example.org", "/", "/cart", port="http")))
        await cluster.create(ingress("b", rule("*.example.org", "/x", kind="Exact"), namespace="red"))
        await cluster.create(ingress("c", default_backend=backend("web")))
        await cluster.create(ingress("d", rule("other.example.org", "/"), by="theirs"))
        await cluster.settle()
        lines = await config_lines(cluster)
        assert "upstream red_web_80 { server 10.96.0.9:80; }" in lines
        assert 'location "/cart/" { proxy_pass http://default_web_http; }' in lines
        assert 'location = "/x" { proxy_pass http://red_web_80; }' in lines
        first = lines.index("listen 8080 default_server;")
        assert lines[first + 2] == 'location "/" { proxy_pass http://default_web_80; }'
        assert "other.example.org" not in " ".join(lines)
        assert await cluster.find(ConfigMap, "router-theirs") is None
        await cluster.delete(await cluster.get(Ingress, "a"))
        await cluster.settle()
        assert "shop" not in " ".join(await config_lines(cluster))


@sp.testing.virtual_time
async def test_the_older_ingress_has_a_path_and_the_loser_is_told_once_and_has_it_when_it_is_free() -> None:
    async with running(service("web"), service("new")) as cluster:
        first = await cluster.create(ingress("z-first", rule("shop.example.org", "/cart")))
        await sp.testing.advance(2)
        await cluster.create(ingress("a-second", rule("shop.example.org", "/cart/", "/more", to="new")))
        await cluster.settle()
        lines = await config_lines(cluster)
        assert 'location "/cart/" { proxy_pass http://default_web_80; }' in lines
        assert 'location "/more/" { proxy_pass http://default_new_80; }' in lines
        conflict = ("a-second", "Conflict", "Prefix shop.example.org/cart is served for Ingress default/z-first")
        assert await events(cluster) == [conflict]
        await cluster.create(ingress("another", rule("other.example.org", "/")))
        await cluster.settle()
        (event,) = await cluster.list(Event)
        assert event.series is None, "what has been told is not told again"
        await cluster.delete(first)
        await cluster.settle()
        assert 'location "/cart/" { proxy_pass http://default_new_80; }' in await config_lines(cluster)
        assert (await cluster.get(ConfigMap, "router-ours")).data[COMPLAINTS] == ""


@sp.testing.virtual_time
async def test_a_missing_service_answers_503_until_it_is_there_and_what_is_not_served_is_told() -> None:
    async with running(service("headless", cluster_ip="None")) as cluster:
        shop = ingress("shop", rule("", "/"), rule("h.example.org", "/", to="headless"), tls=[IngressTLS(hosts=["a"])])
        await cluster.create(shop)
        await cluster.settle()
        assert (await config_lines(cluster)).count('location "/" { return 503; }') == 2
        reasons = sorted((reason, note) for _, reason, note in await events(cluster))
        assert reasons == [
            ("NoService", "Prefix */ answers 503: there is no Service default/web:80 with an address"),
            ("NoService", "Prefix h.example.org/ answers 503: there is no Service default/headless:80 with an address"),
            ("NotSupported", "TLS is not served: its hosts are served without"),
        ]
        await cluster.create(service("web"))
        await cluster.settle()
        assert 'location "/" { proxy_pass http://default_web_80; }' in await config_lines(cluster)


@sp.testing.virtual_time
async def test_a_class_may_be_named_by_the_old_annotation_and_wrong_paths_are_told() -> None:
    old = ingress("old", rule("", "/%0aevil", "/%41", kind="ImplementationSpecific"), by="")
    old.spec.ingress_class_name = None
    old.metadata.annotations[CLASS] = "ours"
    async with running(service("web"), old) as cluster:
        await cluster.settle()
        lines = await config_lines(cluster)
        assert 'location "/A/" { proxy_pass http://default_web_80; }' in lines
        assert "evil" not in " ".join(lines)
        ((name, reason, note),) = await events(cluster)
        assert (name, reason) == ("old", "NotSupported")
        assert "can't be printed" in note


async def give(cluster: sp.testing.Cluster, *addresses: str) -> None:
    """Says what addresses the load balancer of the router itself has."""
    edge = await cluster.get(Service, "edge")
    edge.status.load_balancer = LoadBalancerStatus(ingress=[LoadBalancerIngress(ip=ip) for ip in addresses])
    await cluster.client.update_status(edge)


async def addresses_of(cluster: sp.testing.Cluster, name: str) -> list[str]:
    balancer = (await cluster.get(Ingress, name)).status.load_balancer
    return [ingress.ip or "" for ingress in balancer.ingress] if balancer is not None else []


@sp.testing.virtual_time
async def test_the_status_has_the_addresses_of_the_published_service() -> None:
    nginx = Judge(publish_service="default/edge")
    async with running(service("web"), service("edge", type="LoadBalancer"), nginx=nginx) as cluster:
        await cluster.create(ingress("a", rule("shop.example.org", "/")))
        await sp.testing.advance(2)
        await cluster.create(ingress("loser", rule("shop.example.org", "/")))
        await cluster.settle()
        assert await addresses_of(cluster, "a") == []
        await give(cluster, "192.0.2.1")
        await cluster.settle()
        assert (await addresses_of(cluster, "a"), await addresses_of(cluster, "loser")) == (["192.0.2.1"], [])
        await give(cluster, "192.0.2.2", "192.0.2.3")
        await cluster.settle()
        assert await addresses_of(cluster, "a") == ["192.0.2.2", "192.0.2.3"]


@sp.testing.virtual_time
async def test_a_configuration_that_nginx_refuses_is_never_published() -> None:
    nginx = Judge()
    async with running(service("web"), ingress("a", rule("a.example.org", "/")), nginx=nginx) as cluster:
        await cluster.settle()
        before = await config_lines(cluster)
        nginx.complaint = "nginx: [emerg] as the test says"
        await cluster.create(ingress("b", rule("b.example.org", "/")))
        await cluster.settle(failing=True)
        assert await config_lines(cluster) == before
        assert ("ours", "InvalidConfiguration", "nginx: [emerg] as the test says") in await events(cluster)
        nginx.complaint = ""
        await sp.testing.advance(1000)
        assert await config_lines(cluster) != before


def real_nginx() -> str:
    binary = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    if binary is None:
        pytest.skip("there is no nginx: apt-get install nginx-light")
    return binary


@pytest.mark.generated
def test_the_real_nginx_takes_what_is_written_and_refuses_what_is_damaged() -> None:
    wild, long = path("/x", "Exact", "*.example.org"), path("/", "Prefix", "a" * 63 + ".org")
    text = config([*map(path, EVIL), wild, long], {Backend("default/web", 80): "[2001:db8::1]:80"})
    nginx = Nginx(Options(nginx=real_nginx()))
    assert asyncio.run(nginx.problem(text)) == ""
    assert "unexpected" in asyncio.run(nginx.problem(text.rstrip().removesuffix("}")))


@pytest.mark.generated
def test_the_real_nginx_chooses_as_the_rules_say(tmp_path: pathlib.Path) -> None:
    """Each location answers with the name of its Service in place of a Service."""
    pairs = [
        ("/", "Prefix"),
        ("/a", "Prefix"),
        ("/a/b", "Exact"),
        ("/c", "Exact"),
        ("/a b;{}", "Prefix"),
        ("/ü", "Exact"),
    ]
    paths = [path(text, kind, "shop.example.org", f"default/s{number}") for number, (text, kind) in enumerate(pairs)]
    paths += [path("/", "Prefix", "*.example.org", "default/wild"), path("/only", "Exact", "", "default/all")]
    text = config(paths, {path_.backend: "127.0.0.1:9" for path_ in paths})
    text = re.sub(r"proxy_pass http://default_(\w+)_80;", r"return 200 \1;", text)
    with reserved_port() as port:
        file = tmp_path / "nginx.conf"
        settings = f"pid {tmp_path}/pid;\nerror_log stderr;\n"
        text = text.replace(f"listen {PORT}", f"listen 127.0.0.1:{port}")
        file.write_text(
            settings + text.replace("http {", "http { access_log off;", 1).replace("/tmp/nginx-", f"{tmp_path}/")
        )
        command = [real_nginx(), "-p", str(tmp_path), "-c", str(file), "-g", "daemon off; master_process off;"]
        process = subprocess.Popen(command)
        try:
            for host, server_host in (
                ("shop.example.org", "shop.example.org"),
                ("x.example.org", "*.example.org"),
                ("nowhere", ""),
            ):
                candidates = [path_ for path_ in paths if path_.host == server_host]
                for request in ("/", "/a", "/a/", "/a/x", "/a/b", "/ab", "/c", "/c/", "/a b;{}/x", "/ü", "/only", "/d"):
                    expected = served_by(candidates, request)
                    name = expected.backend.service.removeprefix("default/") if expected is not None else None
                    assert backend_of(port, host, request) == name, (host, request)
            assert backend_of(port, "x.y.example.org", "/") is None
        finally:
            process.terminate()
            process.wait(30)


def backend_of(port: int, host: str, request: str) -> str | None:
    """The answer of nginx, None for 404."""
    for _ in range(200):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        try:
            connection.request("GET", quote(request), headers={"Host": host})
        except ConnectionRefusedError:  # it has only just been started
            time.sleep(0.05)
            continue
        with contextlib.closing(connection):
            answer = connection.getresponse()
            text = answer.read().decode()
            assert answer.status in (200, 404)
            return text if answer.status == 200 else None
    raise AssertionError("nginx does not listen")


async def scenario(cluster: sp.testing.Cluster) -> None:
    await cluster.create(service("web"))
    await cluster.create(service("edge", type="LoadBalancer"))
    await cluster.apply(ingress("a", rule("shop.example.org", "/")))
    await cluster.settle()
    await give(cluster, "192.0.2.1")
    await cluster.apply(ingress("b", rule("shop.example.org", "/", "/more")))
    await cluster.settle()
    await cluster.apply(ingress("a", rule("www.example.org", "/")))
    await cluster.settle()
    await cluster.delete(await cluster.get(Ingress, "b"))
    await cluster.settle()


def simulated(budget: sp.simulation.Budget, **options: Any) -> sp.simulation.Report:
    """Simulates the scenario under faults; test_survival.py runs it."""
    nginx = Judge(publish_service="default/edge")
    return sp.simulation.check(
        scenario,
        lambda: [controller],
        objects=[OURS],
        control_plane=False,
        lifespan=using(nginx),
        externals=[nginx],
        budget=budget,
        **options,
    )
