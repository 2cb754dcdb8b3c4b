"""The informer benchmark's results as one SVG: four panels, logarithmic on both axes, one line a system."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

_COLOURS = ("#0b7285", "#e8590c", "#862e9c", "#2b8a3e", "#c92a2a", "#5c940d", "#495057", "#1864ab", "#a61e4d")
_WIDTH, _HEIGHT, _LEFT, _TOP, _GAP = 400, 260, 70, 60, 70


def _panels(row: dict[str, Any]) -> dict[str, float]:
    count = row["objects"]
    return {
        "CPU until synced, µs per object": row["sync_cpu_s"] / count * 1e6,
        "CPU per event, µs": 1e6 / row["events_per_cpu_s"],
        "steady memory over idle, bytes per object": max(row["steady_mb"], 0.05) * 2**20 / count,
        "peak resident memory, MB": row["peak_rss_mb"],
    }


def informer_plot(rows: Sequence[dict[str, Any]]) -> str:
    """Lower is better in every panel; a level line is a cost that does not grow with the number of objects."""
    series: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        series.setdefault(f"{row['system']}, {row['lists']} list", []).append(row)
    # A single number of objects says nothing about growth.
    series = {name: points for name, points in series.items() if len(points) > 1} or series
    titles = list(_panels(rows[0]))
    width, height = 2 * (_WIDTH + _GAP) + _LEFT, 2 * (_HEIGHT + _GAP) + _TOP + 22 * len(series)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="{_LEFT}" y="28" font-size="16">Informers: lower is better, level lines mean costs that do not grow'
        "</text>",
    ]
    for number, title in enumerate(titles):
        x, y = _LEFT + number % 2 * (_WIDTH + _GAP), _TOP + number // 2 * (_HEIGHT + _GAP)
        parts += _panel(title, series, x, y)
    for number, name in enumerate(series):
        y = _TOP + 2 * (_HEIGHT + _GAP) + 22 * number
        parts.append(f'<rect x="{_LEFT}" y="{y - 10}" width="20" height="4" fill="{_colour(number)}"/>')
        parts.append(f'<text x="{_LEFT + 28}" y="{y - 4}">{name}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panel(title: str, series: dict[str, list[dict[str, Any]]], x: float, y: float) -> list[str]:
    points = {name: sorted((row["objects"], _panels(row)[title]) for row in rows) for name, rows in series.items()}
    everything = [point for line in points.values() for point in line]
    counts = sorted({count for count, _ in everything})
    low = math.floor(math.log10(min(value for _, value in everything)))
    high = math.ceil(math.log10(max(value for _, value in everything)) + 0.001)
    first, last = math.log10(counts[0]) - 0.15, math.log10(counts[-1]) + 0.15

    def place(count: float, value: float) -> tuple[float, float]:
        across = (math.log10(count) - first) / (last - first)
        return x + across * _WIDTH, y + _HEIGHT - (math.log10(value) - low) / (high - low) * _HEIGHT

    parts = [
        f'<text x="{x}" y="{y - 8}" font-weight="bold">{title}</text>',
        f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" fill="none" stroke="#adb5bd"/>',
    ]
    for exponent in range(low, high + 1):
        _, at = place(counts[0], 10.0**exponent)
        parts.append(f'<line x1="{x}" x2="{x + _WIDTH}" y1="{at:.1f}" y2="{at:.1f}" stroke="#e9ecef"/>')
        parts.append(f'<text x="{x - 6}" y="{at + 4:.1f}" text-anchor="end">{10.0**exponent:g}</text>')
    round_counts = [count for count in counts if math.log10(count).is_integer()]
    for count in round_counts if len(round_counts) > 1 else counts:
        at, _ = place(count, 10.0**low)
        parts.append(f'<text x="{at:.1f}" y="{y + _HEIGHT + 16}" text-anchor="middle">{count:,}</text>')
    for number, line in enumerate(points.values()):
        colour = _colour(number)
        placed = [place(count, value) for count, value in line]
        path = " ".join(f"{across:.1f},{down:.1f}" for across, down in placed)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{across:.1f}" cy="{down:.1f}" r="3.5" fill="{colour}"/>' for across, down in placed]
    return parts


def _colour(number: int) -> str:
    return _COLOURS[number % len(_COLOURS)]
