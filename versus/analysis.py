# SPDX-License-Identifier: BSD-3-Clause
"""Turns run records into results: pairs, claims, costs, latencies. Pure functions: no files, no clock.

A block is one restart of all contenders. Its figures are those of all its rounds together.
"""

import math
import statistics
from dataclasses import replace

from versus import hdr, stats
from versus.duel import judge
from versus.experiments import CLOSED, METRICS, RATE, Claim, Experiment, Load
from versus.gates import full_before, is_lower_bound, never_saturated, usable

PERCENTILES = [50.0, 90.0, 99.0, 99.9, 99.99]
FIGURE_OF = {"server_cpu": "server_cpu_ns", "speed": "messages_per_s"}
# The histograms of a run: what they are about, and their key in the record.
HISTOGRAMS = {"latency": "latency_hdr", "connect": "connect_hdr"}


def chosen_runs(records: list[dict], cell: str, mode: str, contender: str) -> dict[int, dict]:
    """Returns the usable record of each block."""
    chosen: dict[int, dict] = {}
    for record in records:
        if (record.get("cell"), record.get("mode"), record.get("contender")) != (cell, mode, contender):
            continue
        if record["block"] >= 0 and usable(record):
            chosen.setdefault(record["block"], record)
    return chosen


def restart_logs(subject: dict[int, dict], rival: dict[int, dict], figure: str) -> dict[int, float]:
    """Returns ln(subject / rival) for each block in which both have a known figure."""
    found = {}
    for block in sorted(subject.keys() & rival.keys()):
        mine, theirs = (run["figures"][figure] or 0.0 for run in (subject[block], rival[block]))
        if mine > 0 and theirs > 0:
            found[block] = math.log(mine / theirs)
    return found


def noise_floor(twin: stats.Pair) -> float | None:
    """Returns the A/A floor as a ratio >= 1: the end of the twin's interval that is farther from 1. Returns None if
    there is no twin."""
    return math.exp(max(abs(math.log(twin.low)), abs(math.log(twin.high)))) if twin.known else None


class Analysis:
    """The results of one experiment's records."""

    def __init__(self, experiment: Experiment, names: list[str], records: list[dict]):
        self._experiment = experiment
        self._names = names
        self._records = [record for record in records if record.get("experiment") == experiment.name]
        self._twin = experiment.twin_name
        self._runs: dict[tuple[str, str, str], dict[int, dict]] = {}
        self._pairs: dict[tuple[str, str, str, str], stats.Pair] = {}
        self._apart: set[tuple[str, str]] | None = None

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
        """Returns the pair. It is computed once, because the twin's pair is needed with every other one."""
        key = (cell.name, metric, subject, rival)
        if key not in self._pairs:
            mine, theirs = (self.runs(cell, self._mode(cell, metric), name) for name in (subject, rival))
            self._pairs[key] = stats.of_logs(list(restart_logs(mine, theirs, FIGURE_OF[metric]).values()))
        return self._pairs[key]

    def metrics(self, cell: Load) -> list[str]:
        return ["server_cpu"] + (["speed"] if CLOSED in cell.modes else [])

    def twin(self, cell: Load, metric: str) -> stats.Pair:
        return self.pair(cell, metric, self._twin, self._experiment.twin_of)

    def _differs_from_itself(self, cell: Load, metric: str) -> bool:
        """True if the twin differs from its original. Each twin is judged alone."""
        if self._apart is None:
            self._apart = {(row["cell"], row["metric"]) for row in self.noise() if row["differs"]}
        return (cell.name, metric) in self._apart

    def noise(self) -> list[dict]:
        places = [(cell, metric) for cell in self._experiment.cells for metric in self.metrics(cell)]
        twins = [self.twin(*place) for place in places]
        return [{"cell": cell.name, "metric": metric, "floor": noise_floor(twin),
                 "differs": answer["verdict"] in judge.APART, **_of(twin, answer)}
                for (cell, metric), twin, answer in zip(places, twins, each_alone(twins))]

    def claims(self) -> list[dict]:
        """Returns the claims, measured or not. judge_together() adds their verdicts."""
        return [self._claim(self._resolved(claim)) for claim in self._experiment.claims]

    def _resolved(self, claim: Claim) -> Claim:
        """Returns the claim with its rival: the best of `best_of` in its cell by the median."""
        cell = self._experiment.cell(claim.cell)
        known = {name: statistics.median(values) for name in claim.best_of
                 if (values := self.values(cell, claim.metric, name).values())}
        best = {"less": min, "more": max}[METRICS[claim.metric][1]]
        return replace(claim, rival=best(known, key=known.get)) if known else claim

    def _claim(self, claim: Claim) -> dict:
        cell = self._experiment.cell(claim.cell)
        pair = self.pair(cell, claim.metric, claim.subject, claim.rival)
        twin = self.twin(cell, claim.metric)
        among = f" (the best of {', '.join(claim.best_of)})" if claim.best_of else ""
        return {"sentence": claim.sentence(cell.title, self._experiment.unit) + among, "subject": claim.subject,
                "rival": claim.rival, "cell": claim.cell, "metric": claim.metric, "bar": claim.bar,
                "floor": noise_floor(twin), "logs": list(pair.logs), "obstacle": self._obstacle(claim, twin),
                **pair.as_dict()}

    def _obstacle(self, claim: Claim, twin: stats.Pair) -> str:
        """Returns why there can be no verdict on a claim, whatever its ratio is; "" if there can be one."""
        if not twin.known:
            return "there was no A/A twin"
        cell = self._experiment.cell(claim.cell)
        if self._differs_from_itself(cell, claim.metric):
            return "the same program differs from itself"
        both = (claim.subject, claim.rival) if claim.metric == "speed" else ()
        full = [name for name in both if self._bounded(cell, name)]
        return full_before(full)

    def pairs(self) -> list[dict]:
        """Returns every pair that is shown. These pairs have no claims."""
        shown = [(cell, metric, *names) for cell in self._experiment.cells for metric in self.metrics(cell)
                 for names in self._grid() if all(self._experiment.runs_here(name, cell) for name in names)]
        pairs = [self.pair(*each) for each in shown]
        rows = []
        for (cell, metric, subject, rival), pair, answer in zip(shown, pairs, each_alone(pairs)):
            bounded = metric == "speed" and (self._bounded(cell, subject) or self._bounded(cell, rival))
            spoken = says(pair, metric, answer["verdict"], self._differs_from_itself(cell, metric))
            rows.append({"cell": cell.name, "metric": metric, "subject": subject, "rival": rival,
                         "bounded": bounded, "says": spoken, **_of(pair, answer)})
        return rows

    def _bounded(self, cell: Load, name: str) -> bool:
        return any(is_lower_bound(run) for run in self.runs(cell, CLOSED, name).values())

    def _grid(self) -> list[tuple[str, str]]:
        return self._experiment.grid_of([name for name in self._names if name != self._twin])

    def saturation(self) -> list[dict]:
        """Returns closed-loop throughput: from the blocks if they ran in a closed loop, otherwise from the
        calibration."""
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
                    "mean_read_bytes": middle_of(figures, "mean_read_bytes"),
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
        """Returns the costs per message. `calls` has system calls per message by cell and contender."""
        rows = []
        for cell in self._experiment.cells:
            for name in self._names:
                figures = [run["figures"] for run in self.runs(cell, cell.headline_mode, name).values()]
                if name == self._twin or not figures:
                    continue

                def middle(key: str) -> float | None:
                    return middle_of(figures, key)

                by_name = calls.get(cell.name, {}).get(name)
                start = middle("rss_start_bytes")
                grown = None if start is None else middle("server_rss_bytes") - start
                rows.append({
                    "cell": cell.name, "contender": name, "runs": len(figures),
                    "messages_per_s": middle("messages_per_s"),
                    "server_us": middle("server_cpu_ns") / 1e3, "client_us": middle("client_cpu_ns") / 1e3,
                    "sum_us": statistics.median(f["server_cpu_ns"] + f["client_cpu_ns"] for f in figures) / 1e3,
                    "calls": None if by_name is None else sum(by_name.values()), "calls_by_name": by_name,
                    "switches": middle("switches"), "rss_bytes": middle("server_rss_bytes"),
                    "rss_per_connection_bytes":
                        None if grown is None or cell.connections < 100 else grown / cell.connections,
                })
        return rows

    def latency(self) -> list[dict]:
        """Returns percentiles and a curve from the merged histograms of all blocks: of requests, and of connects."""
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
        """Returns every run that a gate marked, with its status."""
        copied = ("key", "cell", "mode", "block", "contender", "attempt", "status")
        return [{name: record[name] for name in copied} | {"sentences": [gate["sentence"] for gate in record["gates"]]}
                for record in self._records if record["gates"]]


