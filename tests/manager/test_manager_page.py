"""The page for people and what it asks: off by default, without data in its files, and with nothing from elsewhere."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest

import setpoint as sp
from setpoint.apiserver import ApiServer
from setpoint.client import Client, InProcessTransport
from setpoint.controller.explain.object_listing import Listed, Listing
from setpoint.manager import Manager, Serving, ui
from setpoint.manager.http_server import Answer
from setpoint.manager.leader_election.config import LeaderElection
from setpoint.manager.processes.merged_pages import MergedPages
from setpoint.models.core_v1 import ConfigMap, Secret

from .test_child_processes import Answering
from .test_secure_metrics import Judge

ASSETS = Path(ui.__file__).parent / "assets"
FORWARDED = {"x-forwarded-for": "192.0.2.7"}


async def reconcile(obj: ConfigMap, ctx: sp.Context) -> sp.Outcome | None:
    return sp.after(600, "it is looked at again") if obj.name == "later" else None


@asynccontextmanager
async def looked_at(**options: Any) -> AsyncIterator[tuple[aiohttp.ClientSession, Client]]:
    async with ApiServer() as server, Client(InProcessTransport(server.handle)) as client:
        for name in ("now", "later"):
            await client.create(ConfigMap.named(name, "default"))
        manager = Manager(
            client,
            controllers=[sp.Controller(ConfigMap, reconcile, name="beat")],
            leader_election=LeaderElection(name="beat", identity="me"),
            serving=Serving(metrics_bind_address="127.0.0.1:0", **options),
        )
        async with manager:
            await manager.elected.wait()
            assert manager.metrics_server is not None
            base = f"http://127.0.0.1:{manager.metrics_server.port}/"
            run = manager.controllers["beat"]
            while not (run.state == "running" and run.idle() and len(run.timeline) == 2):  # noqa: ASYNC110 - as users have it
                await asyncio.sleep(0)
            async with aiohttp.ClientSession(base) as session:
                yield session, client


async def get(session: aiohttp.ClientSession, path: str, **options: Any) -> tuple[int, str]:
    async with session.get(path, **options) as answer:
        return answer.status, await answer.text()


async def test_the_page_is_off_by_default_and_terminals_are_answered_nevertheless() -> None:
    async with looked_at() as (session, _):
        for path in ("/ui", "/ui/", "/ui/app.js", "/debug/details?controller=beat&key=default/now"):
            assert (await get(session, path))[0] == 404
        assert (await get(session, "/debug/objects"))[0] == 200
        assert (await get(session, "/debug/manager"))[0] == 200
    with pytest.raises(ValueError, match="the page is served beside the metrics"):
        Serving(ui=True)


async def test_the_page_comes_with_its_files_and_lets_nothing_else_in() -> None:
    async with looked_at(ui=True) as (session, _):
        async with session.get("/ui", allow_redirects=False) as answer:
            assert (answer.status, answer.headers["location"]) == (308, "ui/")
        async with session.get("/ui/") as answer:
            assert answer.content_type == "text/html"
            policy = answer.headers["content-security-policy"]
            assert policy.startswith("default-src 'none'; script-src 'self';")
            assert "unsafe" not in policy
            page = await answer.text()
        matches = re.findall(r'(?:src|href)="([^":]+)"', page)
        assert matches == ["style.css", "app.js"]
        script = (ASSETS / "app.js").read_text()
        matches += re.findall(r"from '\./([^']+)'", script)
        assert matches[2:] == [
            "preact.js",
            "attempts.js",
            "cluster.js",
            "owners.js",
            "parts.js",
            "timeline.js",
            "words.js",
        ]
        for name in matches:
            assert await get(session, f"/ui/{name}") == (200, (ASSETS / name).read_text())
        for name in ("none.js", "__init__.py", "preact.LICENSE", "%2e%2e/__init__.py"):
            assert (await get(session, f"/ui/{name}"))[0] == 404
    for file in ASSETS.iterdir():
        if file.name not in ("preact.js", "preact.LICENSE"):
            assert "//" not in re.sub(r"(^|\s)//.*", "", file.read_text()), f"{file.name} names another place"


async def test_data_is_refused_to_others_while_the_page_can_ask_them_for_a_token() -> None:
    async with looked_at(ui=True) as (session, _):
        assert (await get(session, "/ui/", headers=FORWARDED))[0] == 200
        for path in ("manager", "objects", "details?controller=beat&key=default/now", "controllers"):
            assert (await get(session, f"/debug/{path}", headers=FORWARDED))[0] == 401


@pytest.mark.parametrize(
    "header",
    [
        *("X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host", "Forwarded", "Via", "X-Real-IP", "X-Request-Id"),
        *("X-Envoy-Attempt-Count", "X-Envoy-Peer-Metadata", "L5d-Client-Id", "True-Client-IP", "CF-Connecting-IP"),
    ],
)
async def test_a_request_with_a_header_that_only_proxies_add_is_not_local(header: str) -> None:
    async with looked_at() as (session, _):
        assert (await get(session, "/debug/manager", headers={header: "x"}))[0] == 401
        browser = {
            "Sec-Fetch-Mode": "cors",
            "Accept-Language": "de",
            "DNT": "1",
            "Cookie": "a=b",
            "Referer": "http://x",
        }
        assert (await get(session, "/debug/manager", headers=browser))[0] == 200


async def test_the_content_of_an_object_is_for_those_who_may_get_it_and_of_a_secret_for_none() -> None:
    async with ApiServer() as server:
        judge = Judge(InProcessTransport(server.handle))
        judge.users = {"hers": "ada", "his": "bob", "operators": "carl"}
        judge.allows = lambda spec: (
            (spec["user"], spec.get("resourceAttributes", {}).get("resource"))
            in {
                ("ada", "secrets"),
                ("carl", None),
            }
        )
        async with Client(judge) as client:
            secret = Secret.named(
                "till", "default", string_data={"key": "hush-hush"}, annotations={"copy": "hush-hush"}
            )
            await client.create(secret)
            manager = Manager(
                client,
                controllers=[sp.Controller(Secret, quiet, name="keys")],
                serving=Serving(metrics_bind_address="127.0.0.1:0", ui=True),
            )
            async with manager:
                assert manager.metrics_server is not None
                await asyncio.wait_for(manager.started.wait(), 30)
                async with aiohttp.ClientSession(f"http://127.0.0.1:{manager.metrics_server.port}/") as session:
                    path = "/debug/yaml?controller=keys&key=default/till"

                    async def asked(path: str, token: str = "", **more: str) -> tuple[int, str]:
                        headers = {"authorization": f"Bearer {token}"} if token else {}
                        return await get(session, path, headers={**headers, **more})

                    assert (await asked(path))[0] == 401, "a program of this machine, too"
                    assert (await asked(path, "nobodys"))[0] == 401
                    assert (await asked(f"{path}s", "nobodys"))[0] == 401, "nor is it told that there is none"
                    assert (await asked(f"{path}s", "his"))[0] == 403
                    assert (await asked(f"{path}s", "hers"))[0] == 404
                    answer = (403, "forbidden: bob may not get secrets default/till\n")
                    assert await asked(path, "his") == answer
                    assert judge.asked[-1]["resourceAttributes"] == {
                        "group": "", "resource": "secrets", "version": "*", "verb": "get", "namespace": "default",
                        "name": "till",
                    }  # fmt: skip
                    status, text = await asked(path, "hers")
                    assert status == 200
                    assert "hush" not in text
                    document = json.loads(text)
                    assert 'key: "(hidden)"' in document["yaml"]
                    assert "managedFields" not in document["yaml"]
                    assert "the content of a Secret" in document["hidden"]
                    assert (await asked(path, "hers", **FORWARDED))[0] == 403, "over the network the path counts, too"
                    assert (await asked(path, "operators", **FORWARDED))[0] == 403, "and so does the object"
                    assert (await asked(path.replace("till", "none"), "hers"))[0] == 404
                    assert (await asked(path.replace("keys", "none"), "hers"))[0] == 404


async def quiet(secret: Secret, ctx: sp.Context) -> None:
    """Nothing to do."""


async def test_what_the_page_asks_for_is_answered_and_wrong_questions_are_named() -> None:
    async with looked_at(ui=True) as (session, _):
        document = json.loads((await get(session, "/debug/manager"))[1])
        assert document["election"] == {"lease": "default/beat", "identity": "me", "leader": "me", "leads": True}
        assert (document["unready"], document["unhealthy"]) == ({}, {})
        listing = json.loads((await get(session, "/debug/objects?find=DEFAULT&limit=1"))[1])
        assert listing["counts"] == {"waiting": 1, "idle": 1}
        assert [(obj["key"], obj["state"]) for obj in listing["objects"]] == [("default/later", "waiting")]
        detail = json.loads((await get(session, "/debug/details?controller=beat&key=default/later"))[1])
        assert detail["explanation"]["text"].endswith("as its last reconcile asked for: it is looked at again")
        for question, status, words in (
            ("objects?controller=none", 404, "there is no controller 'none'; available: beat"),
            ("objects?state=sad", 404, "there is no state 'sad'; available: backing off"),
            ("objects?limit=501", 400, "limit must be a number from 0 to 500"),
            ("objects?limit=x", 400, "limit must be a number from 0 to 500"),
            ("details?controller=none&key=a", 404, "there is no controller 'none'"),
        ):
            result, text = await get(session, f"/debug/{question}")
            assert (result, json.loads(text)["error"][: len(words)]) == (status, words)


async def test_objects_of_several_processes_are_listed_once_and_shown_by_the_one_that_has_them() -> None:
    def page(key: str, state: str) -> Answer:
        one = Listed(
            controller="beat", kind="ConfigMap", key=key, state=state, text="", since=None, until=None, failures=0
        )
        return Answer(200, msgspec.json.encode(Listing(counts={state: 1}, matched=1, objects=[one])))

    processes = Answering({0: page("a", "idle"), 1: page("b", "failed"), 2: None})
    answer = await MergedPages(processes).objects("", {"limit": ["5"]}, {})
    listing = json.loads(answer.body)
    assert [obj["key"] for obj in listing["objects"]] == ["b", "a"]
    assert (listing["counts"], listing["matched"]) == ({"idle": 1, "failed": 1}, 2)

    def shown(state: str) -> Answer:
        return Answer(200, json.dumps({"explanation": {"state": state}}).encode())

    processes = Answering({0: shown("not in this shard"), 1: shown("failed"), 2: None})
    answer = await MergedPages(processes).details("", {}, {})
    assert json.loads(answer.body)["explanation"]["state"] == "failed"

    here, nowhere = Answer(200, b'{"yaml":"a"}'), Answer(404, b'{"error":"not here"}')
    assert await MergedPages(Answering({0: nowhere, 1: here, 2: None})).document("", {}, {}) == here
    assert await MergedPages(Answering({0: None, 1: nowhere})).document("", {}, {}) == nowhere
    merged = MergedPages(Answering({0: None}))
    for silent in (merged.objects, merged.details, merged.document):
        assert (await silent("", {}, {})).status == 503
    refused = Answering({0: Answer(404, b'{"error":"no"}')})
    assert (await MergedPages(refused).objects("", {}, {})).status == 404
