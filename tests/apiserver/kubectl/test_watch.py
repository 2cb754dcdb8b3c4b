from __future__ import annotations

import asyncio
import json

from .conftest import SECONDS, Kubectl, config_map, deployment, mykind, pod


async def line_of(process: asyncio.subprocess.Process) -> list[str]:
    assert process.stdout is not None
    async with asyncio.timeout(SECONDS):
        return (await process.stdout.readline()).decode().split()


async def test_a_watch_prints_changes_as_they_come(kubectl: Kubectl) -> None:
    await kubectl("create", "-f", "-", stdin=config_map("a", x="1"))
    async with kubectl.start("get", "cm", "-w", "--field-selector=metadata.name!=kube-root-ca.crt") as watch:
        assert await line_of(watch) == ["NAME", "DATA", "AGE"]
        assert (await line_of(watch))[:2] == ["a", "1"]
        await kubectl("create", "-f", "-", stdin=config_map("b", x="1", y="2"))
        assert (await line_of(watch))[:2] == ["b", "2"]
        await kubectl("patch", "cm", "a", "--type=merge", "-p", '{"data":{"z":"3"}}')
        assert (await line_of(watch))[:2] == ["a", "2"]
    async with kubectl.start("get", "cm", "a", "--watch-only", "--output-watch-events", "-o", "json") as watch:
        await kubectl.until_watching()
        await kubectl("label", "cm", "a", "app=web")
        await kubectl("delete", "cm", "a")
        assert watch.stdout is not None
        seen, kinds = "", []
        while "DELETED" not in kinds:
            async with asyncio.timeout(SECONDS):
                seen += (await watch.stdout.readline()).decode()
            try:
                event = json.loads(seen)
            except json.JSONDecodeError:
                continue
            kinds.append(event["type"])
            seen = ""
        assert kinds[-1] == "DELETED"


async def test_wait_ends_when_the_condition_comes_true(custom: Kubectl) -> None:
    await custom("create", "-f", "-", stdin=[mykind("m", numpods=1), pod("p")])
    async with custom.start("wait", "--for=condition=Ready", "mk/m", f"--timeout={SECONDS}s") as waiting:
        await custom.until_watching()
        status = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
        await custom("patch", "mk", "m", "--subresource=status", "--type=merge", "-p", json.dumps(status))
        out, _ = await waiting.communicate()
        assert out.decode().strip() == "mykind.grp.example.com/m condition met"
    async with custom.start("wait", "--for=jsonpath={.spec.numpods}=3", "mk/m", f"--timeout={SECONDS}s") as waiting:
        await custom.until_watching()
        await custom("patch", "mk", "m", "--type=merge", "-p", '{"spec":{"numpods":3}}')
        out, _ = await waiting.communicate()
        assert out.decode().strip() == "mykind.grp.example.com/m condition met"
    async with custom.start("wait", "--for=delete", "pod/p", f"--timeout={SECONDS}s") as waiting:
        await custom.until_watching()
        await custom("delete", "pod", "p", "--wait=false")
        out, _ = await waiting.communicate()
        assert (waiting.returncode, out.decode().strip()) == (0, "pod/p condition met")
    late = await custom("wait", "--for=condition=Nope", "mk/m", "--timeout=1ms", fails=True)
    assert late.err == "error: timed out waiting for the condition on mykinds/m"


async def test_delete_waits_until_finalizers_are_done(kubectl: Kubectl) -> None:
    held = config_map("held")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    await kubectl("create", "-f", "-", stdin=[held, config_map("free"), deployment("web")])
    assert (await kubectl("delete", "cm", "free")).out == 'configmap "free" deleted from default namespace'
    async with kubectl.start("delete", "cm", "held") as deleting:
        assert (await line_of(deleting))[:3] == ["configmap", '"held"', "deleted"]
        assert (await kubectl.get("cm", "held"))["metadata"]["deletionTimestamp"]
        await kubectl("patch", "cm", "held", "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
        async with asyncio.timeout(SECONDS):
            assert await deleting.wait() == 0
    refused = await kubectl("delete", "cm", "held", fails=True)
    assert refused.err == 'Error from server (NotFound): configmaps "held" not found'
    assert (await kubectl("delete", "cm", "held", "--ignore-not-found")).out == ""
    gone = await kubectl("delete", "deployment", "--all")
    assert gone.out == 'deployment.apps "web" deleted from default namespace'
    await kubectl("create", "configmap", "kept")
    dry = await kubectl("delete", "cm", "kept", "--dry-run=server")
    assert dry.out == 'configmap "kept" deleted from default namespace (server dry run)'
    assert (await kubectl("get", "cm", "kept", "-o", "name")).out == "configmap/kept"
    refused = await kubectl("delete", "ns", "default", fails=True)
    assert refused.err == (
        'Error from server (Forbidden): namespaces "default" is forbidden: this namespace may not be deleted'
    )
