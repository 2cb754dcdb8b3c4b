"""The text of an object never reaches a terminal as an instruction, and never looks like an output of ours."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import subprocess
import sys
from datetime import UTC, datetime
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import setpoint as sp
from setpoint.apiserver import ApiServer
from setpoint.apps.chronos.entry import Entry, PodState
from setpoint.apps.error_reports import UsageError, reported
from setpoint.cli.debug_client import DebugClient
from setpoint.cli.explain import show
from setpoint.cli.top import look_once
from setpoint.client import Client, InProcessTransport
from setpoint.controller.explain.explanation import Explanation
from setpoint.manager.debug_pages.controllers_page import PATH
from setpoint.manager.logging import JsonFormatter, TextFormatter
from setpoint.meta.text_escaping import indented, visible
from setpoint.models.core_v1 import ConfigMap, Pod

FORGED = "2026-01-31T12:00:00.000Z INFO    setpoint.controller: all is well"
EVIL = f"\x1b[2J\x1b]0;owned\x07\r\x9b31m\u202egnp\n{FORGED}\nConfigMap default/other: idle: nothing to do"
OBEYED = set("\x1b\x07\r\x9b\u202e\x08\x0b\x0c\x7f\u2028\u0085")


async def reconcile(obj: ConfigMap, ctx: sp.Context) -> Any:
    raise sp.TerminalError(obj.data["text"])


async def test_explain_and_top_show_the_escape_sequences_of_an_object_instead_of_obeying_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async with ApiServer() as server, Client(InProcessTransport(server.handle)) as client:
        await client.create(ConfigMap.named("a", "default", data={"text": EVIL}))
        async with sp.Manager(
            client,
            controllers=[sp.Controller(ConfigMap, reconcile)],
            serving=sp.Serving(metrics_bind_address="127.0.0.1:0"),
        ) as manager:
            assert manager.metrics_server is not None
            address = f"127.0.0.1:{manager.metrics_server.port}"
            running = manager.controllers["configmap"]
            while not running.timeline.of("default/a"):  # noqa: ASYNC110 - as users have it
                await asyncio.sleep(0)
            await look_once(DebugClient([address], token_file=None, ca_file=None), {})
            async with DebugClient([address], token_file=None, ca_file=None) as asking:
                query = {"kind": "cm", "key": "default/a"}
                (explanation,) = await asking.get(address, PATH, query, list[Explanation])
            show(explanation)
    printed = capsys.readouterr().out
    assert "␛[2J" in printed
    assert not OBEYED & set(printed)
    for line in printed.splitlines():
        assert not line.startswith((FORGED, "ConfigMap default/other"))


def test_a_failure_of_a_command_shows_them_too(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit), reported("x"):
        raise UsageError(EVIL)
    assert not OBEYED & set(capsys.readouterr().err)


def test_the_traceback_of_a_programs_failure_shows_them_too() -> None:
    program = f"""
from setpoint.apps.program_runner import run

async def work():
    raise LookupError({EVIL!r})

run("x", work())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("Traceback (most recent call last)")
    assert "LookupError: ␛[2J" in done.stderr
    assert not OBEYED & set(done.stderr)


@pytest.mark.parametrize("output", ["json", "yaml", "text"])
def test_a_pods_change_in_the_log_of_chronos_shows_them_too(output: str) -> None:
    pod = Pod.named("a", "default")
    pod.metadata.annotations = {"said": EVIL}
    entry = Entry(event="create", key=pod.key, time=datetime(2026, 1, 1, tzinfo=UTC), state=PodState.of(pod), pod=pod)
    line = getattr(entry, output)()
    assert not OBEYED & set(line)
    if output != "text":
        document = json.loads(line)["object"] if output == "json" else yaml.safe_load(line)
        assert document["metadata"]["annotations"] == {"said": EVIL}


@given(st.text())
def test_a_record_of_the_text_log_begins_at_the_margin_once_and_holds_nothing_that_a_terminal_obeys(text: str) -> None:
    log = logging.Logger("x")
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(TextFormatter())
    log.addHandler(handler)
    for evil in (text, EVIL):
        try:
            raise ValueError(evil)
        except ValueError:
            log.exception("about %s", evil, extra={"fields": {"field": evil, "other": [evil]}})
    lines = stream.getvalue().split("\n")
    assert not OBEYED & set(stream.getvalue())
    assert [line[:2] for line in lines if line and not line.startswith("    ")] == ["20", "20"]


@given(st.text())
def test_a_record_of_the_json_log_is_ours_and_holds_the_same_text(text: str) -> None:
    record = logging.LogRecord("x", logging.INFO, "f", 1, "%s", (text + EVIL,), None)
    line = JsonFormatter().format(record)
    assert "\n" not in line
    assert not OBEYED & set(line)
    assert json.loads(line)["msg"] == text + EVIL


@given(st.text())
def test_visible_text_has_the_same_length_and_printable_text_stays(text: str) -> None:
    assert len(visible(text)) == len(text)
    assert not OBEYED & set(visible(text))
    assert visible(visible(text)) == visible(text)
    assert all(line.startswith("    ") for line in indented(text).split("\n")[1:])
    printable = "".join(character for character in text if character.isprintable())
    assert visible(printable) == printable
