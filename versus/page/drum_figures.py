# SPDX-License-Identifier: BSD-3-Clause
"""The drum's section of the report. For each number of active pairs there are four panels (total and loop, without and
with idle timers), each with its table. With rings of several sizes the panels are curves over a logarithmic x axis;
with one size they are bars.
"""

from markupsafe import Markup
from matplotlib.figure import Figure

from versus.page import figures
from versus.page.templates import template

TEMPLATE = "drum.html.j2"
PANELS = (("total", False), ("total", True), ("loop", False), ("loop", True))
PANEL_HEIGHT_IN = 2.6
# Variants have the colour of the contender that they vary, and a dashed line.
VARIANTS = {"peal-epoll-rearm": "peal-epoll", "libevent-changelist": "libevent"}


def panel_title(part: str, timeouts: bool) -> str:
    return f"{part}, {'with' if timeouts else 'without'} idle timers"


def panel_rows(rows: list[dict], active: int, part: str, timeouts: bool) -> list[dict]:
    """Returns the rows of one panel: contender, at (pairs) and value (the median round in microseconds)."""
    return [{"contender": row["contender"], "at": row["pairs"], "value": row[f"{part}_median_us"]}
            for row in rows if row["active"] == active and row["timeouts"] == timeouts]


def panel_table(rows: list[dict], active: int, part: str, timeouts: bool) -> dict:
    """Returns a panel as a table: one column per ring, one row per contender, None if it did not play."""
    shown = panel_rows(rows, active, part, timeouts)
    columns = sorted({row["at"] for row in shown})
    names = _names(shown)
    values = {(row["contender"], row["at"]): row["value"] for row in shown}
    return {"title": panel_title(part, timeouts), "columns": columns,
            "rows": [{"contender": name, "values": [values.get((name, at)) for at in columns]} for name in names]}


def plot_tables(rows: list[dict], active: int) -> list[dict]:
    """Returns the tables of the four panels. If there is only one ring size, the panels become the columns of one
    table."""
    tables = [table for table in (panel_table(rows, active, *panel) for panel in PANELS) if table["rows"]]
    if any(len(table["columns"]) > 1 for table in tables):
        return tables
    names = _names([row for row in rows if row["active"] == active])
    values = {(row["contender"], table["title"]): row["values"][0] for table in tables for row in table["rows"]}
    columns = [table["title"] for table in tables]
    return [{"title": "", "columns": columns,
             "rows": [{"contender": name, "values": [values.get((name, at)) for at in columns]} for name in names]}]


def _style(name: str, names: list[str]) -> dict:
    style = figures._style(VARIANTS.get(name, name), names)
    return style | {"linestyle": "--"} if name in VARIANTS else style


def _names(rows: list[dict]) -> list[str]:
    found = dict.fromkeys(row["contender"] for row in rows)
    return sorted(found, key=lambda name: (figures.place_of(VARIANTS.get(name, name), list(found)), name))


def _lines(axes, shown: list[dict], names: list[str]) -> None:
    figures._curves(axes, shown, names, _style)
    axes.set_xscale("log")
    axes.set_yscale("log")
    figures._ticks(axes.xaxis, sorted({row["at"] for row in shown if str(row["at"]).strip("0") in {"1", "2", "5"}}),
                   lambda value: f"{value:,.0f}")
    figures._plain_log_y(axes)
    axes.grid(axis="both")


def _bars(axes, shown: list[dict], names: list[str]) -> None:
    values = {row["contender"]: row["value"] for row in shown}
    present = [name for name in reversed(names) if name in values]
    for at, name in enumerate(present):
        axes.barh(at, values[name], height=0.62, color=_style(name, names)["color"],
                  alpha=0.55 if name in VARIANTS else 1.0)
        axes.annotate(f"{values[name]:,.0f}", (values[name], at), xytext=(3, 0), textcoords="offset points",
                      va="center", color=figures.MUTED, fontsize=8.5)
    figures._lines_named(axes, present)
    axes.margins(x=0.16)


def panels(rows: list[dict], active: int) -> str:
    """Returns the four panels of `active` active pairs as one SVG, or "" if nothing was measured."""
    mine = [row for row in rows if row["active"] == active]
    if not mine:
        return ""
    names = _names(mine)
    scales = len({row["pairs"] for row in mine}) > 1
    figure = Figure(figsize=(figures.WIDTH_IN, 2 * PANEL_HEIGHT_IN))
    grid = figure.subplots(2, 2, sharex=scales)
    for axes, (part, timeouts) in zip(grid.flat, PANELS):
        shown = panel_rows(mine, active, part, timeouts)
        axes.set_title(panel_title(part, timeouts), fontsize=9.5, loc="left")
        axes.set_axisbelow(True)
        if shown:
            (_lines if scales else _bars)(axes, shown, names)
    for axes in grid[1]:
        axes.set_xlabel("pairs in the ring" if scales else "microseconds per round")
    if scales:
        for row in grid:
            row[0].set_ylabel("microseconds per round")
        labels = {label: handle for axes in grid.flat for handle, label in zip(*axes.get_legend_handles_labels())}
        order = [name for name in names if name in labels]
        figure.get_layout_engine().set(rect=(0, 0, 1, 0.9))
        figure.legend([labels[name] for name in order], order, loc="upper center", ncols=5, fontsize=8.5,
                      labelcolor=figures.INK)
    return figures._inline(figure, f"Drum passing, {active} active: median round by pairs")


def _groups(results: dict) -> list[dict]:
    rows = results["rows"]
    groups = []
    for active in sorted({row["active"] for row in rows}):
        mine = [row for row in rows if row["active"] == active]
        sizes = sorted({row["pairs"] for row in mine})
        rings = f"{sizes[0]:,} pairs" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,} pairs"
        cells = {cell["name"]: cell["title"] for cell in results["cells"] if cell["active"] == active}
        groups.append({
            "title": f"{active:,} bytes passed around among {rings}, {mine[0]['writes']:,} writes per round",
            "plot": Markup(panels(rows, active)),
            "tables": plot_tables(rows, active),
            "cells": [{"title": title, "rows": [row for row in mine if row["cell"] == name],
                       "pairs": [pair for pair in results["pairs"] if pair["cell"] == name]}
                      for name, title in cells.items() if any(row["cell"] == name for row in mine)],
        })
    return groups


def _commands(results: dict) -> list[str]:
    """Returns one command line per contender, for the largest ring that it played."""
    found = {run["contender"]: run for run in sorted(results["runs"], key=lambda run: run["pairs"])}
    return [run["commands"][0] for _, run in sorted(found.items())]


def section(results: dict) -> str:
    """Returns the section's HTML, whose headings begin at h3. `results` is the result of drum.run()."""
    flagged = [run for run in results["runs"] if run["gates"]]
    return template(TEMPLATE).render(
        d=results, groups=_groups(results), commands=_commands(results), parts=("total", "loop"), flagged=flagged)
