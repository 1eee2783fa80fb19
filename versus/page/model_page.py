# SPDX-License-Identifier: BSD-3-Clause
"""The sections of experiment 5 on the page: heat maps, the best in each situation, when to choose which, and every
situation."""

from markupsafe import Markup

from versus.page import model_figures, verdict
from versus.experiments import CLOSED
from versus.models.model_advice import advice
from versus.models.model_analysis import METRICS, PERCENTILES, TAIL, Metric, winners
from versus.models.model_plans import GRID
from versus.page.templates import template

TEMPLATE = "models.html.j2"
BETTER = {True: "as a multiple of the situation's lowest", False: "as a factor below the situation's highest"}


def _heat(experiment: dict, metric: Metric) -> dict:
    return {"title": metric.words, "what": BETTER[metric.less], "cells": model_figures.cells_of(experiment, metric),
            "plot": Markup(model_figures.heat_map(experiment, metric)),
            "rows": model_figures.heat_rows(experiment, metric)}


def _pair_beside(experiment: dict, cell: str, name: str) -> str:
    """Returns the ratio of server CPU, peal / this row, with its interval."""
    for pair in experiment["pairs"]:
        if (pair["cell"], pair["metric"], pair["rival"]) == (cell, "server_cpu", name):
            return verdict.span(pair) if pair["blocks"] else ""
    return ""


def _failures(experiment: dict, cell: str, name: str) -> str:
    """Returns the sentences of the gates on this row's runs, each once."""
    said = [gate["sentence"] for run in experiment["runs"] for gate in run["gates"]
            if (run["cell"], run["contender"]) == (cell, name) and run["status"] == "INVALID"]
    return " ".join(dict.fromkeys(said))


def _situation(experiment: dict, cell: dict) -> dict:
    rows = [row | {"pair": _pair_beside(experiment, cell["name"], row["contender"])}
            for row in experiment["rows"] if row["cell"] == cell["name"]]
    rows.sort(key=lambda row: -(row["messages_per_s"] or 0.0) if row["served"] >= row["asked"] else 1.0)
    named = {row["contender"] for row in rows}
    lost = [f"{contender['name']}: {why}" for contender in experiment["contenders"] if contender["name"] not in named
            and (why := _failures(experiment, cell["name"], contender["name"]))]
    closed = CLOSED in cell["modes"]
    return {**cell, "rows": rows, "lost": lost,
            "how": "in a closed loop" if closed else f"at {cell['rate']:,.0f} requests/s, half of the slowest model's"}


def _tail(row: dict, percentile: str) -> str:
    return TAIL.shown(row[f"{percentile}_us"])


def section(experiment: dict) -> str:
    """Returns the section's HTML, whose headings begin at h3. `experiment` is one of results.json."""
    shown = {metric.key: metric.shown for metric in METRICS}
    is_grid = experiment["name"] == GRID
    return template(TEMPLATE, tail=_tail).render(
        e=experiment, shown=shown, percentiles=list(PERCENTILES), beside=bool(experiment["pairs"]),
        models=[contender for contender in experiment["contenders"] if contender["shown"]],
        heats=[_heat(experiment, metric) for metric in METRICS] if is_grid else [],
        winners=winners(experiment), metrics=[metric.words for metric in METRICS],
        advice=advice(experiment) if is_grid else [],
        situations=[_situation(experiment, cell) for cell in experiment["cells"]])
