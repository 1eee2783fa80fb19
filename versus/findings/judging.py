# SPDX-License-Identifier: BSD-3-Clause
"""How a published finding is held against a run: confirmed, refuted, at the bound, or not measurable here.

The whole interval of a paired ratio judges, never its middle: it lies inside what the finding says, outside, or across
the bound. If a program differs from itself, nothing is said. If the generator limited a throughput, the server's CPU
per message judges instead, and the figure says so.
"""

import statistics
from collections.abc import Callable
from dataclasses import dataclass

from versus import published, stats
from versus.analysis import chosen_runs, noise_floor, restart_logs
from versus.duel import judge
from versus.experiments import CLOSED
from versus.roster import HTTP, PINGPONG

CONFIRMED, REFUTED, AT_BOUND, NOT_HERE = "confirmed", "refuted", "at the bound", "not measurable here"
VERDICTS = (CONFIRMED, REFUTED, AT_BOUND, NOT_HERE)
DECIDED = (CONFIRMED, REFUTED)
SAID = {judge.WITHIN: CONFIRMED, judge.OUTSIDE: REFUTED, judge.AT_THE_BOUND: AT_BOUND}  # by the judge
FEWEST_BLOCKS = 6  # with fewer restarts than this, no published finding is judged
LEVEL = 1.10  # "level": within a tenth of each other
EQUAL = 1.05  # "equal" of two compilers
UNUSABLE = "there is no usable run of one of the two"
ITSELF = "the same program differs from itself there"
SPEED, MIB, CPU = "messages_per_s", "mib_per_s", "server_cpu_ns"
METRIC_OF = {SPEED: "speed", MIB: "speed", CPU: "server_cpu"}
COMPILERS = "compilers"  # the experiment whose twin's interval is the least that helps


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
class Rule:
    """A finding: subject / rival of `figure` lies in `bounds`, over the loads that both played."""

    experiment: int
    part: str  # the experiment of the results that plays it
    sentence: str
    subject: str
    rivals: tuple[str, ...]  # the fastest of them is meant
    bounds: tuple[float, float] | None  # None: server CPU that the twin's noise does not explain
    what: str  # the figure in words; {loads}: how many it is about, {cells}: which
    loads: Callable[[dict], list[tuple[str, str]]]  # the cells of subject and of rival in each load
    figure: str = SPEED
    missing: str = UNUSABLE
    slowest: bool = False  # the slowest of the rivals is meant
    largest: bool = False  # the load with the largest ratio is meant, not all together


def experiment_of(results: dict, name: str) -> dict | None:
    return next((experiment for experiment in results["experiments"] if experiment["name"] == name), None)


def cells_of(experiment: dict | None, **wanted) -> list[str]:
    """The names of its closed-loop cells that are as wanted."""
    return [cell["name"] for cell in (experiment or {}).get("cells", ())
            if CLOSED in cell["modes"] and all(cell[key] == value for key, value in wanted.items())]


def known_names(experiment: dict | None) -> set[str]:
    return {contender["name"] for contender in (experiment or {}).get("contenders", ())}


def ratio(experiment: dict | None, subject: Side, rival: Side, figure: str = SPEED) -> stats.Pair:
    """subject / rival by block: over several cells their geometric mean, of blocks that have them all."""
    if experiment is None:
        return stats.UNKNOWN
    modes = [cell["modes"][0] for cell in experiment["cells"]] if experiment["name"] == COMPILERS else []
    mode = modes[0] if modes else CLOSED
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


def bounded(experiment: dict | None, side: Side) -> bool:
    """Whether the generator's core filled first in one of these rows: the true throughput is higher."""
    return any(row["lower_bound"] for row in (experiment or {}).get("saturation", ())
               if row["contender"] == side.contender and row["cell"] in side.cells)


def twin_differs(experiment: dict | None, cells: tuple[str, ...], metric: str) -> bool:
    """Whether in one of the cells the same program differs from itself: nothing is said of anybody there."""
    return any(row["differs"] for row in (experiment or {}).get("noise", ())
               if row["cell"] in cells and row["metric"] == metric)


