# SPDX-License-Identifier: BSD-3-Clause
"""The report's plots as inline SVG that follows the page's theme.

Matplotlib draws in marker colours that stand for CSS variables. `_inline` replaces them by the variables, so that one
drawing fits the light and the dark theme. Text stays text.
"""

import io
import re

import matplotlib
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from versus.gates import INVALID, NOISY

INK, MUTED, GRID, PAPER = "#010101", "#020202", "#030303", "#040404"
SERIES = [f"#0001{number:02x}" for number in range(14)]
VARIABLES = {INK: "--ink", MUTED: "--muted", GRID: "--line", PAPER: "--paper"} | {
    colour: f"--s{number}" for number, colour in enumerate(SERIES)}
KNOWN_ORDER = ["peal-epoll", "peal-uring", "raw-epoll", "raw-uring", "libevent", "asio-shared", "asio-per-thread",
               "libuv", "libev", "ace", "poco"]
# HTTP servers, and servers over TLS, have the colour of the related echo server.
KIN = {"http-peal-epoll": "peal-epoll", "http-peal-uring": "peal-uring",
       "http-raw-epoll": "raw-epoll", "http-raw-uring": "raw-uring",
       "http-libevent": "libevent", "http-beast": "asio-per-thread",
       "http-nginx": "asio-shared", "http-go": "libuv", "http-hyper": "libev", "http-python": "ace",
       "peal-tls-epoll": "peal-epoll", "peal-tls-uring": "peal-uring", "raw-tls": "raw-epoll",
       "libevent-tls": "libevent", "asio-tls": "asio-per-thread", "go-tls": "libuv",
       "https-peal-epoll": "peal-epoll", "https-peal-uring": "peal-uring", "https-raw": "raw-epoll",
       "https-nginx": "asio-shared", "https-beast": "asio-per-thread", "https-go": "libuv", "https-hyper": "libev",
       "peal_callbacks+epoll": "peal-epoll", "peal_coroutines+epoll": "peal-uring", "reactor_epoll": "raw-epoll",
       "reactor_epoll_edge": "libevent", "reactor_thread_pool": "asio-per-thread", "libio_reactor": "libuv"}
MARKERS = "oD^vsPXphd<>*H"
WIDTH_IN = 7.4
CAN_BE_SAID = ("less CPU", "more CPU", "faster", "slower")

matplotlib.rcParams.update({
    "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9.5, "text.color": INK, "axes.edgecolor": GRID,
    "axes.labelcolor": MUTED, "xtick.color": GRID, "ytick.color": GRID, "xtick.labelcolor": MUTED,
    "ytick.labelcolor": INK, "grid.color": GRID, "grid.linewidth": 0.7, "axes.spines.top": False,
    "axes.spines.right": False, "axes.spines.left": False, "axes.linewidth": 0.8, "legend.frameon": False,
    "svg.hashsalt": "versus", "figure.constrained_layout.use": True, "figure.facecolor": "none",
    "figure.edgecolor": "none", "axes.facecolor": "none",
})


def place_of(name: str, names: list[str]) -> int:
    """Returns a contender's number among the series. Contenders of KNOWN_ORDER have fixed numbers; the others get free
    ones."""
    if KIN.get(name, name) in KNOWN_ORDER:
        return KNOWN_ORDER.index(KIN.get(name, name))
    others = [other for other in names if KIN.get(other, other) not in KNOWN_ORDER]
    return len(KNOWN_ORDER) + (others.index(name) if name in others else 0) % (len(SERIES) - len(KNOWN_ORDER))


def _style(name: str, names: list[str]) -> dict:
    place = place_of(name, names)
    return {"color": SERIES[place], "marker": MARKERS[place], "linestyle": "--" if place in (1, 3, 5) else "-"}


def _inline(figure, label: str) -> str:
    """Returns the figure as an <svg> element that scales with the page."""
    buffer = io.StringIO()
    FigureCanvasSVG(figure).print_svg(buffer, metadata={"Date": None})  # savefig() would draw it twice
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)
    tag, rest = text.split(">", 1)
    tag = re.sub(r'\s(xmlns(:\w+)?|width|height|version)="[^"]*"', "", tag)
    text = f"{tag}>{rest}"
    for colour, variable in VARIABLES.items():
        text = text.replace(colour, f"var({variable})")
    text = re.sub(r"font: ([\d.]+)px [^;\"]*", r"font-size: \1px", text)
    return text.replace("<svg", f'<svg role="img" aria-label="{label}"', 1).strip()


