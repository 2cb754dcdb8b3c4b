"""A controller of few lines with caches: for every ConfigMap labelled ``owner=wanted`` a secret that it owns.

It sees by its watches alone what there is, so while that of the config maps is held back, it makes the secret of one
that is gone again and again, and the garbage collector deletes it.
"""

from __future__ import annotations

import json
import sys
import threading
import time
import urllib.error
import urllib.request
from typing import Any

import yaml

with open(sys.argv[1]) as file:
    SERVER = yaml.safe_load(file)["clusters"][0]["cluster"]["server"]
OWNERS, SECRETS = "/api/v1/namespaces/default/configmaps", "/api/v1/namespaces/default/secrets"
caches: dict[str, dict[str, Any]] = {OWNERS: {}, SECRETS: {}}
dirty = threading.Event()


def follow(path: str) -> None:
    cache = caches[path]
    while True:
        try:
            with urllib.request.urlopen(SERVER + path) as answer:
                listed = json.load(answer)
            cache.clear()
            cache.update((item["metadata"]["name"], item) for item in listed["items"])
            dirty.set()
            revision = listed["metadata"]["resourceVersion"]
            with urllib.request.urlopen(f"{SERVER}{path}?watch=true&resourceVersion={revision}") as lines:
                for line in lines:
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        time.sleep(1.5)  # client-go's reflector waits as long before it lists again
                        break
                    name = event["object"]["metadata"]["name"]
                    if event["type"] == "DELETED":
                        cache.pop(name, None)
                    else:
                        cache[name] = event["object"]
                    dirty.set()
        except (OSError, ValueError):
            time.sleep(0.1)


def create(owner: Any) -> None:
    meta = owner["metadata"]
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": meta["name"], "uid": meta["uid"]}
    body = {"metadata": {"name": meta["name"], "ownerReferences": [reference]}}
    request = urllib.request.Request(SERVER + SECRETS, method="POST", data=json.dumps(body).encode())
    request.add_header("content-type", "application/json")
    try:
        urllib.request.urlopen(request, timeout=10).close()
    except urllib.error.HTTPError as problem:
        if problem.code != 409:
            raise


for each in caches:
    threading.Thread(target=follow, args=(each,), daemon=True).start()
while True:
    dirty.wait()
    dirty.clear()
    try:
        for name, one in list(caches[OWNERS].items()):
            if one["metadata"].get("labels", {}).get("owner") == "wanted" and name not in caches[SECRETS]:
                create(one)
    except OSError:
        time.sleep(0.1)
        dirty.set()
