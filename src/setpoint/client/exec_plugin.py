"""Credentials from an exec plugin (``client.authentication.k8s.io`` v1 and v1beta1, KEP-541)."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from codecs import getincrementaldecoder
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TextIO

import msgspec

from setpoint.client.credentials import Credentials, StaticToken
from setpoint.client.errors import CredentialsError
from setpoint.client.tls import ClientCertificate
from setpoint.concurrency import Shared, TaskScope

API_GROUP = "client.authentication.k8s.io"
VERSIONS = (f"{API_GROUP}/v1", f"{API_GROUP}/v1beta1")
TIMEOUT = 60.0
"""The time limit for a plugin that no user at a terminal can answer, in seconds."""
_MAX_OUTPUT = 1 << 20
_SHOWN = 2000
_LAST_WORDS = 1.0
"""The maximum number of seconds for which stderr is still read after a failed plugin has ended. Without this limit, a
child process that holds stderr open would delay the error.
"""


@dataclass(frozen=True, slots=True)
class ExecPluginConfig:
    """A plugin's command. ``env`` is added to the environment; ``cluster``, if not None, is passed to the plugin.
    ``interactive_mode`` is ``Never``, ``IfAvailable`` or ``Always``.
    """

    command: str
    api_version: str
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    install_hint: str = ""
    cluster: Mapping[str, Any] | None = field(default=None, repr=False)
    source: str = ""
    interactive_mode: str = "Never"


class _Status(msgspec.Struct):
    token: str | None = None
    clientCertificateData: str | None = None
    clientKeyData: str | None = None
    expirationTimestamp: datetime | None = None


class _Answer(msgspec.Struct):
    apiVersion: str = ""
    kind: str = ""
    status: _Status | None = None


class _Credential(msgspec.Struct, frozen=True):
    header: str
    certificate: ClientCertificate | None
    expires: datetime | None


class ExecPlugin(Credentials):
    """Runs a program that prints an ``ExecCredential``, and caches the credential until it expires or the server
    answers 401.

    Only one run of the plugin is in progress at a time: all waiting requests share it and its result, even a failure.
    As in client-go, the plugin's stderr is shown on this program's at once, since it may ask its user for something,
    and its stdin is this program's if that is a terminal and ``interactive_mode`` allows it. The plugin is killed after
    ``timeout`` seconds, unless stdin or stderr is a terminal; the error contains its stderr.
    """

    def __init__(
        self,
        config: ExecPluginConfig,
        *,
        timeout: float = TIMEOUT,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self._config = config
        self._timeout = timeout
        self._now = now
        self._environ = os.environ if environ is None else environ
        self._credential: _Credential | None = None
        self._shared_run = Shared(self._run)

    async def authorization(self) -> str:
        return (await self._fresh()).header

    async def certificate(self) -> ClientCertificate | None:
        return (await self._fresh()).certificate

    async def rejected(self, authorization: str) -> bool:
        credential = self._credential
        if credential is not None and credential.header == authorization:
            self._credential = None
        return True

    async def _fresh(self) -> _Credential:
        credential = self._credential
        if credential is not None and (credential.expires is None or self._now() < credential.expires):
            return credential
        self._credential = await self._shared_run()
        return self._credential

    async def _run(self) -> _Credential:
        config = self._config
        is_interactive = config.interactive_mode != "Never" and _is_terminal(sys.stdin)
        if config.interactive_mode == "Always" and not is_interactive:
            raise self._failed("can't be run: its interactiveMode is Always, but stdin is not a terminal")
        spec: dict[str, Any] = {"interactive": is_interactive}
        if config.cluster is not None:
            spec["cluster"] = config.cluster
        info = {"apiVersion": config.api_version, "kind": "ExecCredential", "spec": spec}
        environ = {**self._environ, **config.env, "KUBERNETES_EXEC_INFO": json.dumps(info)}
        try:
            process = await asyncio.create_subprocess_exec(
                config.command,
                *config.args,
                env=environ,
                stdin=None if is_interactive else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                limit=_MAX_OUTPUT,
                # Its own group, so that it is killed together with its children; but only this one has the terminal.
                start_new_session=not is_interactive,
            )
        except OSError as problem:
            raise self._failed(f"can't be run: {problem.strerror or problem}", hint=True) from None
        stderr, code, hangs = bytearray(), 0, False
        assert process.stdout is not None
        assert process.stderr is not None
        timeout = None if is_interactive or _is_terminal(sys.stderr) else self._timeout
        try:
            async with TaskScope() as scope, asyncio.timeout(timeout):
                drained = scope.start(_drain(process.stderr, stderr))
                stdout = await _all(process.stdout)
                if stdout is not None:
                    code = await process.wait()
                if code != 0:
                    await asyncio.wait((drained,), timeout=_LAST_WORDS)
        except TimeoutError:
            hangs = True
            raise self._failed(f"gave no answer within {self._timeout:g} s", stderr) from None
        finally:
            if process.returncode is None or hangs:  # the plugin may have ended, but a child still holds its output
                with suppress(ProcessLookupError):
                    if is_interactive or sys.platform == "win32":
                        process.kill()
                    else:
                        os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
            process._transport.close()  # type: ignore[attr-defined]
        if stdout is None:
            raise self._failed(f"printed more than {_MAX_OUTPUT} bytes", stderr)
        if code != 0:
            raise self._failed(f"ended with exit code {code}", stderr, hint=True)
        return self._read(stdout, stderr)

    def _read(self, stdout: bytes, stderr: bytearray) -> _Credential:
        config = self._config
        try:
            answer = _answer_in(stdout)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
            why = "nested too deeply" if isinstance(problem, RecursionError) else problem
            raise self._failed(f"printed something other than an ExecCredential: {why}", stderr) from None
        if answer.kind != "ExecCredential" or answer.apiVersion != config.api_version:
            printed = f"{answer.apiVersion or '(none)'} {answer.kind or '(none)'}"
            raise self._failed(f"printed {printed}; a {config.api_version} ExecCredential was expected", stderr)
        status = answer.status or _Status()
        if bool(status.clientCertificateData) != bool(status.clientKeyData):
            raise self._failed("printed a client certificate without its key, or a key without its certificate", stderr)
        if not status.token and not status.clientCertificateData:
            raise self._failed("printed neither a token nor a client certificate", stderr)
        certificate = None
        if status.clientCertificateData and status.clientKeyData:
            certificate = ClientCertificate(
                cert_data=status.clientCertificateData.encode(), key_data=status.clientKeyData.encode()
            )
        try:
            header = StaticToken(status.token).header if status.token else ""
        except CredentialsError as problem:
            raise self._failed(f"printed an invalid token: {problem}") from None
        expires = status.expirationTimestamp
        if expires is not None and expires.tzinfo is None:
            expires = expires.replace(tzinfo=UTC)
        return _Credential(header, certificate, expires)

    def _failed(self, why: str, stderr: bytearray | None = None, *, hint: bool = False) -> CredentialsError:
        config = self._config
        text = f"exec plugin {config.command!r}{f' of {config.source}' if config.source else ''} {why}"
        if stderr and (output := stderr.decode("utf-8", "replace").strip()):
            text += f"; its output: {output}"
        if hint and config.install_hint:
            text += f"\n{config.install_hint.strip()}"
        return CredentialsError(text)

    def __repr__(self) -> str:
        return f"ExecPlugin({self._config.command!r})"


async def _all(stream: asyncio.StreamReader) -> bytes | None:
    """All bytes of the stream, or None if there are more than ``_MAX_OUTPUT``."""
    parts = bytearray()
    while chunk := await stream.read(1 << 16):
        parts += chunk
        if len(parts) > _MAX_OUTPUT:
            return None
    return bytes(parts)


async def _drain(stream: asyncio.StreamReader, output: bytearray) -> None:
    """Reads the stream to its end, and copies it to this program's stderr; keeps the last part in ``output``."""
    text = getincrementaldecoder("utf-8")("replace")
    while chunk := await stream.read(1 << 16):
        output += chunk
        del output[:-_SHOWN]
        if sys.stderr is not None:
            sys.stderr.write(text.decode(chunk))
            sys.stderr.flush()


def _is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # it is closed
        return False


def _answer_in(stdout: bytes) -> _Answer:
    """The answer in the output of a plugin. As in Go, it may be YAML. The error is that of JSON if it is neither."""
    try:
        return msgspec.json.decode(stdout, type=_Answer)
    except msgspec.DecodeError as problem:
        if stdout.lstrip()[:1] == b"{":
            raise
        from setpoint.meta.yaml_parser import parse_yaml  # few plugins print it

        try:
            return msgspec.convert(parse_yaml(stdout)[0], _Answer)
        except (ValueError, msgspec.ValidationError):
            raise problem from None
