"""``setpoint top``: the numbers of a running operator, in lines for pipes and in tables for people."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.console import Console
from tests.manager.test_manager_page import looked_at
from tests.programs import program

from setpoint.cli.debug_client import DebugClient
from setpoint.cli.top import look_at, look_once, screen


async def test_a_pipe_gets_plain_lines_with_everything_that_is_stuck(capsys: pytest.CaptureFixture[str]) -> None:
    async with looked_at() as (session, _):
        addresses = [str(session._base_url), "127.0.0.1:1"]

        async def look(query: dict[str, str | list[str]]) -> None:
            await look_once(DebugClient(addresses, token_file=None, ca_file=None), query)

        await look({})
        out, err = capsys.readouterr()
        lines = out.splitlines()
        assert lines[0] == f"process at {session._base_url}: leads, by the lease default/beat"
        assert lines[1] == "controller beat: running, 0 of 8 workers busy, 0 queued, 1 delayed, errors so far: 0"
        assert re.fullmatch(r"cache configmaps of beat: 2 objects, last answer \d+ s ago", lines[2])
        assert lines[3] in ("objects: 1 idle, 1 waiting", "objects: 1 waiting, 1 idle")
        later = re.compile(r"ConfigMap default/later: waiting: next in \d+(\.\d+)? s")
        assert later.match(lines[4])
        assert lines[5].startswith("ConfigMap default/now: idle: nothing to do")
        assert err.startswith("setpoint top: http://127.0.0.1:1 can't be reached: ")

        await look({"find": "later", "limit": "1"})
        counted, line = capsys.readouterr().out.splitlines()[3:]
        assert counted == "objects: 1 waiting"
        assert later.match(line)
        await look({"limit": "1"})
        assert capsys.readouterr().out.splitlines()[-1] == "and 1 more: narrow the list with --find or --state"
        with pytest.raises(SystemExit):
            await look({"state": ["sad"]})
        assert "there is no state 'sad'; available: backing off" in capsys.readouterr().err


async def test_a_terminal_gets_as_many_objects_as_it_has_lines() -> None:
    async with looked_at() as (session, _):
        async with DebugClient([str(session._base_url)], token_file=None, ca_file=None) as client:
            (first,), _ = await look_at(client, {})
            (second,), _ = await look_at(client, {})
        second = second._replace(at=first.at + 2)
        second.controllers[0].results["success"] += 10
        for height, more in ((40, False), (1, False)):
            written = io.StringIO()
            console = Console(file=written, width=100, height=height, force_terminal=False)
            console.print(screen([second], {first.address: first}, ["127.0.0.1:1: no answer"], height))
            text = written.getvalue()
            assert "setpoint top: 127.0.0.1:1: no answer" in text
            assert "leads, by the lease default/beat" in text
            row = next(line for line in text.splitlines() if line.startswith("beat"))
            *numbers, oldest, unit = row.split()
            assert numbers == ["beat", "running", "0/8", "0", "1", "5.0", "0.0", "0"]
            assert (oldest.isdigit(), unit) == (True, "s")
            assert "ConfigMap default/later" in text
            assert ("more" in text) is more


async def test_a_process_that_is_not_there_is_named_in_one_line(tmp_path: Path) -> None:
    async with program("-m", "setpoint", "top", "-a", "127.0.0.1:1", home=tmp_path) as asked:
        assert await asked.ended() == 1
        (line,) = asked.err
        assert line.startswith("setpoint top: http://127.0.0.1:1 can't be reached: ")
        assert "object at" not in line
        assert line.endswith("is a manager with --metrics-bind-address running there?")
