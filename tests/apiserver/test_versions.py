"""A server of an older version of Kubernetes: fewer kinds, fewer fields."""

from __future__ import annotations

import pytest
from tests.apiserver.harness import pod, serving

from setpoint.apiserver import ApiServer
from setpoint.models.history import VersionError

PODS = "/api/v1/namespaces/default/pods"


async def test_it_says_which_version_it_is() -> None:
    async with serving(kubernetes="1.33") as api:
        version = (await api.get("/version")).ok()
        assert (version["minor"], version["gitVersion"]) == ("33", "v1.33.0+setpoint")
        assert (await api.get("/openapi/v2")).ok()["info"]["version"] == "1.33"


async def test_a_kind_that_is_newer_is_not_served_and_not_in_discovery() -> None:
    async with serving(kubernetes="1.32") as api:
        (await api.get("/apis/networking.k8s.io/v1/servicecidrs")).failed(404, "NotFound")
        names = [entry["name"] for entry in (await api.get("/apis/networking.k8s.io/v1")).ok()["resources"]]
        assert "ingresses" in names
        assert "servicecidrs" not in names
    async with serving(kubernetes="1.33") as api:
        assert (await api.get("/apis/networking.k8s.io/v1/servicecidrs")).ok()["kind"] == "ServiceCIDRList"


async def test_a_field_that_is_newer_or_off_by_default_is_dropped_with_the_warning_of_an_unknown_field() -> None:
    for version, kept in (("1.31", False), ("1.33", False), ("1.34", True), ("1.37", True)):
        async with serving(kubernetes=version) as api:
            answer = await api.post(PODS, pod(spec={"resources": {"limits": {"cpu": "1"}}}))
            assert ("resources" in answer.ok()["spec"]) is kept, version
            assert ('unknown field \\"spec.resources\\"' in answer.warnings) is not kept, version


async def test_strict_validation_refuses_such_a_field() -> None:
    async with serving(kubernetes="1.33") as api:
        answer = await api.post(PODS, pod(spec={"hostnameOverride": "a"}), fieldValidation="Strict")
        answer.failed(400, "BadRequest", 'strict decoding error: unknown field "spec.hostnameOverride"')


async def test_defaults_of_newer_fields_are_not_set() -> None:
    # maxUnavailable of StatefulSets is on by default, with a default value, since 1.37.
    labels = {"app": "web"}
    stateful_set = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "web"},
        "spec": {
            "selector": {"matchLabels": labels},
            "serviceName": "web",
            "template": {"metadata": {"labels": labels}, "spec": pod()["spec"]},
        },
    }
    for version, kept in (("1.36", False), ("1.37", True)):
        async with serving(kubernetes=version) as api:
            stored = (await api.post("/apis/apps/v1/namespaces/default/statefulsets", stateful_set)).ok()
            assert ("maxUnavailable" in stored["spec"]["updateStrategy"]["rollingUpdate"]) is kept, version


async def test_documents_of_kinds_have_the_fields_of_the_version() -> None:
    for version, described in (("1.33", False), ("1.37", True)):
        async with serving(kubernetes=version) as api:
            definitions = (await api.get("/openapi/v2")).ok()["definitions"]
            assert ("hostnameOverride" in definitions["io.k8s.api.core.v1.PodSpec"]["properties"]) is described


def test_a_version_that_the_server_can_not_be_is_refused() -> None:
    with pytest.raises(VersionError, match=r"'1\.30' is not a version of Kubernetes from 1\.31"):
        ApiServer(kubernetes="1.30")
