"""The webhooks of the comparison, served by kopf's webhook server, without the operator around it.

kopf has no conversion webhooks. This program calls the function that kopf's operator passes to its server.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import sys
from pathlib import Path
from typing import Any

import kopf
from kopf._cogs.structs import ephemera, references
from kopf._core.engines import admission, indexing
from kopf._core.reactor import inventory
from protocol import say

GROUP, VERSION, PLURAL = "bench.example.com", "v1alpha2", "mykinds"
registry = kopf.OperatorRegistry()
logging.disable(logging.INFO)


@kopf.on.mutate(GROUP, VERSION, PLURAL, id="default", registry=registry)
async def default(body: kopf.Body, patch: kopf.Patch, **_: Any) -> None:
    if "defaulted" not in body.metadata.labels:
        patch.metadata.labels["defaulted"] = "yes"
    template = body.spec.get("template")
    if template:
        containers = [{"imagePullPolicy": "IfNotPresent", **container} for container in template["spec"]["containers"]]
        patch.spec["template"] = {"spec": {"containers": containers}}


@kopf.on.validate(GROUP, VERSION, PLURAL, id="validate", registry=registry)
async def validate(spec: kopf.Spec, **_: Any) -> None:
    if spec.get("replicas", 1) < 0:
        raise kopf.AdmissionError("spec.replicas: must not be negative", code=422)
    if not spec.get("template", {}).get("spec", {}).get("containers"):
        raise kopf.AdmissionError("spec.template.spec.containers: required", code=422)


async def main() -> None:
    resource = references.Resource(GROUP, VERSION, PLURAL, kind="Mykind", namespaced=True)
    insights = references.Insights()
    insights.webhook_resources.add(resource)
    serve = functools.partial(
        admission.serve_admission_request,
        settings=kopf.OperatorSettings(),
        registry=registry,
        insights=insights,
        memories=inventory.ResourceMemories(),
        memobase=ephemera.Memo(),
        indices=indexing.OperatorIndexers().indices,
    )
    certificates = Path(sys.argv[1])
    server = kopf.WebhookServer(
        addr="127.0.0.1", certfile=str(certificates / "tls.crt"), pkeyfile=str(certificates / "tls.key")
    )
    async for config in server(serve):
        say(config["url"].rpartition(":")[2].strip("/"))


asyncio.run(main())
