"""``python -m tests.conformance ONE OTHER [SCRIPT ...]``: where the answers of two API servers differ.

``ONE`` and ``OTHER`` are kubeconfig files, ``embedded`` for a fresh embedded server, or a folder of recordings.
``python -m tests.conformance --record FOLDER ONE [SCRIPT ...]`` writes down what a server answers. It takes an API
server without controllers: they would have their hands in what the scripts make. Namespaces stay behind there.
``python -m tests.conformance random --seed N --count M --kubeconfig ONE`` sends random requests for all built-in kinds
to the server and an embedded one.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import secrets
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from setpoint.apiserver import ApiServer
from setpoint.client import HttpTransport, InProcessTransport
from setpoint.client.kubeconfig import load_kubeconfig

from .compare import differences
from .conversation import Talk
from .differential.run import main as differential
from .scripts import SCRIPTS

JsonObject = dict[str, Any]
WHEN = "when.json"
"""In a folder of recordings: the time of each. Some answers tell the age of what has a time of its own."""


def recorded_at(folder: Path) -> dict[str, datetime]:
    """When each script in ``folder`` was recorded."""
    return {name: datetime.fromisoformat(text) for name, text in json.loads((folder / WHEN).read_text()).items()}


async def hear(place: str, name: str, *, began: datetime | None = None) -> list[JsonObject]:
    """The conversation of the script ``name`` with the server at ``place``.

    ``began``: the wall-clock time of an embedded server. It stands still, so that no answer depends on how busy the
    machine is: managed fields are sorted by the second in which they were written. The current time, if left out.
    """
    if Path(place).is_dir():
        return [json.loads(line) for line in (Path(place) / f"{name}.jsonl").read_text().splitlines()]
    namespace = f"c{secrets.token_hex(4)}"
    if place == "embedded":
        async with ApiServer(now=lambda: began or datetime.now(UTC)) as server:
            return await _hold(Talk(InProcessTransport(server.handle), namespace), name)
    transport = HttpTransport(load_kubeconfig(place))
    try:
        return await _hold(Talk(transport, namespace), name)
    finally:
        await transport.close()


async def _hold(talk: Talk, name: str) -> list[JsonObject]:
    await talk.begin()
    try:
        await SCRIPTS[name](talk)
    finally:
        await talk.end()
    return talk.log


def short(value: Any) -> str:
    text = json.dumps(value, sort_keys=True)
    return text if len(text) < 700 else f"{text[:700]} ... ({len(text)})"


async def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", type=Path, metavar="FOLDER")
    parser.add_argument("place", nargs="+")
    given = parser.parse_args()
    places = given.place[: 1 if given.record else 2]
    names = given.place[len(places) :] or list(SCRIPTS)
    count = 0
    seen: Counter[tuple[str, str, str]] = Counter()
    for name in names:
        logs = [await hear(place, name) for place in places]
        if given.record:
            given.record.mkdir(parents=True, exist_ok=True)
            lines = (json.dumps(entry, sort_keys=True) for entry in logs[0])
            (given.record / f"{name}.jsonl").write_text("".join(f"{line}\n" for line in lines))
            when = recorded_at(given.record) if (given.record / WHEN).exists() else {}
            when[name] = datetime.now(UTC).replace(microsecond=0)
            times = {expected: time.isoformat() for expected, time in sorted(when.items())}
            (given.record / WHEN).write_text(json.dumps(times, indent=1) + "\n")
            continue
        last = ""
        for request, path, one, other in differences(*logs):
            alike = (path.rpartition(".")[2], short(one), short(other))
            seen[alike] += 1
            count += 1
            if seen[alike] > 2:
                continue
            if request != last:
                print(f"\n{name} {request}")
                last = request
            print(f"   {path}\n      - {short(one)}\n      + {short(other)}")
    for (path, one, other), times in seen.most_common():
        if times > 2:
            print(f"\n{times} times .. {path}\n      - {one}\n      + {other}")
    print(f"{count} differences", file=sys.stderr)
    return 1 if count else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["random"]:
        sys.exit(differential(sys.argv[2:]))
    sys.exit(asyncio.run(main()))
