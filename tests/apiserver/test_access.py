"""Authorization: roles and bindings, the words of refusals, escalation, reviews, impersonation, the record."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.apiserver.harness import APPLY, DEPLOYMENTS, MAPS, PODS, Answer, Api, config_map, pod, serving

from setpoint.apiserver import AccessRecord, MemoryStorage, Rbac
from setpoint.apiserver.authorization.attributes import Attributes, requested
from setpoint.apiserver.authorization.role_rules import PolicyRule, allows, covers, missing
from setpoint.apiserver.http_types import UserInfo

RBAC = "/apis/rbac.authorization.k8s.io/v1"
ROLES = f"{RBAC}/namespaces/default/roles"
BINDINGS = f"{RBAC}/namespaces/default/rolebindings"
AUTHORIZATION = "/apis/authorization.k8s.io/v1"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
WHO_AM_I = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


@asynccontextmanager
async def guarded(**options: Any) -> AsyncIterator[Api]:
    storage = MemoryStorage()
    async with serving(storage, authorizer=Rbac(storage), **options) as api:
        yield api


def role(name: str, *rules: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "rules": list(rules), **fields}


def rule(verbs: str, resources: str = "", groups: str = "", **fields: Any) -> dict[str, Any]:
    listed: dict[str, Any] = {"verbs": verbs.split(), **fields}
    if resources:
        listed |= {"resources": resources.split(), "apiGroups": groups.split(",")}
    return listed


def binding(name: str, role: str, *subjects: dict[str, Any], kind: str = "Role") -> dict[str, Any]:
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role}
    return {"metadata": {"name": name}, "roleRef": reference, "subjects": list(subjects)}


def user(name: str) -> dict[str, Any]:
    return {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": name}


async def allow(api: Api, who: str, *rules: dict[str, Any], cluster: bool = False) -> None:
    """Gives a user a role of the default namespace, or of the cluster."""
    if cluster:
        (await api.post(f"{RBAC}/clusterroles", role(who, *rules))).ok()
        (await api.post(f"{RBAC}/clusterrolebindings", binding(who, who, user(who), kind="ClusterRole"))).ok()
    else:
        (await api.post(ROLES, role(who, *rules))).ok()
        (await api.post(BINDINGS, binding(who, who, user(who)))).ok()


async def as_(api: Api, who: str, method: str, path: str, body: Any = None, **query: Any) -> Answer:
    return await api.send(method, path, body, query=query, impersonate_user=who)


@pytest.mark.parametrize(
    ("method", "path", "query", "words", "details"),
    [
        ("GET", PODS, {}, 'pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace '
         '"default"', {"kind": "pods"}),
        ("GET", "/api/v1/pods", {}, 'pods is forbidden: User "jane" cannot list resource "pods" in API group "" at the '
         "cluster scope", {"kind": "pods"}),
        ("GET", f"{PODS}/x", {}, 'pods "x" is forbidden: User "jane" cannot get resource "pods" in API group "" in the '
         'namespace "default"', {"kind": "pods", "name": "x"}),
        ("GET", f"{PODS}/x/log", {}, 'pods "x" is forbidden: User "jane" cannot get resource "pods/log" in API group '
         '"" in the namespace "default"', {"kind": "pods", "name": "x"}),
        ("GET", PODS, {"watch": "1"}, 'pods is forbidden: User "jane" cannot watch resource "pods" in API group "" in '
         'the namespace "default"', {"kind": "pods"}),
        ("GET", PODS, {"fieldSelector": "metadata.name=x"}, 'pods "x" is forbidden: User "jane" cannot list resource '
         '"pods" in API group "" in the namespace "default"', {"kind": "pods", "name": "x"}),
        ("DELETE", PODS, {}, 'pods is forbidden: User "jane" cannot deletecollection resource "pods" in API group "" '
         'in the namespace "default"', {"kind": "pods"}),
        ("PATCH", f"{DEPLOYMENTS}/x/scale", {}, 'deployments.apps "x" is forbidden: User "jane" cannot patch resource '
         '"deployments/scale" in API group "apps" in the namespace "default"',
         {"name": "x", "group": "apps", "kind": "deployments"}),
        ("GET", "/apis/nope.io/v1/things", {}, 'things.nope.io is forbidden: User "jane" cannot list resource "things" '
         'in API group "nope.io" at the cluster scope', {"group": "nope.io", "kind": "things"}),
        ("GET", "/api/v1/namespaces/default", {}, 'namespaces "default" is forbidden: User "jane" cannot get resource '
         '"namespaces" in API group "" in the namespace "default"', {"kind": "namespaces", "name": "default"}),
        ("GET", "/metrics", {}, 'forbidden: User "jane" cannot get path "/metrics"', {}),
        ("POST", "/foo", {}, 'forbidden: User "jane" cannot post path "/foo"', {}),
    ],
)  # fmt: skip
async def test_a_refusal_has_the_words_of_a_kube_apiserver(
    method: str, path: str, query: dict[str, str], words: str, details: dict[str, str]
) -> None:
    async with guarded() as api:
        status = (await as_(api, "jane", method, path, **query)).failed(403, "Forbidden")
    assert (status["message"], status["details"]) == (words, details)


async def test_a_role_is_in_force_from_the_next_request_on_and_not_after_it_is_gone() -> None:
    async with guarded() as api:
        assert (await as_(api, "jane", "GET", PODS)).status == 403
        await allow(api, "jane", rule("list", "pods"))
        assert (await as_(api, "jane", "GET", PODS)).status == 200
        assert (await as_(api, "jane", "GET", "/api/v1/pods")).status == 403
        assert (await as_(api, "joe", "GET", PODS)).status == 403
        (await api.delete(f"{BINDINGS}/jane")).ok()
        assert (await as_(api, "jane", "GET", PODS)).status == 403


async def test_a_binding_of_a_role_that_does_not_exist_is_named_in_the_refusal() -> None:
    async with guarded() as api:
        (await api.post(f"{RBAC}/clusterrolebindings", binding("b", "gone", user("jane"), kind="ClusterRole"))).ok()
        status = (await as_(api, "jane", "GET", PODS)).failed(403, "Forbidden")
    assert status["message"].endswith(
        'in the namespace "default": rbac: RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found'
    )


async def test_system_masters_may_do_everything_without_any_role() -> None:
    async with guarded() as api:
        answer = await api.send("GET", "/api/v1/pods", impersonate_user="x", impersonate_group="system:masters")
        assert answer.status == 200


async def test_a_refused_request_changes_nothing_and_is_refused_before_it_is_read() -> None:
    async with guarded() as api:
        before = api.revision
        assert (await as_(api, "jane", "POST", MAPS, b"{nonsense")).status == 403
        assert (await as_(api, "jane", "POST", MAPS, config_map())).status == 403
        assert api.revision == before


async def test_a_put_or_apply_that_creates_needs_the_permission_to_create() -> None:
    async with guarded() as api:
        await allow(api, "jane", rule("patch update", "configmaps leases", ",coordination.k8s.io"))
        wanted = config_map("a", data={"x": "1"})
        answer = await api.send(
            "PATCH", f"{MAPS}/a", wanted, query={"fieldManager": "t"}, impersonate_user="jane", content_type=APPLY
        )
        assert answer.failed(403, "Forbidden")["message"] == (
            'configmaps "a" is forbidden: User "jane" cannot create resource "configmaps" in API group "" in the '
            'namespace "default"'
        )
        leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
        refused = await as_(api, "jane", "PUT", f"{leases}/a", {"metadata": {"name": "a"}, "spec": {}})
        refused.failed(403, "Forbidden", 'cannot create resource "leases"')
        await allow(api, "jim", rule("patch create", "configmaps"))
        allowed = await api.send(
            "PATCH", f"{MAPS}/a", wanted, query={"fieldManager": "t"}, impersonate_user="jim", content_type=APPLY
        )
        allowed.ok()


# -- rules against a model ---------------------------------------------------------------------------------------------

JANE = UserInfo("jane")
VERBS, GROUPS, NAMES = ("get", "list", "create"), ("", "apps"), ("a", "b")
RESOURCES = ("pods", "deployments", "pods/status", "deployments/scale", "*/status", "*/scale")
URLS = ("/metrics", "/api/*", "/api", "/apis*")


def some(values: tuple[str, ...], *, star: bool = True) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from((*values, "*") if star else values), max_size=2, unique=True)


RULES = st.one_of(
    st.fixed_dictionaries(
        {"verbs": some(VERBS), "apiGroups": some(GROUPS), "resources": some(RESOURCES)},
        optional={"resourceNames": some(NAMES, star=False)},
    ),
    st.fixed_dictionaries({"verbs": some(VERBS), "nonResourceURLs": some(URLS)}),
)
REQUESTS = st.one_of(
    st.tuples(
        st.sampled_from(VERBS),
        st.sampled_from(GROUPS),
        st.sampled_from([resource for resource in RESOURCES if "*" not in resource]),
        st.sampled_from(("", *NAMES)),
    ),
    st.tuples(st.sampled_from(VERBS), st.sampled_from(["/metrics", "/api", "/api/v1", "/apis/apps", "/x"])),
)


def naive(document: dict[str, Any], request: tuple[str, ...]) -> bool:
    """The documentation of RBAC, said once more: a cartesian product of what the rule lists."""
    if len(request) == 2:
        verb, path = request
        return any(
            v in ("*", verb) and (u == path or (u[-1] == "*" and path.startswith(u.rstrip("*"))))
            for v in document["verbs"]
            for u in document.get("nonResourceURLs", ())
        )
    verb, group, resource, name = request
    return any(
        v in ("*", verb)
        and g in ("*", group)
        and (r in ("*", resource) or ("/" in resource and r == "*/" + resource.split("/")[1]))
        and n in (None, name)
        for v in document["verbs"]
        for g in document.get("apiGroups", ())
        for r in document.get("resources", ())
        for n in document.get("resourceNames") or [None]
    )


def parsed(document: dict[str, Any]) -> PolicyRule:
    import msgspec

    return msgspec.convert(document, PolicyRule)


def attributes(request: tuple[str, ...], who: UserInfo = JANE) -> Attributes:
    if len(request) == 2:
        return Attributes(who, request[0], path=request[1])
    verb, group, resource, name = request
    plural, _, subresource = resource.partition("/")
    return Attributes(who, verb, group, "v1", plural, subresource, "default", name)


@given(RULES, REQUESTS)
def test_a_rule_allows_what_the_documentation_says(document: dict[str, Any], request: tuple[str, ...]) -> None:
    assert allows(parsed(document), attributes(request)) == naive(document, request)


@given(st.lists(RULES, max_size=3), st.lists(RULES, max_size=2), REQUESTS)
@settings(max_examples=300)
def test_rules_that_cover_others_allow_all_that_the_others_allow(
    owned: list[dict[str, Any]], wanted: list[dict[str, Any]], request: tuple[str, ...]
) -> None:
    whole, parts = [parsed(item) for item in owned], [parsed(item) for item in wanted]
    lacking = missing(whole, parts)
    assert covers(whole, parts) == (not lacking)
    asked = attributes(request)
    if any(allows(part, asked) for part in parts):
        assert any(allows(item, asked) for item in (*whole, *lacking))


SUBJECTS = st.sampled_from(
    [
        {"kind": "User", "name": "jane"},
        {"kind": "User", "name": "system:serviceaccount:default:robot"},
        {"kind": "Group", "name": "dev"},
        {"kind": "ServiceAccount", "name": "robot"},
        {"kind": "ServiceAccount", "name": "robot", "namespace": "default"},
        {"kind": "ServiceAccount", "name": "robot", "namespace": "other"},
    ]
)
USERS = st.sampled_from(
    [
        UserInfo("jane", groups=("ops",)),
        UserInfo("joe", groups=("dev", "ops")),
        UserInfo("system:serviceaccount:default:robot"),
        UserInfo("system:serviceaccount:other:robot"),
    ]
)


@given(
    st.lists(st.tuples(st.sampled_from(["", "default", "other"]), SUBJECTS, RULES), max_size=4), USERS, REQUESTS,
    st.sampled_from(["default", "other", ""]),
)  # fmt: skip
@settings(max_examples=200)
def test_roles_and_bindings_allow_what_the_documentation_says(
    given_: list[tuple[str, dict[str, Any], dict[str, Any]]], who: UserInfo, request: tuple[str, ...], namespace: str
) -> None:
    import msgspec

    storage = MemoryStorage()
    authorizer = Rbac(storage)
    for number, (scope, subject, document) in enumerate(given_):
        kind = "Role" if scope else "ClusterRole"
        for plural, obj in (
            (f"{kind.lower()}s", {"rules": [document]}),
            (f"{kind.lower()}bindings", {"roleRef": {"kind": kind, "name": f"x{number}"}, "subjects": [subject]}),
        ):
            value = msgspec.json.encode(obj)
            key = (f"{plural}.rbac.authorization.k8s.io", scope, f"x{number}")
            storage.put(*key, lambda revision, value=value: value, expected=0)  # type: ignore[misc]
    asked = attributes(request, who)
    if asked.is_resource:
        asked = Attributes(who, asked.verb, asked.group, "v1", asked.resource, asked.subresource, namespace, asked.name)
    else:
        namespace = ""

    def holds(subject: dict[str, Any], scope: str) -> bool:
        if subject["kind"] == "User":
            return bool(subject["name"] == who.name)
        if subject["kind"] == "Group":
            return subject["name"] in who.groups
        home = subject.get("namespace") or scope
        return bool(home) and who.name == f"system:serviceaccount:{home}:{subject['name']}"

    expected = any(
        scope in ("", namespace) and holds(subject, scope) and naive(document, request)
        for scope, subject, document in given_
    )
    assert authorizer.authorize(asked).allowed == expected
    assert authorizer.authorize(asked).allowed == expected, "remembered, it is the same"


@pytest.mark.parametrize(
    ("method", "path", "query", "wanted"),
    [
        ("GET", "/api/v1/namespaces/a/pods/b/log", "", ("get", "", "pods", "log", "a", "b")),
        ("GET", "/api/v1/watch/namespaces/a/pods", "", ("watch", "", "pods", "", "a", "")),
        ("PUT", "/api/v1/namespaces/a/finalize", "", ("update", "", "namespaces", "finalize", "a", "a")),
        ("GET", "/api/v1/namespaces", "", ("list", "", "namespaces", "", "", "")),
        ("GET", "/apis/apps/v1/deployments", "watch=false", ("list", "apps", "deployments", "", "", "")),
        ("POST", "/apis/apps/v1/namespaces/a/deployments", "", ("create", "apps", "deployments", "", "a", "")),
        ("HEAD", "/api/v1/nodes/n", "", ("get", "", "nodes", "", "", "n")),
        ("OPTIONS", "/api/v1/nodes", "", ("", "", "nodes", "", "", "")),
    ],
)
def test_what_a_request_asks_for_is_read_from_its_path(
    method: str, path: str, query: str, wanted: tuple[str, ...]
) -> None:
    pairs = tuple(tuple(part.split("=")) for part in query.split("&") if part)
    result = requested(method, path, pairs, UserInfo("x"))  # type: ignore[arg-type]
    assert (
        *(result.verb, result.group, result.resource),
        *(result.subresource, result.namespace, result.name),
    ) == wanted


# -- escalation --------------------------------------------------------------------------------------------------------

MAY_WRITE_ROLES = rule("create update patch get", "roles rolebindings", "rbac.authorization.k8s.io")


async def test_a_role_gives_only_what_its_writer_has() -> None:
    async with guarded() as api:
        await allow(api, "jane", MAY_WRITE_ROLES, rule("get", "pods"))
        wanted = role(
            "r", rule("get list", "pods secrets"), rule("get", "deployments/scale", "apps", resourceNames=["a"])
        )
        status = (await as_(api, "jane", "POST", ROLES, wanted)).failed(403, "Forbidden")
        assert status["message"] == (
            'roles.rbac.authorization.k8s.io "r" is forbidden: user "jane" (groups=["system:authenticated"]) is '
            "attempting to grant RBAC permissions not currently held:\n"
            '{APIGroups:[""], Resources:["pods"], Verbs:["list"]}\n'
            '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list"]}\n'
            '{APIGroups:["apps"], Resources:["deployments/scale"], ResourceNames:["a"], Verbs:["get"]}'
        )
        (await as_(api, "jane", "POST", ROLES, role("r", rule("get", "pods")))).ok()
        (await as_(api, "jane", "PUT", f"{ROLES}/r", role("r", rule("get list", "pods")))).failed(403, "Forbidden")


async def test_the_verb_escalate_lets_a_user_write_any_role() -> None:
    async with guarded() as api:
        await allow(api, "jane", MAY_WRITE_ROLES, rule("escalate", "roles", "rbac.authorization.k8s.io"))
        (await as_(api, "jane", "POST", ROLES, role("r", rule("*", "*", "*")))).ok()


async def test_a_binding_gives_only_what_its_writer_has_or_may_bind() -> None:
    async with guarded() as api:
        (await api.post(f"{RBAC}/clusterroles", role("reader", rule("get", "pods")))).ok()
        (await api.post(f"{RBAC}/clusterroles", role("writer", rule("update", "pods")))).ok()
        await allow(
            api, "jane", MAY_WRITE_ROLES, rule("get", "pods"),
            rule("bind", "clusterroles", "rbac.authorization.k8s.io", resourceNames=["writer"]),
        )  # fmt: skip
        (await api.post(f"{RBAC}/clusterroles", role("eraser", rule("delete", "pods")))).ok()
        for name in ("reader", "writer"):
            (await as_(api, "jane", "POST", BINDINGS, binding(name, name, user("joe"), kind="ClusterRole"))).ok()
        refused = await as_(api, "jane", "POST", BINDINGS, binding("e", "eraser", user("joe"), kind="ClusterRole"))
        refused.failed(403, "Forbidden", 'Resources:["pods"], Verbs:["delete"]')
        lost = await as_(api, "jane", "POST", BINDINGS, binding("l", "lost", user("joe"), kind="ClusterRole"))
        assert lost.failed(404, "NotFound")["message"] == 'rolebindings.rbac.authorization.k8s.io "lost" not found'


async def test_the_garbage_collector_may_touch_roles_that_give_more_than_it_has() -> None:
    async with guarded() as api:
        await allow(api, "jane", MAY_WRITE_ROLES)
        (await api.post(ROLES, role("r", rule("*", "*", "*")))).ok()
        patch = {"metadata": {"finalizers": ["example.com/hold"]}}
        answer = await api.send(
            "PATCH", f"{ROLES}/r", patch, impersonate_user="jane", content_type="application/merge-patch+json"
        )
        answer.ok()


async def test_an_aggregated_role_needs_everything() -> None:
    async with guarded() as api:
        await allow(api, "jane", rule("create", "clusterroles", "rbac.authorization.k8s.io"), cluster=True)
        wanted = role("all", aggregationRule={"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]})
        answer = await as_(api, "jane", "POST", f"{RBAC}/clusterroles", wanted)
        answer.failed(403, "Forbidden", "must have cluster-admin privileges to use the aggregationRule")


# -- reviews -----------------------------------------------------------------------------------------------------------


async def test_access_reviews_answer_as_requests_would_be() -> None:
    async with guarded() as api:
        await allow(api, "jane", rule("get", "pods", resourceNames=["a"]))
        wanted = {"verb": "get", "resource": "pods", "namespace": "default", "name": "a"}
        path = f"{AUTHORIZATION}/subjectaccessreviews"
        result = (await api.post(path, {"spec": {"user": "jane", "resourceAttributes": wanted}})).ok()
        assert result["status"] == {
            "allowed": True,
            "reason": 'RBAC: allowed by RoleBinding "jane/default" of Role "jane" to User "jane"',
        }
        other = {"spec": {"user": "jane", "resourceAttributes": {**wanted, "name": "b"}}}
        assert (await api.post(path, other)).ok()["status"] == {"allowed": False}
        local = f"{AUTHORIZATION}/namespaces/default/localsubjectaccessreviews"
        assert (await api.post(local, {"spec": {"user": "jane", "resourceAttributes": wanted}})).ok()["status"][
            "allowed"
        ]
        wrong = {"spec": {"user": "jane", "resourceAttributes": {**wanted, "namespace": "x"}}}
        (await api.post(local, wrong)).failed(422, "Invalid", "must match metadata.namespace")


async def test_a_rules_review_lists_the_rules_of_the_asking_user() -> None:
    async with guarded() as api:
        await allow(api, "jane", rule("get", "pods"))
        await allow(api, "everyone", rule("create", "selfsubjectrulesreviews", "authorization.k8s.io"), cluster=True)
        (await api.post(f"{RBAC}/clusterrolebindings", binding("j", "everyone", user("jane"), kind="ClusterRole"))).ok()
        path = f"{AUTHORIZATION}/selfsubjectrulesreviews"
        result = (await as_(api, "jane", "POST", path, {"spec": {"namespace": "default"}})).ok()
        rules = result["status"]["resourceRules"]
        assert {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]} in rules
        assert len(rules) == 2
        (await as_(api, "jane", "POST", path, {"spec": {}})).failed(400, "BadRequest", "no namespace on request")


async def test_what_is_answered_without_being_stored_has_metadata_and_no_table() -> None:
    async with guarded() as api:
        (await api.post(ACCOUNTS, {"metadata": {"name": "robot"}})).ok()
        for path, body in (
            (f"{AUTHORIZATION}/selfsubjectaccessreviews", {"spec": {"nonResourceAttributes": {"path": "/"}}}),
            (f"{AUTHORIZATION}/selfsubjectrulesreviews", {"spec": {"namespace": "default"}}),
            (WHO_AM_I, {}),
            (f"{ACCOUNTS}/robot/token", {"spec": {"audiences": ["a"]}}),
        ):
            table = "application/json;as=Table;v=v1;g=meta.k8s.io"
            words = "only the following media types are accepted: application/json, application/yaml"
            (await api.send("POST", path, body, accept=table)).failed(406, "NotAcceptable", words)
            both = (await api.send("POST", path, body, accept=f"{table},application/json")).ok()
            assert both["apiVersion"].startswith("auth"), path
            partial = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
            result = (await api.send("POST", path, body, accept=partial)).ok()
            assert result.keys() == {"kind", "apiVersion", "metadata"}, path
            listed = partial.replace("Metadata;", "MetadataList;")
            (await api.send("POST", path, body, accept=listed)).failed(406, "NotAcceptable", "is not a list")


# -- impersonation -----------------------------------------------------------------------------------------------------


async def impersonating(api: Api, by: str, **headers: str) -> Answer:
    """A request of the user ``by``, in this process, that impersonates another user."""
    import json

    from setpoint.apiserver import Request

    names = {name.replace("_", "-"): value for name, value in headers.items()}
    response = await api.server.handle(
        Request("POST", WHO_AM_I, (), names, json.dumps({}).encode(), UserInfo(by, groups=("system:authenticated",)))
    )
    return Answer(response.status, response.headers, response.body)


async def test_impersonation_needs_permission_for_each_part_of_the_user() -> None:
    names = {"resources": "users groups uids", "groups": ",authentication.k8s.io"}
    async with guarded() as api:
        await allow(
            api, "boss",
            rule("impersonate", **names),  # type: ignore[arg-type]
            rule("impersonate", "userextras/team", "authentication.k8s.io", resourceNames=["red"]),
            rule("impersonate", "serviceaccounts"),
            cluster=True,
        )  # fmt: skip
        await allow(api, "self", rule("create", "selfsubjectreviews", "authentication.k8s.io"), cluster=True)
        everyone = {"kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": "system:authenticated"}
        (await api.post(f"{RBAC}/clusterrolebindings", binding("all", "self", everyone, kind="ClusterRole"))).ok()
        answer = await impersonating(
            api, "boss", impersonate_user="bob", impersonate_group="a\nb", impersonate_uid="7",
            impersonate_extra_team="red",
        )  # fmt: skip
        assert answer.ok()["status"]["userInfo"] == {
            "username": "bob",
            "uid": "7",
            "groups": ["a", "b", "system:authenticated"],
            "extra": {"team": ["red"]},
        }
        account = await impersonating(api, "boss", impersonate_user="system:serviceaccount:default:robot")
        assert account.ok()["status"]["userInfo"]["groups"] == [
            *("system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated")
        ]
        blue = await impersonating(api, "boss", impersonate_user="bob", impersonate_extra_team="blue")
        blue.failed(403, "Forbidden")
        # The first mode that such a user has is the one that the refusal is about, as in 1.37.
        refused = await impersonating(api, "joe", impersonate_user="bob")
        assert refused.failed(403, "Forbidden")["message"] == (
            'selfsubjectreviews.authentication.k8s.io is forbidden: User "joe" cannot impersonate-on:user-info:create '
            'resource "selfsubjectreviews" in API group "authentication.k8s.io" at the cluster scope'
        )


async def test_constrained_impersonation_is_for_the_verb_that_is_asked_for() -> None:
    async with guarded() as api:
        await allow(
            api, "boss",
            rule("impersonate:user-info", "users", "authentication.k8s.io", resourceNames=["bob"]),
            rule("impersonate-on:user-info:create", "selfsubjectreviews", "authentication.k8s.io"),
            cluster=True,
        )  # fmt: skip
        await allow(api, "bob", rule("create", "selfsubjectreviews", "authentication.k8s.io"), cluster=True)
        assert (await impersonating(api, "boss", impersonate_user="bob")).status == 201
        assert (await impersonating(api, "boss", impersonate_user="eve")).status == 403
        masters = await impersonating(api, "boss", impersonate_user="bob", impersonate_group="system:masters")
        masters.failed(403, "Forbidden", "impersonating the system:masters group is not allowed")


async def test_impersonation_without_a_user_is_a_bad_request() -> None:
    async with guarded() as api:
        answer = await api.send("GET", PODS, impersonate_group="g")
        assert answer.failed(400, "BadRequest")["message"] == (
            'requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"g"}, Extra:map[string][]string(nil)} '
            "without impersonating a user name"
        )


# -- the record --------------------------------------------------------------------------------------------------------


async def test_a_record_holds_each_thing_that_was_asked_for_once() -> None:
    record = AccessRecord(ignore={"system:admin"})
    async with serving(access_record=record) as api:
        (await api.post(PODS, pod())).ok()
        for _ in range(2):
            (await as_(api, "jane", "GET", f"{PODS}/web")).ok()
        (await as_(api, "jane", "GET", "/version")).ok()
    assert [
        (attribute.user.name, attribute.verb, attribute.resource, attribute.namespace, attribute.name, attribute.path)
        for attribute in record.attributes
    ] == [
        ("jane", "get", "pods", "default", "web", ""),
        ("jane", "get", "", "", "", "/version"),
    ]
    assert record.refused == []


async def test_a_record_says_what_was_refused() -> None:
    record = AccessRecord()
    async with guarded(access_record=record) as api:
        (await as_(api, "jane", "POST", MAPS, config_map())).failed(403, "Forbidden")
    ((request, reason),) = [item for item in record.refused if item[0].user.name == "jane"]
    assert (request.verb, request.combined, request.namespace, reason) == ("create", "configmaps", "default", "")
