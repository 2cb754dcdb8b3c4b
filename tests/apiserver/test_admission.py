"""Admission webhooks, called in this process."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.apiserver.harness import (
    APPLY,
    CRDS,
    DEPLOYMENTS,
    MAPS,
    MYKINDS,
    PODS,
    Api,
    config_map,
    crd,
    crd_version,
    deployment,
    mykind,
    pod,
    serving,
)

from setpoint.apiserver import InProcessCaller
from setpoint.testing import virtual_time

MUTATING = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
VALIDATING = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
Handler = Callable[[dict[str, Any]], Any]


class Webhooks:
    """Functions from requests to responses, and what they were asked."""

    def __init__(self) -> None:
        self.handlers: dict[str, Handler] = {}
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.spoken: set[str] = set()

    def caller(self) -> InProcessCaller:
        return InProcessCaller({f"https://hooks.test/{name}": self.at(name) for name in "abcde"})

    def at(self, name: str) -> Callable[[str, bytes], Awaitable[tuple[int, bytes]]]:
        async def answer(path: str, body: bytes) -> tuple[int, bytes]:
            review = json.loads(body)
            request = review["request"]
            self.spoken.add(review["apiVersion"])
            self.asked.append((name, request))
            result = self.handlers[name](request)
            if asyncio.iscoroutine(result):
                result = await result
            if isinstance(result, tuple):
                return result
            response = {"uid": request["uid"], **result}
            return 200, json.dumps(
                {"kind": "AdmissionReview", "apiVersion": review["apiVersion"], "response": response}
            ).encode()

        return answer

    @property
    def names(self) -> str:
        return "".join(name for name, _ in self.asked)


def allow(request: dict[str, Any]) -> dict[str, Any]:
    return {"allowed": True}


def patched(*operations: dict[str, Any], **more: Any) -> dict[str, Any]:
    patch = base64.b64encode(json.dumps(operations).encode()).decode()
    return {"allowed": True, "patchType": "JSONPatch", "patch": patch, **more}


def adding(path: str, value: Any) -> Handler:
    return lambda request: patched({"op": "add", "path": path, "value": value})


def webhook(name: str = "a", **fields: Any) -> dict[str, Any]:
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"], "operations": ["*"]}
    return {
        "name": fields.pop("name_", f"{name}.hooks.test"),
        "clientConfig": {"url": f"https://hooks.test/{name}"},
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "rules": [{**rule, **fields.pop("rule", {})}],
        **fields,
    }


def configuration(*webhooks: dict[str, Any], name: str = "test") -> dict[str, Any]:
    return {"metadata": {"name": name}, "webhooks": list(webhooks)}


@asynccontextmanager
async def hooked(**handlers: Handler) -> AsyncIterator[tuple[Api, Webhooks]]:
    webhooks = Webhooks()
    webhooks.handlers = handlers
    async with serving(webhook_caller=webhooks.caller()) as api:
        yield api, webhooks


async def test_a_mutation_is_stored_and_defaulted() -> None:
    container = {"name": "side", "image": "proxy"}
    async with hooked(a=adding("/spec/containers/-", container)) as (api, webhooks):
        (await api.post(MUTATING, configuration(webhook(rule={"resources": ["pods"]})))).ok()
        new_pod = (await api.post(PODS, pod(), fieldManager="me")).ok()
        side = new_pod["spec"]["containers"][1]
        assert side["imagePullPolicy"] == "Always"
        assert side["terminationMessagePath"] == "/dev/termination-log"
        assert "side" not in json.dumps(new_pod["metadata"]["managedFields"])
        request = webhooks.asked[0][1]
        assert request["kind"] == {"group": "", "version": "v1", "kind": "Pod"}
        assert request["resource"] == {"group": "", "version": "v1", "resource": "pods"}
        assert (request["operation"], request["name"], request["namespace"]) == ("CREATE", "web", "default")
        assert request["oldObject"] is None
        assert request["options"]["fieldManager"] == "me"
        assert request["userInfo"]["username"] == "system:admin"
        assert new_pod["metadata"]["uid"] == (await api.get(f"{PODS}/web")).ok()["metadata"]["uid"]
        assert webhooks.names == "a"


async def test_mutations_of_a_custom_resource_are_pruned_and_validated() -> None:
    async with hooked(a=lambda request: patched({"op": "add", "path": "/spec", "value": value})) as (api, _):
        (await api.post(CRDS, crd())).ok()
        (await api.post(MUTATING, configuration(webhook(rule={"resources": ["mykinds"]})))).ok()
        value: dict[str, Any] = {"color": "red", "unknown": 1}
        assert (await api.post(MYKINDS, mykind())).ok()["spec"] == {"color": "red", "numpods": 1}
        value = {"color": "blue"}
        (await api.post(MYKINDS, mykind("two"))).failed(422, "Invalid", "spec.color")
        (await api.apply(f"{MYKINDS}/three", mykind("three"))).failed(422, "Invalid", "spec.color")
        value = {"numpods": 4}
        result = (await api.apply(f"{MYKINDS}/three", mykind("three"))).ok()
        assert result["spec"] == {"numpods": 4}


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        ("/spec/replicas", 3.0, "number 3.0 into Go struct field DeploymentSpec.spec.replicas of type int32"),
        (
            "/spec/minReadySeconds",
            3.0,
            "number 3.0 into Go struct field DeploymentSpec.spec.minReadySeconds of type int32",
        ),
        ("/spec/strategy/rollingUpdate/maxSurge", 2.0, "number 2.0 into Go struct field"),
        ("/spec/template/spec/containers/0/ports", [{"containerPort": 80.0}], "number 80.0 into Go struct field"),
    ],
)
async def test_a_mutation_can_not_store_a_fraction_in_an_integer_of_a_built_in_kind(
    path: str, value: Any, field: str
) -> None:
    async with hooked(a=adding(path, value)) as (api, _):
        (await api.post(MUTATING, configuration(webhook(rule={"resources": ["deployments"]})))).ok()
        refused = await api.post(DEPLOYMENTS, deployment())
        refused.failed(500, "InternalError", f"json: cannot unmarshal {field}")


async def test_whole_numbers_that_a_mutation_puts_into_a_custom_resource_are_integers() -> None:
    async with hooked(a=adding("/spec", {"numpods": 4.0})) as (api, _):
        (await api.post(CRDS, crd())).ok()
        (await api.post(MUTATING, configuration(webhook(rule={"resources": ["mykinds"]})))).ok()
        assert repr((await api.post(MYKINDS, mykind())).ok()["spec"]["numpods"]) == "4"
        assert repr((await api.get(f"{MYKINDS}/one")).ok()["spec"]["numpods"]) == "4"


@pytest.mark.parametrize(
    ("status", "code", "reason", "message"),
    [
        ({"message": "no", "code": 403, "reason": "Forbidden"}, 403, "Forbidden", "denied the request: no"),
        ({"reason": "Invalid"}, 400, "Invalid", "denied the request: Invalid"),
        ({"code": 200}, 400, "", "denied the request without explanation"),
        (None, 400, "", "denied the request without explanation"),
    ],
)
async def test_a_denial_is_worded_as_upstream(
    status: dict[str, Any] | None, code: int, reason: str, message: str
) -> None:
    async with hooked(a=lambda request: {"allowed": False, "status": status, "warnings": ["careful"]}) as (api, _):
        (await api.post(VALIDATING, configuration(webhook(rule={"resources": ["configmaps"]})))).ok()
        answer = await api.post(MAPS, config_map())
        failure = answer.failed(code, reason)
        assert failure["message"] == f'admission webhook "a.hooks.test" {message}'
        assert answer.warnings == '299 - "careful"'
        (await api.get(f"{MAPS}/web")).failed(404, "NotFound")


async def test_order_and_reinvocation() -> None:
    """By the configurations' names, then as listed; those that want it see later changes, once."""
    async with hooked(a=allow, b=allow, c=adding("/data", {"c": "1"}), d=allow) as (api, webhooks):
        rule = {"resources": ["configmaps"]}
        second = configuration(webhook("c", rule=rule), webhook("d", rule=rule), name="z")
        (await api.post(MUTATING, second)).ok()
        first = configuration(webhook("a", rule=rule, reinvocationPolicy="IfNeeded"), webhook("b", rule=rule), name="y")
        (await api.post(MUTATING, first)).ok()
        (await api.post(MAPS, config_map())).ok()
        assert webhooks.names == "abcda"
        assert webhooks.asked[-1][1]["object"]["data"] == {"c": "1"}


