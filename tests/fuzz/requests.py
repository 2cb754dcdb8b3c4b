"""Requests of any verb, path, query, headers and body, most of them nearly right."""

from __future__ import annotations

from functools import cache
from typing import Any

import yaml
from hypothesis import strategies as st
from tests.apiserver.harness import APPLY, JSON_PATCH, MERGE, STRATEGIC
from tests.fuzz.documents import (
    encoded,
    large,
    metadata,
    of_schema,
    places,
    schemas,
    seeds,
    spoiled,
    texts,
    values,
)

from setpoint.apiserver import ApiServer, Request

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "get", "X", "")
TYPES = (
    "application/json",
    "application/json; charset=utf-8",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    JSON_PATCH,
    MERGE,
    STRATEGIC,
    APPLY,
    "text/plain",
    "",
    ";",
    "é",
)
ACCEPTS = (
    "",
    "*/*",
    "application/json",
    "application/yaml",
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json",
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
    "application/vnd.kubernetes.protobuf",
    ",,;;==",
    "text/html",
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
    "a," * 3000,
)
NUMBERS = ("0", "1", "5", "-1", "1_000", "٣", " 3", "+3", "0x3", "1.5", "9" * 20, "9" * 6000, "", "x")
SELECTORS = (
    "app=web",
    "app in (a,b),!c",
    "app in (",
    "a=b," * 3000,
    "!" * 1000,
    "a in (" + "b," * 5000 + "c)",
    "metadata.name=web",
    "spec.x!=1",
    "\\,\\=",
    "a>1",
    "a>" + "9" * 5000,
    "a" * 5000 + "=b",
    " " * 20_000 + "a",
    "(" * 5000,
)
TOKENS = (
    "",
    "x",
    "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhIn0",
    "é",
    "=" * 100,
    "W" * 9999,
    "bnVsbA",
    "W10",
)
NAMES = ("web", "one", "default", "kube-system", "mykinds.grp.example.com", "none")
SUBRESOURCES = (
    *("status", "scale", "token", "eviction", "binding", "finalize", "log", "exec", "proxy", "approval"),
    *("ephemeralcontainers", "resize", "none", "portforward", "attach"),
)


@cache
def resources() -> list[tuple[str, str, str, bool, tuple[str, ...]]]:
    """Root, plural, kind as the schemas name it, whether it is in namespaces, and what is below it."""
    result = [
        (one.root, one.plural, str(one.gvk), one.namespaced, tuple(one.subresources))
        for one in (served.resource for served in ApiServer().registry)
    ]
    return sorted(result) + [("/apis/grp.example.com/v1", "mykinds", "", True, ("status", "scale"))] * 8


KNOWN = (
    ("/api/v1/namespaces/default/configmaps", "web", "v1, Kind=ConfigMap"),
    ("/api/v1/namespaces/default/pods", "web", "v1, Kind=Pod"),
    ("/apis/grp.example.com/v1/namespaces/default/mykinds", "one", "Kind=Mykind"),
    ("/apis/grp.example.com/v1/namespaces/default/mykinds", "web", "Kind=Mykind"),
    ("/apis/apps/v1/namespaces/default/deployments", "web", "apps/v1, Kind=Deployment"),
    (
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        "mykinds.grp.example.com",
        "apiextensions.k8s.io/v1, Kind=CustomResourceDefinition",
    ),
)
"""The first requests of every session."""


@st.composite
def known_paths(draw: st.DrawFn, *, named: bool) -> tuple[str, str]:
    path, name, kind = draw(st.sampled_from(KNOWN))
    below = draw(st.sampled_from([""] * 6 + ["/status", "/scale", "/eviction", "/binding"])) if named else ""
    return f"{path}/{name}{below}" if named else path, kind


