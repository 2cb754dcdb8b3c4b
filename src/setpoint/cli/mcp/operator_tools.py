"""Tools that ask running operators: ``explain``, ``timeline`` and ``top``."""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult
from pydantic import Field

from setpoint.cli.debug_client import DebugClient
from setpoint.cli.explain import ask, show, timeline_lines
from setpoint.cli.mcp.tool_result import tool_result
from setpoint.cli.top import lines, look_at
from setpoint.controller.explain.explanation import Explanation
from setpoint.controller.explain.object_listing import Detail

_LATEST: Final = 3
"""The number of reconciles that ``explain`` shows; ``timeline`` has all."""

Kind = Annotated[str, Field(description="The kind (Pod, pods, po), or the name of a controller.")]
Key = Annotated[str, Field(description="NAMESPACE/NAME, or NAME for kinds without namespaces.")]


class OperatorTools:
    """The tools that read the debug pages of the processes at ``addresses``.

    Raises:
        UsageError: a file can't be used, an address is not a URL, or the token would be sent in plain text.
    """

    def __init__(self, addresses: Sequence[str], token_file: Path | None, ca_file: Path | None) -> None:
        self._addresses = addresses
        self._token_file = token_file
        self._ca_file = ca_file
        self._client()

    async def explain(self, kind: Kind, key: Key) -> CallToolResult:
        """Explains why an object does not converge: its state for its controller, the reason, its conditions, its
        owners and owned objects (if the operator runs with --ui), its last reconciles and the next attempt.
        """
        answers, problems = await self._ask(kind, key)
        stream = StringIO()
        entries = []
        for address, explanation, detail in answers:
            latest = msgspec.structs.replace(explanation, timeline=explanation.timeline[-_LATEST:])
            show(latest, detail, address if len(self._addresses) > 1 else "", stream=stream)
            details = {} if detail is None else msgspec.to_builtins(detail)
            entries.append({"address": address, **details, "explanation": msgspec.to_builtins(latest)})
        return tool_result({"answers": entries, "problems": problems}, "\n".join([stream.getvalue(), *problems]))

    async def timeline(
        self,
        kind: Kind,
        key: Key,
        limit: Annotated[int, Field(ge=1, le=16, description="The maximum number of reconciles.")] = 16,
    ) -> CallToolResult:
        """The last reconciles of an object, oldest first: causes, waits, reads and their freshness, the fields that
        each write changed (never their values), results and errors.
        """
        answers, problems = await self._ask(kind, key)
        entries: list[dict[str, Any]] = []
        texts = []
        for address, explanation, _ in answers:
            attempts = explanation.timeline[-limit:]
            entries.append(
                {
                    "address": address,
                    "controller": explanation.controller,
                    "kind": explanation.kind,
                    "key": explanation.key,
                    "reconciles": msgspec.to_builtins(attempts),
                }
            )
            texts += [f"{explanation.kind} {explanation.key}, controller {explanation.controller} at {address}:"]
            texts += [line.plain for line in timeline_lines(attempts)] or ["  no reconcile is remembered"]
        return tool_result({"timelines": entries, "problems": problems}, "\n".join([*texts, *problems]))

    async def top(
        self,
        find: Annotated[str, Field(description="Only objects whose NAMESPACE/NAME contains all these words.")] = "",
        states: Annotated[
            list[str], Field(description='Only objects in these states, such as "backing off" or "failed".')
        ] = [],  # noqa: B006 - the default becomes a part of a JSON schema
        limit: Annotated[int, Field(ge=1, le=200, description="The maximum number of objects for each process.")] = 50,
    ) -> CallToolResult:
        """A running operator at a glance: leadership, failing health checks, controllers with queues, workers, results
        and caches, and the objects that need attention first.
        """
        client = self._client()
        async with client:
            looks, problems = await look_at(client, {"find": find, "state": states, "limit": str(limit)})
        if not looks:
            raise ToolError("\n".join(problems))
        content = [
            {
                "address": look.address,
                "manager": msgspec.to_builtins(look.manager),
                "controllers": msgspec.to_builtins(look.controllers),
                "listing": msgspec.to_builtins(look.listing),
            }
            for look in looks
        ]
        texts = [line for look in looks for line in lines(look, with_address=len(self._addresses) > 1)]
        return tool_result({"processes": content, "problems": problems}, "\n".join([*texts, *problems]))

    def _client(self) -> DebugClient:
        return DebugClient(self._addresses, token_file=self._token_file, ca_file=self._ca_file)

    async def _ask(self, kind: str, key: str) -> tuple[list[tuple[str, Explanation, Detail | None]], list[str]]:
        answers, problems, answered = await ask(kind, key, self._client())
        if not answered:
            raise ToolError("\n".join(problems))
        return answers, problems
