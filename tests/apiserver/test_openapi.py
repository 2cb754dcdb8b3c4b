from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest

from setpoint.apiserver.discovery import openapi
from setpoint.meta import GroupVersionKind, Resource
from setpoint.models import BUILTIN


@dataclass
class Described:
    resource: Resource
    schema_document: Mapping[str, Any] | None = None
    selectable_fields: Sequence[str] = field(default_factory=tuple)


SCHEMA: dict[str, Any] = {
    "type": "object",
    "description": "Mykind keeps pods running.",
    "required": ["spec"],
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "numpods": {"type": "integer", "minimum": 0, "description": "how many"},
                "port": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
                "template": {"type": "object", "x-kubernetes-embedded-resource": True, "properties": {}},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"a": {}}},
            },
        }
    },
}
GROUP = "grp.example.com"
MYKIND = Resource(
    group=GROUP,
    version="v1",
    kind="Mykind",
    plural="mykinds",
    list_kind="MykindList",
    subresources={
        "status": GroupVersionKind(GROUP, "v1", "Mykind"),
        "scale": GroupVersionKind("autoscaling", "v1", "Scale"),
    },
)
REGISTRY = [*map(Described, BUILTIN), Described(MYKIND, SCHEMA, (".spec.numpods",))]
ROOTS = sorted({described.resource.root for described in REGISTRY})
META = "io.k8s.apimachinery.pkg.apis.meta.v1."


def ask(path: str, registry: list[Described] = REGISTRY) -> Any:
    answer = openapi.respond(path, registry)
    assert answer is not None, path
    body, etag, content_type = answer
    assert (etag[0], etag[-1], content_type) == ('"', '"', "application/json")
    return msgspec.json.decode(body)


def references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "$ref" and isinstance(value, str):
                yield value
            else:
                yield from references(value)
    elif isinstance(node, list):
        for item in node:
            yield from references(item)


def test_the_index_names_a_document_for_every_group_version_and_root() -> None:
    paths = ask("/openapi/v3")["paths"]
    built_in = {served.resource.root.removeprefix("/") for served in REGISTRY if served.schema_document is None}
    groups = {root.rpartition("/")[0] for root in built_in} - {"api"}
    assert paths.keys() == {f"apis/{GROUP}/v1", "api", "apis", "version"} | built_in | groups
    for name, entry in paths.items():
        url, _, query = entry["serverRelativeURL"].partition("?hash=")
        assert url == f"/openapi/v3/{name}"
        answer = openapi.respond(url, REGISTRY)
        assert answer is not None
        assert answer[1] == f'"{query}"', "the hash that clients cache by is the document's entity tag"


@pytest.mark.parametrize(
    ("path", "prefix", "place"),
    [
        *((f"/openapi/v3{root}", "#/components/schemas/", ("components", "schemas")) for root in ROOTS),
        ("/openapi/v2", "#/definitions/", ("definitions",)),
    ],
)  # fmt: skip
def test_no_document_refers_to_what_it_does_not_hold(path: str, prefix: str, place: tuple[str, ...]) -> None:
    document = ask(path)
    definitions = document
    for step in place:
        definitions = definitions[step]
    missing = {name for name in references(document) if name.removeprefix(prefix) not in definitions}
    assert not missing


@pytest.mark.parametrize(
    ("path", "name", "schema"),
    [
        ("/api", "getCoreAPIVersions", f"{META}APIVersions"),
        ("/api/v1", "getCoreV1APIResources", f"{META}APIResourceList"),
        ("/apis", "getAPIVersions", f"{META}APIGroupList"),
        ("/apis/rbac.authorization.k8s.io", "getRbacAuthorizationAPIGroup", f"{META}APIGroup"),
        ("/apis/apps/v1", "getAppsV1APIResources", f"{META}APIResourceList"),
        ("/version", "getCodeVersion", "io.k8s.apimachinery.pkg.version.Info"),
    ],
)
def test_discovery_is_described_as_upstream_describes_it(path: str, name: str, schema: str) -> None:
    document = ask(f"/openapi/v3{path}")
    operation = document["paths"][f"{path}/"]["get"]
    shown = operation["responses"]["200"]["content"]["application/json"]["schema"]
    assert (operation["operationId"], shown) == (name, {"$ref": f"#/components/schemas/{schema}"})
    assert schema in document["components"]["schemas"]
    assert ask("/openapi/v2")["paths"][f"{path}/"]["get"]["operationId"] == name


