"""The webhooks of the comparison, served by setpoint: a default, a check and a conversion, over TLS."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from protocol import say

from setpoint.crd import Conversion, CustomResource, Versions
from setpoint.meta import Model
from setpoint.models.core_v1 import PodTemplateSpec
from setpoint.webhook import Admission, CertificateFiles, Review, Webhooks, WebhookServer


class OldSpec(Model):
    numpods: int = 1
    template: PodTemplateSpec | None = None


class OldMykind(CustomResource, group="bench.example.com", version="v1alpha1", kind="Mykind", storage=False):
    spec: OldSpec = OldSpec()


class MykindSpec(Model):
    replicas: int = 1
    template: PodTemplateSpec | None = None


class Mykind(
    CustomResource,
    group="bench.example.com",
    version="v1alpha2",
    conversions=(Conversion(OldMykind).rename("spec.numpods", "spec.replicas"),),
):
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


async def main() -> None:
    webhooks = Webhooks(Admission(Mykind).defaults(default).validates(check), Versions.of(Mykind))
    server = WebhookServer(webhooks, CertificateFiles(Path(sys.argv[1])), host="127.0.0.1", port=0)
    task = asyncio.create_task(server.run())
    await server.ready.wait()
    say(str(server.port))
    await task


asyncio.run(main())