@st.composite
def paths(draw: st.DrawFn, *, named: bool | None = None) -> tuple[str, str]:
    """A path and the kind that is there."""
    root, plural, kind, namespaced, below = draw(st.sampled_from(resources()))
    namespace = draw(st.sampled_from(["default"] * 8 + ["none", "kube-system"]) | texts)
    path = f"{root}/namespaces/{namespace}/{plural}" if namespaced else f"{root}/{plural}"
    if draw(st.booleans()) if named is None else named:
        path += "/" + draw(st.sampled_from(NAMES) | texts)
        if draw(st.integers(0, 3)) == 0:
            path += "/" + draw(st.sampled_from(below or SUBRESOURCES) | st.sampled_from(SUBRESOURCES) | texts)
    return path, kind


odd_paths = st.sampled_from(
    [
        *("", "/", "//", "*", "host:443", "/api", "/apis", "/api/v1", "/apis/apps", "/apis/apps/v1", "/apis//v1/x"),
        *("/openapi/v2", "/openapi/v3", "/openapi/v3/apis/apps/v1", "/openapi/v3/api/v1", "/version", "/healthz/x"),
        *("/livez", "/readyz", "/metrics", "/api/v1/watch/pods", "/api/v1/namespaces", "/api/v1/namespaces/default"),
        *("/apis/grp.example.com", "/apis/none/v1", "/api/v1/namespaces/x/y/z/a/b/c", "/" * 3000, "/a" * 3000),
        *("api/v1/pods", "?", "/api/v1/pods?x", "/\x00", "/\ud800", "/api/v1/" + "x" * 9000),
    ]
) | st.lists(texts, max_size=6).map(lambda parts: "/" + "/".join(parts))

PARAMETERS = {
    "limit": NUMBERS,
    "timeoutSeconds": NUMBERS,
    "gracePeriodSeconds": NUMBERS,
    "resourceVersion": NUMBERS,
    "resourceVersionMatch": ("Exact", "NotOlderThan", "x"),
    "continue": TOKENS,
    "labelSelector": SELECTORS,
    "fieldSelector": SELECTORS,
    "watch": ("true", "1", "false", ""),
    "allowWatchBookmarks": ("true", "x"),
    "sendInitialEvents": ("true", "false"),
    "dryRun": ("All", "x", ""),
    "fieldManager": ("me", "", "é", "x" * 200, "\x00"),
    "fieldValidation": ("Strict", "Warn", "Ignore", "x"),
    "force": ("true", "false", ""),
    "pretty": ("true", "0"),
    "propagationPolicy": ("Foreground", "Orphan", "Background", "x"),
    "orphanDependents": ("true", "x"),
    "includeObject": ("None", "Metadata", "Object", "x"),
    "hash": ("", "x"),
    "exclude": ("ping", "x"),
    "verbose": ("",),
}
queries = st.just(()) | st.lists(
    st.sampled_from(sorted(PARAMETERS)).flatmap(
        lambda name: st.tuples(st.just(name), st.sampled_from(PARAMETERS[name]) | texts)
    )
    | st.tuples(texts, texts),
    max_size=3,
).map(tuple)

TEXT_HEADERS = (
    *("user-agent", "impersonate-user", "impersonate-group", "impersonate-uid", "impersonate-extra-a"),
    *("authorization", "if-none-match", "accept-encoding", "content-encoding", "x"),
)
headers = st.fixed_dictionaries(
    {},
    optional={
        "accept": st.sampled_from(ACCEPTS) | texts,
        **{
            name: st.sampled_from(["a", "a, b", "Bearer a.b.c", "Bearer \ud800", "Basic x", "\udcff"]) | texts
            for name in TEXT_HEADERS
        },
    },
).flatmap(lambda new_result: st.sampled_from([{}] * 8 + [new_result]))


@st.composite
def documents(draw: st.DrawFn, kind: str, name: str) -> Any:
    schema = schemas().get(kind)
    if schema is None or draw(st.integers(0, 2)) == 0:
        of_kind = [document for document in seeds() if document["kind"] == kind.rpartition("=")[2].strip()]
        document = draw(st.sampled_from(of_kind or seeds()))
        if document["kind"] != "CustomResourceDefinition":
            document["metadata"]["name"] = name
        return draw(st.just(document) | spoiled(document))
    document = draw(of_schema(schema))
    if not isinstance(document, dict):
        return document
    document["metadata"] = draw(metadata(name))
    document.pop("apiVersion", None)
    document.pop("kind", None)
    return draw(st.just(document) | spoiled(document))


