"""Credentials: tokens that rotate, plugins that misbehave, refreshes."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import os
import pty
import stat
import subprocess
import sys
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.programs import DEADLINE

from setpoint.client import (
    Client,
    ClientConfig,
    CredentialsError,
    HttpTransport,
    Request,
    StaticToken,
    TokenFile,
    Unauthorized,
    exec_plugin,
)
from setpoint.client.exec_plugin import ExecPlugin, ExecPluginConfig
from setpoint.client.oidc import Oidc, OidcConfig
from setpoint.testing import run

from .conftest import Answer, Server, Thing, answer, failure, listening

pytestmark = pytest.mark.wall_clock

V1 = "client.authentication.k8s.io/v1"


def test_a_rotated_token_file_is_read_again_within_a_minute(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("one\n")

    async def main() -> None:
        credentials = TokenFile(path)
        assert await credentials.authorization() == "Bearer one"
        path.write_text("two")
        assert await credentials.authorization() == "Bearer one"
        await asyncio.sleep(60)
        assert await credentials.authorization() == "Bearer two"
        path.unlink()
        await asyncio.sleep(60)
        assert await credentials.authorization() == "Bearer two", "an unreadable file does not take the token away"

    run(main())


async def test_a_token_file_that_was_never_read_is_an_error_with_its_path(tmp_path: Path) -> None:
    with pytest.raises(CredentialsError, match=r"gone can't be read: No such file"):
        await TokenFile(tmp_path / "gone").authorization()
    (tmp_path / "empty").write_text(" \n")
    with pytest.raises(CredentialsError, match=r"empty is empty"):
        await TokenFile(tmp_path / "empty").authorization()
    assert await TokenFile(tmp_path / "gone", fallback="f").authorization() == "Bearer f"


async def test_a_token_is_found_as_soon_as_its_file_is_there(tmp_path: Path) -> None:
    credentials = TokenFile(tmp_path / "token")
    with pytest.raises(CredentialsError):
        await credentials.authorization()
    (tmp_path / "token").write_text("mounted")
    assert await credentials.authorization() == "Bearer mounted"


async def test_a_401_has_the_token_file_read_at_once_and_the_request_sent_again(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("old")

    def behave(request: Request) -> Answer:
        if request.headers.get("authorization") != "Bearer new":
            return failure(401, "Unauthorized")
        return answer({"metadata": {"name": "a"}})

    async with listening(Server(behave)) as url:
        async with Client(HttpTransport(ClientConfig(server=url, credentials=TokenFile(path)))) as client:
            with pytest.raises(Unauthorized):
                await client.get(Thing, "a")
            path.write_text("new")
            assert (await client.get(Thing, "a")).name == "a"
        async with Client(HttpTransport(ClientConfig(server=url, credentials=StaticToken("x")))) as client:
            with pytest.raises(Unauthorized):
                await client.get(Thing, "a")


# -- exec plugins -----------------------------------------------------------------------------------------------------


def plugin(tmp_path: Path, body: str, *, timeout: float = 20, now: Any = None, **config: Any) -> ExecPlugin:
    """A plugin that is a Python program; it counts its runs in ``runs``."""
    path = tmp_path / "plugin"
    path.write_text(
        f"#!{sys.executable} -SE\nimport json, os, sys, time\n"
        f"open({str(tmp_path / 'runs')!r}, 'a').write('x')\n"
        "def say(version=None, kind='ExecCredential', **status):\n"
        "    info = json.loads(os.environ['KUBERNETES_EXEC_INFO'])\n"
        "    print(json.dumps({'apiVersion': version or info['apiVersion'], 'kind': kind, 'status': status}))\n" + body
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    config = {
        "command": str(path),
        "api_version": V1,
        "install_hint": "get it at x",
        **config,
    }
    options = {} if now is None else {"now": now}
    return ExecPlugin(ExecPluginConfig(source="user 'u' in f", **config), timeout=timeout, **options)


def runs(tmp_path: Path) -> int:
    return len((tmp_path / "runs").read_text())


async def test_a_plugin_runs_once_however_many_wait(tmp_path: Path) -> None:
    credentials = plugin(tmp_path, "time.sleep(0.05); say(token='t')")
    assert set(await asyncio.gather(*(credentials.authorization() for _ in range(20)))) == {"Bearer t"}
    assert await credentials.certificate() is None
    assert runs(tmp_path) == 1


@pytest.mark.parametrize("version", [V1, "client.authentication.k8s.io/v1beta1"])
async def test_a_plugin_is_told_what_it_is_for(tmp_path: Path, version: str) -> None:
    credentials = plugin(
        tmp_path,
        "say(token='|'.join([os.environ['KUBERNETES_EXEC_INFO'].replace(' ', ''), os.environ['A'], *sys.argv[1:]]))",
        api_version=version,
        args=("arg",),
        env={"A": "b"},
        cluster={"server": "https://h"},
    )
    info, rest = (await credentials.authorization()).removeprefix("Bearer ").split("|", 1)
    assert json.loads(info) == {
        "apiVersion": version,
        "kind": "ExecCredential",
        "spec": {"interactive": False, "cluster": {"server": "https://h"}},
    }
    assert rest == "b|arg"


async def test_a_plugins_credential_is_kept_until_it_expires_or_is_rejected(tmp_path: Path) -> None:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    clock = [moment]
    credentials = plugin(
        tmp_path, "say(token='t%d' % time.time_ns(), expirationTimestamp='2026-01-01T01:00:00Z')", now=lambda: clock[0]
    )
    first = await credentials.authorization()
    clock[0] += timedelta(minutes=59)
    assert await credentials.authorization() == first
    assert await credentials.rejected(first)
    second = await credentials.authorization()
    assert second != first
    assert await credentials.rejected(first), "a stale rejection asks again, and keeps what is new"
    assert await credentials.authorization() == second
    clock[0] += timedelta(minutes=2)
    assert await credentials.authorization() != second
    assert runs(tmp_path) == 3


ASK = r"""
import asyncio, sys
from setpoint.client.exec_plugin import ExecPlugin, ExecPluginConfig