def curve(histogram: hdr.Histogram) -> list[list[float]]:
    """Returns points [1 / share of samples above, microseconds], up to the point with ten samples above it."""
    steps = [k / 20 for k in range(0, 121)]
    wanted = [100.0 * (1.0 - 10.0**-step) for step in steps]
    kept = [(step, p) for step, p in zip(steps, wanted) if histogram.known(p)]
    values = histogram.percentiles([p for _, p in kept])
    return [[round(10.0**step, 4), value / 1e3] for (step, _), value in zip(kept, values)]


def each_alone(pairs: list[stats.Pair]) -> list[dict]:
    """Returns the judge's answer to each pair alone."""
    return judge.ask([judge.question(pair.logs, family=str(number)) for number, pair in enumerate(pairs)])


def says(pair: stats.Pair, metric: str, verdict: str, differs_from_itself: bool = False) -> str:
    """Returns in two or three words what may be said about a pair. If the same program differs from itself, that is
    nothing."""
    if not pair.known:
        return "too few runs"
    if differs_from_itself:
        return stats.CANNOT_TELL
    if verdict not in judge.APART:
        return stats.standing(pair) if metric == "speed" else stats.CANNOT_TELL
    return ({judge.MORE: "faster", judge.LESS: "slower"} if metric == "speed" else
            {judge.LESS: "less CPU", judge.MORE: "more CPU"})[verdict]


def judge_together(claims: list[dict]) -> None:
    """Adds the verdicts to a page's claims. Their p are one family."""
    sides = {"less": "<=", "more": ">="}
    answers = judge.ask([judge.question(claim["logs"], bar=claim["bar"], side=sides[METRICS[claim["metric"]][1]],
                                        obstacle=claim["obstacle"]) for claim in claims])
    for claim, answer in zip(claims, answers):
        known = answer["restarts"] >= stats.FEWEST_BLOCKS
        claim |= {"p_adjusted": answer["p_adjusted"], "verdict": answer["verdict"] if known else stats.NOT_MEASURED,
                  "why": answer["why"]}


def middle_of(figures: list[dict], key: str) -> float | None:
    """Returns the median over runs, or None if it is unknown in one of them."""
    values = [figure[key] for figure in figures]
    return None if None in values else statistics.median(values)


def _three(values) -> dict:
    """Returns least, most and mean, as in the published tables."""
    values = list(values)
    return {"least": min(values), "most": max(values), "mean": statistics.mean(values)}


def _of(pair: stats.Pair, answer: dict) -> dict:
    return pair.as_dict() | {"p": answer["p"]}


def rate_mode_name(mode: str) -> str:
    return "fixed rate" if mode == RATE else "closed loop"
