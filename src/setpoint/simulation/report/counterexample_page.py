"""HTML page: a counter-example as a single HTML file, with a column for each participant and a column for the
undisturbed run.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from difflib import SequenceMatcher
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from setpoint.meta.text_escaping import visible
from setpoint.simulation.comparison.differences import format_value
from setpoint.simulation.faults.descriptions import describe_fault, strikes_after_request
from setpoint.simulation.trace.result import Line

if TYPE_CHECKING:
    from setpoint.simulation.report.counterexample import Counterexample

LANES = (
    ("user", "user"),
    ("controller", "controllers"),
    ("server", "server"),
    ("garbage collector", "garbage collector"),
    ("control plane", "control plane"),
    ("others", "others"),
    ("external", "external systems"),
)
Where = Literal["both", "only", "missing"]
_STYLE = """
:root { color-scheme: light dark; --line: #8885; --bad: #c62828; --fault: #b26a00; --good: #2e7d32; --soft: #8881; }
@media (prefers-color-scheme: dark) { :root { --bad: #ff8a80; --fault: #ffb74d; --good: #81c784; } }
* { box-sizing: border-box; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 0 auto; max-width: 84rem; padding: 1.5rem 1rem 3rem; }
h1 { font-size: 1.35rem; margin: 0 0 1rem; } h2 { font-size: 1.1rem; margin: 2.2rem 0 .6rem; }
code, .mono { font-family: ui-monospace, monospace; font-size: .85em; overflow-wrap: anywhere; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(22rem, 100%), 1fr)); gap: 1rem; }
.card { border: 1px solid var(--line); border-top: 4px solid var(--line); border-radius: 4px; padding: .7rem .9rem; }
.card.fault { border-top-color: var(--fault); } .card.bad { border-top-color: var(--bad); }
.card h2 { margin: 0 0 .4rem; font-size: .8rem; letter-spacing: .04em; text-transform: uppercase; opacity: .75; }
.card p { margin: .3rem 0; } .card .mono { opacity: .75; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem; overflow-wrap: anywhere; }
th { font-size: .8rem; opacity: .75; }
table.lanes tr { border-top: 1px solid var(--line); } table.lanes td + td { border-left: 1px solid var(--line); }
td.time { white-space: nowrap; opacity: .65; width: 6rem; }
td.beside { width: 11rem; font-size: .85em; }
tr.fault > td { background: color-mix(in srgb, var(--fault) 16%, transparent); }
tr.bad > td { background: color-mix(in srgb, var(--bad) 16%, transparent); }
tr.step > td { background: var(--soft); font-style: italic; }
tr.missing .what { opacity: .75; border: 1px dashed var(--good); padding: 0 .3rem; text-decoration: line-through; }
tr.missing td.beside { color: var(--good); font-weight: 600; } tr.only td.beside { color: var(--fault); }
tr.both td.beside { opacity: .5; }
.note { opacity: .75; font-size: .85em; } .who { opacity: .65; font-size: .85em; }
.expected, .found { font-weight: 600; min-width: 6rem; } .expected { color: var(--good); } .found { color: var(--bad); }
pre { overflow-x: auto; background: var(--soft); padding: .7rem; border-radius: 4px; white-space: pre-wrap;
      overflow-wrap: anywhere; }
@media (max-width: 50rem) {
  table.lanes thead { display: none; }
  table.lanes tr, table.lanes td { display: block; width: auto; } table.lanes td { padding: .15rem .6rem; }
  table.lanes td + td { border-left: 0; } table.lanes td:empty { display: none; }
  table.lanes tr { padding: .3rem 0; } tr.both td.beside { display: none !important; }
  td[data-lane]:not(:empty)::before { content: attr(data-lane) ": "; opacity: .65; }
}
"""


def render_page(problem: Counterexample) -> str:
    """The whole page as HTML."""
    alone = not problem.plan.faults
    run_name = f" in {escape(problem.contradicting_runs[0])}" if problem.contradicting_runs else ""
    beside = "the same without the fault" if not alone else next(iter(problem.contradicting_runs[1:]), "")
    parts = [
        "<!doctype html><html lang='en'><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width'>",
        f"<title>{escape(str(problem.findings[0])[:120])}</title><style>{_STYLE}</style>",
        f"<h1>A promise is broken in {escape(problem.scenario)}</h1><div class='cards'>",
        "<section class='card fault'><h2>Injected faults</h2>",
        *(
            f"<p>{escape(describe_fault(fault))}</p><p class='mono'>{escape(str(fault))}</p>"
            for fault in problem.plan.faults
        ),
        "<p>None: this happens without any fault.</p>" if alone else "",
        "</section><section class='card bad'><h2>Findings</h2>",
        *(f"<p><b>{escape(finding.oracle)}</b>: {escape(finding.message)}</p>" for finding in problem.findings[:5]),
        *(f"<p>without the fault, too: {escape(str(finding))}</p>" for finding in problem.baseline_findings[:5]),
        f"<p class='note'>{_often(problem)}</p></section></div>",
        _ends(problem),
        f"<h2>What happened{run_name}{f', beside {escape(beside)}' if beside else ''}</h2>",
        _lanes(problem.trace, problem.undisturbed if beside else None, beside),
    ]
    if problem.explanation:
        parts.append(
            f"<h2>Each object at the end, as setpoint explain describes it</h2><pre>{escape(problem.explanation)}</pre>"
        )
    parts.append(f"<h2>To replay</h2><pre>{escape(problem.replay_command)}</pre>")
    return visible("\n".join(part for part in parts if part)) + "</html>"


def _often(problem: Counterexample) -> str:
    cost = f"runs until it was found: {problem.runs}, in {problem.seconds:.1f} s"
    if problem.failure_rate is None:
        return cost
    return f"{problem.failure_rate[0]} of {problem.failure_rate[1]} runs of this plan failed; {cost}"


# -- trace -------------------------------------------------------------------------------------------------------------


def _lanes(trace: Sequence[Line], undisturbed: Sequence[Line] | None, beside: str) -> str:
    rows = _beside(_without_reads(trace), _without_reads(undisturbed or ()), compared=undisturbed is not None)
    present = {line.lane for line, _ in rows}
    lanes = [(lane, title) for lane, title in LANES if lane in present]
    heads = ["time", *(title for _, title in lanes), *([escape(beside)] if undisturbed is not None else [])]
    parts = [
        "<table class='lanes'><thead><tr>",
        *(f"<th>{escape(head)}</th>" for head in heads),
        "</tr></thead><tbody>",
    ]
    for line, presence in rows:
        kind = {"fault": "fault", "killed": "fault", "finding": "bad", "step": "step"}.get(line.kind, "")
        parts.append(f"<tr class='{f'{kind} {presence}'.strip()}'><td class='time mono'>{_time(line.at)}</td>")
        if line.kind in ("fault", "finding"):
            mark = "fault" if line.kind == "fault" else "here"
            parts.append(f"<td colspan='{len(lanes)}'><b>{mark}:</b> {escape(line.text)}</td>")
        else:
            for lane, title in lanes:
                parts.append(f"<td data-lane='{title}'>{_cell(line) if lane == line.lane else ''}</td>")
        if undisturbed is not None:
            note = {"both": "the same", "only": "", "missing": "only in that run"}[presence]
            note = (
                "only in this run" if presence == "only" and line.kind not in ("fault", "finding", "killed") else note
            )
            parts.append(f"<td class='beside' data-lane='beside'>{note}</td>")
        parts.append("</tr>")
    return "".join(parts) + "</tbody></table>"


def _beside(trace: list[Line], undisturbed: list[Line], *, compared: bool) -> list[tuple[Line, Where]]:
    """The lines of a run, and for each of them whether it is also in the undisturbed run. Lines that only the
    undisturbed run has are inserted where they belong. If the runs are not ``compared``, every line counts as being in
    both.
    """
    if not compared:
        return [(line, "both") for line in trace]
    ours, theirs = [_same(line) for line in trace], [_same(line) for line in undisturbed]
    rows: list[tuple[Line, Where]] = []
    for kind, start, end, other_start, other_end in SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        presence: Where = "both" if kind == "equal" else "only"
        rows.extend((line, presence) for line in trace[start:end])
        if kind != "equal":
            rows.extend((line, "missing") for line in undisturbed[other_start:other_end])
    return rows


def _cell(line: Line) -> str:
    actor = f"<span class='who'>{escape(line.actor)}</span> " if line.lane == "controller" else ""
    view = (
        f"<div class='note'>had seen {escape('; '.join(filter(None, (line.view, line.reads))))}</div>"
        if line.view and line.kind in ("writes", "calls")
        else ""
    )
    change = f"<div class='note mono'>{escape(line.change)}</div>" if line.change else ""
    place = f"<div class='note mono'>{escape(Path(line.place).name)}</div>" if line.place and view else ""
    return f"{actor}<span class='what'>{escape(line.text)}</span>{change}{view}{place}"


def _without_reads(trace: Sequence[Line]) -> list[Line]:
    """The trace without reads. A fault that strikes after a write is moved to the place after that write."""
    lines = [line for line in trace if line.kind != "reads"]
    result: list[Line] = []
    later: list[Line] = []
    for line in lines:
        if line.kind == "fault" and line.point and strikes_after_request(line.text):
            later.append(line)
            continue
        result.append(line)
        due = [fault_line for fault_line in later if fault_line.point == line.point]
        later = [fault_line for fault_line in later if fault_line not in due]
        result += [msgspec.structs.replace(fault_line, at=line.at) for fault_line in due]
    return result + later


def _same(line: Line) -> tuple[str, str, str]:
    return line.lane, line.kind, line.text


def _time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.3f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


# -- end states --------------------------------------------------------------------------------------------------------


def _ends(problem: Counterexample) -> str:
    rows = []
    for finding in problem.findings:
        wanted, actual = finding.expected, finding.actual
        if isinstance(wanted, dict) and isinstance(actual, dict):
            rows += [_row(f"{finding.subject} {path}".rstrip(), wanted[path], actual.get(path)) for path in wanted]
        elif wanted is not None or actual is not None:
            rows.append(_row(finding.subject, wanted, actual))
    if not rows:
        return ""
    columns = ("without any fault", "with the faults")
    if problem.contradicting_runs:
        columns = ("in one step", "step by step")
    head = f"<tr><th>object and field</th><th>{columns[0]}</th><th>{columns[1]}</th></tr>"
    return f"<h2>Differences at the end</h2><table>{head}{''.join(rows)}</table>"


def _row(subject: str, wanted: Any, actual: Any) -> str:
    return (
        f"<tr><td class='mono'>{escape(subject)}</td>"
        f"<td class='mono expected'>{escape(format_value(wanted, sys.maxsize))}</td>"
        f"<td class='mono found'>{escape(format_value(actual, sys.maxsize))}</td></tr>"
    )
