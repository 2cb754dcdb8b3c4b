"""Injects the CA bundle into the ``caBundle`` fields of webhook configurations and of CRDs' conversions."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

from setpoint.client import Client, Conflict, NotFound
from setpoint.meta import Object, resource_of
from setpoint.models.admissionregistration_v1 import MutatingWebhookConfiguration, ValidatingWebhookConfiguration
from setpoint.models.apiextensions_v1 import CustomResourceDefinition

logger = logging.getLogger("setpoint.webhook")
_TRIES = 5
_KINDS: dict[str, type[Object]] = {
    kind.__name__: kind
    for kind in (MutatingWebhookConfiguration, ValidatingWebhookConfiguration, CustomResourceDefinition)
}
Trusting = tuple[str, str]
"""The kind and name of an object that contains the address and the CA bundle of webhooks."""


async def inject(client: Client, bundle: bytes, objects: Iterable[Trusting]) -> bool:
    """Puts ``bundle`` (PEM) into every ``clientConfig`` of these objects; returns whether all of them have it now.

    Only ``caBundle`` is written, and only if the object still has the version that was read, so no concurrent change is
    undone. A missing object needs no bundle and is skipped: `install` creates it with the bundle.

    Raises:
        ApiError: the server refuses. RBAC: ``get`` and ``patch`` on the objects' kinds.
        ValueError: a kind has no ``caBundle``.
    """
    done = True
    for kind, name in objects:
        if kind not in _KINDS:
            raise ValueError(f"{kind} {name} has no caBundle; these kinds have one: {', '.join(_KINDS)}")
        done = await _inject(client, bundle, _KINDS[kind], name) and done
    return done


async def _inject(client: Client, bundle: bytes, kind: type[Object], name: str) -> bool:
    for _ in range(_TRIES):
        try:
            configuration = await client.get(kind, name)
            configs = list(_client_configs(configuration))
            if all(config.ca_bundle == bundle for config in configs):
                return True
            for config in configs:
                config.ca_bundle = bundle
            await client.update(configuration)
        except NotFound:
            return True
        except Conflict:
            continue
        else:
            logger.info("injected the CA bundle", extra={"fields": {"resource": str(resource_of(kind)), "name": name}})
            return True
    logger.warning("could not inject the CA bundle: another client keeps writing", extra={"fields": {"name": name}})
    return False


def _client_configs(obj: Any) -> Iterable[Any]:
    if isinstance(obj, CustomResourceDefinition):
        conversion = obj.spec.conversion if obj.spec is not None else None
        webhook = conversion.webhook if conversion is not None else None
        return [webhook.client_config] if webhook is not None and webhook.client_config is not None else []
    return [webhook.client_config for webhook in obj.webhooks]
