"""A chart of a web application with a database: installed, tested, upgraded, rolled back and removed with Helm."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.deploy.test_clusters import Cluster, helm
from tests.programs import server

CHART = Path(__file__).parent / "charts" / "shop"
KINDS = (
    "all,pvc,pv,sa,cm,secret,ingress,networkpolicy,pdb,hpa,role,rolebinding,endpoints,endpointslices,"
    "controllerrevisions,cronjobs"
)
WAIT = ("--wait", "--timeout", "120s")
pytestmark = [pytest.mark.generated, pytest.mark.wall_clock]


async def test_a_chart_is_installed_tested_upgraded_rolled_back_and_removed_without_a_trace(tmp_path: Path) -> None:
    tool = helm(tmp_path)
    async with server(tmp_path, "--nodes", "3", "--controllers", "*,service-lb") as (_, _, kubeconfig):
        cluster = Cluster(tmp_path, kubeconfig)

        async def there() -> list[str]:
            return sorted((await cluster.kubectl("get", KINDS, "-A", "-o", "name")).splitlines())

        async def image() -> str:
            path = "jsonpath={.spec.template.spec.containers[0].image}"
            return await cluster.kubectl("get", "deployment/my", "-o", path)

        await cluster.kubectl("wait", "--for=create", "configmap/kube-root-ca.crt", "serviceaccount/default")
        before = await there()
        assert "1 chart(s) linted, 0 chart(s) failed" in await cluster.run(tool, "lint", "--strict", CHART)
        await cluster.run(tool, "install", "my", CHART, *WAIT)
        assert "Phase:          Succeeded" in await cluster.run(tool, "test", "my", "--timeout", "60s")
        result = await there()
        for expected in (
            "statefulset.apps/my-database", "persistentvolumeclaim/data-my-database-0", "cronjob.batch/my-report",
            "horizontalpodautoscaler.autoscaling/my", "poddisruptionbudget.policy/my", "pod/my-database-0",
        ):  # fmt: skip
            assert expected in result
        assert "job.batch/my-migrate" not in result, "a hook goes when it has succeeded"

        changed = ("--set", "image.tag=2.0,settings.color=red,database.replicas=2")
        await cluster.run(tool, "upgrade", "my", CHART, *WAIT, *changed)
        assert await image() == "example.com/shop:2.0"
        assert "pod/my-database-1" in await there()
        await cluster.run(tool, "rollback", "my", "1", *WAIT)
        assert await image() == "example.com/shop:1.0"
        await cluster.kubectl("wait", "--for=delete", "pod/my-database-1", "--timeout=60s")

        await cluster.run(tool, "uninstall", "my", *WAIT)
        left = [name for name in await there() if name not in before]
        for name in left:  # what the garbage collector is still at
            await cluster.kubectl("wait", "--for=delete", name, "--timeout=60s")
        assert await there() == before
