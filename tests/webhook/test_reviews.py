"""AdmissionReviews in and out, as API servers send and take them. No sockets."""

from __future__ import annotations

import asyncio
import base64
import json
import types
from typing import Annotated, Any

import msgspec
import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, generate_latest

import setpoint as sp
from setpoint.meta import decode
from setpoint.models.apps_v1 import Deployment
from setpoint.models.autoscaling_v1 import Scale
from setpoint.models.core_v1 import Pod
from setpoint.patch import json_patch
from setpoint.testing import virtual_time
from setpoint.webhook import Admission, Reply, Review, WebhookMetrics, Webhooks
from setpoint.webhook.admission_decision import patch_of
from setpoint.webhook.connect_options import PodExecOptions

from .mykind import MUTATE, VALIDATE, Mykind, document, encoded, mykind_admission, review


async def answer(webhooks: Webhooks, path: str, body: Any) -> dict[str, Any]:
    reply = await webhooks.handle_review(path, body if isinstance(body, bytes) else encoded(body))
    assert (reply.status, reply.headers["content-type"]) == (200, "application/json"), reply
    document = json.loads(reply.body)
    assert (document["kind"], document["apiVersion"]) == ("AdmissionReview", "admission.k8s.io/v1")
    response: dict[str, Any] = document["response"]
    return response


def patched(obj: Any, response: dict[str, Any]) -> Any:
    assert response["patchType"] == "JSONPatch"
    return json_patch.apply(obj, json.loads(base64.b64decode(response["patch"])))


UID = "705ab4f5-6393-11e8-b7cc-42010a800002"


async def test_an_object_that_needs_nothing_is_allowed_without_a_patch() -> None:
    obj = document(template={"spec": {"containers": [{"name": "x", "image": "x"}]}})
    webhooks = Webhooks(mykind_admission())
    assert await answer(webhooks, MUTATE, review(obj)) == {"uid": UID, "allowed": True}
    assert await answer(webhooks, VALIDATE, review(obj)) == {"uid": UID, "allowed": True}


async def test_defaults_come_as_a_patch_that_leaves_unknown_fields_alone() -> None:
    obj = document(replicas=2, futureField={"deep": [1, None, {"x": 1.5}]}, pool=None)
    obj["futureTop"] = [1]
    response = await answer(Webhooks(mykind_admission()), MUTATE, review(obj))
    assert response["allowed"] is True
    template = {"metadata": {}, "spec": {"containers": [{"name": "busybox", "image": "busybox"}]}}
    assert patched(obj, response) == {**obj, "spec": {**obj["spec"], "template": template}}


@pytest.mark.parametrize(
    ("annotation", "before", "after"),
    [
        (Any, 1, True),
        (dict[str, Any], {"on": [1]}, {"on": [True]}),
        (dict, {"on": 0.0}, {"on": False}),
        (list[Any], [{"on": True}], [{"on": 1}]),
    ],
)
def test_true_in_place_of_one_is_a_default_although_they_are_equal_in_python(
    annotation: Any, before: Any, after: Any
) -> None:
    fields = {"__annotations__": {"value": annotation}, "value": msgspec.UNSET, "__module__": __name__}
    spec = types.new_class("LooseSpec", (sp.Model,), {}, lambda members: members.update(fields))
    kind = types.new_class(
        "Loose",
        (sp.CustomResource,),
        {"group": "tests.example.com", "version": "v1"},
        lambda members: members.update({"__annotations__": {"spec": spec}, "__module__": __name__}),
    )
    raw = encoded({"metadata": {"name": "a"}, "spec": {"value": before}})
    obj = decode(kind, raw)
    obj.spec.value = after
    assert encoded(json_patch.apply(json.loads(raw), patch_of(raw, obj))["spec"]) == encoded({"value": after})


async def test_unknown_fields_survive_within_items_of_lists() -> None:
    def pull(pod: Pod) -> None:
        assert pod.spec is not None
        for container in pod.spec.containers:
            container.image_pull_policy = "Always"
        pod.labels["a/b"] = "c~d"

    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default"},
        "spec": {"containers": [{"name": "a", "image": "a", "new": {"x": 1}}, {"name": "b", "image": "b"}], "newer": 1},
    }
    response = await answer(Webhooks(Admission(Pod).defaults(pull)), "/mutate--v1-pod", review(pod))
    result = patched(pod, response)
    assert result["spec"]["containers"][0] == {"name": "a", "image": "a", "new": {"x": 1}, "imagePullPolicy": "Always"}
    assert result["spec"]["newer"] == 1
    assert result["metadata"]["labels"] == {"a/b": "c~d"}
    assert "status" not in result


