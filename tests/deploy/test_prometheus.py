"""A real Prometheus scrapes a running operator: every panel has data, and alerts fire when they should."""

from __future__ import annotations

import asyncio
import json
import math
import os
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from shutil import which
from typing import Any

import aiohttp
import pytest

import setpoint as sp
from setpoint.cluster.embedded import EmbeddedCluster
from setpoint.controller import watched_kinds
from setpoint.deploy.alerts import prometheus_rule
from setpoint.deploy.crds import definitions_of
from setpoint.deploy.dashboard import dashboard
from setpoint.manager import LeaderElection, Manager, Serving
from setpoint.meta.yaml_text import to_yaml
from setpoint.webhook import Admission, WebhookMetrics, Webhooks, with_conversions

from .shop import Shop, ShopSpec, operator

pytestmark = pytest.mark.generated
SHOWN = 120.0
"""Seconds within which a busy machine has scraped often enough for a rate."""


async def reconcile(shop: Shop, ctx: sp.Context) -> sp.Outcome | None:
    if shop.spec.replicas == 13:
        raise ConnectionError("the till can't be reached")
    return sp.after(0.5)


def fill_in(shop: Shop) -> None:
    shop.metadata.labels = {**(shop.metadata.labels or {}), "seen": "yes"}


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of prometheus and promtool: those that are installed, or Debian's, unpacked."""
    if (executable := which("prometheus")) and which("promtool"):
        return Path(executable).parent
    folder = tmp_path_factory.mktemp("prometheus")
    for command in (["apt-get", "download", "prometheus"], ["sh", "-c", "dpkg -x prometheus_*.deb ."]):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"install prometheus, such as with apt-get install prometheus: {done.stderr}"
    return folder / "usr" / "bin"


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    """The rule file that prometheus-operator makes of the PrometheusRule."""
    path = tmp_path / "rules.yaml"
    path.write_text(to_yaml([{"groups": prometheus_rule(operator())["spec"]["groups"]}]))
    return path


