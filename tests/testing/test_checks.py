"""`setpoint.check` reports what an API server would, without one."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Literal

import msgspec
import pytest

import setpoint as sp
from setpoint.client import ApiError
from setpoint.crd import immutable
from setpoint.meta import from_wire, to_wire
from setpoint.models.core_v1 import Pod
from setpoint.testing import Cluster, virtual_time
from setpoint.testing.checks import check_document


class VaultSpec(
    sp.Model,
    rules=[sp.ValidationRule(rule="self.size >= oldSelf.size", message="can't shrink", reason="FieldValueForbidden")],
):
    size: Annotated[int, sp.Field(ge=1, le=9)] = 1
    mode: Literal["open", "closed"] = "closed"
    owner: Annotated[str, sp.Field(rules=[immutable()])] = "none"
    words: Annotated[list[Annotated[str, sp.Field(max_length=9)]], sp.Field(list_type="set", max_length=3)] = []


class VaultStatus(sp.ConditionedStatus):
    pass


class Vault(sp.CustomResource, group="vaults.example.com", version="v1"):
    spec: VaultSpec = VaultSpec()
    status: VaultStatus = VaultStatus()


def fill_in(vault: Vault) -> None:
    if vault.spec.owner == "none":
        vault.spec.owner = vault.name


async def judge(vault: Vault, review: sp.Review[Vault]) -> None:
    if vault.spec.mode == "open" and vault.spec.size > 5:
        review.invalid("spec.size", vault.spec.size, "an open vault has at most 5")
    if vault.spec.owner == "thief":
        review.deny("thieves have no vaults")


ADMISSION = sp.Admission(Vault).defaults(fill_in).validates(judge)

DOCUMENTS: dict[str, dict[str, Any]] = {
    "fine": {"metadata": {"name": "a"}, "spec": {"size": 2}},
    "empty": {"metadata": {"name": "a"}},
    "bound": {"metadata": {"name": "a"}, "spec": {"size": 10}},
    "enum": {"metadata": {"name": "a"}, "spec": {"mode": "ajar"}},
    "type": {"metadata": {"name": "a"}, "spec": {"size": "many"}},
    "set": {"metadata": {"name": "a"}, "spec": {"words": ["x", "x"]}},
    "several": {"metadata": {"name": "a"}, "spec": {"size": 0, "words": ["x" * 10]}},
    "name": {"metadata": {"name": "Not_a_name"}, "spec": {}},
    "label": {"metadata": {"name": "a", "labels": {"a": "b c"}}, "spec": {}},
    "function": {"metadata": {"name": "a"}, "spec": {"mode": "open", "size": 6}},
    "denial": {"metadata": {"name": "thief"}, "spec": {}},
}
CHANGES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "smaller": ({"size": 3, "owner": "me"}, {"size": 2, "owner": "me"}),
    "immutable": ({"owner": "me"}, {"owner": "you"}),
    "larger": ({"size": 3, "owner": "me"}, {"size": 4, "owner": "me"}),
    "both": ({"size": 3, "owner": "me"}, {"size": 10, "owner": "you"}),
}


def head(document: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "vaults.example.com/v1", "kind": "Vault", **document}


async def refusal(cluster: Cluster, method: str, path: str, document: dict[str, Any]) -> ApiError | None:
    """The server's error; None if it stores the object."""
    try:
        await cluster.client.request(method, path, body=msgspec.json.encode(document))
    except ApiError as problem:
        return problem
    return None


def causes(problem: ApiError | None) -> list[tuple[str, str]]:
    if problem is None:
        return []
    details = problem.status.details
    assert details is not None
    return [(cause.field, cause.message) for cause in details.causes]


def found(errors: list[Any]) -> list[tuple[str, str]]:
    return [(error.field or "<nil>", error.message) for error in errors]


@pytest.mark.parametrize("name", DOCUMENTS)
@virtual_time
async def test_a_new_object_has_the_errors_of_the_server(name: str) -> None:
    document = head(DOCUMENTS[name])
    errors = check_document(Vault, document, admissions=[ADMISSION])
    path = "/apis/vaults.example.com/v1/namespaces/default/vaults"
    async with sp.testing.cluster(crds=[Vault], webhooks=[ADMISSION], control_plane=False) as cluster:
        problem = await refusal(cluster, "POST", path, document)
    if name == "denial":
        assert "thieves have no vaults" in str(problem)
        assert [error.detail for error in errors] == ["thieves have no vaults"]
    else:
        assert found(errors) == causes(problem)


@pytest.mark.parametrize("name", CHANGES)
@virtual_time
async def test_a_change_has_the_errors_of_the_server(name: str) -> None:
    before, after = CHANGES[name]
    async with sp.testing.cluster(crds=[Vault], webhooks=[ADMISSION], control_plane=False) as cluster:
        old = await cluster.create(Vault.named("a", "default", spec=from_wire(VaultSpec, before)))
        document = to_wire(old)
        document["spec"] = after
        errors = check_document(Vault, document, to_wire(old), [ADMISSION])
        path = "/apis/vaults.example.com/v1/namespaces/default/vaults/a"
        assert found(errors) == causes(await refusal(cluster, "PUT", path, document))


def test_defaults_are_filled_in_before_the_rules_and_the_argument_stays() -> None:
    vault = Vault.named("a")
    old = Vault.named("a", spec=VaultSpec(owner="a"))
    assert not sp.check(vault, old=old, admissions=[ADMISSION])
    assert vault.spec.owner == "none"
    assert [str(error) for error in sp.check(vault, old=old)] == ['spec.owner: Invalid value: "none": is immutable']


def test_a_stored_value_beyond_a_bound_may_stay_and_the_functions_are_called() -> None:
    seen: list[Any] = []
    admission = sp.Admission(Vault).validates(lambda vault: seen.append(vault.spec.size))
    old = Vault.named("a", spec=VaultSpec(size=12))
    new = Vault.named("a", labels={"a": "b"}, spec=VaultSpec(size=12))
    assert not sp.check(new, old=old, admissions=[admission])
    assert seen == [12]
    assert [error.field for error in sp.check(new)] == ["spec.size"]


def test_functions_are_not_called_for_an_object_that_does_not_fit() -> None:
    def fail(vault: Vault) -> None:
        raise AssertionError

    admission = sp.Admission(Vault).defaults(fail).validates(fail)
    assert [error.field for error in sp.check(Vault.named("a", spec=VaultSpec(size=12)), admissions=[admission])] == [
        "spec.size"
    ]


def test_a_function_that_waits_is_refused_by_name() -> None:
    async def wait(vault: Vault) -> None:
        await asyncio.Event().wait()

    async def run() -> None:
        with pytest.raises(TypeError, match=r"Admission\(Vault\): a function waits for something"):
            sp.check(Vault.named("a"), admissions=[sp.Admission(Vault).validates(wait)])

    asyncio.run(run())


def test_only_custom_resources_are_checked() -> None:
    with pytest.raises(TypeError, match="not a Pod: built-in kinds have rules"):
        sp.check(Pod.named("a"))  # type: ignore[type-var]
