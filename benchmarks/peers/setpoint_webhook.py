"""The webhooks of the comparison, served by setpoint: a default, a check and a conversion, over TLS."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from protocol import say

from setpoint.crd import CustomResource
from setpoint.meta import GroupKind, Model
from setpoint.models.core_v1 import PodTemplateSpec
from setpoint.webhook import Admission, CertificateFiles, Review, Webhooks, WebhookServer


class MykindSpec(Model):
    replicas: int = 1
    template: PodTemplateSpec | None = None


class Mykind(CustomResource, group="bench.example.com", version="v1alpha2"):
    spec: MykindSpec = MykindSpec()


def default(mykind: Mykind) -> None:
    mykind.labels.setdefault("defaulted", "yes")
    template = mykind.spec.template
    if template is not None and template.spec is not None:
        for container in template.spec.containers:
            container.image_pull_policy = container.image_pull_policy or "IfNotPresent"


def check(mykind: Mykind, review: Review[Mykind]) -> None:
    if mykind.spec.replicas < 0:
        review.invalid("spec.replicas", mykind.spec.replicas, "must not be negative")
    template = mykind.spec.template
    if template is None or template.spec is None or not template.spec.containers:
        review.required("spec.template.spec.containers")


class Conversion:
    group_kind = GroupKind("bench.example.com", "Mykind")
    classes = (Mykind,)
    versions = ("v1alpha1", "v1alpha2")

    def convert(self, document: dict[str, Any], to_version: str) -> dict[str, Any]:
        source, target = ("numpods", "replicas") if to_version == "v1alpha2" else ("replicas", "numpods")
        document["apiVersion"] = f"bench.example.com/{to_version}"
        document["spec"][target] = document["spec"].pop(source)
        return document


async def main() -> None:
    webhooks = Webhooks(Admission(Mykind).defaults(default).validates(check), Conversion())
    server = WebhookServer(webhooks, CertificateFiles(Path(sys.argv[1])), host="127.0.0.1", port=0)
    task = asyncio.create_task(server.run())
    await server.ready.wait()
    say(str(server.port))
    await task


asyncio.run(main())
