"""``python -m tools.docs.animation``: draws ``docs/demo.svg``, the lines of a real run of the demo as they came.

The picture needs no script: each line appears by a CSS animation at the time at which the demo printed it. Readers who
prefer reduced motion, and renderers without animation, see all lines.
"""

from __future__ import annotations

import html
import re
import subprocess
import sys
import time

from tools.docs.navigation import DOCS

TARGET = DOCS / "demo.svg"
ROOT = DOCS.parent
WIDTH, LINE, LEFT, TOP = 900, 19, 16, 44
SLOWER = 4.0
"""The run takes a second; people read slower."""
LEAST = 0.35
"""The least time between two lines that the eye can follow, in seconds."""
PAUSE = 6.0
"""Seconds for which the finished picture stays before it begins again."""

STYLE = """
text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #d6deeb; white-space: pre }
.demo { fill: #7fdbca } .done { fill: #addb67; font-weight: 600 } .delete { fill: #ef9a9a } .create { fill: #82aaff }
@media (prefers-reduced-motion: no-preference) { text.l { animation: a linear infinite both } }
"""


def main() -> int:
    """Runs the demo and draws it. The exit status is the demo's."""
    lines: list[tuple[float, str]] = []
    with subprocess.Popen(
        [sys.executable, "-u", "examples/demo.py"], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append((time.monotonic(), short(line.rstrip("\n"))))
    if process.returncode == 0:
        TARGET.write_text(picture(lines), "utf-8")
    return process.returncode


def short(line: str) -> str:
    """The line without what would be another one in the next run, and a result without the words before it."""
    if line.startswith("demo:") and not line.endswith(" ...") and ": " in line.removeprefix("demo: "):
        return f"demo:    {line.rpartition(': ')[2]}"
    return re.sub(r"^chronos: \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ ", "chronos: ", line.removesuffix(" ..."))


def picture(lines: list[tuple[float, str]]) -> str:
    """The SVG of these lines: of each its time, in seconds, and its text."""
    moments: list[float] = []
    for number, (moment, _) in enumerate(lines):
        gap = (moment - lines[number - 1][0]) * SLOWER if number else LEAST
        moments.append((moments[-1] if moments else 0.0) + max(gap, LEAST))
    whole = moments[-1] + PAUSE
    height = TOP + LINE * len(lines) + 8
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="The demo: a '
        'controller keeps as many pods running as its object asks for">',
        f"<style>{STYLE}{_keyframes(moments, whole)}</style>",
        f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#0b1622"/>',
        f'<text x="{LEFT}" y="24">$ make demo</text>',
    ]
    for number, (_, text) in enumerate(lines):
        parts.append(
            f'<text class="l {_class(text)}" style="animation-name:l{number};animation-duration:{whole:.2f}s" '
            f'x="{LEFT}" y="{TOP + LINE * number}">{html.escape(text)}</text>'
        )
    return "\n".join([*parts, "</svg>", ""])


def _keyframes(moments: list[float], whole: float) -> str:
    rules = []
    for number, moment in enumerate(moments):
        share = 100 * moment / whole
        rules.append(
            f"@keyframes l{number} {{ 0%, {share:.2f}% {{ opacity: 0 }} {share + 0.01:.2f}%, 100% {{ opacity: 1 }} }}"
        )
    return "\n".join(rules)


def _class(text: str) -> str:
    if text.startswith("demo:"):
        return "done" if "converged" in text else "demo"
    return "delete" if " delete " in text else "create" if " create " in text else ""


if __name__ == "__main__":
    sys.exit(main())
