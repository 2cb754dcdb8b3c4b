"""Declarations, and the fallback without a webhook."""

from __future__ import annotations

from typing import Any

import pytest

from setpoint.meta import from_wire
from setpoint.models.core_v1 import Pod
from setpoint.schema.errors import ErrorType
from setpoint.webhook import Admission, AdmissionError, Match, Review, apply_defaults, check
from setpoint.webhook.connect_options import PodExecOptions

from .mykind import MUTATE, VALIDATE, Mykind, document, mykind_admission


def mykind(**spec: Any) -> Mykind:
    return from_wire(Mykind, document(**spec))


async def test_the_reconciler_defaults_and_checks_with_the_webhooks_functions() -> None:
    admission = mykind_admission()
    obj = await apply_defaults(admission, mykind(replicas=11))
    assert obj.spec.template is not None
    errors = await check(admission, obj)
    assert [(error.field, error.type) for error in errors] == [("spec.replicas", ErrorType.INVALID)]
    assert str(errors[0]) == "spec.replicas: Invalid value: 11: must be at most 10 without the label big"


async def test_several_errors_come_at_once() -> None:
    obj = mykind(replicas=12, pool="b", template={"spec": {"containers": []}})
    errors = await check(mykind_admission(), obj, mykind(pool="a"))
    assert [error.field for error in errors] == ["spec.template.spec.containers", "spec.replicas", "spec.pool"]


async def test_a_denial_is_an_error_of_the_whole_object() -> None:
    def never(_mykind: Mykind, review: Review[Mykind]) -> None:
        review.deny("not on Fridays")
        review.deny("nor on Saturdays")

    errors = await check(Admission(Mykind).validates(never), mykind())
    assert [str(error) for error in errors] == ["<nil>: Forbidden: not on Fridays"]


async def test_functions_run_in_order_and_only_for_their_operations() -> None:
    calls: list[str] = []
    admission = (
        Admission(Mykind)
        .validates(lambda obj: calls.append("both"))
        .validates(lambda obj: calls.append("update"), on=("update",))
        .validates(lambda obj: calls.append("create"), on=("create",))
    )
    await check(admission, mykind())
    assert calls == ["both", "create"]
    await check(admission, mykind(), mykind())
    assert calls == ["both", "create", "both", "update"]
    assert admission.operations("validate") == ["create", "update"]
    assert admission.operations("mutate") == []


async def test_an_answer_that_would_be_ignored_is_an_error() -> None:
    def returns_errors(mykind: Mykind) -> Any:
        return ["spec.replicas: too many"]

    async def returns_a_copy(mykind: Mykind) -> Any:
        return mykind

    with pytest.raises(TypeError, match=r"returns_errors returned list.*review\.invalid"):
        await check(Admission(Mykind).validates(returns_errors), mykind())
    with pytest.raises(TypeError, match="returns_a_copy returned Mykind"):
        await apply_defaults(Admission(Mykind).defaults(returns_a_copy), mykind())


def test_paths_are_those_of_controller_runtime() -> None:
    admission = mykind_admission()
    assert admission.path("mutate") == MUTATE
    assert admission.path("validate") == VALIDATE
    assert Admission(Pod).path("mutate") == "/mutate--v1-pod"
    named = Admission(PodExecOptions, of=Pod, subresource="exec", name="shells")
    assert named.path("validate") == "/validate--v1-pod-exec-shells"


def _two(obj: Any, review: Any, more: Any) -> None: ...
def _none() -> None: ...
def _fine(obj: Any) -> None: ...
def _when(expression: str) -> Admission[Mykind]:
    return Admission(Mykind, match=Match(conditions={"mine": expression}))


@pytest.mark.parametrize(
    ("declare", "says"),
    [
        (lambda: Admission(Mykind).defaults(_fine, on=("delete",)), "can't set defaults on delete"),
        (lambda: Admission(Mykind).validates(_fine, on="create"), r"on='create' must be a tuple"),
        (lambda: Admission(Mykind).validates(_fine, on=("patch",)), r"_fine on='patch': use some of 'create'"),
        (lambda: Admission(Mykind).validates(_fine, on=()), "on=nothing"),
        (lambda: Admission(Mykind).validates(_fine, on=("connect",)), "connect needs a subresource"),
        (lambda: Admission(Mykind).validates(_two), "must take the object"),
        (lambda: Admission(Mykind).validates(_none), "must take the object"),
        (lambda: Admission(Mykind, timeout=31), "1 to 30 seconds"),
        (lambda: Admission(Mykind, failure_policy="Maybe"), "'Maybe' must be one of 'Fail', 'Ignore'"),
        (lambda: Admission(Mykind, name="No_Name"), "name='No_Name'"),
        (lambda: Admission(Mykind, subresource="*"), "must be the name of one subresource"),
        (
            lambda: _when("object.spec"),
            r"match\.conditions\['mine'\]: 'object.spec': must evaluate to bool but got dyn",
        ),
        (lambda: _when("request.userinfo.username == 'me'"), "undefined field 'userinfo'"),
        (lambda: _when("request.name =="), "Syntax error"),
        (
            lambda: Admission(Mykind, match=Match(conditions={"not mine": "true"})),
            "name part must consist of alphanumeric",
        ),
    ],
)
def test_bad_declarations_are_errors_at_once(declare: Any, says: str) -> None:
    with pytest.raises(AdmissionError, match=says):
        declare()
