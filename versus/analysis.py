# SPDX-License-Identifier: BSD-3-Clause
"""From records to results: values by block, pairs, claims, costs, latencies. Pure: no files, no clock."""

import math
import statistics
import zlib
from dataclasses import replace

from versus import hdr, stats
from versus.experiments import CLOSED, METRICS, RATE, Claim, Experiment, Load
from versus.run.runner import is_lower_bound, never_saturated, usable

PERCENTILES = [50.0, 90.0, 99.0, 99.9, 99.99]
FIGURE_OF = {"server_cpu": "server_cpu_ns", "speed": "messages_per_s"}
# The histograms a run has: of what, and where its record keeps it.
HISTOGRAMS = {"latency": "latency_hdr", "connect": "connect_hdr"}


def chosen_runs(records: list[dict], cell: str, mode: str, contender: str) -> dict[int, dict]:
    """The usable run of each block: the first attempt, or the repeat of an INVALID one."""
    chosen: dict[int, dict] = {}
    for record in records:
        if (record.get("cell"), record.get("mode"), record.get("contender")) != (cell, mode, contender):
            continue
        if record["block"] >= 0 and usable(record):
            chosen.setdefault(record["block"], record)
    return chosen


class Analysis:
    """The results of one experiment's records."""

    def __init__(self, experiment: Experiment, names: list[str], records: list[dict], seed: int):
        self._experiment = experiment
        self._names = names
        self._records = [record for record in records if record.get("experiment") == experiment.name]
        self._twin = experiment.twin_name
        self._seed = seed
        self._runs: dict[tuple[str, str, str], dict[int, dict]] = {}
        self._pairs: dict[tuple[str, str, str, str], stats.Pair] = {}

    def runs(self, cell: Load, mode: str, name: str) -> dict[int, dict]:
        key = (cell.name, mode, name)
        if key not in self._runs:
            self._runs[key] = chosen_runs(self._records, *key)
        return self._runs[key]

    def _mode(self, cell: Load, metric: str) -> str:
        return CLOSED if metric == "speed" else cell.headline_mode

    def values(self, cell: Load, metric: str, name: str) -> dict[int, float]:
        runs = self.runs(cell, self._mode(cell, metric), name)
        return {block: run["figures"][FIGURE_OF[metric]] for block, run in runs.items()}

    def pair(self, cell: Load, metric: str, subject: str, rival: str) -> stats.Pair:
        """Worked out once: the twin's is asked for with every other."""
        key = (cell.name, metric, subject, rival)
        if key not in self._pairs:
            salt = zlib.crc32(f"{self._seed}/{'/'.join(key)}".encode())
            mine, theirs = self.values(cell, metric, subject), self.values(cell, metric, rival)
            self._pairs[key] = stats.compare(mine, theirs, salt)
        return self._pairs[key]

    def metrics(self, cell: Load) -> list[str]:
        return ["server_cpu"] + (["speed"] if CLOSED in cell.modes else [])

    def floor(self, cell: Load, metric: str) -> float:
        """The A/A noise floor of a cell: NaN where the twin did not run, and then no claim passes."""
        return stats.noise_floor(self.pair(cell, metric, self._twin, self._experiment.twin_of))

    def noise(self) -> list[dict]:
        rows = []
        for cell in self._experiment.cells:
            for metric in self.metrics(cell):
                pair = self.pair(cell, metric, self._twin, self._experiment.twin_of)
                floor = _plain(stats.noise_floor(pair))
                rows.append({"cell": cell.name, "metric": metric, "floor": floor, **_of(pair)})
        return rows

    def claims(self) -> list[dict]:
        """Each claim's verdict, p adjusted over all claims declared, measured or not."""
        declared = [self._resolved(claim) for claim in self._experiment.claims]
        pairs = [self.pair(self._experiment.cell(c.cell), c.metric, c.subject, c.rival) for c in declared]
        adjusted = stats.holm([stats.p_against(pair, claim.bar or 1.0) for pair, claim in zip(pairs, declared)])
        return [self._claim(*row) for row in zip(declared, pairs, adjusted)]

    def _resolved(self, claim: Claim) -> Claim:
        """`claim`, its rival the best of those it is about: who has the least median in its cell."""
        cell = self._experiment.cell(claim.cell)
        known = {name: statistics.median(values) for name in claim.best_of
                 if (values := self.values(cell, claim.metric, name).values())}
        best = {"less": min, "more": max}[METRICS[claim.metric][1]]
        return replace(claim, rival=best(known, key=known.get)) if known else claim

    def _claim(self, claim: Claim, pair: stats.Pair, p: float) -> dict:
        cell = self._experiment.cell(claim.cell)
        floor = self.floor(cell, claim.metric)
        if claim.bar is not None:
            verdict = stats.against_bar(pair, claim.bar, p)
        else:
            wanted = "below" if METRICS[claim.metric][1] == "less" else "above"
            found = stats.differs(pair, floor, p)
            verdict = "cannot tell" if not found else "met" if found == wanted else "not met"
        among = f" (the best of {', '.join(claim.best_of)})" if claim.best_of else ""
        return {"sentence": claim.sentence(cell.title, self._experiment.unit) + among, "subject": claim.subject,
                "rival": claim.rival, "cell": claim.cell, "metric": claim.metric, "bar": claim.bar,
                "floor": _plain(floor), "p_adjusted": p,
                "verdict": verdict if pair.known else "not measured",
                "why": stats.obstacle(pair, claim.bar or 1.0, floor, p) if verdict == "cannot tell" else "",
                **_of(pair)}

    def pairs(self) -> list[dict]:
        """Every pair shown, Holm over the whole grid of them."""
        rows, found = [], []
        for cell in self._experiment.cells:
            for metric in self.metrics(cell):
                for subject, rival in self._grid():
                    if not all(self._experiment.runs_here(name, cell) for name in (subject, rival)):
                        continue
                    pair = self.pair(cell, metric, subject, rival)
                    bounded = metric == "speed" and (self._bounded(cell, subject) or self._bounded(cell, rival))
                    rows.append({"cell": cell.name, "metric": metric, "subject": subject, "rival": rival,
                                 "bounded": bounded, "floor": _plain(self.floor(cell, metric)), **_of(pair)})
                    found.append((pair, metric, self.floor(cell, metric)))
        adjusted = stats.holm([pair.p for pair, _, _ in found])
        for row, (pair, metric, floor), p in zip(rows, found, adjusted):
            row["p_adjusted"] = p
            row["says"] = says(pair, metric, floor, p)
        return rows

    def _bounded(self, cell: Load, name: str) -> bool:
        return any(is_lower_bound(run) for run in self.runs(cell, CLOSED, name).values())

    def _grid(self) -> list[tuple[str, str]]:
        return self._experiment.grid_of([name for name in self._names if name != self._twin])

    def saturation(self) -> list[dict]:
        """Closed-loop throughput: the blocks' where they ran closed, else the calibration's."""
        rows = []
        for cell in self._experiment.cells:
            for name in self._names:
                records = [r for r in self._records if r["cell"] == cell.name and r["contender"] == name
                           and r["mode"] == CLOSED and usable(r) and (r["block"] >= 0) == (CLOSED in cell.modes)]
                if name == self._twin or not records:
                    continue
                values = [record["figures"]["messages_per_s"] for record in records]
                figures = [record["figures"] for record in records]
                rows.append({
                    "cell": cell.name, "contender": name, "runs": len(values), "values": values,
                    "messages_per_s": statistics.median(values), "least": min(values), "most": max(values),
                    "mib_per_s": statistics.median(f["mib_per_s"] for f in figures),
                    "mean_read_bytes": statistics.median(f["mean_read_bytes"] for f in figures),
                    "server_share": statistics.median(f["server_share"] for f in figures),
                    "client_share": statistics.median(f["client_share"] for f in figures),
                    "server_percent": _three(f["server_percent"] for f in figures),
                    "rss_bytes": _three(f["server_rss_bytes"] for f in figures),
                    "mean": statistics.mean(values),
                    "lower_bound": any(is_lower_bound(record) for record in records),
                    "never_saturated": 2 * sum(never_saturated(record) for record in records) > len(records),
                })
        return rows

    def costs(self, calls: dict[str, dict[str, dict]]) -> list[dict]:
        """What a message costs; `calls` holds system calls per message by cell and contender."""
        rows = []
        for cell in self._experiment.cells:
            for name in self._names:
                figures = [run["figures"] for run in self.runs(cell, cell.headline_mode, name).values()]
                if name == self._twin or not figures:
                    continue

                def middle(key: str) -> float:
                    return statistics.median(figure[key] for figure in figures)

                by_name = calls.get(cell.name, {}).get(name)
                grown = middle("server_rss_bytes") - middle("rss_start_bytes")
                rows.append({
                    "cell": cell.name, "contender": name, "runs": len(figures),
                    "messages_per_s": middle("messages_per_s"),
                    "server_us": middle("server_cpu_ns") / 1e3, "client_us": middle("client_cpu_ns") / 1e3,
                    "sum_us": statistics.median(f["server_cpu_ns"] + f["client_cpu_ns"] for f in figures) / 1e3,
                    "calls": None if by_name is None else sum(by_name.values()), "calls_by_name": by_name,
                    "switches": middle("switches"), "rss_bytes": middle("server_rss_bytes"),
                    "rss_per_connection_bytes": grown / cell.connections if cell.connections >= 100 else None,
                })
        return rows

    def latency(self) -> list[dict]:
        """Percentiles and a curve from the merged histograms of all blocks, of requests and of connects."""
        rows = []
        for cell in self._experiment.cells:
            for mode in cell.modes:
                for name, of in ((name, of) for name in self._names for of in self._histograms(cell)):
                    runs = self.runs(cell, mode, name).values()
                    histogram = hdr.merged([run["figures"][HISTOGRAMS[of]] for run in runs])
                    if name == self._twin or not histogram.counts:
                        continue
                    values = histogram.percentiles(PERCENTILES)
                    rows.append({
                        "cell": cell.name, "mode": mode, "of": of, "contender": name, "samples": histogram.total,
                        "mean_us": histogram.mean / 1e3, "max_us": histogram.max / 1e3,
                        "percentiles": [{"p": p, "us": v / 1e3, "known": histogram.known(p)}
                                        for p, v in zip(PERCENTILES, values)],
                        "curve": curve(histogram),
                    })
        return rows

    @staticmethod
    def _histograms(cell: Load) -> list[str]:
        return list(HISTOGRAMS) if getattr(cell, "short", False) else ["latency"]

    def flagged(self) -> list[dict]:
        """Every run a gate marked, and what became of it."""
        copied = ("key", "cell", "mode", "block", "contender", "attempt", "status")
        return [{name: record[name] for name in copied} | {"sentences": [gate["sentence"] for gate in record["gates"]]}
                for record in self._records if record["gates"]]


