"""The types of the expressions in ValidatingAdmissionPolicies: what does not fit a matched kind is in the status."""

from __future__ import annotations

from tests.cli.test_migrate import prepare

from setpoint.models.admissionregistration_v1 import (
    MatchResources,
    NamedRuleWithOperations,
    TypeChecking,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicySpec,
    Validation,
    Variable,
)
from setpoint.testing import Cluster, cluster, virtual_time

DEPLOYMENTS = ("apps", "v1", "deployments")


def policy(
    name: str,
    *validations: Validation,
    rule: tuple[str, str, str] = DEPLOYMENTS,
    variables: dict[str, str] | None = None,
) -> ValidatingAdmissionPolicy:
    group, version, resource = rule
    rules = NamedRuleWithOperations(
        api_groups=[group], api_versions=[version], resources=[resource], operations=["CREATE"]
    )
    spec = ValidatingAdmissionPolicySpec(
        match_constraints=MatchResources(resource_rules=[rules]),
        validations=list(validations),
        variables=[Variable(name=key, expression=text) for key, text in (variables or {}).items()],
    )
    return ValidatingAdmissionPolicy.named(name, spec=spec)


async def checked(world: Cluster, validating_admission_policy: ValidatingAdmissionPolicy) -> TypeChecking | None:
    await world.create(validating_admission_policy)
    await world.settle()
    policy = await world.get(ValidatingAdmissionPolicy, validating_admission_policy.name)
    assert policy.status.observed_generation == policy.metadata.generation
    return policy.status.type_checking


@virtual_time
async def test_a_policy_whose_types_fit_has_no_warnings() -> None:
    async with cluster(nodes=0) as world:
        fits = policy(
            "fits",
            Validation(expression="object.spec.replicas > 1"),
            Validation(expression="variables.odd && oldObject.metadata.name != ''"),
            variables={"odd": "object.spec.replicas % 2 == 1"},
        )
        fits.spec.validations.append(  # the value may be a number or a text
            Validation(expression="object.spec.strategy.rollingUpdate.maxSurge == 1")
        )
        assert await checked(world, fits) == TypeChecking()


@virtual_time
async def test_expressions_whose_types_do_not_fit_are_named_with_the_kind() -> None:
    async with cluster(nodes=0) as world:
        confused = policy(
            "confused",
            Validation(
                expression="object.spec.replicas > '1'",
                message_expression="'wants replicas > 1, got ' + object.spec.replicas",
            ),
        )
        result = await checked(world, confused)
        assert result is not None
        first, second = result.expression_warnings
        assert (first.field_ref, second.field_ref) == (
            "spec.validations[0].expression",
            "spec.validations[0].messageExpression",
        )
        assert first.warning == (
            "apps/v1, Kind=Deployment: ERROR: <input>:1:22: "
            "found no matching overload for '_>_' applied to '(int, string)'\n"
            " | object.spec.replicas > '1'\n"
            " | .....................^\n"
        )
        assert "found no matching overload for '_+_' applied to '(string, int)'" in second.warning


@virtual_time
async def test_custom_resources_and_variables_have_types_and_an_unknown_kind_has_none() -> None:
    async with cluster(nodes=0) as world:
        await prepare(world.client, 1)
        rule = ("example.com", "v1", "things")
        unknown = policy(
            "unknown", Validation(expression="object.spec.nothing == 1"), rule=("a.example.com", "v1", "bs")
        )
        assert await checked(world, unknown) == TypeChecking()
        wrong = policy(
            "wrong", Validation(expression="variables.name > 1"), rule=rule, variables={"name": "object.kind"}
        )
        result = await checked(world, wrong)
        assert result is not None
        assert [
            "applied to '(string, int)'" in expression_warning.warning
            for expression_warning in result.expression_warnings
        ] == [True]