async def test_built_in_plugins_run_again_on_what_a_webhook_changed() -> None:
    """And a webhook that wants it sees what they changed."""
    sidecar = adding("/spec/initContainers", [{"name": "wait", "image": "i"}])
    webhooks = Webhooks()
    webhooks.handlers = {"a": sidecar, "b": allow}
    async with serving(webhook_caller=webhooks.caller(), plugins_off=()) as api:
        (await api.post("/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}})).ok()
        limits = {"limits": [{"type": "Container", "defaultRequest": {"cpu": "1"}}]}
        (await api.post("/api/v1/namespaces/default/limitranges", {"metadata": {"name": "l"}, "spec": limits})).ok()
        rule = {"resources": ["pods"]}
        hooks = webhook("a", rule=rule), webhook("b", rule=rule, reinvocationPolicy="IfNeeded")
        (await api.post(MUTATING, configuration(*hooks))).ok()
        stored = (await api.post(PODS, pod())).ok()
        [added], [container] = stored["spec"]["initContainers"], stored["spec"]["containers"]
        [volume] = stored["spec"]["volumes"]
        assert volume["name"].startswith("kube-api-access-")
        assert added["volumeMounts"] == container["volumeMounts"]
        assert added["volumeMounts"][0]["name"] == volume["name"]
        assert added["resources"] == {"requests": {"cpu": "1"}}
        assert webhooks.names == "abb"
        assert webhooks.asked[-1][1]["object"]["spec"]["initContainers"] == [added]


async def test_a_plugin_can_refuse_what_a_webhook_changed() -> None:
    urgent = adding("/spec/priorityClassName", "system-node-critical")
    async with hooked(a=urgent) as (api, _):
        (await api.post(MUTATING, configuration(webhook("a", rule={"resources": ["pods"]})))).ok()
        words = "the integer value of priority (0) must not be provided in pod spec"
        (await api.post(PODS, pod())).failed(403, "Forbidden", words)


@virtual_time
async def test_failure_policy_and_the_words_of_failures() -> None:
    async def slow(request: dict[str, Any]) -> dict[str, Any]:
        await asyncio.sleep(100)
        return {"allowed": True}

    rule = {"resources": ["configmaps"]}
    cases: list[tuple[Handler, str]] = [
        (slow, 'failed to call webhook: Post "https://hooks.test/a?timeout=3s": context deadline exceeded'),
        (lambda _: (500, b"oops"), 'failed to call webhook: an error on the server ("oops") has prevented'),
        (lambda _: (404, b""), "failed to call webhook: the server could not find the requested resource"),
        (
            lambda _: (500, b'{"kind":"Status","apiVersion":"v1","status":"Failure","message":"broken"}'),
            "failed to call webhook: broken",
        ),
        (lambda _: (200, b"nonsense"), "failed to call webhook: couldn't get version/kind"),
        (lambda _: (200, b"{}"), "received invalid webhook response: webhook response was absent"),
        (lambda _: {"uid": "x", "allowed": True}, "received invalid webhook response: expected response.uid="),
        (lambda _: {**patched(), "patchType": None}, "webhook returned response.patch but not response.patchType"),
    ]

    for handler, words in cases:
        async with hooked(a=handler) as (api, _):
            (await api.post(MUTATING, configuration(webhook(rule=rule, timeoutSeconds=3)))).ok()
            failure = (await api.post(MAPS, config_map())).failed(500, "InternalError", words)
            assert failure["message"].startswith('Internal error occurred: failed calling webhook "a.hooks.test": '), (
                failure
            )
            lenient = configuration(webhook(rule=rule, timeoutSeconds=3, failurePolicy="Ignore"))
            (await api.delete(f"{MUTATING}/test")).ok()
            (await api.post(MUTATING, lenient)).ok()
            (await api.post(MAPS, config_map())).ok()


async def test_services_and_unreachable_addresses_fail() -> None:
    async with hooked() as (api, _):
        config = webhook(rule={"resources": ["configmaps"]})
        config["clientConfig"] = {"service": {"name": "hook", "namespace": "default", "path": "/x"}}
        (await api.post(VALIDATING, configuration(config))).ok()
        (await api.post(MAPS, config_map())).failed(
            500, "InternalError", 'Post "https://hook.default.svc:443/x?timeout=10s": service "hook" not found'
        )


async def test_an_unusable_patch_fails_whatever_the_policy() -> None:
    async with hooked(a=lambda request: patched({"op": "remove", "path": "/nothing"})) as (api, _):
        (
            await api.post(MUTATING, configuration(webhook(rule={"resources": ["configmaps"]}, failurePolicy="Ignore")))
        ).ok()
        (await api.post(MAPS, config_map())).failed(500, "InternalError", "nothing")


@pytest.mark.parametrize(
    ("fields", "matches"),
    [
        ({"rule": {"operations": ["UPDATE"]}}, False),
        ({"rule": {"apiGroups": ["batch"]}}, False),
        ({"rule": {"apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments"]}}, True),
        ({"rule": {"resources": ["deployments/*"]}}, True),
        ({"rule": {"resources": ["*/*"]}}, True),
        ({"rule": {"resources": ["deployments/scale"]}}, False),
        ({"rule": {"scope": "Cluster"}}, False),
        ({"rule": {"scope": "Namespaced"}}, True),
        ({"objectSelector": {"matchLabels": {"team": "blue"}}}, False),
        ({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}}}, True),
        ({"namespaceSelector": {"matchExpressions": [{"key": "off", "operator": "Exists"}]}}, False),
    ],
)
async def test_which_requests_match(fields: dict[str, Any], matches: bool) -> None:
    async with hooked(a=allow) as (api, webhooks):
        (await api.post(VALIDATING, configuration(webhook(**fields)))).ok()
        (await api.post(DEPLOYMENTS, deployment())).ok()
        assert webhooks.names == ("a" if matches else "")


