"""``simulate`` from the command line: what was recorded of a live cluster, wrong words, Ctrl-C."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import mykind
import pytest
from tests.simulation.test_recording import recording

import setpoint as sp
from setpoint.cli.program import main
from setpoint.models.core_v1 import Container, Pod, PodSpec
from setpoint.simulation import Counterexample, Search
from setpoint.simulation.oracles.catalog import ORACLES
from setpoint.testing import virtual_time

KINDS = ("mykinds.grp.example.com", "pods")
HEAD = {"format": "setpoint-recording/1", "began": "2026-01-01T00:00:00Z"}
SAMPLE = {
    "apiVersion": "grp.example.com/v1alpha1", "kind": "Mykind",
    "metadata": {"name": "sample", "namespace": "default"}, "spec": {"numpods": 1},
}  # fmt: skip


def change(document: Any, *, collection: str = KINDS[0], at: str = "2026-01-01T00:00:01Z") -> dict[str, Any]:
    return {"at": at, "type": "ADDED", "collection": collection, "key": "default/sample", "object": document}


@virtual_time
async def record_a_day(path: Path) -> None:
    """A user makes two objects, and deletes one an hour later."""
    async with sp.testing.cluster(mykind.controller) as cluster, recording(cluster, path, KINDS):
        for name, number in (("sample", 2), ("other", 1)):
            await cluster.apply(mykind.Mykind.named(name, "default", spec=mykind.MykindSpec(numpods=number)))
            await asyncio.sleep(3600)
        await cluster.delete(await cluster.get(mykind.Mykind, "other"))


async def one_after_the_other(owner: mykind.Mykind, ctx: sp.Context) -> None:
    """Believes that all pods are there when the first is."""
    if await ctx.get(Pod, f"{owner.name}-0") is None:
        spec = PodSpec(containers=[Container(name="main", image="busybox")])
        for number in range(owner.spec.numpods):
            await ctx.create(Pod.named(f"{owner.name}-{number}", spec=spec))


def simulated(controller: sp.Controller[Any], path: Path, *words: str) -> int:
    """The exit status of the program, run in the folder of the recording."""
    with pytest.raises(SystemExit) as ended:
        main(controller, argv=["simulate", "--from", str(path), *words])
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_a_recorded_day_is_survived_by_one_version_and_not_by_the_next(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "tuesday.jsonl"
    record_a_day(path)
    monkeypatch.chdir(tmp_path)
    options = ("--budget", "9runs", "--faults", "crash")

    assert simulated(mykind.controller, path, *options) == 0
    output = capsys.readouterr().out
    assert "writes: " in output
    assert output.endswith("no findings\n")
    assert not (tmp_path / "counterexamples").exists()

    worse = sp.Controller(mykind.Mykind, one_after_the_other).owns(Pod)
    assert simulated(worse, path, *options) == 1
    output = capsys.readouterr().out
    assert "create mykinds.grp.example.com default/sample" in output, "what the recorded user did is in the story"
    assert "1 finding\n" in output
    files = list((tmp_path / "counterexamples").iterdir())
    assert {file.suffix for file in files} == {".yaml", ".html"}

    (plan,) = [file for file in files if file.suffix == ".yaml"]
    assert simulated(worse, path, "--replay", str(plan), "--output", "json") == 1
    printed = capsys.readouterr()
    problem = json.loads(printed.out)[0]
    assert problem["rule"] in ORACLES
    assert (Path(problem["file"]).name, problem["line"] > 0) == (Path(__file__).name, True)
    assert problem["faults"], "the faults are in the details"
    assert "1 finding\n" in printed.err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "FILE: the file is empty"),
        (b"kind: Pod\n", "FILE: line 1 was not written by setpoint record"),
        (b"\x1f\x8b\x08\x00\xff\xfe\n", "FILE: line 1 was not written by setpoint record"),
        (
            [{"format": "setpoint-recording/2"}],
            "FILE was written by another version of setpoint: its format is setpoint-recording/2, and this version "
            "reads setpoint-recording/1",
        ),
        ([HEAD], "FILE: the recording has no changes by other users or programs"),
        ([HEAD, change({})], "FILE: line 2 was not written by setpoint record"),
        (
            [HEAD, change(SAMPLE), change(SAMPLE, at="2026-01-01T00:00:02")],
            "FILE: line 3 was not written by setpoint record",
        ),
        (
            [HEAD, change({**SAMPLE, "metadata": {"name": "sample", "managedFields": ["x"]}})],
            "FILE: line 2 was not written by setpoint record",
        ),
        (
            [HEAD, change({**SAMPLE, "kind": "Foo"}, collection="foos.example.com")],
            "FILE: the recording has foos.example.com, but the controllers watch mykinds.grp.example.com, pods: record "
            "these kinds",
        ),
    ],
)  # fmt: skip
def test_a_file_that_can_not_be_played_is_told_in_one_line(
    content: Any, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "tuesday.jsonl"
    if isinstance(content, list):
        content = b"".join(json.dumps(item).encode() + b"\n" for item in content)
    path.write_bytes(content)
    assert simulated(mykind.controller, path) == 2
    _, _, said = capsys.readouterr().err.partition(": ")
    assert said == message.replace("FILE", str(path)) + "\n"


def test_a_recording_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert simulated(mykind.controller, tmp_path / "monday.jsonl") == 2
    assert capsys.readouterr().err.endswith(f"No such file or directory: {tmp_path / 'monday.jsonl'}\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--scenario", "mine.py:second"), "--scenario mine.py:second: there is no second in mine"),
        (
            ("--scenario", "mine.py:alone"),
            "--scenario mine.py:alone: alone is not a scenario (",
        ),
        (("--scenario", "mine.py"), "--scenario mine.py: name one function, as in test_mykind.py:scenario"),
        (("--scenario", "nowhere.py:scenario"), "--scenario nowhere.py: no such file"),
        (("--scenario", "broken.py:scenario"), "--scenario broken.py can't be imported:"),
        (
            ("--replay", "nowhere.yaml"),
            "'nowhere.yaml' is neither a token (sp1-…) nor the file of a counter-example: the file does not exist",
        ),
        (("--replay", "mine.py"), "mine.py: it is neither a token nor a counter-example: `plan:` is missing"),
        (("--replay", "sp1-eNod"), "the replay token is cut off or changed"),
        (("--faults", "crsh"), "--faults: there is no fault 'crsh'"),
        (("--budget", "5x"), "--budget '5x': give a duration"),
    ],
)
def test_a_wrong_word_is_told_in_one_line(
    words: tuple[str, ...],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text("async def scenario(cluster): await cluster.settle()\nasync def alone(): ...\n")
    Path("broken.py").write_text("async def scenario(cluster) await cluster.settle()\n")
    with pytest.raises(SystemExit) as ended:
        main(mykind.controller, argv=["simulate", *words])
    assert ended.value.code == 2
    _, _, said = capsys.readouterr().err.partition(": ")
    assert said.startswith(message)
    assert "Traceback" not in said


def test_ctrl_c_tells_what_was_tried_until_then(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def findings(search: Search) -> Iterator[Counterexample]:
        search.report.all_singles = 7
        raise KeyboardInterrupt
        yield

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Search, "findings", findings)
    with pytest.raises(SystemExit) as ended:
        main(mykind.controller, argv=["simulate"])
    assert ended.value.code == 130, "as shells expect"
    output = capsys.readouterr()
    assert "0 of 7 single faults" in output.out
    assert "the search was interrupted before all single faults were tried" in output.out
    assert output.err == "interrupted\n"


@pytest.mark.parametrize("expected", [False, True])
def test_the_lifespan_of_the_program_is_entered_only_if_that_is_asked_for(
    expected: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    entered = tmp_path / "entered"

    @asynccontextmanager
    async def lifespan(program: sp.Program[None]) -> AsyncGenerator[str]:
        entered.write_text("in a process of the simulation")
        yield "a session"

    words = ["--lifespan"] if expected else []
    with pytest.raises(SystemExit) as ended:
        main(mykind.controller, lifespan=lifespan, argv=["simulate", "--budget", "6runs", *words])
    printed = capsys.readouterr().out
    assert ended.value.code == 0, printed
    assert entered.exists() == expected
    assert ("note: the program's lifespan was not entered" in printed) != expected
