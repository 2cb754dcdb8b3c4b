"""Webhooks of this project behind the embedded server: over TLS, as kubectl shows them."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

from setpoint.crd import CustomResource, Field, crd_for
from setpoint.meta import Model, to_wire
from setpoint.webhook import Admission, MemoryCertificates, Review, Webhooks, WebhookServer

from .conftest import Kubectl

HOST = "127.0.0.1"


class PondSpec(Model):
    ducks: Annotated[int, Field(ge=0)] = 0
    keeper: str = ""


class Pond(CustomResource, group="ponds.example.com", version="v1"):
    """Water with ducks."""

    spec: PondSpec = PondSpec()


def fill_in(pond: Pond) -> None:
    if not pond.spec.keeper:
        pond.spec.keeper = "jane"


def check(pond: Pond, review: Review[Pond]) -> None:
    if pond.spec.ducks > 10:
        review.invalid("spec.ducks", pond.spec.ducks, "must be at most 10")
    if pond.spec.keeper == "fox":
        review.deny("a fox keeps no ducks")
    if pond.spec.ducks == 0:
        review.warn("spec.ducks is 0: it will be quiet")


@asynccontextmanager
async def served(webhooks: Webhooks, certificates: MemoryCertificates) -> AsyncIterator[WebhookServer]:
    server = WebhookServer(webhooks, certificates, host=HOST, port=0)
    async with asyncio.TaskGroup() as group:
        group.create_task(server.run())
        await server.ready.wait()
        try:
            yield server
        finally:
            server.stop()


def configuration(kind: str, path: str, server: WebhookServer, bundle: bytes) -> dict[str, Any]:
    rule = {
        "apiGroups": ["ponds.example.com"],
        "apiVersions": ["v1"],
        "resources": ["ponds"],
        "operations": ["CREATE", "UPDATE"],
    }
    hook = {
        "name": "pond.ponds.example.com",
        "clientConfig": {
            "url": f"https://{HOST}:{server.port}{path}",
            "caBundle": base64.b64encode(bundle).decode(),
        },
        "rules": [rule],
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": "ponds"},
        "webhooks": [hook],
    }


def pond(ducks: int, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "ponds.example.com/v1",
        "kind": "Pond",
        "metadata": {"name": "green", "namespace": "default"},
        "spec": {"ducks": ducks, **spec},
    }


async def test_kubectl_shows_denials_warnings_and_failures(kubectl: Kubectl) -> None:
    admission = Admission(Pond).defaults(fill_in).validates(check)
    certificates = MemoryCertificates()
    await kubectl("create", "-f", "-", stdin=to_wire(crd_for(Pond)))
    async with served(Webhooks(admission), certificates) as server:
        for kind, role in (("MutatingWebhookConfiguration", "mutate"), ("ValidatingWebhookConfiguration", "validate")):
            path = admission.path("mutate" if role == "mutate" else "validate")
            await kubectl("create", "-f", "-", stdin=configuration(kind, path, server, certificates.bundle))
        denied = await kubectl("create", "-f", "-", stdin=pond(1, keeper="fox"), fails=True)
        assert denied.err == (
            'Error from server (Forbidden): error when creating "STDIN": admission webhook "pond.ponds.example.com" '
            "denied the request: a fox keeps no ducks"
        )
        denied = await kubectl("apply", "-f", "-", stdin=pond(11), fails=True)
        assert denied.err == 'The Pond "green" is invalid: spec.ducks: Invalid value: 11: must be at most 10'
        warned = await kubectl("apply", "-f", "-", stdin=pond(0))
        assert warned.err == "Warning: spec.ducks is 0: it will be quiet"
        assert warned.out == "pond.ponds.example.com/green created"
        assert (await kubectl.get("pond", "green"))["spec"] == {"ducks": 0, "keeper": "jane"}
        applied = await kubectl("apply", "--server-side", "-f", "-", stdin=pond(3))
        assert applied.out == "pond.ponds.example.com/green serverside-applied"
    gone = await kubectl("patch", "pond", "green", "--type=merge", "-p", '{"spec":{"ducks":4}}', fails=True)
    assert gone.err.startswith(
        'Error from server (InternalError): Internal error occurred: failed calling webhook "pond.ponds.example.com": '
        f'failed to call webhook: Post "https://{HOST}:{server.port}/mutate'
    )
    assert gone.err.endswith("connect: connection refused")


async def test_a_certificate_of_another_authority_is_not_trusted(kubectl: Kubectl) -> None:
    admission = Admission(Pond).validates(check)
    await kubectl("create", "-f", "-", stdin=to_wire(crd_for(Pond)))
    certificates, others = MemoryCertificates(), MemoryCertificates()
    async with served(Webhooks(admission), certificates) as server, served(Webhooks(admission), others):
        kind, path = "ValidatingWebhookConfiguration", admission.path("validate")
        await kubectl("create", "-f", "-", stdin=configuration(kind, path, server, others.bundle))
        refused = await kubectl("create", "-f", "-", stdin=pond(1), fails=True)
        assert "tls: failed to verify certificate: x509: " in refused.err
