# SPDX-License-Identifier: BSD-3-Clause
"""The report: one HTML file that opens offline, from results.json alone."""

from pathlib import Path

import jinja2
from markupsafe import Markup

from versus import figures, verdict
from versus.analysis import rate_mode_name
from versus.experiments import CLOSED, METRICS, RATE
from versus.roster import TWIN

TEMPLATE = Path(__file__).with_name("report.html.j2")
# Published averages of the classic experiment, beside which a classic table may be set.
PUBLISHED = ("Published for this experiment, as averages: muduo at least 15 % ahead of asio at 16 KiB, at least 18 % "
             "ahead of libevent 2.0 at 4 KiB, up to 70 % in single cases at 16 KiB.")


def _bytes(value: float | None) -> str:
    if value is None:
        return "-"
    for unit, size in (("MiB", 2**20), ("KiB", 2**10)):
        if abs(value) >= size:
            return f"{value / size:,.1f} {unit}"
    return f"{value:,.0f} B"


def _number(value: float | None, digits: int = 2) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"


def _micros(value: float) -> str:
    """Microseconds to three digits or so."""
    return f"{value:,.1f}" if value < 100 else f"{value:,.0f}"


def _of_cell(rows: list[dict], cell: str, **wanted) -> list[dict]:
    return [row for row in rows if row["cell"] == cell and all(row[key] == value for key, value in wanted.items())]


def _floor(results: dict, cell: str, metric: str) -> float | None:
    return next((row["floor"] for row in _of_cell(results["noise"], cell, metric=metric)), None)


def _comparisons(results: dict, cell: dict, names: list[str]) -> list[dict]:
    """The forest plot and the table of each metric of a cell."""
    parts = []
    for metric, (what, better) in METRICS.items():
        pairs = _of_cell(results["pairs"], cell["name"], metric=metric)
        if not pairs:
            continue
        noise = _of_cell(results["noise"], cell["name"], metric=metric)[0]
        label = f"{what}, ratio; {'less is better' if better == 'less' else 'more is better'}"
        parts.append({"what": what, "better": better, "pairs": pairs, "noise": noise,
                      "plot": Markup(figures.forest(pairs, noise["floor"], names, label))})
    return parts


def _cell_view(results: dict, cell: dict, names: list[str]) -> dict:
    name = cell["name"]
    headline = RATE if RATE in cell["modes"] else CLOSED
    shown = [n for n in names if n != TWIN]
    costs = _of_cell(results["costs"], name)
    runs = [run for run in results["runs"] if run["cell"] == name and run["mode"] == headline and run["block"] >= 0]
    latencies = []
    for mode in cell["modes"]:
        rows = _of_cell(results["latency"], name, mode=mode)
        title = f"Latency of one lap, {rate_mode_name(mode)}"
        latencies.append({"title": title, "rows": rows, "plot": Markup(figures.latency(rows, shown, title))})
    unit = "server CPU, µs per message"
    return {
        **cell,
        "mode_words": f"at a fixed rate of {cell['rate']:,.0f} messages/s, half of the slowest contender's saturation"
                      if headline == RATE else "in a closed loop",
        "comparisons": _comparisons(results, cell, names),
        "costs": costs,
        "cost_plot": Markup(figures.cost_bars(costs, shown, "CPU per message")),
        "saturation": _of_cell(results["saturation"], name),
        "saturation_from": "the blocks" if CLOSED in cell["modes"] else "the calibration",
        "latencies": latencies,
        "series_plot": Markup(figures.series(runs, names, "server_cpu_ns", unit, 1e-3, "Every repeat")),
        "series": _series_table(runs, names, results["experiment"]["blocks"]),
    }


def _series_table(runs: list[dict], names: list[str], blocks: int) -> list[dict]:
    """A row a contender: the figure of each block, with its status; an INVALID run's repeat stands beside it."""
    rows = []
    for name in names:
        columns = []
        for block in range(blocks):
            columns.append([{"us": run["figures"]["server_cpu_ns"] / 1e3 if "figures" in run else None,
                             "status": run["status"]}
                            for run in runs if run["contender"] == name and run["block"] == block])
        if any(columns):
            rows.append({"contender": name, "blocks": columns})
    return rows


def _classic(results: dict, names: list[str]) -> list[dict]:
    """Throughput along connections and along threads, for an experiment that has several of either."""
    views = []
    cells = results["experiment"]["cells"]
    groups = [("size", "connections", lambda c: c["threads"] == 1), ("both", "threads", lambda c: True)]
    for kind, along, keep in groups:
        keys = {(c["size"], c["connections"] if kind == "both" else 0)
                for c in cells if keep(c) and CLOSED in c["modes"]}
        for size, connections in sorted(keys, reverse=True):
            members = [c for c in cells if keep(c) and c["size"] == size and CLOSED in c["modes"]
                       and (kind == "size" or c["connections"] == connections)]
            where = {c["name"]: c[along] for c in members}
            rows = [{"contender": row["contender"], "at": where[row["cell"]], "value": row["mib_per_s"]}
                    for row in results["saturation"] if row["cell"] in where]
            columns = sorted({row["at"] for row in rows})
            if len(columns) < 2:
                continue
            where_at = f"{connections:,} connections" if kind == "both" else "one thread on each side"
            title = f"{size:,} B, {where_at}"
            table = [{"contender": name, "values": [next((r["value"] for r in rows if r["contender"] == name
                                                          and r["at"] == at), None) for at in columns]}
                     for name in names if any(r["contender"] == name for r in rows)]
            views.append({"title": title, "along": along, "columns": columns, "table": table,
                          "plot": Markup(figures.scaling(rows, names, along, "MiB/s", title))})
    return views


def render(results: dict) -> str:
    """The page. `results` is what results.json holds."""
    names = [contender["name"] for contender in results["contenders"]]
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATE.parent), autoescape=True, trim_blocks=True, lstrip_blocks=True,
        undefined=jinja2.StrictUndefined)
    environment.filters.update(bytes=_bytes, number=_number, micros=_micros, span=verdict.span)
    tone, sentence = verdict.headline(results["claims"])
    return environment.get_template(TEMPLATE.name).render(
        r=results,
        tone=tone,
        sentence=sentence,
        found=verdict.sentences(results),
        cells=[_cell_view(results, cell, names) for cell in results["experiment"]["cells"]],
        classic=_classic(results, [n for n in names if n != TWIN]),
        published=PUBLISHED,
        metrics=METRICS,
    )


def write(results: dict, path: Path) -> None:
    path.write_text(render(results), encoding="utf-8")