def held(experiment: dict | None, pair: stats.Pair, bounds: tuple[float, float], cells: tuple[str, ...], figure: str,
         told: str) -> tuple[str, str]:
    """The verdict and what is told; there is none where a program differs from itself in one of the cells."""
    verdict = within(pair, *bounds)
    if verdict in DECIDED and twin_differs(experiment, cells, METRIC_OF.get(figure, "speed")):
        return NOT_HERE, f"{told}; but {ITSELF}"
    return verdict, told


def _over(experiment: dict, rule: Rule, rival: str, loads: list[tuple[str, str]]) -> tuple[stats.Pair, Side, Side]:
    """The ratio to one rival and its sides, over those of the loads that both played."""
    ran = [load for load in loads
           if ratio(experiment, Side(rule.subject, load[:1]), Side(rival, load[1:]), rule.figure).known]
    sides = Side(rule.subject, tuple(mine for mine, _ in ran)), Side(rival, tuple(theirs for _, theirs in ran))
    return ratio(experiment, *sides, rule.figure), *sides


def _meant(experiment: dict | None, rule: Rule) -> tuple[stats.Pair, Side, Side]:
    """The ratio that the finding speaks of, and its sides."""
    loads = rule.loads(experiment) if experiment else []
    choose = max if rule.slowest else min
    found = []
    for group in [[load] for load in loads] if rule.largest else [loads]:
        known = [over for rival in rule.rivals if (over := _over(experiment, rule, rival, group))[0].known]
        found += [choose(known, key=lambda over: over[0].ratio)] if known else []
    nothing = stats.UNKNOWN, Side(rule.subject, ()), Side(rule.rivals[0], ())
    return max(found, key=lambda over: over[0].ratio, default=nothing)


def _missing(experiment: dict | None, rule: Rule, sides: tuple[Side, Side]) -> str:
    """What to say where one did not run: who is not packaged says how to be added."""
    strangers = [side.contender for side in sides if side.contender in published.RIVALS
                 and side.contender not in known_names(experiment)]
    return published.how_to_add(strangers[0], PINGPONG if rule.experiment == 1 else HTTP) if strangers else rule.missing


def judged(results: dict, rule: Rule) -> Finding:
    """How the finding stands. If the generator limited a throughput and that could change the verdict, server CPU per
    message is judged instead."""
    experiment = experiment_of(results, rule.part)
    pair, *sides = _meant(experiment, rule)
    cells, figure, bounds, remark = sides[0].cells, rule.figure, rule.bounds, ""
    names = " / ".join(side.contender for side in sides)
    what = f"{rule.what.format(loads=len(cells), cells=', '.join(cells))}, {names}"
    missing = _missing(experiment, rule, sides)
    if bounds is None:
        twin = Side((experiment or {}).get("twin", ""), cells)
        floor = noise_floor(ratio(experiment, twin, Side("peal-epoll", cells), CPU))
        if floor is None:
            return Finding(rule.experiment, rule.sentence, NOT_HERE, said(what, pair, missing))
        bounds, remark = (0.0, 1 / floor), f"; noise floor ±{(floor - 1) * 100:.1f} %"
    full = tuple(figure != CPU and bounded(experiment, side) for side in sides)
    if pair.blocks >= FEWEST_BLOCKS and any(full) and within(pair, *bounds, full=full) == NOT_HERE:
        before = said(what, pair, missing)
        who = " and ".join(side.contender for side, is_full in zip(sides, full) if is_full)
        sides, figure = sides[::-1], CPU
        what = f"the generator's core filled first with {who}; server CPU, {sides[0].contender} / {sides[1].contender}"
        pair, missing = ratio(experiment, *sides, CPU), f"{before}, but {what}: -"
    verdict, told = held(experiment, pair, bounds, sides[0].cells + sides[1].cells, figure,
                         said(what, pair, missing) + remark)
    return Finding(rule.experiment, rule.sentence, verdict, told)