def test_an_issuer_of_tokens_describes_its_documents() -> None:
    for path in ("/.well-known/openid-configuration", "/openid/v1/jwks"):
        assert openapi.respond(f"/openapi/v3{path}", REGISTRY) is None
        answer = openapi.respond(f"/openapi/v3{path}", REGISTRY, issuer=True)
        assert answer is not None
        assert msgspec.json.decode(answer[0])["paths"].keys() == {f"{path}/"}
        index = openapi.respond("/openapi/v3", REGISTRY, issuer=True)
        assert index is not None
        assert path.removeprefix("/") in msgspec.json.decode(index[0])["paths"]


def methods(item: Any) -> dict[str, Any]:
    """The operations on one path by method."""
    return {method: operation for method, operation in item.items() if method != "parameters"}


def test_no_operation_is_named_twice() -> None:
    names = [
        operation["operationId"]
        for item in ask("/openapi/v2")["paths"].values()
        for operation in methods(item).values()
    ]
    assert len(set(names)) == len(names)
    assert {
        "listCoreV1PodForAllNamespaces", "listCoreV1NamespacedPod", "createCoreV1NamespacedPod",
        "deleteCoreV1CollectionNamespacedPod", "readCoreV1NamespacedPod", "patchCoreV1NamespacedPodStatus",
        "readRbacAuthorizationV1ClusterRole", "replaceAppsV1NamespacedDeploymentScale",
        "createCoreV1NamespacedPodBinding", "readCoreV1NamespacedPodLog", "listGrpExampleComV1NamespacedMykind",
    } <= set(names)  # fmt: skip


