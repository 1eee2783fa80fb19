# SPDX-License-Identifier: BSD-3-Clause
"""How a published finding is held against a run: confirmed, refuted, at the bound, or not measurable here.

It is the whole interval of a paired ratio that judges, never its middle: wholly inside what the finding says, wholly
outside, or across its bound. Nothing is said where a program differs from itself. A throughput that the generator
limited says little about the server; then what a message costs the server stands for it, and the figure says so.
Pure functions over the results.
"""

import statistics
from dataclasses import dataclass, replace

from versus import stats
from versus.analysis import chosen_runs, restart_logs
from versus.duel import judge
from versus.experiments import CLOSED

CONFIRMED, REFUTED, AT_BOUND, NOT_HERE = "confirmed", "refuted", "at the bound", "not measurable here"
VERDICTS = (CONFIRMED, REFUTED, AT_BOUND, NOT_HERE)
SAID = {judge.WITHIN: CONFIRMED, judge.OUTSIDE: REFUTED, judge.AT_THE_BOUND: AT_BOUND}  # by the judge
FEWEST_BLOCKS = 6  # fewer restarts than this judge no published finding
LEVEL = 1.10  # "level": within a tenth of each other
EQUAL = 1.05  # "equal" of two compilers
FAR_AHEAD = 1.20
NO_VARIANTS = "the axis of compilers belongs to the full lab (or --variants)"
UNUSABLE = "there is no usable run of one of the two"
HALF = 0.5
ITSELF = "the same program differs from itself there"
SPEED, MIB, CPU = "messages_per_s", "mib_per_s", "server_cpu_ns"
METRIC_OF = {SPEED: "speed", MIB: "speed", CPU: "server_cpu"}


@dataclass(frozen=True)
class Finding:
    experiment: int
    sentence: str
    verdict: str
    figure: str


@dataclass(frozen=True)
class Side:
    """One side of a ratio: a contender in some cells."""

    contender: str
    cells: tuple[str, ...]


@dataclass(frozen=True)
class Saying:
    """A finding about subject / rival: its words, the two, what the ratio must lie in, and what to say where one of
    them did not run."""

    experiment: int
    sentence: str
    sides: tuple[Side, Side]
    bounds: tuple[float, float]
    missing: str

    @property
    def names(self) -> str:
        return " / ".join(side.contender for side in self.sides)


def experiment_of(results: dict, name: str) -> dict | None:
    return next((experiment for experiment in results["experiments"] if experiment["name"] == name), None)


def cells_of(experiment: dict | None, **wanted) -> list[str]:
    """The names of its closed-loop cells that are as wanted."""
    return [cell["name"] for cell in (experiment or {}).get("cells", ())
            if CLOSED in cell["modes"] and all(cell[key] == value for key, value in wanted.items())]


def known_names(experiment: dict | None) -> set[str]:
    return {contender["name"] for contender in (experiment or {}).get("contenders", ())}


def ratio(experiment: dict | None, subject: Side, rival: Side, figure: str = SPEED, mode: str = CLOSED) -> stats.Pair:
    """subject / rival by block: over several cells their geometric mean, of blocks that have them all."""
    if experiment is None:
        return stats.UNKNOWN
    logs = [restart_logs(*(chosen_runs(experiment["runs"], cell, mode, side.contender)
                           for side, cell in zip((subject, rival), cells)), figure)
            for cells in zip(subject.cells, rival.cells)]
    blocks = set.intersection(*(set(by_block) for by_block in logs)) if logs else set()
    return stats.of_logs([statistics.fmean(by_block[block] for by_block in logs) for block in sorted(blocks)])


def within(pair: stats.Pair, least: float, most: float, fewest: int = FEWEST_BLOCKS,
           full: tuple[bool, bool] = (False, False)) -> str:
    """Whether the ratio lies in [least, most]: the interval wholly in it, wholly out of it, or across its end. `full`:
    whether the throughput of subject and of rival is but a lower bound; nothing is said that this could turn over."""
    if pair.blocks < fewest:
        return NOT_HERE
    bounded = [side for side, is_full in zip(("subject", "rival"), full) if is_full]
    return SAID.get(judge.alone(pair.logs, least=least, most=most, bounded=bounded), NOT_HERE)


def said(what: str, pair: stats.Pair, missing: str, fewest: int = FEWEST_BLOCKS) -> str:
    if not pair.known:
        return missing
    words = f"{what}: {pair.ratio:.2f} ({pair.low:.2f} to {pair.high:.2f}), {pair.blocks} blocks"
    if pair.blocks < fewest:
        return f"{words}: too few, {fewest} are needed"
    return words


def judged(number: int, sentence: str, what: str, pair: stats.Pair, bounds: tuple[float, float],
           missing: str) -> Finding:
    return Finding(number, sentence, within(pair, *bounds), said(what, pair, missing))


def bounded(experiment: dict | None, side: Side) -> bool:
    """Whether the generator's core filled first in one of these rows: the true throughput is higher."""
    return any(row["lower_bound"] for row in (experiment or {}).get("saturation", ())
               if row["contender"] == side.contender and row["cell"] in side.cells)


def twin_differs(experiment: dict | None, cells: tuple[str, ...], metric: str) -> bool:
    """Whether in one of the cells the same program differs from itself: nothing is said of anybody there."""
    return any(row["differs"] for row in (experiment or {}).get("noise", ())
               if row["cell"] in cells and row["metric"] == metric)


def unless_itself(found: Finding, experiment: dict | None, cells: tuple[str, ...], figure: str) -> Finding:
    """`found`, of this figure in these cells; nothing where a program differs from itself there."""
    if found.verdict in (CONFIRMED, REFUTED) and twin_differs(experiment, cells, METRIC_OF[figure]):
        return replace(found, verdict=NOT_HERE, figure=f"{found.figure}; but {ITSELF}")
    return found


def axis_of_compilers(results: dict) -> tuple[dict | None, tuple[str, ...], str]:
    """The experiment, its cells, and the mode in which they were played."""
    experiment = experiment_of(results, "compilers")
    cells = tuple(cell["name"] for cell in (experiment or {}).get("cells", ()))
    return experiment, cells, experiment["cells"][0]["modes"][0] if cells else CLOSED


def throughput(experiment: dict | None, saying: Saying, unit: str, figure: str = SPEED) -> Finding:
    """A finding about throughputs; where the generator limited one so that the verdict could be another, about what
    a message costs the server."""
    pair = ratio(experiment, *saying.sides, figure)
    found = judged(saying.experiment, saying.sentence, f"{unit}, {saying.names}", pair, saying.bounds, saying.missing)
    if found.verdict == NOT_HERE:
        return found
    cells = saying.sides[0].cells + saying.sides[1].cells
    full = tuple(bounded(experiment, side) for side in saying.sides)
    if within(pair, *saying.bounds, full=full) == NOT_HERE:
        names = " and ".join(side.contender for side, is_full in zip(saying.sides, full) if is_full)
        cost = ratio(experiment, *reversed(saying.sides), CPU)
        turned = " / ".join(side.contender for side in reversed(saying.sides))
        what = f"the generator's core filled first with {names}; server CPU, {turned}"
        found = judged(saying.experiment, saying.sentence, what, cost, saying.bounds, f"{found.figure}, but {what}: -")
        figure = CPU
    return unless_itself(found, experiment, cells, figure)