async def test_match_policy() -> None:
    """Equivalent: a webhook that speaks one version is asked about the other, in its own."""
    async with hooked(a=adding("/spec/color", "red")) as (api, webhooks):
        (await api.post(CRDS, crd(versions=[crd_version(), crd_version("v2", storage=False)]))).ok()
        rule = {"apiGroups": ["grp.example.com"], "apiVersions": ["v2"], "resources": ["mykinds"]}
        (await api.post(MUTATING, configuration(webhook(rule=rule)))).ok()
        new_mykind = (await api.post(MYKINDS, mykind(spec={}))).ok()
        assert (new_mykind["apiVersion"], new_mykind["spec"]["color"]) == ("grp.example.com/v1", "red")
        request = webhooks.asked[0][1]
        assert request["object"]["apiVersion"] == "grp.example.com/v2"
        assert request["resource"]["version"] == request["kind"]["version"] == "v2"
        assert request["requestResource"]["version"] == request["requestKind"]["version"] == "v1"
        (await api.delete(f"{MUTATING}/test")).ok()
        (await api.post(MUTATING, configuration(webhook(rule=rule, matchPolicy="Exact")))).ok()
        (await api.post(MYKINDS, mykind("two", spec={}))).ok()
        assert webhooks.names == "a"


async def test_updates_subresources_and_scale() -> None:
    async with hooked(a=allow) as (api, webhooks):
        (await api.post(DEPLOYMENTS, deployment())).ok()
        (await api.post(VALIDATING, configuration(webhook(rule={"resources": ["deployments/*"]})))).ok()
        (await api.patch(f"{DEPLOYMENTS}/web", {"metadata": {"labels": {"a": "b"}}})).ok()
        (await api.patch(f"{DEPLOYMENTS}/web/status", {"status": {"replicas": 1}})).ok()
        (await api.patch(f"{DEPLOYMENTS}/web/scale", {"spec": {"replicas": 5}})).ok()
        plain, status, scale = (request for _, request in webhooks.asked)
        assert plain["operation"] == status["operation"] == scale["operation"] == "UPDATE"
        assert "labels" not in plain["oldObject"]["metadata"]
        assert plain["object"]["metadata"]["labels"] == {"a": "b"}
        assert status["subResource"] == "status"
        assert status["object"]["status"]["replicas"] == 1
        assert scale["subResource"] == "scale"
        assert scale["kind"] == {"group": "autoscaling", "version": "v1", "kind": "Scale"}
        assert (scale["oldObject"]["spec"], scale["object"]["spec"]) == ({"replicas": 1}, {"replicas": 5})


