"""A controller of kopf's: for every Letter an envelope and then a stamp, both config maps of its.

``letters.py KUBECONFIG [forgets]``: the one that forgets makes the stamp only if it has just made the envelope.
"""

from __future__ import annotations

import logging
import sys
from typing import Any

import aiohttp
import kopf
import yaml

with open(sys.argv[1]) as file:
    SERVER = yaml.safe_load(file)["clusters"][0]["cluster"]["server"]
FORGETS = "forgets" in sys.argv[2:]
GROUP, VERSION, PLURAL = "torture.example.com", "v1", "letters"


@kopf.on.login()
def login(**_: Any) -> kopf.ConnectionInfo:
    return kopf.ConnectionInfo(server=SERVER)


@kopf.on.startup()
async def begin(settings: kopf.OperatorSettings, **_: Any) -> None:
    settings.posting.enabled = False
    settings.peering.standalone = True


@kopf.on.create(GROUP, VERSION, PLURAL, backoff=1.0)
@kopf.on.update(GROUP, VERSION, PLURAL, backoff=1.0)
async def write(body: kopf.Body, name: str, namespace: str, spec: kopf.Spec, **_: Any) -> None:
    new_body = await put(body, namespace, f"{name}-envelope", {"to": spec["to"]})
    if new_body or not FORGETS:
        await put(body, namespace, f"{name}-stamp", {"price": str(len(spec["to"]))})


async def put(owner: kopf.Body, namespace: str, name: str, data: dict[str, str]) -> bool:
    """Whether it was not so before."""
    document: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}
    kopf.append_owner_reference(document, owner)
    path = f"{SERVER}/api/v1/namespaces/{namespace}/configmaps"
    async with aiohttp.ClientSession(raise_for_status=False) as session:
        async with session.get(f"{path}/{name}") as answer:
            result = await answer.json() if answer.status == 200 else None
            if answer.status not in (200, 404):
                raise kopf.TemporaryError(await answer.text(), delay=1)
        if result is not None and result.get("data") == data:
            return False
        if result is None:
            send = session.post(path, json=document)
        else:
            patch = {"content-type": "application/merge-patch+json"}
            send = session.patch(f"{path}/{name}", json={"data": data}, headers=patch)
        async with send as answer:
            if answer.status >= 300:
                raise kopf.TemporaryError(await answer.text(), delay=1)
    return True


logging.basicConfig(level=logging.WARNING)
kopf.run(standalone=True, clusterwide=True)
