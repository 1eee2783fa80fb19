# SPDX-License-Identifier: BSD-3-Clause
"""The report: one HTML file that opens offline, made only from results.json."""

from pathlib import Path

from markupsafe import Markup

from versus import classic, published
from versus.models import model_plans
from versus.page import drum_figures, figures, model_page, verdict
from versus.analysis import rate_mode_name
from versus.experiments import CLOSED, METRICS, RATE, metric_words
from versus.roster import PINGPONG
from versus.page.templates import template

TEMPLATE = "report.html.j2"
CLASSIC_WORDS = {
    "pingpong": "MiB/s = bytes that the client read / (seconds × 2²⁰), closed loop. The clock starts when all are "
                "connected and warm. Published averages: muduo at least 15 % ahead of asio at 16 KiB, at least 18 % "
                "ahead of libevent 2.0 at 4 KiB, up to 70 % in single cases at 16 KiB.",
    "pages": "Closed loop; the first run is discarded, the figure is the mean of the next three. Published: "
             f"{published.PAGES_LOAD}. The old tool counted any read of up to 1500 bytes as a page; this one parses "
             "the response.",
}
HISTOGRAM_WORDS = {"latency": {"pingpong": "Latency of one lap", "http": "Latency of a request",
                               "model": "Latency of a request", "tls": "Latency of one lap",
                               "https": "Latency of a request"},
                   "connect": {"http": "Time to connect", "model": "Time to connect"}}
# The order of the sections. Experiment 2, the drum, comes between the others.
SECTION_ORDER = ("pingpong", "drum", "rest", "pages", "tls", "https", "compilers", *model_plans.NAMES)


def _micros(value: float) -> str:
    """Returns microseconds with about three digits."""
    return f"{value:,.1f}" if value < 100 else f"{value:,.0f}"


def _of_cell(rows: list[dict], cell: str, **wanted) -> list[dict]:
    return [row for row in rows if row["cell"] == cell and all(row[key] == value for key, value in wanted.items())]


def _comparisons(experiment: dict, cell: dict, names: list[str]) -> list[dict]:
    """Returns the forest plot and the table of each metric of a cell."""
    parts = []
    for metric in METRICS:
        what, better = metric_words(metric, experiment["unit"])
        pairs = _of_cell(experiment["pairs"], cell["name"], metric=metric)
        if not pairs:
            continue
        noise = _of_cell(experiment["noise"], cell["name"], metric=metric)[0]
        label = f"{what}, ratio; {'less is better' if better == 'less' else 'more is better'}"
        parts.append({"what": what, "better": better, "pairs": pairs, "noise": noise,
                      "plot": Markup(figures.forest(pairs, noise["floor"], names, label))})
    return parts


def _latencies(experiment: dict, cell: dict, shown: list[str]) -> list[dict]:
    """Returns a plot and a table for each mode: of requests and, if connections are short, of connects."""
    parts = []
    for mode in cell["modes"]:
        for of, words in HISTOGRAM_WORDS.items():
            rows = _of_cell(experiment["latency"], cell["name"], mode=mode, of=of)
            if not rows and of != "latency":
                continue
            title = f"{words[experiment['kind']]}, {rate_mode_name(mode)}"
            unit = experiment["unit"] if of == "latency" else "connect"
            parts.append({"title": title, "rows": rows, "plot": Markup(figures.latency(rows, shown, title, unit))})
    return parts


def _cell_view(experiment: dict, cell: dict, names: list[str]) -> dict:
    name, unit = cell["name"], experiment["unit"]
    headline = RATE if RATE in cell["modes"] else CLOSED
    shown = [n for n in names if n != experiment["twin"]]
    costs = _of_cell(experiment["costs"], name)
    runs = [run for run in experiment["runs"] if run["cell"] == name and run["mode"] == headline and run["block"] >= 0]
    label = f"server CPU, µs per {unit}"
    return {
        **cell,
        "mode_words": f"at a fixed rate of {cell['rate']:,.0f} {unit}s/s, half of the slowest contender's saturation"
                      if headline == RATE else "in a closed loop",
        "comparisons": _comparisons(experiment, cell, names),
        "costs": costs,
        "cost_plot": Markup(figures.cost_bars(costs, shown, f"CPU per {unit}", unit)),
        "saturation": _of_cell(experiment["saturation"], name),
        "saturation_from": "the restarts" if CLOSED in cell["modes"] else "the calibration",
        "latencies": _latencies(experiment, cell, shown),
        "series_plot": Markup(figures.series(runs, names, "server_cpu_ns", label, 1e-3, "Every repeat")),
        "series": _series_table(runs, names),
    }