async def test_scale_evictions_and_bindings_are_asked_about_as_what_they_are() -> None:
    async with hooked(a=adding("/spec/replicas", 2), b=allow) as (api, webhooks):
        (await api.post(DEPLOYMENTS, deployment())).ok()
        (await api.post(PODS, pod())).ok()
        hook = webhook("a", rule={"resources": ["deployments/scale"]})
        (await api.post(MUTATING, configuration(hook, webhook("b", rule={"resources": ["pods", "pods/*"]})))).ok()
        assert (await api.patch(f"{DEPLOYMENTS}/web/scale", {"spec": {"replicas": 5}})).ok()["spec"] == {"replicas": 2}
        assert (await api.get(f"{DEPLOYMENTS}/web")).ok()["spec"]["replicas"] == 2
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "web"}, "target": {"name": "n"}}
        (await api.post(f"{PODS}/web/binding", binding)).ok()
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "web"}}
        (await api.post(f"{PODS}/web/eviction", eviction)).ok()
        kinds = [(request["subResource"], request["kind"]["kind"]) for _, request in webhooks.asked[1:]]
        assert kinds == [("binding", "Binding"), ("eviction", "Eviction")]


async def test_deletions_are_asked_about_with_the_old_object() -> None:
    def keep(request: dict[str, Any]) -> dict[str, Any]:
        assert request["object"] is None
        labels = request["oldObject"]["metadata"].get("labels") or {}
        return {"allowed": "keep" not in labels, "status": {"message": "kept", "code": 403, "reason": "Forbidden"}}

    async with hooked(a=keep) as (api, webhooks):
        (await api.post(VALIDATING, configuration(webhook(rule={"operations": ["DELETE"]})))).ok()
        (await api.post(MAPS, config_map("one"))).ok()
        (await api.post(MAPS, config_map("two", metadata={"labels": {"keep": "1"}}))).ok()
        (await api.delete(MAPS)).failed(403, "Forbidden", "denied the request: kept")
        assert len((await api.get(MAPS)).ok()["items"]) == 2  # nothing was deleted before all were allowed
        (await api.delete(f"{MAPS}/two")).failed(403, "Forbidden")
        (await api.delete(f"{MAPS}/one")).ok()
        assert webhooks.asked[-1][1]["name"] == "one"
        await api.patch(f"{MAPS}/two", {"metadata": {"labels": {"keep": None}}})
        assert [item["metadata"]["name"] for item in (await api.delete(MAPS)).ok()["items"]] == ["two"]
        assert (await api.get(MAPS)).ok()["items"] == []