def _axes(height_in: float, width_in: float = WIDTH_IN):
    figure = Figure(figsize=(width_in, height_in))
    return figure, figure.subplots()


def _ticks(axis, places: list[float], words=lambda value: f"{value:g}") -> None:
    """Sets the ticks of an axis to these places only, with labels from `words`."""
    axis.set_major_locator(FixedLocator(places))
    axis.set_major_formatter(FuncFormatter(lambda value, _: words(value)))
    axis.set_minor_locator(NullLocator())


def _lines_named(axes, names: list[str]) -> None:
    """Labels one line for each name, from the bottom, with a grid behind."""
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x")
    axes.set_axisbelow(True)


def _ratio(axes, line: int, row: dict, colour: str, is_sure: bool, words: str) -> None:
    """Draws a ratio on its line: the interval, a point (hollow if the ratio is not decided), and the text at the
    edge."""
    if row["low"] is not None:
        axes.plot([row["low"], row["high"]], [line, line], color=colour, linewidth=2.3, solid_capstyle="butt")
    axes.plot([row["ratio"]], [line], marker=row.get("marker", "o"), markersize=6.5, color=colour,
              markerfacecolor=colour if is_sure else PAPER, markeredgewidth=1.5)
    axes.annotate(words, (1.01, line), xycoords=("axes fraction", "data"), va="center", color=MUTED)


def _curves(axes, rows: list[dict], names: list[str], style=_style) -> None:
    """Draws a curve for each name. Rows have contender, at and value."""
    for name in names:
        mine = sorted((row["at"], row["value"]) for row in rows if row["contender"] == name)
        if mine:
            axes.plot(*zip(*mine), label=name, linewidth=1.4, markersize=4.0, **style(name, names))


def _ratio_ticks(axes, low: float, high: float) -> None:
    """Sets plain numbers on a logarithmic axis of ratios."""
    axes.set_xscale("log")
    steps = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0)
    if high / low < 1.3:
        steps = tuple(round(0.8 + 0.02 * k, 2) for k in range(0, 21))
    elif high / low < 2.2:
        steps = tuple(round(0.5 + 0.1 * k, 1) for k in range(0, 16))
    _ticks(axes.xaxis, [step for step in steps if low <= step <= high])
    axes.set_xlim(low, high)


def forest(pairs: list[dict], floor: float | None, names: list[str], label: str) -> str:
    """Draws ratios with their intervals. The band shows by how much the same program differs from itself."""
    rows = [pair for pair in pairs if pair["low"] is not None]
    if not rows:
        return ""
    figure, axes = _axes(0.75 + 0.27 * len(rows))
    ends = [pair[key] for pair in rows for key in ("low", "high")] + [floor or 1.0, 1 / (floor or 1.0), 1.0]
    spread = max(1.03, (max(ends) / min(ends)) ** 0.06)
    if floor:
        axes.axvspan(1 / floor, floor, color=MUTED, alpha=0.18, linewidth=0)
    axes.axvline(1.0, color=MUTED, linewidth=1)
    for number, pair in enumerate(reversed(rows)):
        _ratio(axes, number, pair, SERIES[place_of(pair["subject"], names)], pair["says"] in CAN_BE_SAID,
               f"{pair['ratio']:.3f}")
    _lines_named(axes, [f"{pair['subject']} / {pair['rival']}" for pair in reversed(rows)])
    axes.set_ylim(-0.6, len(rows) - 0.4)
    _ratio_ticks(axes, min(ends) / spread, max(ends) * spread)
    axes.set_xlabel(label)
    return _inline(figure, label)


def cost_bars(rows: list[dict], names: list[str], label: str, unit: str = "message") -> str:
    """Draws server and client CPU per message (or per `unit`), the cheapest server first."""
    if not rows:
        return ""
    ordered = sorted(rows, key=lambda row: row["server_us"], reverse=True)
    reach = max(row["sum_us"] for row in rows)
    figure, axes = _axes(0.8 + 0.27 * len(ordered))
    for number, row in enumerate(ordered):
        colour = SERIES[place_of(row["contender"], names)]
        axes.barh(number, row["server_us"], height=0.62, color=colour)
        axes.barh(number, row["client_us"], left=row["server_us"], height=0.62, color=colour, alpha=0.28)
        # The text is inside the bar if it fits, otherwise beside it.
        inside = row["server_us"] > 0.08 * reach
        axes.annotate(f"{row['server_us']:.2f}", (row["server_us"], number), xytext=(-4 if inside else 4, 0),
                      textcoords="offset points", ha="right" if inside else "left", va="center",
                      color=PAPER if inside else INK, fontsize=9)
    _lines_named(axes, [row["contender"] for row in ordered])
    axes.set_xlabel(f"CPU per {unit}, microseconds: server (solid), client (pale)")
    return _inline(figure, label)


