"""``setpoint record`` as its users meet it: it says what it does, and leaves a whole file behind when it is ended."""

from __future__ import annotations

import json
import signal
from pathlib import Path

from tests.programs import program, server

from setpoint.client import Client
from setpoint.models.core_v1 import ConfigMap, Secret


async def test_ctrl_c_leaves_a_whole_recording(tmp_path: Path) -> None:
    async with server(tmp_path, "--no-control-plane") as (_, _, kubeconfig):
        words = ("record", "--out", tmp_path / "r.jsonl", "--kubeconfig", kubeconfig, "secrets", "cm")
        async with program("-m", "setpoint", *words, home=tmp_path) as running, Client.from_kubeconfig(kubeconfig) as c:
            await running.until(lambda p: any("recording secrets, configmaps" in line for line in p.err), "beginning")
            for number in range(20):
                await c.create(ConfigMap.named(f"c{number}", "default"))
                await c.create(Secret.named(f"s{number}", "default", string_data={"password": "hunter2"}))
            assert await running.signalled(signal.SIGINT) == 0, running.printed()
        assert any(f"recorded changes in {tmp_path / 'r.jsonl'}: " in line for line in running.err)
        for line in (tmp_path / "r.jsonl").read_bytes().splitlines(keepends=True):
            assert line.endswith(b"\n")
            assert json.loads(line)


async def test_what_can_not_be_recorded_is_said_in_one_line(tmp_path: Path) -> None:
    async with server(tmp_path, "--no-control-plane") as (_, _, kubeconfig):
        for words, answer in (
            ((), "name the kinds to record"),
            (("wombats",), "wombats"),
            (("--redact", "data", "cm"), "give a collection and a path"),
        ):
            options = ("record", "--out", tmp_path / "r.jsonl", "--kubeconfig", kubeconfig, *words)
            async with program("-m", "setpoint", *options, home=tmp_path) as running:
                assert await running.ended() == 1
            assert answer in "\n".join(running.err)
            assert "Traceback" not in running.printed()
            assert not [*tmp_path.glob("r.jsonl*")], "nothing is left of a recording that did not begin"