async def test_an_object_that_changes_meanwhile_is_asked_about_again() -> None:
    """Neither change is lost, and the webhook has seen what is stored."""
    async with hooked() as (api, webhooks):
        (await api.post(MAPS, config_map(data={"a": "0"}))).ok()

        async def interfere(request: dict[str, Any]) -> dict[str, Any]:
            if len(webhooks.asked) == 1:
                (await api.patch(f"{MAPS}/web", {"data": {"other": "1"}})).ok()
            return {"allowed": True}

        webhooks.handlers["a"] = interfere
        hook = webhook(rule={"resources": ["configmaps"]}, objectSelector={"matchLabels": {"watch": "yes"}})
        (await api.post(VALIDATING, configuration(hook))).ok()
        change = {"metadata": {"labels": {"watch": "yes"}}, "data": {"mine": "1"}}
        result = (await api.patch(f"{MAPS}/web", change)).ok()
        assert result["data"] == {"a": "0", "other": "1", "mine": "1"}
        assert webhooks.asked[-1][1]["object"]["data"] == result["data"]
        live = (await api.get(f"{MAPS}/web")).ok()

        async def overtake(request: dict[str, Any]) -> dict[str, Any]:
            webhooks.handlers["a"] = allow
            (await api.patch(f"{MAPS}/web", {"data": {"other": "2"}})).ok()
            return {"allowed": True}

        webhooks.handlers["a"] = overtake
        (await api.put(f"{MAPS}/web", {**live, "data": {}})).failed(409, "Conflict", "the object has been modified")


