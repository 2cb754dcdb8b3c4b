"""The official client's SharedInformer, with a handler that counts."""

from __future__ import annotations

import sys
import threading

from kubernetes import client
from kubernetes.informer import ADDED, MODIFIED, SharedInformer
from protocol import collected, hear, say


def main(server: str, count: int) -> None:
    configuration = client.Configuration(host=server)
    api = client.CoreV1Api(client.ApiClient(configuration))
    synced, done = threading.Event(), threading.Event()
    seen = {ADDED: 0, MODIFIED: 0}

    def counter(type: str, event: threading.Event) -> object:
        def handler(_pod: object) -> None:
            seen[type] += 1
            if seen[type] == count:
                event.set()

        return handler

    informer = SharedInformer(api.list_pod_for_all_namespaces)
    informer.add_event_handler(ADDED, counter(ADDED, synced))
    informer.add_event_handler(MODIFIED, counter(MODIFIED, done))
    say("ready")
    hear("sync")
    informer.start()
    synced.wait()
    say("synced")
    collected()
    say("watching")
    done.wait()
    say("done")
    collected()
    hear("exit")


main(sys.argv[1], int(sys.argv[2]))
