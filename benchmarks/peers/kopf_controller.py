"""The controllers of the comparison, written with kopf: handlers of events, as its users write them.

A handler of created objects makes the pods, a handler of the pods' events counts them in an index by owner and says in
the owner's status when all are seen. kopf has no client of its own; requests go over the aiohttp that it uses itself,
with plain JSON, which is the leanest there is.
"""

from __future__ import annotations

import json
import logging
import sys
from typing import Any

import aiohttp
import kopf
from protocol import hear, say

GROUP, VERSION, PLURAL = "bench.example.com", "v1", "mykinds"
WORKERS = 8
server, _, work = sys.argv[1:]
session: aiohttp.ClientSession
wanted: dict[tuple[str, str], int] = {}


@kopf.on.login()
def login(**_: Any) -> kopf.ConnectionInfo:
    return kopf.ConnectionInfo(server=server)


@kopf.on.startup()
async def begin(settings: kopf.OperatorSettings, **_: Any) -> None:
    global session
    session = aiohttp.ClientSession(server, connector=aiohttp.TCPConnector(limit=WORKERS))
    settings.posting.enabled = False
    settings.peering.standalone = True
    settings.execution.max_workers = WORKERS


@kopf.index("pods")
def pods_of(name: str, meta: kopf.Meta, namespace: str, **_: Any) -> dict[tuple[str, str], str] | None:
    owners = [item["name"] for item in meta.get("ownerReferences", ()) if item.get("controller")]
    return {(namespace, owner): name for owner in owners} or None


@kopf.on.resume(GROUP, VERSION, PLURAL)
@kopf.on.create(GROUP, VERSION, PLURAL)
async def make(body: kopf.Body, spec: kopf.Spec, name: str, namespace: str, uid: str, **_: Any) -> None:
    wanted[namespace, name] = spec["numpods"]
    owner = {
        "apiVersion": body["apiVersion"],
        "kind": body["kind"],
        "name": name,
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    for number in range(spec["numpods"]):
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"{name}-{number}", "namespace": namespace, "ownerReferences": [owner]},
            "spec": {"containers": [{"name": "main", "image": "busybox"}]},
        }
        path = f"/api/v1/namespaces/{namespace}/pods"
        if work == "create":
            await send("POST", path, pod, "application/json")
        else:
            query = "?fieldManager=mykind&force=true"
            await send("PATCH", f"{path}/{name}-{number}{query}", pod, "application/apply-patch+yaml")


@kopf.on.event("pods")
async def count(meta: kopf.Meta, namespace: str, pods_of: kopf.Index[Any, str], **_: Any) -> None:
    for item in meta.get("ownerReferences", ()):
        key = (namespace, item["name"])
        if len(pods_of.get(key, ())) == wanted.get(key):
            path = f"/apis/{GROUP}/{VERSION}/namespaces/{namespace}/{PLURAL}/{item['name']}/status"
            await send("PATCH", path, {"status": {"pods": wanted[key]}}, "application/merge-patch+json")


async def send(method: str, path: str, document: Any, content_type: str) -> None:
    body = json.dumps(document).encode()
    async with session.request(method, path, data=body, headers={"content-type": content_type}) as answer:
        text = await answer.text()
        if answer.status >= 300 and answer.status != 409:
            raise kopf.TemporaryError(f"{method} {path}: {answer.status} {text}", delay=1)


logging.disable(logging.INFO)
say("ready")
hear("sync")
kopf.run(standalone=True, clusterwide=True)