def test_operations_say_what_kind_they_are_about_and_which_action_they_are() -> None:
    paths = ask("/openapi/v3/apis/apps/v1")["paths"]
    item = paths["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]
    kind = {"group": "apps", "version": "v1", "kind": "Deployment"}
    assert {method: operation["x-kubernetes-action"] for method, operation in methods(item).items()} == {
        "get": "get", "put": "put", "patch": "patch", "delete": "delete",
    }  # fmt: skip
    assert all(operation["x-kubernetes-group-version-kind"] == kind for operation in methods(item).values())
    assert paths["/apis/apps/v1/deployments"]["get"]["x-kubernetes-action"] == "list"
    scale = paths["/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale"]["patch"]
    assert scale["x-kubernetes-group-version-kind"] == {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    assert item["patch"]["tags"] == ["apps_v1"]


def query(operation: Any) -> set[str]:
    return {parameter["name"] for parameter in operation["parameters"] if parameter["in"] == "query"}


@pytest.mark.parametrize(
    "root", ["/api/v1/namespaces/{namespace}/pods", f"/apis/{GROUP}/v1/namespaces/{{namespace}}/mykinds"]
)
def test_writes_list_the_parameters_that_clients_look_for_before_they_use_them(root: str) -> None:
    paths = ask("/openapi/v3" + root.partition("/namespaces")[0])["paths"]
    assert {"fieldValidation", "fieldManager", "dryRun"} <= query(paths[root]["post"])
    assert {"fieldValidation", "fieldManager", "dryRun", "force"} <= query(paths[root + "/{name}"]["patch"])
    assert {"labelSelector", "fieldSelector", "watch", "limit", "continue", "sendInitialEvents"} <= query(
        paths[root]["get"]
    )
    assert {"propagationPolicy", "gracePeriodSeconds", "dryRun"} <= query(paths[root + "/{name}"]["delete"])


def test_only_built_in_kinds_take_strategic_merge_patches() -> None:
    strategic = "application/strategic-merge-patch+json"
    pods = ask("/openapi/v3/api/v1")["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"]
    mykinds = ask(f"/openapi/v3/apis/{GROUP}/v1")["paths"][
        f"/apis/{GROUP}/v1/namespaces/{{namespace}}/mykinds/{{name}}"
    ]
    assert strategic in pods["patch"]["requestBody"]["content"]
    content = mykinds["patch"]["requestBody"]["content"]
    assert "application/apply-patch+yaml" in content
    assert strategic not in content


def test_fields_carry_enums_with_the_meaning_of_each_value_and_defaults() -> None:
    schemas = ask("/openapi/v3/api/v1")["components"]["schemas"]
    policy = schemas["io.k8s.api.core.v1.Container"]["properties"]["imagePullPolicy"]
    assert policy["enum"] == ["Always", "IfNotPresent", "Never"]
    assert '\n\nPossible enum values:\n - `"Always"` means that kubelet' in policy["description"]
    port = schemas["io.k8s.api.core.v1.ContainerPort"]["properties"]
    assert port["protocol"]["default"] == "TCP"
    assert port["containerPort"]["default"] == 0
    assert schemas["io.k8s.api.core.v1.Pod"]["properties"]["metadata"]["default"] == {}


def test_version_2_carries_enums_but_no_defaults() -> None:
    definitions = ask("/openapi/v2")["definitions"]
    port = definitions["io.k8s.api.core.v1.ContainerPort"]["properties"]["protocol"]
    assert port["enum"] == ["SCTP", "TCP", "UDP"]
    assert "default" not in port
    properties = definitions["io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"]["properties"]
    assert "default" in properties, "a field of this name is not a default"


CUSTOM_TYPES = ["application/json", "application/yaml"]
BUILTIN_TYPES = [*CUSTOM_TYPES, "application/vnd.kubernetes.protobuf"]
STREAMED = ["application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch"]


@pytest.mark.parametrize(
    ("root", "plural", "produced", "listed", "consumed"),
    [
        ("/api/v1", "pods", BUILTIN_TYPES, [*BUILTIN_TYPES, *STREAMED], ["*/*"]),
        (f"/apis/{GROUP}/v1", "mykinds", CUSTOM_TYPES, CUSTOM_TYPES, CUSTOM_TYPES),
    ],
)
def test_operations_name_their_media_types(
    root: str, plural: str, produced: list[str], listed: list[str], consumed: list[str]
) -> None:
    collection = f"{root}/namespaces/{{namespace}}/{plural}"
    third, second = ask(f"/openapi/v3{root}")["paths"], ask("/openapi/v2")["paths"]

    def media(operation: Any, code: str = "200") -> list[str]:
        return list(operation["responses"][code]["content"])

    assert media(third[collection]["get"]) == listed == second[collection]["get"]["produces"]
    assert media(third[collection]["post"], "201") == produced == second[collection]["post"]["produces"]
    assert list(third[collection]["post"]["requestBody"]["content"]) == consumed
    assert second[collection]["post"]["consumes"] == consumed
    item = f"{collection}/{{name}}"
    assert list(third[item]["delete"]["requestBody"]["content"]) == consumed
    assert media(third[item]["get"]) == produced


def test_parameters_of_all_operations_of_a_path_are_those_of_the_path() -> None:
    item = ask("/openapi/v3/api/v1")["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"]
    assert [parameter["name"] for parameter in item["parameters"]] == ["name", "namespace", "pretty"]
    assert "parameters" not in item["get"]
    manager = {
        method: parameter["description"]
        for method in ("put", "patch")
        for parameter in item[method]["parameters"]
        if parameter["name"] == "fieldManager"
    }
    assert "required for apply requests" in manager["patch"]
    assert "required for apply requests" not in manager["put"]


def test_watches_and_connections_are_described() -> None:
    paths = ask("/openapi/v3/api/v1")["paths"]
    assert paths["/api/v1/watch/pods"]["get"]["operationId"] == "watchCoreV1PodListForAllNamespaces"
    assert paths["/api/v1/watch/namespaces/{namespace}/pods/{name}"]["get"]["x-kubernetes-action"] == "watch"
    assert "/api/v1/watch/componentstatuses" not in paths
    connection = paths["/api/v1/namespaces/{namespace}/pods/{name}/exec"]
    assert {method: operation["operationId"] for method, operation in methods(connection).items()} == {
        "get": "connectCoreV1GetNamespacedPodExec",
        "post": "connectCoreV1PostNamespacedPodExec",
    }
    assert "command" in query(connection)


@pytest.mark.parametrize(
    ("document", "place"),
    [("/openapi/v3", ("components", "securitySchemes")), ("/openapi/v2", ("securityDefinitions",))],
)
def test_every_document_names_the_token_that_requests_carry(document: str, place: tuple[str, ...]) -> None:
    scheme = ask(document + ("/api/v1" if document.endswith("3") else ""))
    for step in place:
        scheme = scheme[step]
    assert scheme["BearerToken"]["in"] == "header"


def test_kinds_of_many_groups_are_listed_for_the_group_of_the_document() -> None:
    options = ask("/openapi/v3/apis/apps/v1")["components"]["schemas"][f"{META}DeleteOptions"]
    assert options["x-kubernetes-group-version-kind"] == [
        {"group": "", "kind": "DeleteOptions", "version": "v1"},
        {"group": "apps", "kind": "DeleteOptions", "version": "v1"},
    ]


def test_documents_of_custom_resources_are_those_of_upstreams_extension_server() -> None:
    document = ask(f"/openapi/v3/apis/{GROUP}/v1")
    assert document["info"] == {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}
    assert document["components"].keys() == {"schemas"}
    paths = document["paths"]
    assert not [path for path in paths if "/watch/" in path]
    item = paths[f"/apis/{GROUP}/v1/namespaces/{{namespace}}/mykinds/{{name}}"]
    assert item["patch"]["responses"].keys() == {"200", "401"}
    assert query(item["get"]) == {"resourceVersion"}
    scale = paths[f"/apis/{GROUP}/v1/namespaces/{{namespace}}/mykinds/{{name}}/scale"]["get"]
    assert scale["x-kubernetes-group-version-kind"] == {"group": GROUP, "kind": "Mykind", "version": "v1"}


@pytest.mark.parametrize(
    ("path", "method", "text"),
    [
        ("/api/v1/namespaces/{namespace}/pods", "post", "create a Pod"),
        ("/api/v1/namespaces/{namespace}/events", "post", "create an Event"),
        ("/api/v1/namespaces/{namespace}/endpoints/{name}", "delete", "delete Endpoints"),
        ("/api/v1/namespaces/{namespace}/pods/{name}/eviction", "post", "create eviction of a Pod"),
        ("/api/v1/namespaces/{namespace}/pods/{name}/status", "put", "replace status of the specified Pod"),
        ("/api/v1/componentstatuses", "get", "list objects of kind ComponentStatus"),
    ],
)
def test_operations_are_described_in_upstreams_words(path: str, method: str, text: str) -> None:
    assert ask("/openapi/v3/api/v1")["paths"][path][method]["description"] == text


def test_merge_hints_and_descriptions_reach_clients() -> None:
    schemas = ask("/openapi/v3/api/v1")["components"]["schemas"]
    containers = schemas["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"]
    assert containers["x-kubernetes-patch-merge-key"] == "name"
    assert containers["x-kubernetes-patch-strategy"] == "merge"
    assert containers["items"] == {"$ref": "#/components/schemas/io.k8s.api.core.v1.Container"}
    metadata = schemas["io.k8s.api.core.v1.Pod"]["properties"]["metadata"]
    assert metadata["allOf"] == [{"$ref": f"#/components/schemas/{META}ObjectMeta"}]
    assert metadata["description"]


def test_version_2_calls_quantities_and_ports_strings() -> None:
    definitions = ask("/openapi/v2")["definitions"]
    assert definitions["io.k8s.apimachinery.pkg.api.resource.Quantity"]["type"] == "string"
    port = definitions["io.k8s.apimachinery.pkg.util.intstr.IntOrString"]
    assert (port["type"], port["format"]) == ("string", "int-or-string")
    assert "oneOf" not in port


def test_custom_resources_get_the_fields_that_all_objects_have() -> None:
    schemas = ask(f"/openapi/v3/apis/{GROUP}/v1")["components"]["schemas"]
    mykind = schemas["com.example.grp.v1.Mykind"]
    assert mykind["description"] == "Mykind keeps pods running."
    assert mykind["x-kubernetes-group-version-kind"] == [{"group": GROUP, "version": "v1", "kind": "Mykind"}]
    assert mykind["x-kubernetes-selectable-fields"] == [{"fieldPath": "spec.numpods"}]
    assert mykind["properties"].keys() == {"apiVersion", "kind", "metadata", "spec"}
    spec = mykind["properties"]["spec"]["properties"]
    assert spec["numpods"] == SCHEMA["properties"]["spec"]["properties"]["numpods"]
    assert spec["template"]["properties"].keys() == {"apiVersion", "kind", "metadata"}
    assert spec["template"]["required"] == ["apiVersion", "kind"]
    items = schemas["com.example.grp.v1.MykindList"]["properties"]["items"]
    assert items["items"] == {"$ref": "#/components/schemas/com.example.grp.v1.Mykind"}


def test_version_2_leaves_out_what_would_make_clients_refuse_unknown_fields() -> None:
    mykind = ask("/openapi/v2")["definitions"]["com.example.grp.v1.Mykind"]
    spec = mykind["properties"]["spec"]["properties"]
    assert "properties" not in spec["free"]
    assert "anyOf" not in spec["port"]
    open_ended = Described(MYKIND, {**SCHEMA, "x-kubernetes-preserve-unknown-fields": True})
    assert "properties" not in ask("/openapi/v2", [open_ended])["definitions"]["com.example.grp.v1.Mykind"]


def test_a_changed_schema_makes_a_new_document_and_leaves_the_others() -> None:
    changed = [*REGISTRY[:-1], Described(MYKIND, {**SCHEMA, "description": "another"})]
    before, after = ask("/openapi/v3")["paths"], ask("/openapi/v3", changed)["paths"]
    assert [name for name in before if before[name] != after[name]] == [f"apis/{GROUP}/v1"]
    schemas = ask(f"/openapi/v3/apis/{GROUP}/v1", changed)["components"]["schemas"]
    assert schemas["com.example.grp.v1.Mykind"]["description"] == "another"


@pytest.mark.parametrize("path", ["/openapi", "/openapi/v3/apis/none/v1", "/openapi/v3/logs", "/openapi/v4", "/api/v1"])
def test_other_paths_are_not_answered(path: str) -> None:
    assert openapi.respond(path, REGISTRY) is None