async def test_errors_are_told_by_field_and_all_at_once() -> None:
    obj = document(replicas=11, template={"spec": {"containers": []}})
    response = await answer(Webhooks(mykind_admission()), VALIDATE, review(obj))
    assert response["allowed"] is False
    assert response["status"] == {
        "status": "Failure",
        "code": 422,
        "reason": "Invalid",
        "message": 'Mykind.grp.example.com "sample" is invalid: [spec.template.spec.containers: Required value: the '
        "pods need something to run, spec.replicas: Invalid value: 11: must be at most 10 without the label big]",
        "details": {
            "name": "sample",
            "group": "grp.example.com",
            "kind": "Mykind",
            "causes": [
                {
                    "reason": "FieldValueRequired",
                    "message": "Required value: the pods need something to run",
                    "field": "spec.template.spec.containers",
                },
                {
                    "reason": "FieldValueInvalid",
                    "message": "Invalid value: 11: must be at most 10 without the label big",
                    "field": "spec.replicas",
                },
            ],
        },
    }


async def test_warnings_are_told_whether_it_is_allowed_or_not() -> None:
    webhooks = Webhooks(mykind_admission())
    allowed = await answer(webhooks, VALIDATE, review(document(replicas=0)))
    assert allowed == {"uid": UID, "allowed": True, "warnings": ["spec.replicas is 0: nothing will run"]}
    refused = await answer(webhooks, VALIDATE, review(document(replicas=0, template={})))
    assert refused["allowed"] is False
    assert refused["warnings"] == ["spec.replicas is 0: nothing will run"]


async def test_functions_learn_who_asks_for_what() -> None:
    seen: list[Review[Mykind]] = []

    def look(_mykind: Mykind, review: Review[Mykind]) -> None:
        seen.append(review)
        review.audit("pool", "a")
        if review.user.username == "jane":
            review.deny("jane may not", code=409, reason="Conflict")

    admission = Admission(Mykind).validates(look, on=("create", "update", "delete"))
    webhooks = Webhooks(admission)
    response = await answer(webhooks, VALIDATE, review(document(), document(pool="x"), operation="UPDATE", dryRun=True))
    assert response["status"] == {"status": "Failure", "code": 409, "reason": "Conflict", "message": "jane may not"}
    assert response["auditAnnotations"] == {"pool": "a"}
    (it,) = seen
    assert (it.operation, it.dry_run, it.namespace, it.name, it.uid) == ("update", True, "default", "sample", UID)
    assert it.user.groups == ["system:authenticated"]
    assert it.user.extra == {"k": ["v"]}
    assert it.options["fieldManager"] == "kubectl"
    assert it.old is not None
    assert it.old.spec.pool == "x"


async def test_on_delete_the_object_is_the_one_to_be_deleted() -> None:
    seen: list[tuple[str, Any]] = []
    admission = Admission(Mykind).validates(lambda obj, review: seen.append((obj.name, review.old)), on=("delete",))
    webhooks = Webhooks(admission)
    asked = review(None, document("gone"), operation="DELETE")
    assert (await answer(webhooks, VALIDATE, asked))["allowed"] is True
    assert seen == [("gone", None)]
    refused = await answer(webhooks, VALIDATE, review(None, None, operation="DELETE", **_kind_of(asked)))
    assert refused["status"]["message"] == "the request has no oldObject, which a delete needs"


def _kind_of(obj: dict[str, Any]) -> dict[str, Any]:
    return {"kind": obj["request"]["kind"], "resource": obj["request"]["resource"]}