async def test_two_creates_of_one_name_get_one_object() -> None:
    async with hooked(a=allow) as (api, _):
        (await api.post(VALIDATING, configuration(webhook(rule={"resources": ["configmaps"]})))).ok()
        answers = await asyncio.gather(*(api.post(MAPS, config_map()) for _ in range(5)))
        assert sorted(answer.status for answer in answers) == [201, 409, 409, 409, 409]


async def test_generated_names_and_uids_survive_the_waiting() -> None:
    async with hooked(a=allow, b=allow) as (api, webhooks):
        (await api.post(MUTATING, configuration(webhook("a", rule={"resources": ["configmaps"]})))).ok()
        (await api.post(VALIDATING, configuration(webhook("b", rule={"resources": ["configmaps"]})))).ok()
        named = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "x-"}}
        config_maps = [(await api.post(MAPS, named)).ok() for _ in range(3)]
        seen = [request["object"]["metadata"] for name, request in webhooks.asked if name == "b"]
        assert [item["uid"] for item in seen] == [item["metadata"]["uid"] for item in config_maps]
        assert len({item["metadata"]["name"] for item in config_maps}) == 3
        assert webhooks.names == "ab" * 3


async def test_dry_runs_say_so_and_store_nothing() -> None:
    async with hooked(a=allow) as (api, webhooks):
        (await api.post(VALIDATING, configuration(webhook(rule={"resources": ["configmaps"]})))).ok()
        (await api.post(MAPS, config_map(), dryRun="All")).ok()
        assert webhooks.asked[0][1]["dryRun"] is True
        assert webhooks.asked[0][1]["options"]["dryRun"] == ["All"]
        (await api.get(f"{MAPS}/web")).failed(404, "NotFound")


async def test_configurations_themselves_are_never_asked_about() -> None:
    async with hooked(a=lambda request: {"allowed": False}) as (api, _):
        (await api.post(VALIDATING, configuration(webhook()))).ok()
        (await api.post(MAPS, config_map())).failed(400, "")
        (await api.patch(f"{VALIDATING}/test", {"metadata": {"labels": {"a": "b"}}})).ok()
        (await api.delete(f"{VALIDATING}/test")).ok()
        (await api.post(MAPS, config_map())).ok()


async def test_namespaces_are_selected_by_their_own_labels() -> None:
    async with hooked(a=allow) as (api, webhooks):
        selector = {"matchLabels": {"team": "blue"}}
        (await api.post(VALIDATING, configuration(webhook(namespaceSelector=selector)))).ok()
        for name, labels in (("one", {}), ("two", {"team": "blue"})):
            namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
            (await api.post("/api/v1/namespaces", namespace)).ok()
        assert [(request["name"], request["namespace"]) for _, request in webhooks.asked] == [("two", "two")]


