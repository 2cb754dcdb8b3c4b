"""Policies are enforced by the API server, without a webhook."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

import setpoint as sp
from setpoint.apps.error_reports import UsageError
from setpoint.cli.program import program
from setpoint.client import ApiError
from setpoint.meta import from_wire
from setpoint.models.apps_v1 import Deployment
from setpoint.models.core_v1 import ConfigMap
from setpoint.testing import virtual_time
from setpoint.webhook import AdmissionError, Match

POLICY = sp.Policy(
    Deployment,
    rules=[
        sp.ValidationRule(
            rule="object.spec.replicas <= variables.most",
            message_expression="'at most ' + string(variables.most) + ' replicas'",
            reason="FieldValueForbidden",
        ),
        "oldObject == null || object.spec.replicas >= oldObject.spec.replicas - 1",
    ],
    variables={"most": "object.metadata.namespace == 'prod' ? 50 : 5"},
    match=Match(conditions={"not-exempt": "!has(object.metadata.labels) || !('exempt' in object.metadata.labels)"}),
    defaults={
        "spec.revisionHistoryLimit": 3,
        "spec.template.metadata.labels[example.com/team]": "none",
        "metadata.labels[a]": "b",
    },
)


def deployment(replicas: int, **labels: str) -> Deployment:
    document: dict[str, Any] = {
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "a", "image": "b"}]},
            },
        },
    }
    if labels:
        document["metadata"]["labels"] = labels
    return from_wire(Deployment, document)


@virtual_time
async def test_the_server_refuses_what_a_rule_forbids() -> None:
    async with sp.testing.cluster(webhooks=[POLICY], control_plane=False) as cluster:
        with pytest.raises(ApiError, match="at most 5 replicas") as refusal:
            await cluster.create(deployment(6))
        assert refusal.value.status.reason == "Forbidden"
        web = await cluster.create(deployment(5))
        assert web.spec.replicas is not None
        web.spec.replicas = 3
        with pytest.raises(ApiError, match="failed expression: oldObject == null"):
            await cluster.update(web)
        web.spec.replicas = 4
        await cluster.update(web)


@virtual_time
async def test_a_match_condition_exempts_an_object() -> None:
    async with sp.testing.cluster(webhooks=[POLICY], control_plane=False) as cluster:
        web = await cluster.create(deployment(6, exempt="yes"))
        assert web.spec.revision_history_limit == 10


@virtual_time
async def test_defaults_are_set_where_a_field_is_absent() -> None:
    async with sp.testing.cluster(webhooks=[POLICY], control_plane=False) as cluster:
        web = await cluster.create(deployment(1, a="mine"))
        assert web.spec.template.metadata.labels == {"app": "web", "example.com/team": "none"}
        assert web.labels == {"a": "mine"}
        await cluster.delete(web)
        assert (await cluster.create(deployment(1))).labels == {"a": "b"}


@virtual_time
async def test_a_default_makes_the_objects_around_its_field() -> None:
    policy = sp.Policy(
        ConfigMap,
        defaults={"data[mode]": "safe"},
        mutations=["Object{metadata: Object.metadata{annotations: {'seen': 'yes'}}}"],
    )
    async with sp.testing.cluster(webhooks=[policy], control_plane=False) as cluster:
        config_map = await cluster.create(ConfigMap.named("a", "default"))
        assert (config_map.data, config_map.annotations) == ({"mode": "safe"}, {"seen": "yes"})
        kept = await cluster.create(ConfigMap.named("b", "default", data={"mode": "fast"}))
        assert kept.data == {"mode": "fast"}


@virtual_time
async def test_a_rule_can_be_tried_as_a_warning_first() -> None:
    policy = sp.Policy(ConfigMap, rules=["object.metadata.name != 'odd'"], actions=["Warn", "Audit"])
    async with sp.testing.cluster(webhooks=[policy], control_plane=False) as cluster:
        await cluster.create(ConfigMap.named("odd", "default"))


@virtual_time
async def test_a_rule_can_keep_an_object_from_being_deleted() -> None:
    policy = sp.Policy(ConfigMap, rules=["!('keep' in oldObject.data)"], on=["delete"])
    async with sp.testing.cluster(webhooks=[policy], control_plane=False) as cluster:
        config_map = await cluster.create(ConfigMap.named("a", "default", data={"keep": ""}))
        with pytest.raises(ApiError, match="denied request"):
            await cluster.delete(config_map)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (
            {"rules": ["object.spec.replicas"], "defaults": {"spec.x": {}}},
            r"defaults\['spec.x'\]: it needs a path",
        ),
        ({"rules": ["1 + 1"]}, r"rules\[0\]: '1 \+ 1': must evaluate to bool"),
        ({"rules": ["variables.none"]}, r"rules\[0\]: 'variables.none': compilation failed"),
        ({"rules": ["true"], "match": Match(conditions={"a": "1"})}, r"match\.conditions\['a'\]"),
        ({"rules": ["true"], "actions": ["Deny", "Warn"]}, "not both Deny and Warn"),
        ({"rules": ["true"], "on": ["connect"]}, "on= must be a tuple of some of"),
        ({"rules": ["true"], "name": "A b"}, "name='A b'"),
        ({}, "neither rules nor defaults nor mutations"),
        ({"defaults": {"[a]": 1}}, "a path such as"),
    ],
)
def test_a_policy_that_no_server_would_accept_is_refused_where_it_is_declared(
    arguments: dict[str, Any], problem: str
) -> None:
    with pytest.raises(AdmissionError, match=problem):
        sp.Policy(Deployment, **arguments)


class Site(sp.CustomResource, group="sites.example.com", version="v1"):
    pass


async def reconcile(site: Site, ctx: sp.Context) -> None:
    """Nothing to do."""


@pytest.mark.parametrize(
    "arguments",
    [[], ["--image", "a/b:1.0.0"], ["--image", "a/b:1.0.0", "--form", "helm", "--output", "{folder}"]],
    ids=["outside", "plain", "helm"],
)
def test_manifests_have_the_policies_and_their_bindings(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    app = program("sites.py", sp.Operator([sp.Controller(Site, reconcile)], policies=[POLICY]))
    with suppress(SystemExit):
        app(["manifests", *(argument.format(folder=tmp_path) for argument in arguments)])
    texts = [capsys.readouterr().out, *(file.read_text() for file in tmp_path.rglob("*.yaml"))]
    for kind in ("ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"):
        assert any(f"kind: {kind}\n" in text and f"kind: {kind}Binding\n" in text for text in texts)
    if "helm" not in arguments:
        names = {item["metadata"]["name"] for item in yaml.safe_load_all(texts[0]) if "Policy" in item["kind"]}
        assert "site.sites.example.com-deployments" in names


def test_two_policies_of_one_name_are_refused() -> None:
    again = sp.Policy(Deployment, rules=["true"])
    with pytest.raises(UsageError, match="another policy of the program has this name"):
        program("sites.py", sp.Operator([sp.Controller(Site, reconcile)], policies=[POLICY, again]))(["manifests"])