async def test_a_stricter_rule_does_not_keep_an_object_from_going() -> None:
    webhooks = Webhooks(mykind_admission())
    old = document(replicas=50)
    old["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["a.example.com/x"], "generation": 2}
    new = json.loads(json.dumps(old))
    new["metadata"] |= {"finalizers": [], "resourceVersion": "8"}
    assert (await answer(webhooks, VALIDATE, review(new, old, operation="UPDATE")))["allowed"] is True
    new["spec"]["replicas"] = 51
    assert (await answer(webhooks, VALIDATE, review(new, old, operation="UPDATE")))["allowed"] is False


async def test_connect_and_subresources() -> None:
    def no_shells(options: PodExecOptions, review: Review[PodExecOptions]) -> None:
        if options.command[:1] == ["sh"]:
            review.deny("no shells")

    def small(scale: Scale, review: Review[Scale]) -> None:
        if scale.spec is not None and (scale.spec.replicas or 0) > 3:
            review.invalid("spec.replicas", scale.spec.replicas, "at most 3")

    webhooks = Webhooks(
        Admission(PodExecOptions, of=Pod, subresource="exec").validates(no_shells, on=("connect",)),
        Admission(Scale, of=Deployment, subresource="scale").validates(small, on=("update",)),
    )
    assert webhooks.paths == ["/validate--v1-pod-exec", "/validate-apps-v1-deployment-scale"]
    options = {"kind": "PodExecOptions", "apiVersion": "v1", "command": ["sh"], "stdin": True}
    pods = {"group": "", "version": "v1", "resource": "pods"}
    asked = review(options, operation="CONNECT", resource=pods, subResource="exec", name="p")
    assert (await answer(webhooks, "/validate--v1-pod-exec", asked))["status"]["message"] == "no shells"
    scale = {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": {"name": "d"}, "spec": {"replicas": 4}}
    deployments = {"group": "apps", "version": "v1", "resource": "deployments"}
    asked = review(scale, scale, operation="UPDATE", resource=deployments, subResource="scale")
    refused = await answer(webhooks, "/validate-apps-v1-deployment-scale", asked)
    assert (
        refused["status"]["message"] == 'Scale.autoscaling "d" is invalid: spec.replicas: Invalid value: 4: at most 3'
    )
    asked["request"]["subResource"] = ""
    refused = await answer(webhooks, "/validate-apps-v1-deployment-scale", asked)
    assert refused["status"]["message"] == (
        "this webhook is for the subresource scale of deployments.apps, not for the object itself"
    )


async def test_requests_for_other_kinds_are_refused_by_name() -> None:
    webhooks = Webhooks(mykind_admission())
    other = document()
    other["apiVersion"] = "grp.example.com/v1alpha1"
    refused = await answer(webhooks, VALIDATE, review(other))
    assert refused["status"] == {
        "status": "Failure",
        "code": 400,
        "reason": "BadRequest",
        "message": "this webhook is for grp.example.com/v1alpha2 Mykind, not for grp.example.com/v1alpha1 Mykind",
    }
    for changed in ({"kind": "Other"}, {"apiVersion": "v1", "kind": "Pod"}, {"apiVersion": "grp.example.com/v1alpha1"}):
        foreign = {**document(), **changed}
        for path in (VALIDATE, MUTATE):
            for request in (review(document(), foreign), review(foreign, foreign, operation="UPDATE")):
                request["request"] |= {name: review(document())["request"][name] for name in ("kind", "resource")}
                if request["request"]["operation"] != "UPDATE":
                    request["request"] |= {"operation": "DELETE", "object": None}
                refused = await answer(webhooks, path, request)
                assert not refused["allowed"]
                assert "patch" not in refused
                came = f"{foreign['apiVersion']} {foreign['kind']}"
                assert refused["status"]["message"].endswith(f"but an object in it is {came}")
    refused = await answer(webhooks, VALIDATE, review(document(), operation="RENAME"))
    assert refused["status"]["message"] == "unknown operation 'RENAME'"


@pytest.mark.parametrize("path", [MUTATE, VALIDATE])
async def test_an_object_that_does_not_fit_is_refused_as_its_schema_would_refuse_it(path: str) -> None:
    """The mutating webhook is asked before the schema, so these are the words that users see."""
    refused = await answer(Webhooks(mykind_admission()), path, review(document(replicas=-1, pool=7)))
    assert (refused["status"]["code"], refused["status"]["reason"]) == (422, "Invalid")
    assert [(cause["field"], cause["reason"]) for cause in refused["status"]["details"]["causes"]] == [
        ("spec.replicas", "FieldValueInvalid"),
        ("spec.pool", "FieldValueTypeInvalid"),
    ]
    assert 'Mykind.grp.example.com "sample" is invalid: [' in refused["status"]["message"]
    assert "spec.replicas: Invalid value: -1: " in refused["status"]["message"]


async def test_a_built_in_object_that_does_not_fit_is_refused_with_the_field() -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {"containers": 1}}
    admission = Admission(Pod).validates(lambda pod: None)
    refused = await answer(Webhooks(admission), "/validate--v1-pod", review(pod))
    assert refused["status"]["code"] == 400
    assert refused["status"]["message"] == "Pod x: spec.containers: Expected `array`, got `int`"


class StrictPart(pydantic.BaseModel):
    size: int = pydantic.Field(default=1, le=10)
    sizes: dict[str, Annotated[int, pydantic.Field(le=10)]] = {}
    note: str = ""


class StrictSpec(sp.Model):
    part: StrictPart = StrictPart()
    n: Annotated[int, sp.Field(le=10)] = 1
    every: sp.Duration = sp.Duration(hours=1)
    tiers: list[dict[str, Annotated[int, sp.Field(le=10)]]] = []
    note: str = ""


class Strict(sp.CustomResource, group="strict.example.com", version="v1"):
    spec: StrictSpec = StrictSpec()


STORED: list[dict[str, Any]] = [
    {"n": 50},
    {"every": "1d"},
    {"tiers": [{"a": 11}]},
    {"n": "many"},
    {"part": {"size": 11}},
]


def strict(spec: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    identity = {"name": "a", "namespace": "default", "uid": "u", "resourceVersion": "7"}
    return {"apiVersion": "strict.example.com/v1", "kind": "Strict", "metadata": identity | metadata, "spec": spec}


@pytest.mark.parametrize("role", ["validate", "mutate"])
@pytest.mark.parametrize("stored", STORED, ids=str)
async def test_stored_values_that_do_not_fit_are_decided_by_the_function_and_new_ones_refused(
    stored: dict[str, Any], role: str
) -> None:
    calls: list[tuple[Any, Any]] = []

    def decide(obj: Strict, review: Review[Strict]) -> None:
        calls.append((obj, review.old))
        if "bad" in obj.labels:
            review.deny("bad")

    admission = Admission(Strict)
    if role == "validate":
        admission.validates(decide, on=("create", "update", "delete"))
    else:
        admission.defaults(decide)
    webhooks, path = Webhooks(admission), f"/{role}-strict-example-com-v1-strict"
    resource = {"group": "strict.example.com", "version": "v1", "resource": "stricts"}
    old = strict(stored)

    async def allowed(new: dict[str, Any] | None, old: dict[str, Any] | None, operation: str) -> bool:
        asked = review(new, old, operation=operation, resource=resource, name="a")
        response = await answer(webhooks, path, asked)
        assert "patch" not in response
        return bool(response["allowed"])

    assert await allowed(strict(stored, labels={"x": "y"}), old, "UPDATE")
    assert await allowed(strict(stored, finalizers=["x.io/y"]), old, "UPDATE")
    assert await allowed(strict(stored | {"note": "more"}), old, "UPDATE")
    assert await allowed(strict({"note": "mended"}), old, "UPDATE")
    assert [(obj.name, before.name if before else "") for obj, before in calls] == [("a", "a")] * 4
    if role == "validate":
        assert await allowed(None, old, "DELETE")
        assert len(calls) == 5
    assert not await allowed(strict(stored, labels={"bad": "y"}), old, "UPDATE"), "the function has the last word"
    count = len(calls)
    assert not await allowed(strict(stored), None, "CREATE")
    assert not await allowed(strict(stored | {"n": 60}), old, "UPDATE")
    assert not await allowed(strict(stored | {"every": "2d"}), old, "UPDATE")
    assert len(calls) == count


@pytest.mark.parametrize(
    ("tiers", "accepted"),
    [([{"b": 1}, {"a": 11}], True), ([{"a": 11}], True), ([{"b": 1}, {"a": 12}], False), ([{"b": 1, "c": 11}], False)],
    ids=str,
)
async def test_a_stored_item_that_does_not_fit_may_have_another_place_in_its_list(
    tiers: list[dict[str, int]], accepted: bool
) -> None:
    webhooks = Webhooks(Admission(Strict).validates(lambda obj: None))
    resource = {"group": "strict.example.com", "version": "v1", "resource": "stricts"}
    new, old = strict({"tiers": tiers}), strict({"tiers": [{"a": 11}, {"b": 1}]})
    asked = review(new, old, operation="UPDATE", resource=resource, name="a")
    assert (await answer(webhooks, "/validate-strict-example-com-v1-strict", asked))["allowed"] is accepted


@pytest.mark.parametrize(
    ("change", "accepted"),
    [
        ({"note": "more"}, True),
        ({"sizes": {"q": 11, "r": 1}}, True),
        ({"sizes": {"q": 11, "r": 12}}, False),
        ({"sizes": {"q": 12}}, False),
        ({"size": 12}, False),
        ({"size": 10}, True),
    ],
    ids=str,
)
async def test_only_the_parts_of_a_pydantic_model_that_an_update_changes_count(
    change: dict[str, Any], accepted: bool
) -> None:
    webhooks = Webhooks(Admission(Strict).validates(lambda obj: None))
    resource = {"group": "strict.example.com", "version": "v1", "resource": "stricts"}
    part = {"size": 11, "sizes": {"q": 11}}
    old, new = strict({"part": part}), strict({"part": part | change})
    asked = review(new, old, operation="UPDATE", resource=resource, name="a")
    assert (await answer(webhooks, "/validate-strict-example-com-v1-strict", asked))["allowed"] is accepted


async def test_a_refused_update_names_only_the_fields_that_it_changes() -> None:
    webhooks = Webhooks(Admission(Strict).validates(lambda obj: None))
    resource = {"group": "strict.example.com", "version": "v1", "resource": "stricts"}
    for change, field in (({"n": 60}, "spec.n"), ({"every": "2d"}, "spec.every"), ({"n": 60}, "spec.n")):
        old = strict({"tiers": [{"a": 11}], "every": "1d"})
        new = strict({"tiers": [{"a": 11}], "every": "1d"} | change)
        asked = review(new, old, operation="UPDATE", resource=resource, name="a")
        refused = await answer(webhooks, "/validate-strict-example-com-v1-strict", asked)
        assert field in refused["status"]["message"]
        assert "tiers" not in refused["status"]["message"]


async def test_an_object_that_does_not_fit_any_more_may_go() -> None:
    webhooks = Webhooks(mykind_admission())
    old = document(replicas=-1)
    old["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["a.example.com/x"]}
    new = json.loads(json.dumps(old))
    new["metadata"]["finalizers"] = []
    for path in (MUTATE, VALIDATE):
        response = await answer(webhooks, path, review(new, old, operation="UPDATE"))
        assert (response["allowed"], response.get("patch")) == (True, None)
    new["spec"]["replicas"] = -2
    assert (await answer(webhooks, VALIDATE, review(new, old, operation="UPDATE")))["allowed"] is False


@virtual_time
async def test_a_function_that_turns_out_to_wait_is_waited_for() -> None:
    async def slowly(mykind: Mykind, review: Review[Mykind]) -> None:
        async with asyncio.timeout(5), asyncio.TaskGroup() as group:
            group.create_task(asyncio.sleep(1))
        review.invalid("spec.pool", mykind.spec.pool, "is full")

    admission = Admission(Mykind).validates(lambda mykind, review: slowly(mykind, review))
    webhooks = Webhooks(admission)
    request = encoded(review(document(pool="a")))
    replies = [await webhooks.handle_review(VALIDATE, request)]
    loop = asyncio.get_running_loop()
    started = loop.create_future()  # as the server does it: outside of any task
    loop.call_soon(lambda: started.set_result(webhooks.start_review(VALIDATE, request)))
    begun = await started
    assert not isinstance(begun, Reply)
    replies.append(await begun)
    for reply in replies:
        assert json.loads(reply.body)["response"]["status"]["details"]["causes"][0]["field"] == "spec.pool"
    late = await webhooks.handle_review(VALIDATE, request, timeout=0.5)
    assert late.status == 504
    counts = webhooks.metrics.at(VALIDATE)
    assert (counts.in_flight, counts.codes) == (0, {200: 2, 504: 1})


async def test_functions_that_do_not_wait_are_answered_at_once() -> None:
    webhooks = Webhooks(Admission(Mykind).validates(lambda mykind: None))
    reply = webhooks.start_review(VALIDATE, encoded(review(document())))
    assert isinstance(reply, Reply)
    assert json.loads(reply.body)["response"]["allowed"] is True
    assert webhooks.metrics.at(VALIDATE).codes == {200: 1}


@pytest.mark.parametrize("key", ["", "a b", "prefix.example.com/a", "x" * 64])
async def test_an_audit_annotation_that_would_be_passed_over_is_a_defect(
    key: str, caplog: pytest.LogCaptureFixture
) -> None:
    admission = Admission(Mykind).validates(lambda mykind, review: review.audit(key, "x"))
    reply = await Webhooks(admission).handle_review(VALIDATE, encoded(review(document())))
    assert reply.status == 500
    assert f"audit annotation {key!r}: " in caplog.text


ADMISSION = "AdmissionReview of admission.k8s.io/v1"


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "the body is not a valid AdmissionReview"),
        (b"hello", "malformed"),
        (b"[]", "Expected `object`, got `array`"),
        (b"\xff\xfe{}", "the body is not a valid AdmissionReview"),
        (b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"', "truncated"),
        (b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}', "has no request"),
        (b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{}}', "missing required field"),
        (b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v9","request":{"x":1}}', f"takes only {ADMISSION}"),
        (b'{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{}}', f"takes only {ADMISSION}"),
        (b'{"request":' + b'{"a":' * 100_000, "the body is not a valid AdmissionReview: "),
        (b"[" * 1_000_000, "the body is not a valid AdmissionReview: "),
    ],
)
async def test_garbage_is_a_bad_request(body: bytes, says: str) -> None:
    reply = await Webhooks(mykind_admission()).handle_review(VALIDATE, body)
    status = json.loads(reply.body)
    assert (reply.status, status["kind"], status["apiVersion"], status["code"]) == (400, "Status", "v1", 400)
    assert says in status["message"]


@pytest.mark.parametrize("depth", [100, 500, 900, 2000, 100_000])
@pytest.mark.parametrize("path", [MUTATE, VALIDATE])
async def test_deep_nesting_takes_nothing_down(depth: int, path: str) -> None:
    obj = encoded(document()).replace(b'"spec":{}', b'"spec":{"deep":' + b'{"a":' * depth + b"1" + b"}" * (depth + 1))
    body = encoded(review(document())).replace(encoded(document()), obj)
    reply = await Webhooks(mykind_admission()).handle_review(path, body)
    assert reply.status in (200, 400)
    if depth < 800:
        assert json.loads(reply.body)["response"]["allowed"] is True
    answered = json.loads(reply.body).get("response", {})
    if answered.get("allowed") is False:  # how deep is too deep is Python's to say
        assert answered["status"]["message"] == "nested too deeply"


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_no_body_whatever_raises(data: st.DataObject) -> None:
    whole = encoded(review(document(replicas=3), document(), operation="UPDATE"))
    start = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(start, len(whole)))
    junk = data.draw(
        st.binary(max_size=8) | st.sampled_from([b"null", b"{}", b'"', b"1e999", b"-", b"[[", b"\xed\xa0"])
    )
    body = whole[:start] + junk + whole[end:]
    path = data.draw(st.sampled_from([MUTATE, VALIDATE]))
    webhooks = Webhooks(mykind_admission())
    reply = asyncio.run(webhooks.handle_review(path, body))
    assert reply.status in (200, 400)
    assert webhooks.metrics.panics == 0
    json.loads(reply.body)


async def test_an_unknown_path_is_not_found() -> None:
    reply = await Webhooks(mykind_admission()).handle_review("/validate-x", b"{}")
    assert reply.status == 404
    assert json.loads(reply.body)["message"] == "there is no webhook at /validate-x"


async def test_a_defect_is_no_verdict_and_takes_nothing_down(caplog: pytest.LogCaptureFixture) -> None:
    def broken(mykind: Mykind) -> None:
        raise KeyError("oops")

    metrics = WebhookMetrics()
    webhooks = Webhooks(Admission(Mykind).validates(broken).defaults(fill), metrics=metrics)
    reply = await webhooks.handle_review(VALIDATE, encoded(review(document())))
    assert reply.status == 500
    assert json.loads(reply.body)["message"] == "the webhook failed; its log has the reason"
    assert metrics.panics == 1
    assert "oops" in caplog.text
    assert (await answer(webhooks, MUTATE, review(document())))["allowed"] is True


class Boom(BaseException):
    """As some libraries end what they can't stop otherwise."""


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize(
    "problem",
    [
        Boom("hunter2"),
        SystemExit("hunter2"),
        asyncio.CancelledError("hunter2"),
        BaseExceptionGroup("hunter2", [Boom("hunter2")]),
        ValueError("hunter2"),
    ],
    ids=lambda problem: type(problem).__name__,
)
async def test_whatever_a_function_raises_is_answered_and_its_text_is_for_the_log(
    problem: BaseException, waits: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(mykind: Mykind) -> None:
        if waits:
            await asyncio.sleep(0)
        raise problem

    metrics = WebhookMetrics()
    webhooks = Webhooks(Admission(Mykind).validates(broken).defaults(fill), metrics=metrics)
    reply = await webhooks.handle_review(VALIDATE, encoded(review(document())))
    assert reply.status == 500
    assert b"hunter2" not in reply.body
    assert "hunter2" in caplog.text
    assert metrics.panics == 1
    assert (await answer(webhooks, MUTATE, review(document())))["allowed"] is True


async def test_a_request_whose_own_task_is_cancelled_ends_as_cancelled() -> None:
    begun = asyncio.Event()

    async def waiting(mykind: Mykind) -> None:
        begun.set()
        await asyncio.Event().wait()

    webhooks = Webhooks(Admission(Mykind).validates(waiting))
    task = asyncio.create_task(webhooks.handle_review(VALIDATE, encoded(review(document()))))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert webhooks.metrics.panics == 0


def fill(mykind: Mykind) -> None:
    mykind.spec.pool = mykind.spec.pool or "default"


@virtual_time
async def test_a_function_that_takes_too_long_is_answered_before_the_caller_gives_up() -> None:
    loop = asyncio.get_running_loop()

    async def slow(mykind: Mykind) -> None:
        await asyncio.sleep(60)

    webhooks = Webhooks(Admission(Mykind).validates(slow))
    for query, seconds in (("?timeout=10s", 10), ("", 30), ("?timeout=1m30s", 30), ("?timeout=x", 30)):
        start = loop.time()
        reply = await webhooks.handle_review(VALIDATE + query, encoded(review(document())))
        assert reply.status == 504
        assert json.loads(reply.body)["message"] == f"the webhook did not answer within {seconds} s"
        assert 0.9 * seconds < loop.time() - start < seconds


def test_two_at_one_path_are_an_error() -> None:
    with pytest.raises(ValueError, match="give one of them a name="):
        Webhooks(mykind_admission(), mykind_admission())
    Webhooks(mykind_admission(), mykind_admission(name="second"))
    with pytest.raises(TypeError, match="has no function"):
        Webhooks(Admission(Mykind))
    with pytest.raises(TypeError, match="give Webhooks a factory"):
        Webhooks(mykind_admission().reads(Pod))


async def test_metrics_carry_controller_runtimes_names() -> None:
    registry = CollectorRegistry()
    webhooks = Webhooks(mykind_admission(), metrics=WebhookMetrics(registry))
    await answer(webhooks, VALIDATE, review(document()))
    await webhooks.handle_review(VALIDATE, b"")
    await webhooks.handle_review("/made-up", b"")
    text = generate_latest(registry).decode()
    for line in (
        f'controller_runtime_webhook_requests_total{{code="200",webhook="{VALIDATE}"}} 1.0',
        f'controller_runtime_webhook_requests_total{{code="400",webhook="{VALIDATE}"}} 1.0',
        f'controller_runtime_webhook_requests_in_flight{{webhook="{VALIDATE}"}} 0.0',
        f'controller_runtime_webhook_latency_seconds_count{{webhook="{VALIDATE}"}} 2.0',
        f'controller_runtime_webhook_latency_seconds_count{{webhook="{MUTATE}"}} 0.0',
        "controller_runtime_webhook_panics_total 0.0",
        "controller_runtime_conversion_webhook_panics_total 0.0",
        "certwatcher_read_certificate_total 0.0",
    ):
        assert line in text, text
    assert "made-up" not in text