@pytest.mark.parametrize(("names", "spoken"), [(["v1beta1"], "v1beta1"), (["v2", "v1beta1", "v1"], "v1beta1")])
async def test_reviews_are_of_the_first_version_that_both_know(names: list[str], spoken: str) -> None:
    async with hooked(a=allow) as (api, webhooks):
        (await api.post(VALIDATING, configuration(webhook(admissionReviewVersions=names)))).ok()
        (await api.post(MAPS, config_map())).ok()
    assert webhooks.spoken == {f"admission.k8s.io/{spoken}"}


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (
            {"matchConditions": [{"name": "x", "expression": "object.x"}]},
            'webhooks[0].matchConditions[0].expression: Invalid value: "object.x": must evaluate to bool but got dyn',
        ),
        ({"sideEffects": "Some"}, 'webhooks[0].sideEffects: Unsupported value: "Some"'),
        ({"sideEffects": "Unknown"}, "webhooks[0].sideEffects: Unsupported value"),
        ({"admissionReviewVersions": ["v2"]}, "must include at least one of v1, v1beta1"),
        ({"timeoutSeconds": 31}, "the timeout value must be between 1 and 30 seconds"),
        ({"name_": "short"}, "should be a domain with at least three segments separated by dots"),
        ({"clientConfig": {}}, "exactly one of url or service is required"),
        ({"clientConfig": {"url": "http://x/y"}}, "'https' is the only allowed URL scheme"),
        ({"clientConfig": {"url": "https://x/y?z=1"}}, "query parameters are not permitted in the URL"),
        (
            {"clientConfig": {"service": {"name": "", "namespace": "x"}}},
            "webhooks[0].clientConfig.service.namespace: Required value",
        ),
        ({"failurePolicy": "Perhaps"}, "webhooks[0].failurePolicy: Unsupported value"),
        ({"rule": {"operations": ["*", "CREATE"]}}, "if '*' is present, must not specify other operations"),
        ({"rule": {"resources": ["*", "pods"]}}, "must not specify other resources without subresources"),
        ({"objectSelector": {"matchLabels": {"a b": "c"}}}, "webhooks[0].objectSelector"),
    ],
)
async def test_bad_configurations_are_refused(fields: dict[str, Any], words: str) -> None:
    async with hooked(a=allow) as (api, _):
        (await api.post(VALIDATING, configuration(webhook(**fields)))).failed(422, "Invalid", words)
        assert not api.server.hooks.active


async def test_server_side_apply_goes_through_admission() -> None:
    async with hooked(a=adding("/metadata/annotations", {"seen": "yes"})) as (api, webhooks):
        (await api.post(MUTATING, configuration(webhook(rule={"resources": ["configmaps"]})))).ok()
        result = (await api.patch(f"{MAPS}/web", config_map(data={"a": "1"}), APPLY, fieldManager="me")).ok()
        assert result["metadata"]["annotations"] == {"seen": "yes"}
        assert "seen" not in json.dumps(result["metadata"]["managedFields"])
        result = (await api.patch(f"{MAPS}/web", config_map(data={"a": "2"}), APPLY, fieldManager="me")).ok()
        assert [request["operation"] for _, request in webhooks.asked] == ["CREATE", "UPDATE"]


@pytest.mark.parametrize("kind", [MUTATING, VALIDATING])
async def test_webhooks_see_the_default_account_of_a_pod(kind: str) -> None:
    async with hooked(a=allow) as (api, webhooks):
        (await api.post(kind, configuration(webhook(rule={"resources": ["pods"]})))).ok()
        spec = (await api.post(PODS, pod())).ok()["spec"]
        seen = webhooks.asked[0][1]["object"]["spec"]
        for field in ("serviceAccountName", "serviceAccount"):
            assert seen[field] == spec[field] == "default"


async def test_validating_webhooks_are_not_asked_about_what_a_plugin_refuses() -> None:
    """And quotas, which count objects, come after them (upstream's AllOrderedPlugins)."""
    async with hooked(a=lambda request: {"allowed": False}) as (api, webhooks):
        rule = {"resources": ["pods", "configmaps"]}
        (await api.post(VALIDATING, configuration(webhook(rule=rule)))).ok()
        limits = {"metadata": {"name": "l"}, "spec": {"limits": [{"type": "Pod", "max": {"cpu": "1"}}]}}
        (await api.post("/api/v1/namespaces/default/limitranges", limits)).ok()
        (await api.post(PODS, pod())).failed(403, "Forbidden", "maximum cpu usage per Pod")
        assert not webhooks.asked
        quota = {"metadata": {"name": "q"}, "spec": {"hard": {"count/configmaps": "0"}}}
        (await api.post("/api/v1/namespaces/default/resourcequotas", quota)).ok()
        (await api.post(MAPS, config_map())).failed(400, "", 'webhook "a.hooks.test" denied the request')