def _legend(axes, columns: int) -> None:
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=columns, fontsize=8.5, handlelength=2.2,
                columnspacing=1.4, labelcolor=INK)


def latency(rows: list[dict], names: list[str], label: str, unit: str = "message") -> str:
    """Draws latency by percentile from merged histograms, up to the percentile that has ten samples above it."""
    rows = [row for row in rows if len(row["curve"]) > 1]
    if not rows:
        return ""
    figure, axes = _axes(3.3)
    for row in rows:
        style = _style(row["contender"], names) | {"marker": ""}
        axes.plot(*zip(*row["curve"]), label=row["contender"], linewidth=1.6, **style)
    axes.set_xscale("log")
    axes.set_yscale("log")
    reach = max(row["curve"][-1][0] for row in rows)
    marks = {1: "0 %", 2: "50 %", 10: "90 %", 100: "99 %", 1000: "99.9 %", 10**4: "99.99 %", 10**5: "99.999 %"}
    _ticks(axes.xaxis, [at for at in marks if at <= reach * 1.05], lambda value: marks.get(int(round(value)), ""))
    _plain_log_y(axes)
    axes.grid(axis="both")
    axes.set_xlabel(f"percentile of {unit}s")
    axes.set_ylabel("microseconds or less")
    _legend(axes, 4)
    return _inline(figure, label)


def _plain_log_y(axes) -> None:
    low, high = axes.get_ylim()
    bases = (1, 2, 5) if high / low < 2e3 else (1,)
    steps = [base * 10.0**power for power in range(-3, 9) for base in bases]
    _ticks(axes.yaxis, [step for step in steps if low <= step <= high],
           lambda value: f"{value:,.0f}" if value >= 1 else f"{value:g}")
    axes.tick_params(axis="y", labelcolor=MUTED)


def series(points: list[dict], names: list[str], figure_name: str, unit: str, scale: float, label: str) -> str:
    """Draws every run in its order. The point is hollow if a gate marked the run NOISY, and a cross if it is
    INVALID."""
    points = [point for point in points if "figures" in point]
    if not points:
        return ""
    figure, axes = _axes(3.4)
    began = min(point["started"] for point in points)
    for name in names:
        mine = [point for point in points if point["contender"] == name]
        if not mine:
            continue
        style = _style(name, names)
        counted = [point for point in mine if point["status"] != INVALID]
        axes.plot([p["started"] - began for p in counted], [p["figures"][figure_name] * scale for p in counted],
                  label=name, linewidth=0.8, alpha=0.9, markersize=0, **(style | {"marker": ""}))
        for point in mine:
            at = (point["started"] - began, point["figures"][figure_name] * scale)
            marker = "x" if point["status"] == INVALID else style["marker"]
            fill = PAPER if point["status"] == NOISY else style["color"]
            axes.plot(*at, marker=marker, markersize=4.5, color=style["color"], markerfacecolor=fill)
    axes.set_ylim(bottom=0)
    axes.grid(axis="y")
    axes.tick_params(axis="y", labelcolor=MUTED)
    axes.set_xlabel("seconds since the first run of the cell")
    axes.set_ylabel(unit)
    _legend(axes, 4)
    return _inline(figure, label)


def scaling(rows: list[dict], names: list[str], along: str, unit: str, label: str) -> str:
    """Draws throughput over connections or threads. Rows have contender, at and value."""
    if len({row["at"] for row in rows}) < 3:
        return ""
    figure, axes = _axes(3.2)
    _curves(axes, rows, names)
    ticks = sorted({row["at"] for row in rows})
    if ticks[-1] / ticks[0] > 20:
        axes.set_xscale("log")
    _ticks(axes.xaxis, ticks, lambda value: f"{value:,.0f}")
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axes.grid(axis="y")
    axes.tick_params(axis="y", labelcolor=MUTED)
    axes.set_xlabel(along)
    axes.set_ylabel(unit)
    _legend(axes, 4)
    return _inline(figure, label)

