# SPDX-License-Identifier: BSD-3-Clause
"""The plot of experiment 5: a heat map of models and situations. Each field shows how far the model is behind the
best."""

import math

from matplotlib.patches import Rectangle

from versus.page import figures
from versus.experiments import CLOSED
from versus.models.model_analysis import SPEED, Metric, Situations, behind

ROW_IN = 0.215
HEAD_IN = 1.5
FAR = 10.0  # at ten times behind, the field has no colour
STRONGEST = 0.5  # opacity of the best field: text stays readable in both themes


def cells_of(experiment: dict, metric: Metric) -> list[dict]:
    """Returns the situations in which the figure can differ. At a fixed rate all contenders are equally fast."""
    return [cell for cell in experiment["cells"] if metric is not SPEED or CLOSED in cell["modes"]]


def heat_rows(experiment: dict, metric: Metric) -> list[dict]:
    """Returns a row per model, with {text, times} per situation. `times` is None if nothing can be compared."""
    found, at = [], Situations(experiment)
    for name in (contender["name"] for contender in experiment["contenders"] if contender["shown"]):
        fields = [_field(at.row(cell, name), at.best(cell, metric), metric, name in cell["unfit"])
                  for cell in cells_of(experiment, metric)]
        if any(field["text"] for field in fields):
            found.append({"contender": name, "fields": fields})
    return found


def _field(row: dict | None, best: dict | None, metric: Metric, unfit: bool) -> dict:
    if row is None:
        return {"text": "-" if unfit else "", "times": None, "value": ""}
    value = metric.shown(row[metric.key])
    if row["served"] < row["asked"]:
        return {"text": f"{row['served']}/{row['asked']}", "times": None, "value": value}
    times = behind(row, best, metric)
    if times is None:
        return {"text": "?", "times": None, "value": value}
    digits = 2 if times < 10 else 1 if times < 100 else 0
    return {"text": f"{times:,.{digits}f}", "times": times, "value": value}


def strength(times: float) -> float:
    """Returns the strength of the colour: 1 for the best, 0 from FAR on."""
    return 1.0 - min(1.0, math.log(times) / math.log(FAR))


def heat_map(experiment: dict, metric: Metric) -> str:
    """Returns the heat map as an <svg>. 1.0 is the best of its column; k/n means that k of n connections were
    served."""
    rows = heat_rows(experiment, metric)
    if not rows:
        return ""
    columns = [cell["name"] for cell in cells_of(experiment, metric)]
    figure, axes = figures._axes(HEAD_IN + ROW_IN * len(rows))
    for down, row in enumerate(rows):
        for across, field in enumerate(row["fields"]):
            shown = 0.0 if field["times"] is None else STRONGEST * strength(field["times"])
            axes.add_patch(Rectangle((across - 0.48, down - 0.46), 0.96, 0.92, facecolor=figures.SERIES[0],
                                     alpha=shown, linewidth=0))
            axes.annotate(field["text"], (across, down), ha="center", va="center",
                          fontsize=7.5 if len(field["text"]) < 6 or len(columns) < 9 else 5.6,
                          color=figures.INK if field["times"] is not None else figures.MUTED)
    axes.set_xlim(-0.5, len(columns) - 0.5)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.xaxis.tick_top()
    axes.set_xticks(range(len(columns)), columns, rotation=35, ha="left", fontsize=8)
    axes.set_yticks(range(len(rows)), [row["contender"] for row in rows], fontsize=7.8)
    axes.tick_params(length=0)
    return figures._inline(figure, f"Heat map: {metric.words}, model by situation")
