"""Putting webhooks into force in a cluster, and taking them out again."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from setpoint.client import ApiError, Client, Conflict, NotFound, PatchType
from setpoint.meta import Object, from_wire, to_wire
from setpoint.models.admissionregistration_v1 import MutatingWebhookConfiguration, ValidatingWebhookConfiguration
from setpoint.models.apiextensions_v1 import CustomResourceDefinition
from setpoint.webhook.admission import Admission, Role
from setpoint.webhook.conversion import Converter
from setpoint.webhook.probe import in_force_message, marked
from setpoint.webhook.registration import Target, configurations, conversion, converters_of, definition_name

__all__ = ["NotInForce", "install", "uninstall"]

logger = logging.getLogger("setpoint.webhook")
FIELD_MANAGER: Final = "setpoint-webhook"
_KINDS: Final[tuple[type[Object], ...]] = (MutatingWebhookConfiguration, ValidatingWebhookConfiguration)
_PAUSE: Final = 0.1


class NotInForce(TimeoutError):
    """The API server did not call the webhooks in time; the message says which, and what it answered last."""


async def install(
    client: Client,
    served: Iterable[Admission[Any] | Converter],
    name: str,
    target: Target,
    *,
    bundle: bytes = b"",
    labels: Mapping[str, str] | None = None,
    samples: Sequence[Object] = (),
    timeout: float = 30.0,
) -> None:
    """Applies the webhook configurations and CRDs' conversions, and waits until they are in force.

    ``bundle`` is what to trust now, of `SecretCertificates.bundle` for example; without one, what is injected stays.
    For each of ``samples``, an object that its schema allows, it waits until the API server calls the webhooks for
    create: it asks for dry runs that the webhooks answer without calling a function. Without samples it returns when
    everything is stored; API servers then take about a second to follow.

    A second call changes nothing. The CustomResourceDefinitions must be there.

    Raises:
        NotInForce: not called within ``timeout`` seconds.
        ApiError: the server refuses; NotFound names a CustomResourceDefinition that is missing.
    """
    each = list(served)
    # Definitions first: should one be missing, nothing is in force that nobody serves.
    for converter in converters_of(each):
        wanted = conversion(target, bundle=bundle)
        config = wanted["webhook"]["clientConfig"]
        config.update({form: None for form in ("service", "url") if form not in config})  # of an earlier target
        patch = {"spec": {"conversion": wanted}}
        await client.patch(
            CustomResourceDefinition,
            definition_name(converter),
            patch,
            type=PatchType.MERGE,
            field_manager=FIELD_MANAGER,
        )
    for document in configurations(each, name, target, bundle=bundle, labels=labels):
        kind = next(kind for kind in _KINDS if kind.__name__ == document["kind"])
        await client.apply(from_wire(kind, document), field_manager=FIELD_MANAGER)
    logger.info("webhooks are registered", extra={"fields": {"name": name}})
    deadline = asyncio.get_running_loop().time() + timeout
    for sample in samples:
        for role in _roles(each, sample):
            await _in_force(client, sample, role, deadline)


async def uninstall(client: Client, served: Iterable[Admission[Any] | Converter], name: str) -> None:
    """Takes away what `install` made. Call it while the webhooks are still served, and stop them afterwards.

    First the configurations go, so that from then on no request, and no namespace's deletion, waits for webhooks that
    are about to go; then conversions end. From then on objects are served as they are stored, with nothing but their
    ``apiVersion`` changed. What is not there is no error.

    Raises:
        ApiError: the server refuses.
    """
    for kind in _KINDS:
        try:
            await client.delete(kind, name)
        except NotFound:
            continue
    for converter in converters_of(served):
        await _end_conversion(client, definition_name(converter))
    logger.info("webhooks are not registered any more", extra={"fields": {"name": name}})


async def _end_conversion(client: Client, name: str) -> None:
    while True:
        try:
            found = await client.get(CustomResourceDefinition, name)
            spec = to_wire(found)["spec"]
            if spec.get("conversion", {}).get("strategy", "None") == "None":
                return
            patch = {
                "metadata": {"resourceVersion": found.metadata.resource_version},
                "spec": {"conversion": {"strategy": "None", "webhook": None}},
            }
            await client.patch(CustomResourceDefinition, name, patch, field_manager=FIELD_MANAGER)
        except NotFound:
            return
        except Conflict:
            continue
        else:
            return


def _roles(served: Iterable[Admission[Any] | Converter], sample: Object) -> Iterable[Role]:
    roles: tuple[Role, ...] = ("mutate", "validate")
    for role in roles:
        admissions = [each for each in served if isinstance(each, Admission) and isinstance(sample, each.kind)]
        if any("create" in admission.operations(role) for admission in admissions):
            yield role


async def _in_force(client: Client, sample: Object, role: Role, deadline: float) -> None:
    loop = asyncio.get_running_loop()
    answer: Any = "it was allowed without a call"
    while True:
        try:
            await client.create(marked(sample, role), dry_run=True)
        except ApiError as problem:
            if in_force_message(role) in problem.message:
                return
            answer = problem
        if loop.time() >= deadline:
            raise NotInForce(
                f"the API server does not call the webhook that is to {role} {sample.kind} on create; for "
                f"{sample.key} it answered: {answer}"
            )
        await asyncio.sleep(_PAUSE)
