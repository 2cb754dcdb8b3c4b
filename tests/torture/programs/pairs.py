"""A controller of few lines, with nothing but Python's library: for every ConfigMap labelled ``pair=wanted`` a secret
and then a second config map, under its name, and both go with it.

``pairs.py KUBECONFIG [forgets]``: the one that forgets makes the second only if it has just made the first, so that a
crash between the two leaves it out forever.
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
FORGETS = "forgets" in sys.argv[2:]
CONFIG_MAPS, SECRETS = "/api/v1/namespaces/default/configmaps", "/api/v1/namespaces/default/secrets"
dirty = threading.Event()


def ask(method: str, path: str, body: Any = None) -> Any:
    request = urllib.request.Request(SERVER + path, method=method, data=json.dumps(body).encode() if body else None)
    request.add_header("content-type", "application/json")
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)


def create(path: str, owner: Any, suffix: str) -> bool:
    """Whether it was not there before."""
    meta = {
        "name": owner["metadata"]["name"] + suffix,
        "ownerReferences": [
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "name": owner["metadata"]["name"],
                "uid": owner["metadata"]["uid"],
            }
        ],
    }
    try:
        ask("POST", path, {"metadata": meta})
    except urllib.error.HTTPError as problem:
        if problem.code != 409:
            raise
        return False
    return True


def reconcile(wanted: Any, secrets: set[str], config_maps: set[str]) -> None:
    name = wanted["metadata"]["name"]
    result = name + "-secret" not in secrets and create(SECRETS, wanted, "-secret")
    if (result or not FORGETS) and name + "-config" not in config_maps:
        create(CONFIG_MAPS, wanted, "-config")


def watch(path: str) -> None:
    while True:
        try:
            revision = ask("GET", path)["metadata"]["resourceVersion"]
            dirty.set()
            with urllib.request.urlopen(f"{SERVER}{path}?watch=true&resourceVersion={revision}") as lines:
                for _ in lines:
                    dirty.set()
        except OSError:
            time.sleep(0.1)


for each in (CONFIG_MAPS, SECRETS):
    threading.Thread(target=watch, args=(each,), daemon=True).start()
while True:
    dirty.wait()
    dirty.clear()
    try:
        config_maps = ask("GET", CONFIG_MAPS)["items"]
        secrets = {item["metadata"]["name"] for item in ask("GET", SECRETS)["items"]}
        names = {config_map["metadata"]["name"] for config_map in config_maps}
        for one in config_maps:
            meta = one["metadata"]
            if meta.get("labels", {}).get("pair") == "wanted" and "deletionTimestamp" not in meta:
                reconcile(one, secrets, names)
    except (OSError, ValueError):
        time.sleep(0.1)
        dirty.set()