def curve(histogram: hdr.Histogram) -> list[list[float]]:
    """[samples per one above, microseconds], as far as ten samples lie above."""
    steps = [k / 20 for k in range(0, 121)]
    wanted = [100.0 * (1.0 - 10.0**-step) for step in steps]
    kept = [(step, p) for step, p in zip(steps, wanted) if histogram.known(p)]
    values = histogram.percentiles([p for _, p in kept])
    return [[round(10.0**step, 4), value / 1e3] for (step, _), value in zip(kept, values)]


def says(pair: stats.Pair, metric: str, floor: float, p: float) -> str:
    """What a pair allows one to say, in two or three words; "unproven" where only Holm's p over the grid is lacking."""
    if not pair.known:
        return "too few runs"
    found = stats.differs(pair, floor, 0.0)
    words = {"above": "faster", "below": "slower"} if metric == "speed" else {"below": "less CPU", "above": "more CPU"}
    if not found:
        return stats.standing(pair) if metric == "speed" else "cannot tell"
    return words[found] + ("" if p <= stats.ALPHA else ", unproven")


def _three(values) -> dict:
    """Least, most and mean: the three a published table gives."""
    values = list(values)
    return {"least": min(values), "most": max(values), "mean": statistics.mean(values)}


def _plain(value: float) -> float | None:
    return None if math.isnan(value) else value


def _of(pair: stats.Pair) -> dict:
    return {"blocks": pair.blocks, "ratio": _plain(pair.ratio), "low": _plain(pair.low), "high": _plain(pair.high),
            "p": pair.p}


def rate_mode_name(mode: str) -> str:
    return "fixed rate" if mode == RATE else "closed loop"
