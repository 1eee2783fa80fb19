# SPDX-License-Identifier: BSD-3-Clause
"""Computes one row for each model in each situation, and who is best. Pure functions: from results to plain data.

Figures are medians over the blocks; percentiles come from histograms merged over the blocks. A figure that is not known
is None, never 0.
"""

from dataclasses import dataclass

from versus import gates, hdr
from versus.analysis import chosen_runs, middle_of
from versus.experiments import CLOSED, RATE

PERCENTILES = {"p50": 50.0, "p95": 95.0, "p99": 99.0, "p999": 99.9}
LEVEL = 1.05  # at most this factor behind the best is level with it


@dataclass(frozen=True)
class Metric:
    """A figure of a row: its key, its name, whether less is better, and how it is shown."""

    key: str
    words: str
    less: bool
    unit: str
    scale: float = 1.0
    digits: int = 1

    def shown(self, value: float | None) -> str:
        if value is None:
            return "-"
        scaled = value * self.scale
        digits = self.digits if scaled < 100 else 0
        return f"{scaled:,.{digits}f}{self.unit}"


SPEED = Metric("messages_per_s", "requests a second", False, "/s", digits=0)
CPU = Metric("server_us", "server CPU per request", True, " µs", digits=2)
TAIL = Metric("p99_us", "p99 latency", True, " µs")
MEMORY = Metric("rss_bytes", "memory", True, " MiB", 1 / 2**20)
METRICS = (SPEED, CPU, TAIL, MEMORY)


def mode_of(cell: dict) -> str:
    """Returns the mode that a situation's rows are measured in."""
    return CLOSED if CLOSED in cell["modes"] else RATE


def rows(experiment: dict) -> list[dict]:
    """Returns a row for each contender in each cell that it ran in. `experiment` is what experiment_results.of() has so
    far."""
    found = []
    for cell in experiment["cells"]:
        for contender in (c for c in experiment["contenders"] if c["shown"]):
            runs = list(chosen_runs(experiment["runs"], cell["name"], mode_of(cell), contender["name"]).values())
            if runs:
                found.append(_row(cell, contender["name"], runs))
            elif _unserved(experiment["runs"], cell["name"], contender["name"]):
                found.append(_nothing(cell, contender["name"]))
    return found


def _unserved(runs: list[dict], cell: str, name: str) -> bool:
    return any(run["status"] == gates.UNSERVED for run in runs if (run["cell"], run["contender"]) == (cell, name))


def _nothing(cell: dict, name: str) -> dict:
    """Returns the row of a model that, by its design, answered no request."""
    keys = ("messages_per_s", "server_us", "switches", "rss_bytes", *(f"{p}_us" for p in PERCENTILES))
    return {"cell": cell["name"], "contender": name, "runs": 0, "asked": cell["connections"], "served": 0, "failed": 0,
            "at_rate": False, "lower_bound": False, "known": []} | dict.fromkeys(keys)


def _row(cell: dict, name: str, runs: list[dict]) -> dict:
    figures = [run["figures"] for run in runs]

    def middle(key: str) -> float | None:
        return middle_of(figures, key)

    merged = hdr.merged([figure["latency_hdr"] for figure in figures])
    values = dict(zip(PERCENTILES, merged.percentiles(list(PERCENTILES.values()))))
    cpu = middle("server_cpu_ns")
    return {
        "cell": cell["name"], "contender": name, "runs": len(runs), "asked": cell["connections"],
        "at_rate": mode_of(cell) == RATE,
        "served": round(middle("served")),
        "messages_per_s": middle("messages_per_s"),
        "server_us": cpu / 1e3 if cpu else None,
        "switches": middle("switches") if cpu else None,  # unknown for children that have ended, like the CPU
        "rss_bytes": middle("server_rss_bytes"),
        "failed": sum(figure["failed"] for figure in figures),
        "lower_bound": any(gate["name"] == "generator" for run in runs for gate in run["gates"]),
        "known": [p for p, percent in PERCENTILES.items() if merged.known(percent)],
    } | {f"{p}_us": value / 1e3 for p, value in values.items()}


def serves_all(row: dict) -> bool:
    """True if the row's figures are about the whole situation, not about the few connections that were served."""
    return row["served"] >= row["asked"]


def best_of(rows_: list[dict], metric: Metric) -> dict | None:
    """Returns the best row of a situation by `metric`, among the rows that served all connections."""
    known = [row for row in rows_ if row[metric.key] is not None and serves_all(row)
             and not (metric is SPEED and row["at_rate"])]  # at a fixed rate, all are equally fast
    if not known:
        return None
    return (min if metric.less else max)(known, key=lambda row: row[metric.key])


def behind(row: dict, best: dict | None, metric: Metric) -> float | None:
    """Returns how many times worse than the best the row is; 1 is the best itself. Returns None if they cannot be
    compared."""
    if best is None or row[metric.key] is None or not best[metric.key] or not row[metric.key] or not serves_all(row):
        return None
    ratio = row[metric.key] / best[metric.key]
    return ratio if metric.less else 1.0 / ratio


class Situations:
    """The rows of a grid by situation, and the best row of each."""

    def __init__(self, experiment: dict):
        self.cells = experiment["cells"]
        self._rows = {(row["cell"], row["contender"]): row for row in experiment["rows"]}
        self._best = {(cell["name"], metric.key): best_of([row for row in experiment["rows"]
                                                           if row["cell"] == cell["name"]], metric)
                      for cell in self.cells for metric in METRICS}

    def row(self, cell: dict, name: str) -> dict | None:
        return self._rows.get((cell["name"], name))

    def best(self, cell: dict, metric: Metric) -> dict | None:
        return self._best[cell["name"], metric.key]

    def times(self, name: str, metric: Metric) -> list[tuple[float, dict]]:
        """Returns (how many times worse than the best, situation), the nearest to the best first."""
        found = [(times, cell) for cell in self.cells if (row := self.row(cell, name))
                 and (times := behind(row, self.best(cell, metric), metric)) is not None]
        return sorted(found, key=lambda entry: entry[0])


def winners(experiment: dict) -> list[dict]:
    """Returns the best contender by situation and metric, and the contenders that are level with it."""
    found, at = [], Situations(experiment)
    for cell in at.cells:
        here = [row for row in experiment["rows"] if row["cell"] == cell["name"]]
        entries = []
        for metric in METRICS:
            best = at.best(cell, metric)
            level = [row["contender"] for row in here if row is not best
                     and (times := behind(row, best, metric)) is not None and times <= LEVEL]
            entries.append({"metric": metric.words, "best": best["contender"] if best else "",
                            "value": metric.shown(best[metric.key]) if best else "-", "level": level})
        found.append({"cell": cell["name"], "title": cell["title"], "entries": entries})
    return found
