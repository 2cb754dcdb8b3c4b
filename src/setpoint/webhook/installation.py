"""Installs webhooks in a cluster and uninstalls them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from setpoint.client import ApiError, Client, Conflict, NotFound, PatchType
from setpoint.crd import CustomResource, Versions, crd_for
from setpoint.crd.schema_samples import samples_of
from setpoint.meta import Object, from_wire, to_wire
from setpoint.models.admissionregistration_v1 import MutatingWebhookConfiguration, ValidatingWebhookConfiguration
from setpoint.models.apiextensions_v1 import CustomResourceDefinition
from setpoint.webhook.admission import Admission, Role
from setpoint.webhook.conversion import Converter
from setpoint.webhook.installation_probe import in_force_message, marked
from setpoint.webhook.registration import Target, configurations, conversion, converters_of, definition_name

logger = logging.getLogger("setpoint.webhook")
FIELD_MANAGER: Final = "setpoint-webhook"
_KINDS: Final[tuple[type[Object], ...]] = (MutatingWebhookConfiguration, ValidatingWebhookConfiguration)
_PAUSE: Final = 0.1


class NotInForce(TimeoutError):
    """The API server did not call the webhooks in time, or did not establish a definition; the message contains the
    last answer.
    """


async def install(
    client: Client,
    served: Iterable[Admission[Any] | Converter],
    name: str,
    target: Target,
    *,
    bundle: bytes = b"",
    labels: Mapping[str, str] | None = None,
    samples: Sequence[Object] = (),
    definitions: bool = False,
    timeout: float = 30.0,
) -> None:
    """Applies the webhook configurations and CRDs' conversions, and waits until they are in force.

    ``bundle`` is the CA bundle, for example `SecretCertificates.bundle`; without one, the injected bundle is kept.
    ``samples`` are objects that satisfy their schemas. For each sample, this function waits until the API server calls
    the webhooks for its creation: it sends dry-run requests that the webhooks answer without calling a function.
    Without samples it returns when everything is stored; API servers begin to call the webhooks about a second later.

    A second call changes nothing. The CustomResourceDefinitions must exist, unless ``definitions`` is set: in that case
    they are applied, too, each in one write with its conversion, so new versions are never served without their
    conversion. Set it only if there is a single server: while several replicas are being replaced, the old ones can't
    convert the new versions, so the definitions must be applied after the last old replica has ended.

    Raises:
        NotInForce: a webhook was not called, or a definition was not established, within ``timeout`` seconds.
        ApiError: the server refuses; NotFound names a CustomResourceDefinition that is missing.
    """
    webhooks = list(served)
    deadline = asyncio.get_running_loop().time() + timeout
    # Definitions first: if one is missing, no configuration points at webhooks that are not served.
    for converter in converters_of(webhooks):
        wanted = conversion(target, bundle=bundle)
        config = wanted["webhook"]["clientConfig"]
        config.update({form: None for form in ("service", "url") if form not in config})  # of an earlier target
        patch = {"spec": {"conversion": wanted}}
        try:
            await client.patch(
                CustomResourceDefinition,
                definition_name(converter),
                patch,
                type=PatchType.MERGE,
                field_manager=FIELD_MANAGER,
            )
        except NotFound:
            if not definitions:
                raise
        if definitions:
            trusted = conversion(target, bundle=bundle)["webhook"]["clientConfig"]
            kinds = [kind for kind in converter.classes if issubclass(kind, CustomResource)]
            await _define(client, crd_for(*kinds, conversion_client_config=trusted), deadline)
    for document in configurations(webhooks, name, target, bundle=bundle, labels=labels):
        kind = next(kind for kind in _KINDS if kind.__name__ == document["kind"])
        await client.apply(from_wire(kind, document), field_manager=FIELD_MANAGER)
    logger.info("webhooks are registered", extra={"fields": {"name": name}})
    for sample in samples:
        for role in _roles(webhooks, sample):
            await _in_force(client, sample, role, deadline)


async def _define(client: Client, definition: dict[str, Any], deadline: float) -> None:
    name = definition["metadata"]["name"]
    await client.apply(from_wire(CustomResourceDefinition, definition), field_manager=FIELD_MANAGER)
    while not (await client.get(CustomResourceDefinition, name)).is_established:
        if asyncio.get_running_loop().time() >= deadline:
            raise NotInForce(f"the API server does not serve {name}: its status has the reason")
        await asyncio.sleep(_PAUSE)


async def uninstall(
    client: Client, served: Iterable[Admission[Any] | Converter], name: str, *, conversions: bool = True
) -> None:
    """Reverts `install`. Call it while the webhooks are still served, and stop them afterwards.

    The configurations are removed first; from then on no request, and no deletion of a namespace, waits
    for webhooks that are about to stop. After that, conversions are removed, and only the storage
    version of each kind is served: without a conversion, API servers would only change ``apiVersion``
    when a client asks for another version, and drop the fields that this version does not have. Objects
    that are still stored in another version lose the fields that the storage version does not have, so
    run ``setpoint crd migrate`` first. A missing object is not an error.

    ``conversions=False`` leaves the conversions in place, for a server that will be started again.
    Until then, objects that need conversion can't be read or written, but nothing is lost. ``name`` is empty if there
    are only conversions.

    Raises:
        ApiError: the server refuses.
    """
    for kind in _KINDS if name else ():
        try:
            await client.delete(kind, name)
        except NotFound:
            continue
    for converter in converters_of(served) if conversions else ():
        await _end_conversion(client, definition_name(converter))
    logger.info("webhooks are no longer registered", extra={"fields": {"name": name}})


async def _end_conversion(client: Client, name: str) -> None:
    while True:
        try:
            definition = await client.get(CustomResourceDefinition, name)
            spec = to_wire(definition)["spec"]
            if spec.get("conversion", {}).get("strategy", "None") == "None":
                return
            patch = {
                "metadata": {"resourceVersion": definition.metadata.resource_version},
                "spec": {
                    "conversion": {"strategy": "None", "webhook": None},
                    "versions": [{**version, "served": version["storage"]} for version in spec["versions"]],
                },
            }
            await client.patch(CustomResourceDefinition, name, patch, field_manager=FIELD_MANAGER)
        except NotFound:
            return
        except Conflict:
            continue
        else:
            return


def generated_samples(served: Iterable[Admission[Any] | Converter], namespace: str) -> list[Object]:
    """Samples for `install`: a minimal object of each custom resource that has an admission.

    ``namespace`` is the namespace in which they would be created. They fit the schema but may break CEL rules.
    Admissions of subresources, and those that select only some objects, are left out.
    """
    samples: dict[type[Object], Object] = {}
    for admission in served:
        if not isinstance(admission, Admission) or not issubclass(admission.kind, CustomResource):
            continue
        if admission.subresource or admission.match.namespace_selector or admission.match.object_selector:
            continue
        gvk, schema = admission.gvk, Versions.of(admission.kind).schemas[admission.gvk.version]
        generated = samples_of(schema, gvk.api_version, gvk.kind)
        if generated and not admission.match.conditions:
            sample = from_wire(admission.kind, generated[0])
            sample.metadata.namespace = namespace if admission.resource.namespaced else ""
            samples.setdefault(admission.kind, sample)
    return list(samples.values())


def _roles(served: Iterable[Admission[Any] | Converter], sample: Object) -> Iterable[Role]:
    roles: tuple[Role, ...] = ("mutate", "validate")
    for role in roles:
        admissions = [
            webhook for webhook in served if isinstance(webhook, Admission) and isinstance(sample, webhook.kind)
        ]
        if any("create" in admission.operations(role) for admission in admissions):
            yield role


async def _in_force(client: Client, sample: Object, role: Role, deadline: float) -> None:
    loop = asyncio.get_running_loop()
    answer: Any = "it allowed the request without calling the webhook"
    while True:
        try:
            await client.create(marked(sample, role), dry_run=True)
        except ApiError as problem:
            if in_force_message(role) in problem.message:
                return
            answer = problem
        if loop.time() >= deadline:
            raise NotInForce(
                f"the API server does not call the webhook that should {role} {sample.kind} on create; for "
                f"{sample.key} it answered: {answer}"
            )
        await asyncio.sleep(_PAUSE)