@st.composite
def operations(draw: st.DrawFn, document: Any) -> Any:
    """A JSON patch of places that there are, or nearly."""
    where = ["/" + "/".join(str(step) for step in path) for path in places(document)]
    pointers = (
        st.sampled_from(
            [
                *where,
                "",
                "/",
                "/-",
                "/metadata/labels/a",
                "/spec/x/-",
                "/data/-1",
                "/0",
                "/spec/" + "9" * 5000,
                "/spec/٣",
            ]
        )
        | texts
    )
    one = st.fixed_dictionaries(
        {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test", "x"]), "path": pointers},
        optional={"value": values(2), "from": pointers},
    )
    doubling = [{"op": "add", "path": "/metadata/annotations", "value": {"a": "b"}}] + [
        {"op": "copy", "from": "/metadata", "path": f"/spec/x{n}"} for n in range(60)
    ]
    nested = [{"op": "copy", "from": "/spec", "path": "/spec/a"}] * 60
    return draw(
        st.lists(one | scalars_or(one), max_size=4)
        | st.sampled_from([doubling, nested, [doubling[0]] * 9_999])
        | values(2)
    )


def scalars_or(one: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.dictionaries(st.sampled_from(["op", "path", "value", "from"]), values(1), max_size=3)


YAML_BOMBS = (
    b"a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\n"
    + b"".join(
        b"%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n" % ((n, n) + (n - 1,) * 8) for n in range(ord("c"), ord("j"))
    ),
    b"a0: &a0 {x: 1}\n" + b"".join(b"a%d: &a%d {<<: [*a%d, *a%d]}\n" % (n, n, n - 1, n - 1) for n in range(1, 40)),
    b"&a [*a]",
    b"a: &a {<<: *a}",
    b"[" * 5_000,
    b"{a: " * 5_000,
    b"- " * 5_000 + b"x",
    b"? " * 2_000,
    b"!!python/object:os.system x",
    b"!!float x",
    b"!!int x",
    b"!!int " + b"9" * 6000,
    b"a: " + b"9" * 6000,
    b"a: 1:" + b"60:" * 3000 + b"1",
    b"%YAML 9.9\n---\na",
    b"a: !!binary x",
    b"a: .inf",
    b"a: .nan\nkind: ConfigMap\napiVersion: v1",
    b"--- a\n--- b",
    b"\xff\xfe",
    b"a: &" + b"a" * 100_000 + b" x",
    b"".join(b"k%d: &k%d x\n" % (n, n) for n in range(20_000)),
    b"\t",
    b"a: 'x",
    b"<<: x",
    b"<<: [x]",
    b"=: x",
    b"? [a]\n: b",
    b"? {a: b}\n: c",
    b'a: "\\ud800"',
    b"a: 2001-01-01",
)
JSON_BOMBS = (
    b"[" * 100_000,
    b'{"a":' * 100_000,
    b'{"metadata":{"name":"\\ud800"},"data":{"\\udfff":"\\ud800"}}',
    b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","labels":{"\\ud800":"\\ud800"}}}',
    b'{"a":1e999}',
    b'{"a":-1e-999999}',
    b'{"a":' + b"9" * 10_000 + b"}",
    b'{"a":NaN}',
    b'{"a":"' + b"\\u0000" * 5_000 + b'"}',
    b"{" + b'"a":1,' * 50_000 + b'"a":1}',
    b'{"metadata":{"name":"a","name":"b","labels":{' + b'"a":"b",' * 20_000 + b'"a":"b"}}}',
    b"\xef\xbb\xbf{}",
    b'{"a":"\xff"}',
    b"{}{}",
    b"null",
    b"1",
    b'""',
    b"true",
    b" " * 1_000_000 + b"{}",
    b"[" + b"1," * 200_000 + b"1]",
)
PROTOBUF_BOMBS = (
    b"k8s\x00",
    b"k8s\x00\x0a\x04\x0a\x02v1\x12\xff\xff\xff\xff\x0f",
    b"k8s\x00\x0a\x0c\x0a\x02v1\x12\x06Secret\x12\x00",
    b"k8s\x00" + b"\x80" * 5_000,
    b"k8s\x00\x0a\x0b\x0a\x02v1\x12\x05Pod\xff\xff\x12\x02\x0a\x00",
    b"k8s\x00\x0a\x09\x0a\x02v1\x12\x03Pod\x12\x04\x0a\x02\x0a\x7f",
    b"k8s\x00\x0a\x09\x0a\x02v1\x12\x03Pod\x12" + b"\xa0\x9c\x01" + b"\x12\x00" * 10_000,
)
bodies_of_bytes = st.sampled_from([*YAML_BOMBS, *JSON_BOMBS, *PROTOBUF_BOMBS, b"", None]) | st.binary(max_size=40)


def _yaml(value: Any) -> bytes:
    try:
        return yaml.dump(value, Dumper=yaml.CSafeDumper).encode("utf-8", "surrogatepass")
    except (RecursionError, yaml.YAMLError, UnicodeError):
        return b"a: b"


@st.composite
def requests(draw: st.DrawFn) -> Request:
    method = draw(st.sampled_from(["GET", "POST", "POST", "PUT", "PUT", "PATCH", "PATCH", "PATCH", "DELETE"]))
    if draw(st.integers(0, 15)) == 0:
        method = draw(st.sampled_from(METHODS))
    named = {"POST": False, "PUT": True, "PATCH": True}.get(method)
    if draw(st.booleans()):
        path, kind = draw(known_paths(named=draw(st.booleans()) if named is None else named))
    else:
        path, kind = draw(paths(named=named))
    if draw(st.integers(0, 15)) == 0:
        path = draw(odd_paths)
    result = dict(draw(headers))
    body: bytes | None = None
    die = draw(st.integers(0, 19))
    if die == 0:
        body = draw(bodies_of_bytes)
        result["content-type"] = draw(st.sampled_from(TYPES))
    elif method == "PATCH":
        result["content-type"] = kind_of = draw(st.sampled_from([JSON_PATCH, MERGE, STRATEGIC, APPLY]))
        document = draw(documents(kind, _name(path)))
        if kind_of == JSON_PATCH:
            document = draw(operations(document))
        body = encoded(document) if kind_of != APPLY or die < 12 else _yaml(document)
    elif method in ("POST", "PUT") or die < 4:
        names = st.sampled_from(["new"] * 3 + [*NAMES]) | texts if method == "POST" else st.just(_name(path))
        document = draw(documents(kind, draw(names)))
        if path.endswith(("/token", "/eviction", "/binding", "/scale")):
            document = draw(_small())
        result["content-type"] = draw(
            st.sampled_from(["application/json"] * 8 + ["application/yaml"] * 2 + ["", "text/plain"])
        )
        body = _yaml(document) if result["content-type"] == "application/yaml" else encoded(document)
    query = draw(queries)
    if method == "PATCH" and result.get("content-type") == APPLY and draw(st.integers(0, 5)):
        query += (("fieldManager", draw(st.sampled_from(["me", "you"]))), ("force", "true"))
    return Request(method, path, query, result, body)


def _name(path: str) -> str:
    parts = path.split("/")
    return parts[-2] if parts[-1] in SUBRESOURCES and len(parts) > 6 else parts[-1]


def _small() -> st.SearchStrategy[Any]:
    inner = values(2) | large()
    words = st.sampled_from(
        ["audiences", "expirationSeconds", "boundObjectRef", "replicas", "target", "deleteOptions", "selector"]
    )
    spec = st.dictionaries(words, inner, max_size=3) | inner
    return st.fixed_dictionaries(
        {},
        optional={
            "metadata": inner,
            "spec": spec,
            "target": spec,
            "status": spec,
            "deleteOptions": spec,
            "kind": texts,
        },
    )
