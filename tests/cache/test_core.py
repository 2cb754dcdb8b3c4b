from __future__ import annotations

from random import Random

from setpoint.cache import InformerFactory
from setpoint.models.core_v1 import Pod
from setpoint.testing import virtual_time, wait_all_tasks_blocked

from .fakes import FakeServer


@virtual_time
async def test_list_watch_and_read() -> None:
    server = FakeServer()
    for number in range(300):
        server.put(f"web-{number}", owner=f"owner-{number // 3}", labels={"app": "web", "n": str(number % 7)})
    calls: list[tuple[str, ...]] = []
    async with InformerFactory(server, random=Random(1)) as factory:
        pods = factory.informer(Pod)
        pods.add_event_handler(
            on_add=lambda head, initial: calls.append(("add", head.name, str(initial))),
            on_update=lambda old, new: calls.append(("update", old.resource_version, new.resource_version)),
            on_delete=lambda head, unknown: calls.append(("delete", head.name, str(unknown))),
        )
        await factory.wait_for_cache_sync()
        assert len(pods.lister) == 300
        assert len(calls) == 300
        assert calls[0] == ("add", "web-0", "True")
        assert {pod.name for pod in pods.lister.by_owner("owner-7")} == {"web-21", "web-22", "web-23"}
        assert len(pods.lister.list(selector="app=web,n=3")) == 43
        calls.clear()
        old = server.objects["default/web-1"]["metadata"]["resourceVersion"]
        new = server.put("web-1", phase="Failed")["metadata"]["resourceVersion"]
        server.delete("web-2")
        server.put("new")
        await wait_all_tasks_blocked()
        assert calls == [("update", old, new), ("delete", "web-2", "False"), ("add", "new", "False")]
        pod = pods.lister.get("default/web-1")
        assert pod.status.phase == "Failed"
        assert pod.metadata.managed_fields == []
        assert pods.lister.try_get("default/web-2") is None
        assert pods.last_sync_resource_version == str(server.version)
