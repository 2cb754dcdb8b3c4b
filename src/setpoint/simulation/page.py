"""Page: a counter-example as one HTML file that needs nothing else: a lane for everybody, and the undisturbed run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from setpoint.simulation.result import Finding, Line

if TYPE_CHECKING:
    from setpoint.simulation.counterexample import Counterexample

LANES = (
    ("user", "user"),
    ("controller", "controllers"),
    ("server", "server"),
    ("garbage collector", "garbage collector"),
    ("control plane", "control plane"),
    ("others", "others"),
    ("external", "external systems"),
)
_STYLE = """
:root { color-scheme: light dark; --line: #8884; --bad: #c62828; --fault: #b26a00; --good: #2e7d32; --soft: #8888; }
body { font: 14px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 110rem; padding: 0 1rem; }
h1 { font-size: 1.3rem; } h2 { font-size: 1.05rem; margin-top: 2rem; }
code, .mono { font-family: ui-monospace, monospace; font-size: 12px; overflow-wrap: anywhere; }
.finding { border-left: 4px solid var(--bad); padding: .3rem .8rem; margin: .6rem 0; }
.fault { border-left: 4px solid var(--fault); padding: .3rem .8rem; margin: .6rem 0; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .25rem .5rem; }
table.lanes td, table.lanes th { border-left: 1px solid var(--line); }
table.lanes tr { border-top: 1px solid var(--line); }
td.time { white-space: nowrap; opacity: .65; border-left: 0 !important; }
tr.hit > td { background: color-mix(in srgb, var(--fault) 18%, transparent); }
tr.bad > td { background: color-mix(in srgb, var(--bad) 18%, transparent); }
tr.step > td { background: #8881; font-style: italic; }
.saw { opacity: .7; font-size: 12px; } .who { opacity: .6; font-size: 12px; }
.only { outline: 1px dashed var(--fault); outline-offset: 2px; }
.runs { display: grid; grid-template-columns: repeat(auto-fit, minmax(40rem, 1fr)); gap: 1.5rem; }
.expected { color: var(--good); } .found { color: var(--bad); }
pre { overflow-x: auto; background: #8881; padding: .6rem; }
"""


def page_of(problem: Counterexample) -> str:
    """The whole page."""
    disturbed, undisturbed = _shown(problem.trace), _shown(problem.undisturbed)
    parts = [
        "<!doctype html><html lang='en'><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width'>",
        f"<title>{escape(str(problem.findings[0]))[:120]}</title><style>{_STYLE}</style>",
        f"<h1>{escape(problem.scenario)}: a promise is broken</h1>",
        *(_finding(each) for each in problem.findings),
        "<h2>What went wrong in the world</h2>" if problem.plan.faults else "",
        *(f"<div class='fault'>{escape(_in_words(str(each)))}</div>" for each in problem.plan.faults),
        "" if problem.plan.faults else "<p>Nothing: this happens without any fault.</p>",
        "<div class='runs'><section><h2>What happened</h2>",
        _lanes(disturbed, {_same(line) for line in undisturbed}),
        "</section>",
    ]
    if problem.plan.faults:
        parts += [
            "<section><h2>The same without the fault</h2>",
            _lanes(undisturbed, {_same(line) for line in disturbed}),
            "</section>",
        ]
    parts += ["</div>", "<p class='saw'>Dashed: only in one of the two runs.</p>", _ends(problem.findings)]
    if problem.explained:
        parts.append(f"<h2>What the controllers say in the end</h2><pre>{escape(problem.explained)}</pre>")
    parts.append("<h2>To see it again</h2>")
    parts.append(
        f"<pre>SETPOINT_REPLAY={escape(problem.token)} pytest …\n… simulate --replay {escape(problem.token)}</pre>"
    )
    return "\n".join(parts) + "</html>"


def _finding(finding: Finding) -> str:
    return f"<div class='finding'><b>{escape(finding.oracle)}</b>: {escape(finding.message)}</div>"


def _lanes(trace: Sequence[Line], others: set[tuple[str, str]]) -> str:
    present = {line.lane for line in trace}
    lanes = [(lane, title) for lane, title in LANES if lane in present]
    rows = ["<table class='lanes'><tr><th>time</th>", *(f"<th>{escape(title)}</th>" for _, title in lanes), "</tr>"]
    for line in trace:
        kind = {"fault": "hit", "killed": "hit", "finding": "bad", "step": "step"}.get(line.what, "")
        rows.append(f"<tr class='{kind}'><td class='time mono'>{line.at:.3f}</td>")
        if line.what in ("fault", "finding"):
            rows.append(f"<td colspan='{len(lanes)}'><b>{_mark(line)}</b> {escape(line.text)}</td></tr>")
            continue
        only = "" if _same(line) in others or line.what == "killed" else " only"
        for lane, _ in lanes:
            rows.append(f"<td>{_cell(line, only) if lane == line.lane else ''}</td>")
        rows.append("</tr>")
    return "".join(rows) + "</table>"


def _cell(line: Line, only: str) -> str:
    who = f"<span class='who'>{escape(line.who)}</span> " if line.lane == "controller" else ""
    saw = f"<div class='saw'>had seen {escape(line.saw)}</div>" if line.saw and line.what in ("writes", "calls") else ""
    place = f"<div class='saw mono'>{escape(Path(line.place).name)}</div>" if line.place and saw else ""
    return f"<span class='{only.strip()}'>{who}{escape(line.text)}</span>{saw}{place}"


def _ends(findings: Iterable[Finding]) -> str:
    rows = []
    for finding in findings:
        wanted, got = finding.expected, finding.found
        if isinstance(wanted, dict) and isinstance(got, dict):
            for path in wanted:
                rows.append(_row(f"{finding.subject} {path}", wanted[path], got.get(path)))
        elif wanted is not None or got is not None:
            rows.append(_row(finding.subject, wanted, got))
    if not rows:
        return ""
    head = "<tr><th>what</th><th>expected</th><th>found</th></tr>"
    return f"<h2>Expected and found</h2><table>{head}{''.join(rows)}</table>"


def _row(what: str, wanted: Any, got: Any) -> str:
    return (
        f"<tr><td class='mono'>{escape(what)}</td><td class='mono expected'>{escape(_plain(wanted))}</td>"
        f"<td class='mono found'>{escape(_plain(got))}</td></tr>"
    )


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _mark(line: Line) -> str:
    return "fault:" if line.what == "fault" else "here:"


def _same(line: Line) -> tuple[str, str]:
    return line.lane, line.text


def _shown(trace: Sequence[Line]) -> list[Line]:
    return [line for line in trace if line.what != "reads"]


def _in_words(text: str) -> str:
    return text.replace("(until step)", "(it lasts over the user's next step)")