def test_promtool_accepts_the_rules_and_they_fire_when_they_should(programs: Path, rules: Path, tmp_path: Path) -> None:
    done = subprocess.run([programs / "promtool", "check", "rules", rules], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "8 rules found" in done.stdout
    labels = 'job="shop-metrics",namespace="shops"'

    def fires(alert: str, at: str, more: dict[str, str]) -> dict[str, Any]:
        (group,) = prometheus_rule(operator())["spec"]["groups"]
        (rule,) = (rule for rule in group["rules"] if rule["alert"] == alert)
        expected = [{"exp_labels": rule["labels"] | more, "exp_annotations": filled(rule["annotations"], more)}]
        return {"eval_time": at, "alertname": alert, "exp_alerts": expected}

    def filled(texts: dict[str, str], values: dict[str, str]) -> dict[str, str]:
        for name, value in values.items():
            texts = {key: text.replace(f"{{{{ $labels.{name} }}}}", value) for key, text in texts.items()}
        return texts

    def quiet(alert: str, at: str) -> dict[str, Any]:
        return {"eval_time": at, "alertname": alert, "exp_alerts": []}

    def case(series: dict[str, str], *tests: dict[str, Any]) -> dict[str, Any]:
        inputs = [{"series": name, "values": values} for name, values in series.items()]
        return {"interval": "1m", "input_series": inputs, "alert_rule_test": list(tests)}

    reconciles = "controller_runtime_reconcile_total"
    cases = [
        case(
            {f"up{{{labels}}}": "1x20 0x30"},
            quiet("OperatorIsDown", "20m"),
            fires("OperatorIsDown", "35m", {}),
        ),
        case(
            {
                f'{reconciles}{{{labels},controller="shop",result="error"}}': "0+60x90",
                f'{reconciles}{{{labels},controller="shop",result="success"}}': "0+10x90",
                f'{reconciles}{{{labels},controller="till",result="error"}}': "0+1x90",
                f'{reconciles}{{{labels},controller="till",result="success"}}': "0+60x90",
            },
            fires("OperatorReconcilesFail", "60m", {"controller": "shop"}),
        ),
        case(
            {
                f'workqueue_depth{{{labels},name="shop"}}': "5x60",
                f'workqueue_work_duration_seconds_count{{{labels},name="shop"}}': "7x60",
                f'workqueue_depth{{{labels},name="till"}}': "5x60",
                f'workqueue_work_duration_seconds_count{{{labels},name="till"}}': "0+9x60",
            },
            fires("OperatorQueueStands", "55m", {"name": "shop"}),
        ),
    ]
    test = tmp_path / "test.yaml"
    test.write_text(to_yaml([{"rule_files": [rules.name], "evaluation_interval": "1m", "tests": cases}]))
    done = subprocess.run([programs / "promtool", "test", "rules", test], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@asynccontextmanager
async def scraped(programs: Path, rules: Path, port: int) -> AsyncIterator[aiohttp.ClientSession]:
    """A Prometheus that scrapes the port, under the labels that prometheus-operator gives."""
    names = {"namespace": "shops", "pod": "shop-0"}
    scrape = {"job_name": "shop-metrics", "static_configs": [{"targets": [f"127.0.0.1:{port}"], "labels": names}]}
    every = {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"}
    config = rules.with_name("prometheus.yaml")
    config.write_text(to_yaml([{"global": every, "rule_files": [rules.name], "scrape_configs": [scrape]}]))
    listening = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    own = listening.sockets[0].getsockname()[1]
    listening.close()
    await listening.wait_closed()
    process = await asyncio.create_subprocess_exec(
        programs / "prometheus", f"--config.file={config}", f"--storage.tsdb.path={rules.parent / 'data'}",
        f"--web.listen-address=127.0.0.1:{own}", "--log.level=error", env={**os.environ, "TZ": "UTC"},
    )  # fmt: skip
    try:
        async with aiohttp.ClientSession(f"http://127.0.0.1:{own}/") as session:
            yield session
    finally:
        process.send_signal(signal.SIGTERM)
        await process.wait()


async def asked(session: aiohttp.ClientSession, path: str, **query: str) -> Any:
    """The data of an answer; None while Prometheus does not listen yet."""
    try:
        async with session.get(f"/api/v1/{path}", params=query) as answer:
            body = json.loads(await answer.read())
            assert body["status"] == "success", body
            return body["data"]
    except (aiohttp.ClientConnectionError, json.JSONDecodeError):
        return None


def is_data(value: Any) -> bool:
    """Whether there is a series with a number."""
    return bool(value) and any(not math.isnan(float(item["value"][1])) for item in value["result"])


async def test_every_panel_has_data_and_every_alert_is_evaluated(programs: Path, rules: Path) -> None:
    controller = sp.Controller(Shop, reconcile)
    queries = {
        panel["title"]: target["expr"].replace("$__rate_interval", "20s")
        for panel in dashboard(operator())["panels"]
        for target in panel["targets"]
    }
    async with EmbeddedCluster(control_plane=False) as cluster:
        for definition in definitions_of(watched_kinds([controller])):
            await cluster.install(definition)
        manager = Manager(
            cluster.client,
            controllers=[controller],
            leader_election=LeaderElection(name="shop", identity="shop-0"),
            serving=Serving(metrics_bind_address="127.0.0.1:0"),
        )
        assert manager.metrics is not None
        served = with_conversions([Admission(Shop).defaults(fill_in)], watched_kinds([controller]))
        metrics = WebhookMetrics(manager.metrics.registry)
        await cluster.serve(Webhooks(*served, factory=manager.factory, metrics=metrics))
        async with manager:
            assert manager.metrics_server is not None
            async with scraped(programs, rules, manager.metrics_server.port) as session, asyncio.timeout(SHOWN):
                empty, number = set(queries), 0
                while empty:
                    number += 1
                    spec = ShopSpec(replicas=13 if number == 1 else 1)
                    await cluster.client.create(Shop.named(f"s{number}", "default", spec=spec))
                    empty = {item for item in empty if not is_data(await asked(session, "query", query=queries[item]))}
                    await asyncio.sleep(0.5)
                groups = (await asked(session, "rules"))["groups"]
                while any(rule["health"] == "unknown" for rule in groups[0]["rules"]):
                    await asyncio.sleep(0.5)
                    groups = (await asked(session, "rules"))["groups"]
                assert {
                    rule["name"]: rule.get("lastError", "") for rule in groups[0]["rules"] if rule["health"] != "ok"
                } == {}
                assert {rule["name"] for rule in groups[0]["rules"] if rule["alerts"]} == set(), "all is well"