_, command, version, mode, timeout = sys.argv
plugin = ExecPlugin(ExecPluginConfig(command, version, interactive_mode=mode), timeout=float(timeout))
try:
    print("header", asyncio.run(plugin.authorization()), flush=True)
except Exception as problem:
    print("failed:", problem, flush=True)
"""


def at_a_terminal(mode: str, command: str, answers: bytes, *, timeout: float = 20) -> str:
    """The output of a program at a terminal, whose plugin is ``command`` and whose user types ``answers``."""
    here, there = pty.openpty()
    argv = [sys.executable, "-c", ASK, command, V1, mode, str(timeout)]
    with subprocess.Popen(argv, stdin=there, stdout=there, stderr=there, start_new_session=True) as process:
        os.close(there)
        os.write(here, answers)
        output = b""
        with suppress(OSError):  # the end of a terminal
            while chunk := os.read(here, 4096):
                output += chunk
        process.wait()
    os.close(here)
    return output.decode()


def test_a_plugin_asks_the_user_at_a_terminal_and_has_no_time_limit_there(tmp_path: Path) -> None:
    body = "sys.stderr.write('code? '); sys.stderr.flush(); code = input(); say(token=code)"
    command = plugin(tmp_path, body)._config.command
    for mode in ("IfAvailable", "Always"):
        output = at_a_terminal(mode, command, b"ABC\n", timeout=0.001)
        assert "code? " in output
        assert "header Bearer ABC" in output
    slow = plugin(tmp_path, "say(token='device')")._config.command
    assert "header Bearer device" in at_a_terminal("Never", slow, b"", timeout=0.001), "its code is entered elsewhere"
    text = "say(token=str(json.loads(os.environ['KUBERNETES_EXEC_INFO'])['spec']['interactive']))"
    command = plugin(tmp_path, text)._config.command
    assert "header Bearer True" in at_a_terminal("IfAvailable", command, b"")
    assert "header Bearer False" in at_a_terminal("Never", command, b"")
    assert "failed" in at_a_terminal("Never", plugin(tmp_path, body)._config.command, b"ABC\n")


async def test_what_a_plugin_says_is_shown_while_it_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: asyncio.Queue[str] = asyncio.Queue()

    class Stderr(io.StringIO):
        def write(self, text: str) -> int:
            shown.put_nowait(text)
            return len(text)

    monkeypatch.setattr(sys, "stderr", Stderr())
    go = tmp_path / "go"
    body = (
        "sys.stderr.write('open https://x and enter ABC\\n'); sys.stderr.flush()\n"
        f"while not os.path.exists({str(go)!r}): time.sleep(0.01)\nsay(token='t')"
    )
    waiting = asyncio.ensure_future(plugin(tmp_path, body).authorization())
    assert await shown.get() == "open https://x and enter ABC\n"
    assert not waiting.done()
    go.touch()
    assert await waiting == "Bearer t"


async def test_a_plugin_that_must_be_interactive_needs_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    with pytest.raises(CredentialsError, match="interactiveMode is Always, but stdin is not a terminal"):
        await plugin(tmp_path, "say(token='t')", interactive_mode="Always").authorization()


async def test_a_plugin_may_print_yaml(tmp_path: Path) -> None:
    lines = [
        f"apiVersion: {V1}",
        "kind: ExecCredential",
        "status:",
        "  token: t",
        "  expirationTimestamp: 2100-01-01T00:00:00Z",
    ]
    credentials = plugin(tmp_path, f"print({chr(10).join(lines)!r})")
    assert await credentials.authorization() == "Bearer t"
    assert await credentials.authorization() == "Bearer t"
    assert runs(tmp_path) == 1


async def test_a_plugins_client_certificate_is_used(tmp_path: Path) -> None:
    credentials = plugin(tmp_path, "say(clientCertificateData='C', clientKeyData='K')")
    certificate = await credentials.certificate()
    assert certificate is not None
    assert (certificate.cert_data, certificate.key_data) == (b"C", b"K")
    assert await credentials.authorization() == ""


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("sys.stderr.write('no ticket'); sys.exit(3)", "ended with exit code 3; its output: no ticket\nget it at x"),
        ("print('<html>')", "printed something other than an ExecCredential: JSON is malformed"),
        ("print()", "printed something other than an ExecCredential"),
        (
            'sys.stdout.buffer.write(b\'{"kind": "\\xff"}\')',
            "printed something other than an ExecCredential: .*(?i:utf-8)",
        ),
        ("print('{\"status\": ' + '[' * 100_000)", "printed something other than an ExecCredential"),
        ("print('{\"more\": ' + '[' * 1_000_000)", "printed something other than an ExecCredential: nested too deeply"),
        ("say(version='v0', token='t')", "printed v0 ExecCredential; .* was expected"),
        ("say(kind='Pod')", "Pod; .* was expected"),
        ("say()", "printed neither a token nor a client certificate"),
        ("say(clientKeyData='k')", "a key without its certificate"),
        ("say(token='a\\nb')", "invalid token"),
        ("sys.stdout.write('x' * 3_000_000)", "printed more than"),
    ],
)
async def test_what_is_wrong_with_a_plugin_is_said(tmp_path: Path, body: str, message: str) -> None:
    credentials = plugin(tmp_path, body)
    with pytest.raises(CredentialsError, match=rf"(?s)exec plugin '.*plugin' of user 'u' in f .*{message}"):
        await credentials.authorization()


async def test_a_busy_loop_still_reads_the_last_words_of_a_plugin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = asyncio.Event()
    wait, drain = asyncio.subprocess.Process.wait, exec_plugin._drain

    async def waits(process: asyncio.subprocess.Process) -> int:
        code = await wait(process)
        ended.set()
        return code

    async def reads_late(stream: asyncio.StreamReader, kept: bytearray) -> None:
        await ended.wait()
        await drain(stream, kept)

    monkeypatch.setattr(asyncio.subprocess.Process, "wait", waits)
    monkeypatch.setattr(exec_plugin, "_drain", reads_late)
    with pytest.raises(CredentialsError, match="ended with exit code 3; its output: no ticket"):
        await plugin(tmp_path, "sys.stderr.write('no ticket'); sys.exit(3)").authorization()


async def test_a_plugin_that_is_not_there_says_how_to_get_it(tmp_path: Path) -> None:
    credentials = plugin(tmp_path, "", command="/nowhere/x")
    with pytest.raises(CredentialsError, match=r"'/nowhere/x' .*can't be run: No such file or directory\nget it at x"):
        await credentials.authorization()


async def test_a_plugin_that_hangs_is_killed_with_what_it_started(tmp_path: Path) -> None:
    credentials = plugin(tmp_path, "import subprocess; subprocess.run(['sleep', '1000'])", timeout=0.4)
    with pytest.raises(CredentialsError, match=r"gave no answer within 0.4 s"):
        await credentials.authorization()


async def test_what_a_plugin_left_behind_is_killed_when_it_holds_the_answer_back(tmp_path: Path) -> None:
    left, script = tmp_path / "left", tmp_path / "script"
    script.write_text(f"#!/bin/sh\nsleep 1000 &\necho $! > {left}\n")  # a shell has begun long before the deadline
    script.chmod(0o700)
    with pytest.raises(CredentialsError, match=r"gave no answer within 1 s"):
        await plugin(tmp_path, "", timeout=1, command=str(script)).authorization()
    stat = Path(f"/proc/{left.read_text().strip()}/stat")
    async with asyncio.timeout(DEADLINE):
        while stat.exists() and stat.read_text().split()[2] != "Z":  # noqa: ASYNC110 - another process ends
            await asyncio.sleep(0.01)


async def test_who_waits_runs_the_plugin_when_who_ran_it_gave_up(tmp_path: Path) -> None:
    """Not the credential that has expired, nor an old failure."""
    clock = [datetime(2026, 1, 1, tzinfo=UTC)]
    body = (
        f"n = os.path.getsize({str(tmp_path / 'runs')!r})\n"
        "time.sleep(1000 if n == 2 else 0)\n"
        "say(token='t%d' % n, expirationTimestamp='2026-01-01T00:01:00Z' if n == 1 else None)\n"
    )
    credentials = plugin(tmp_path, body, now=lambda: clock[0])
    assert await credentials.authorization() == "Bearer t1"
    clock[0] += timedelta(minutes=2)
    first = asyncio.ensure_future(credentials.authorization())
    await asyncio.sleep(0)
    second = asyncio.ensure_future(credentials.authorization())
    while runs(tmp_path) < 2:  # noqa: ASYNC110 - another process makes it
        await asyncio.sleep(0.01)
    first.cancel()
    assert await second == "Bearer t3"


async def test_those_who_waited_for_a_failing_plugin_share_its_failure(tmp_path: Path) -> None:
    credentials = plugin(tmp_path, "time.sleep(0.05); sys.exit(1)")
    results = await asyncio.gather(*(credentials.authorization() for _ in range(10)), return_exceptions=True)
    assert all(isinstance(result, CredentialsError) for result in results)
    assert runs(tmp_path) == 1
    with pytest.raises(CredentialsError):
        await credentials.authorization()
    assert runs(tmp_path) == 2, "the next to come tries anew"


async def test_a_plugin_is_run_again_after_a_401(tmp_path: Path) -> None:
    credentials = plugin(tmp_path, f"say(token='t%d' % os.path.getsize({str(tmp_path / 'runs')!r}))")

    def behave(request: Request) -> Answer:
        good = request.headers["authorization"] == "Bearer t2"
        return answer({"metadata": {"name": "a"}}) if good else failure(401, "Unauthorized")

    async with (
        listening(Server(behave)) as url,
        Client(HttpTransport(ClientConfig(server=url, credentials=credentials))) as client,
    ):
        await client.get(Thing, "a")
    assert runs(tmp_path) == 2


async def test_closing_the_client_ends_a_plugin_that_runs(tmp_path: Path) -> None:
    credentials = plugin(tmp_path, "time.sleep(1000)", timeout=500)
    client = Client(HttpTransport(ClientConfig(server="http://127.0.0.1:1", credentials=credentials)))
    task = asyncio.create_task(client.get(Thing, "a"))
    while not (tmp_path / "runs").exists():  # noqa: ASYNC110 - another process makes it
        await asyncio.sleep(0.01)
    await client.close()
    with pytest.raises(Exception, match="closed"):
        await task


# -- OIDC -------------------------------------------------------------------------------------------------------------


def jwt(expires: datetime, name: str = "t") -> str:
    payload = (
        base64.urlsafe_b64encode(json.dumps({"exp": expires.timestamp(), "n": name}).encode()).decode().rstrip("=")
    )
    return f"h.{payload}.s"


async def test_an_expired_id_token_is_refreshed_once_for_all_who_wait() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    fresh = jwt(now + timedelta(hours=1))

    def behave(request: Request) -> Answer:
        if request.path == "/realm/.well-known/openid-configuration":
            return answer({"token_endpoint": f"{url}/token?a=b"})
        if b"refresh_token=r1" not in (request.body or b"") or b"client_secret" not in (request.body or b""):
            return answer({"error": "invalid_client"}, 401)
        return answer({"id_token": fresh, "refresh_token": "r2"})

    server = Server(behave)
    async with listening(server) as url:
        config = OidcConfig(f"{url}/realm/", "c", "secret", jwt(now), "r1", "user 'u'")
        credentials = Oidc(config, lambda address: HttpTransport(ClientConfig(server=address)), now=lambda: now)
        assert set(await asyncio.gather(*(credentials.authorization() for _ in range(5)))) == {f"Bearer {fresh}"}
        assert len(server.requests) == 3
        assert await credentials.rejected(f"Bearer {fresh}")
        with pytest.raises(CredentialsError, match=r"OIDC of user 'u', .*the refresh was refused .*invalid_client"):
            await credentials.authorization()
    assert "secret" not in repr(credentials) + repr(config)


async def test_those_who_waited_for_a_failing_refresh_share_its_failure() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    server = Server(lambda request: failure(503, "ServiceUnavailable"))
    async with listening(server) as url:
        config = OidcConfig(f"{url}/realm/", "c", "secret", jwt(now), "r1", "user 'u'")
        credentials = Oidc(config, lambda address: HttpTransport(ClientConfig(server=address)), now=lambda: now)
        tasks = [asyncio.create_task(credentials.authorization()) for _ in range(5)]
        await asyncio.wait(tasks)
        assert [type(task.exception()) for task in tasks] == [CredentialsError] * 5
        assert len(server.requests) == 1
        with pytest.raises(CredentialsError, match="has no token_endpoint"):
            await credentials.authorization()
        assert len(server.requests) == 2, "nothing is kept for those who ask later"


async def test_an_expired_id_token_without_a_refresh_token_says_log_in() -> None:
    credentials = Oidc(OidcConfig("https://i", "c", id_token="no.jwt.x"), lambda address: pytest.fail(address))
    with pytest.raises(CredentialsError, match="log in again"):
        await credentials.authorization()