def _series_table(runs: list[dict], names: list[str]) -> list[dict]:
    """Returns a row per contender: the figure of each block with its status. An INVALID run's repeat stands beside
    it."""
    rows = []
    blocks = sorted({run["block"] for run in runs})
    for name in names:
        columns = []
        for block in blocks:
            columns.append([{"us": run["figures"]["server_cpu_ns"] / 1e3 if "figures" in run else None,
                             "status": run["status"]}
                            for run in runs if run["contender"] == name and run["block"] == block])
        if any(columns):
            rows.append({"contender": name, "blocks": columns})
    return rows


def _classic(experiment: dict, names: list[str]) -> list[dict]:
    """Returns the classic tables over clients, connections or threads, each with its plot."""
    if experiment["name"] == "pages":
        views = classic.pages(experiment)
    elif experiment["kind"] == PINGPONG:
        views = classic.pingpong(experiment)
    else:
        return []
    for view in views:
        view["plot"] = Markup(figures.scaling(view["rows"], names, view["along"], view["unit"], view["title"]))
    return views


def _experiment_view(experiment: dict) -> dict:
    names = [contender["name"] for contender in experiment["contenders"]]
    pages = experiment["unit"] == "page"
    return {
        **experiment,
        "per": "min" if pages else "s",
        "scale": 60.0 if pages else 1.0,
        "cells": [_cell_view(experiment, cell, names) for cell in experiment["cells"]],
        "classic": _classic(experiment, [name for name in names if name != experiment["twin"]]),
        "classic_words": CLASSIC_WORDS.get(experiment["name"], ""),
        "classic_rest": classic.rest(experiment) if experiment["name"] == "rest" else [],
    }


def _has_own_page(experiment: dict) -> bool:
    """True for the parts of experiment 5 that show every model: too many for the pages of pairs."""
    return experiment["name"] in (model_plans.GRID, model_plans.HISTORIC)


def _sections(results: dict, views: list[dict]) -> list[dict]:
    """Returns the experiments in order, with the sections of the drum and of the models."""
    sections = list(views) + [{"name": experiment["name"], "title": experiment["title"],
                               "html": Markup(model_page.section(experiment))}
                              for experiment in results["experiments"] if _has_own_page(experiment)]
    if results.get("drum"):
        sections.append({"name": "drum", "title": results["drum"]["title"],
                         "html": Markup(drum_figures.section(results["drum"]))})
    return sorted(sections, key=lambda section: SECTION_ORDER.index(section["name"]))


def _flagged(results: dict) -> list[dict]:
    """Returns every run that a gate marked, including the drum's."""
    rows = [row | {"experiment": experiment["name"]} for experiment in results["experiments"]
            for row in experiment["flagged"]]
    drummed = [run for run in (results["drum"] or {"runs": []})["runs"] if run["gates"]]
    return rows + [{"experiment": "drum", "cell": run["cell"], "mode": "rounds", "block": run["block"], "attempt": 0,
                    "contender": run["contender"], "status": run["status"],
                    "sentences": [gate["sentence"] for gate in run["gates"]]} for run in drummed]


def render(results: dict) -> str:
    """Returns the page. `results` is the content of results.json."""
    page = template(TEMPLATE, micros=_micros, span=verdict.span)
    views = [_experiment_view(experiment) for experiment in results["experiments"] if not _has_own_page(experiment)]
    claims = [claim for experiment in results["experiments"] for claim in experiment["claims"]]
    tone, sentence = verdict.headline(claims)
    return page.render(
        r=results,
        two_machines=results.get("two_machines", ""),
        tone=tone,
        sentence=sentence,
        found=verdict.sentences(results),
        claims=claims,
        experiments=results["experiments"],
        sections=_sections(results, views),
        flagged=_flagged(results),
        run_count=len(verdict.every_run(results)),
    )


def write(results: dict, path: Path) -> None:
    path.write_text(render(results), encoding="utf-8")
