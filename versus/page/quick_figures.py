# SPDX-License-Identifier: BSD-3-Clause
"""The picture of each cell on the quick page: server CPU compared with the floor, with intervals, the cheapest on
top."""

from versus.page.figures import MUTED, SERIES, _axes, _inline, _lines_named, _ratio, _ticks, place_of

FARTHEST = 2.2  # a higher ratio is drawn as an arrow at the edge, so that the others have room
CERTAIN = ("less", "more", "level")
WIDTH_IN = 5.2
MOST_TICKS = 6


def _round_ratios(low: float, high: float) -> list[float]:
    """Returns round ratios, 1 among them, as many as are readable."""
    for step in (0.02, 0.05, 0.1, 0.2, 0.5):
        first, last = round((low - 1) / step + 0.499), round((high - 1) / step - 0.499)
        if last - first < MOST_TICKS:
            return [round(1 + number * step, 2) for number in range(first, last + 1)]
    return [1.0]


def costs(cell: dict, names: list[str]) -> str:
    """Returns the picture as an <svg>. A filled dot is decided; a hollow dot is not."""
    rows = [row for row in cell["rows"] if row["ratio"] is not None]
    if not rows:
        return ""
    figure, axes = _axes(0.62 + 0.25 * len(rows), WIDTH_IN)
    ends = [min(FARTHEST, row[key] or row["ratio"]) for row in rows if row["ratio"] <= FARTHEST
            for key in ("low", "ratio", "high")]
    low, high = min(0.93, *ends) / 1.01, max(1.07, *ends) * 1.01
    axes.axvline(1.0, color=MUTED, linewidth=1)
    for number, row in enumerate(reversed(rows)):
        cost = "" if row["server_us"] is None else f" · {row['server_us']:.2f} µs"
        far = {"ratio": high / 1.01, "low": None, "marker": ">"} if row["ratio"] > FARTHEST else {}
        _ratio(axes, number, row | far, SERIES[place_of(row["contender"], names)],
               row["floor"] or row["says"] in CERTAIN, f"{row['ratio']:.2f}{cost}")
    _lines_named(axes, [row["contender"].removeprefix("http-") for row in reversed(rows)])
    for label, row in zip(axes.get_yticklabels(), reversed(rows)):
        label.set_fontweight("bold" if "peal" in row["contender"] else "normal")
    axes.set_ylim(-0.6, len(rows) - 0.4)
    axes.set_xlim(low, high)
    _ticks(axes.xaxis, _round_ratios(low, high))
    return _inline(figure, f"server CPU per {cell['unit']} compared with {cell['floor']}: {cell['title']}")
