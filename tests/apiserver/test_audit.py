"""The audit log: which requests a policy has logged, and what an event says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.apiserver.harness import MAPS, PODS, Answer, Api, config_map, serving
from tests.apiserver.test_admission import VALIDATING, Webhooks, configuration, webhook
from tests.apiserver.test_policies import BINDINGS, POLICIES, binding
from tests.apiserver.test_policies import policy as admission_policy

from setpoint.apiserver import Authentication, MemoryStorage, Peer, Rbac, Request, UserInfo
from setpoint.apiserver.audit.log import AuditLog
from setpoint.apiserver.audit.policy import AuditPolicy, AuditPolicyError

HEAD = "apiVersion: audit.k8s.io/v1\nkind: Policy\n"


def policy(tmp_path: Path, text: str) -> AuditPolicy:
    path = tmp_path / "policy.yaml"
    path.write_text(HEAD + text)
    return AuditPolicy.read(path)


class Log:
    """Events, as they are written."""

    def __init__(self, policy: AuditPolicy) -> None:
        self.lines: list[bytes] = []
        self.audit = AuditLog(policy, self.lines.append)

    def events(self) -> list[dict[str, Any]]:
        documents = [json.loads(line) for line in self.lines]
        self.lines.clear()
        return documents


async def sent(
    api: Api, method: str, path: str, body: Any = None, *, token: str = "", query: Any = (), **more: str
) -> Answer:
    headers = {"user-agent": "test/1", **{name.replace("_", "-"): value for name, value in more.items()}}
    if token:
        headers["authorization"] = f"Bearer {token}"
    raw = None if body is None else json.dumps(body).encode()
    response = await api.server.handle(Request(method, path, query, headers, raw, peer=Peer("192.0.2.9")))
    return Answer(response.status, response.headers, response.body)


async def test_an_event_says_who_asked_for_what_and_what_came_of_it(tmp_path: Path) -> None:
    log = Log(policy(tmp_path, "rules: [{level: RequestResponse, omitManagedFields: true}]"))
    static = {"abc": UserInfo("jane", "7", ("system:masters",))}
    async with serving(audit=log.audit, authentication=Authentication(static)) as api:
        answer = await sent(api, "POST", MAPS, config_map("a"), token="abc", query=(("fieldManager", "x y"),))
        received, complete = log.events()
    assert answer.headers["audit-id"] == received["auditID"] == complete["auditID"]
    assert (received["stage"], complete["stage"]) == ("RequestReceived", "ResponseComplete")
    assert "requestObject" not in received
    assert complete["requestURI"] == f"{MAPS}?fieldManager=x+y"
    assert (complete["verb"], complete["sourceIPs"], complete["userAgent"]) == ("create", ["192.0.2.9"], "test/1")
    assert complete["user"] == {"username": "jane", "uid": "7", "groups": ["system:masters", "system:authenticated"]}
    assert complete["objectRef"] == {
        "resource": "configmaps",
        "namespace": "default",
        "name": "a",
        "apiVersion": "v1",
    }
    assert complete["responseStatus"] == {"metadata": {}, "code": 201}
    assert complete["requestObject"]["metadata"] == {"name": "a"}
    assert complete["responseObject"]["metadata"]["name"] == "a"
    assert "managedFields" not in complete["responseObject"]["metadata"]
    assert complete["annotations"]["authorization.k8s.io/decision"] == "allow"
    assert complete["requestReceivedTimestamp"] == "2026-01-31T12:00:00.000000Z"


async def test_refusals_and_impersonation_are_logged(tmp_path: Path) -> None:
    log = Log(policy(tmp_path, "omitStages: [RequestReceived]\nrules: [{level: Metadata}]"))
    storage = MemoryStorage()
    static = {"abc": UserInfo("boss", groups=("system:masters",))}
    async with serving(
        storage, audit=log.audit, authentication=Authentication(static), authorizer=Rbac(storage)
    ) as api:
        await sent(api, "GET", PODS, token="abc", impersonate_user="jane")
        await sent(api, "GET", PODS, token="wrong")
        refused, unknown = log.events()
    assert refused["user"]["username"] == "boss"
    assert refused["impersonatedUser"] == {"username": "jane", "groups": ["system:authenticated"]}
    assert refused["responseStatus"]["code"] == 403
    assert refused["annotations"]["authorization.k8s.io/decision"] == "forbid"
    assert (unknown["user"], unknown["responseStatus"]["code"]) == ({}, 401)


async def test_a_watch_is_logged_when_it_begins_and_when_it_ends(tmp_path: Path) -> None:
    log = Log(policy(tmp_path, "rules: [{level: Metadata}]"))
    async with serving(audit=log.audit) as api:
        answer = await sent(api, "GET", PODS, query=(("watch", "1"),))
        assert [event["stage"] for event in log.events()] == ["RequestReceived", "ResponseStarted"]
        api.server.end_watches()
        async for _ in answer.body:
            pass
        await answer.body.aclose()
        assert [event["stage"] for event in log.events()] == ["ResponseComplete"]


DECISION = "authorization.k8s.io/decision"
REASON = "authorization.k8s.io/reason"
FAILURE = "validation.policy.admission.k8s.io/validation_failure"


async def test_what_admission_refuses_was_authorized(tmp_path: Path) -> None:
    log = Log(policy(tmp_path, "omitStages: [RequestReceived]\nrules: [{level: Metadata}]"))
    storage = MemoryStorage()
    static = {"abc": UserInfo("jane")}
    async with serving(
        storage, audit=log.audit, authentication=Authentication(static), authorizer=Rbac(storage)
    ) as api:
        rules = [{"apiGroups": [""], "resources": ["configmaps", "pods"], "verbs": ["*"]}]
        subjects = [{"kind": "User", "name": "jane", "apiGroup": "rbac.authorization.k8s.io"}]
        reference = {"kind": "ClusterRole", "name": "r", "apiGroup": "rbac.authorization.k8s.io"}
        rbac = "/apis/rbac.authorization.k8s.io/v1"
        (await api.post(f"{rbac}/clusterroles", {"metadata": {"name": "r"}, "rules": rules})).ok()
        bound = {"metadata": {"name": "b"}, "roleRef": reference, "subjects": subjects}
        (await api.post(f"{rbac}/clusterrolebindings", bound)).ok()
        (await api.post(POLICIES, admission_policy("false"))).ok()
        (await api.post(BINDINGS, binding(validationActions=["Deny"]))).ok()
        refused = await sent(api, "POST", MAPS, config_map("a"), token="abc")
        assert refused.status == 422
        await sent(api, "GET", PODS, token="abc", query=(("watch", "1"),))
        await sent(api, "GET", "/api/v1/nodes", token="abc")
        denied, watched, forbidden = (event["annotations"] for event in log.events())
    allowed = {
        DECISION: "allow",
        REASON: 'RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "r" to User "jane"',
    }
    assert denied == watched == allowed
    assert forbidden == {DECISION: "forbid", REASON: ""}


async def test_policies_annotate_the_events_of_what_they_are_about(tmp_path: Path) -> None:
    log = Log(policy(tmp_path, "omitStages: [RequestReceived]\nrules: [{level: Metadata}]"))
    annotations = [
        {"key": "who", "valueExpression": "'  ' + request.userInfo.username + ' '"},
        {"key": "none", "valueExpression": "null"},
        {"key": "long", "valueExpression": " + ".join(["string(object.data.text)"] * 3)},
    ]
    validations = ("true", {"expression": "object.metadata.name != 'a'", "message": "not a"})
    async with serving(audit=log.audit) as api:
        (await api.post(POLICIES, admission_policy(*validations, auditAnnotations=annotations))).ok()
        (await api.post(BINDINGS, binding(validationActions=["Audit", "Warn"]))).ok()
        answer = await sent(api, "POST", MAPS, config_map("a", data={"text": "é" * 2000}))
        assert answer.status == 201
        (event,) = log.events()
    current_annotations = event["annotations"]
    failed = {"message": "not a", "policy": "p", "binding": "p-bound", "expressionIndex": 1}
    assert json.loads(current_annotations[FAILURE]) == [{**failed, "validationActions": ["Audit", "Warn"]}]
    assert current_annotations["p/who"] == "system:admin"
    assert current_annotations["p/long"] == "é" * 5120
    assert current_annotations.keys() == {DECISION, REASON, FAILURE, "p/who", "p/long"}


async def test_an_annotation_that_fails_denies_whatever_the_binding_does(tmp_path: Path) -> None:
    log = Log(policy(tmp_path, "omitStages: [RequestReceived]\nrules: [{level: Metadata}]"))
    wrong = [{"key": "k", "valueExpression": "string(object.data.nothing)"}]
    async with serving(audit=log.audit) as api:
        (await api.post(POLICIES, admission_policy("true", auditAnnotations=wrong))).ok()
        (await api.post(BINDINGS, binding(validationActions=["Audit"]))).ok()
        answer = await sent(api, "POST", MAPS, config_map("a"))
        assert (answer.status, answer.json["reason"]) == (422, "Invalid")
        (event,) = log.events()
    assert event["annotations"] == {DECISION: "allow", REASON: ""}


async def test_webhooks_annotate_the_events_of_what_they_were_asked_about(tmp_path: Path) -> None:
    log = Log(policy(tmp_path, "omitStages: [RequestReceived]\nrules: [{level: Metadata}]"))
    webhooks = Webhooks()
    noted = {"seen": "yes", "not a name": "dropped"}
    webhooks.handlers = {"a": lambda _: {"allowed": False, "auditAnnotations": noted}}
    async with serving(audit=log.audit, webhook_caller=webhooks.caller()) as api:
        (await api.post(VALIDATING, configuration(webhook("a", rule={"resources": ["configmaps"]})))).ok()
        answer = await sent(api, "POST", MAPS, config_map("a"))
        assert answer.status == 400
        (event,) = log.events()
    assert event["annotations"] == {DECISION: "allow", REASON: "", "a.hooks.test/seen": "yes"}


async def test_requests_in_this_process_are_not_logged(tmp_path: Path) -> None:
    log = Log(policy(tmp_path, "rules: [{level: Metadata}]"))
    async with serving(audit=log.audit) as api:
        (await api.get(PODS)).ok()
        assert log.events() == []


@pytest.mark.parametrize(
    ("rule", "path", "logged"),
    [
        ("{level: Metadata}", PODS, True),
        ("{level: None}", PODS, False),
        ("{level: Metadata, users: [jane]}", PODS, False),
        ("{level: Metadata, users: [system:admin]}", PODS, True),
        ("{level: Metadata, userGroups: [system:masters]}", PODS, True),
        ("{level: Metadata, verbs: [get]}", PODS, False),
        ("{level: Metadata, verbs: [list]}", PODS, True),
        ("{level: Metadata, namespaces: [default]}", PODS, True),
        ("{level: Metadata, namespaces: [other]}", PODS, False),
        ("{level: Metadata, namespaces: [default]}", "/version", False),
        ('{level: Metadata, resources: [{group: ""}]}', PODS, True),
        ("{level: Metadata, resources: [{group: apps}]}", PODS, False),
        ('{level: Metadata, resources: [{group: "", resources: [pods]}]}', f"{PODS}/a/log", False),
        ('{level: Metadata, resources: [{group: "", resources: ["pods/*"]}]}', f"{PODS}/a/log", True),
        ('{level: Metadata, resources: [{group: "", resources: ["*/log"]}]}', f"{PODS}/a/log", True),
        ('{level: Metadata, resources: [{group: "", resources: [pods], resourceNames: [b]}]}', f"{PODS}/a", False),
        ("{level: Metadata, nonResourceURLs: [/version]}", "/version", True),
        ('{level: Metadata, nonResourceURLs: ["/heal*"]}', "/healthz", True),
        ('{level: Metadata, nonResourceURLs: ["*"]}', PODS, False),
    ],
)
async def test_the_first_rule_that_matches_says_what_is_logged(
    tmp_path: Path, rule: str, path: str, logged: bool
) -> None:
    log = Log(policy(tmp_path, f"rules: [{rule}]"))
    async with serving(audit=log.audit) as api:
        await sent(api, "GET", path)
    assert bool(log.events()) is logged


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not YAML"),
        ("[]", "is not an audit policy: Expected `object`"),
        (HEAD + "rules: [{level: Everything}]", "Invalid enum value 'Everything' - at `$.rules[0].level`"),
        (HEAD + "rules: [{level: None, verb: [get]}]", "unknown field `verb`"),
        (HEAD + "rules: []", "there are no rules"),
        ("apiVersion: v1\nkind: Policy\nrules: [{level: None}]", "expected audit.k8s.io/v1, Policy"),
        (
            HEAD + "rules: [{level: None, namespaces: [a], nonResourceURLs: [/b]}]",
            "rules[0].nonResourceURLs: rules can",
        ),
    ],
)
def test_a_bad_policy_is_refused_in_one_line_that_names_the_file(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(text)
    with pytest.raises(AuditPolicyError) as refused:
        AuditPolicy.read(path)
    assert words in str(refused.value)
    assert str(path) in str(refused.value)
    assert "\n" not in str(refused.value)
