# SPDX-License-Identifier: BSD-3-Clause
"""Who runs when: shuffled blocks from one seed, the length of a run from the budget, a budget shared out."""

import random
import statistics
from dataclasses import dataclass, replace

from versus.experiments import RATE, Experiment, Load

SHORTEST_RUN_S = 0.15
LONGEST_RUN_S = 3.0


@dataclass(frozen=True)
class Task:
    """One run: a contender in a cell in a block of an experiment. Block -1, -2... are the calibration's rounds."""

    experiment: str
    cell: Load
    mode: str
    block: int
    contender: str
    attempt: int = 0

    @property
    def key(self) -> str:
        return f"{self.experiment}/{self.cell.name}/{self.mode}/{self.block}/{self.contender}/{self.attempt}"

    def again(self) -> "Task":
        return replace(self, attempt=self.attempt + 1)


def block_tasks(experiment: Experiment, block: int, names: list[str], seed: int) -> list[Task]:
    """Every contender once in every cell and mode. Cells are shuffled, then the contenders within each: what is
    compared runs close together in time."""
    shuffler = random.Random(f"{seed}/{experiment.name}/{block}")
    slots = [(cell, mode) for cell in experiment.cells for mode in cell.modes]
    shuffler.shuffle(slots)
    tasks = []
    for cell, mode in slots:
        order = [name for name in names if experiment.runs_here(name, cell)]
        shuffler.shuffle(order)
        tasks += [Task(experiment.name, cell, mode, block, name) for name in order]
    return tasks


def calibration_tasks(experiment: Experiment, round_: int, names: list[str], seed: int) -> list[Task]:
    """One closed-loop run of every contender in every cell that has a fixed rate to be found."""
    rated = tuple(cell.closed() for cell in experiment.cells if RATE in cell.modes)
    return block_tasks(replace(experiment, cells=rated), -round_, names, seed)


def fixed_rate(saturations: dict[str, list[float]]) -> float:
    """Half of the slowest contender's saturation (its median): a rate everyone holds with room to spare."""
    slowest = min(statistics.median(values) for values in saturations.values() if values)
    rate = slowest / 2.0
    # Two significant digits read better in the report, and lose at most 5 %.
    step = 10 ** max(0, len(str(int(rate))) - 2)
    return float(max(1, int(rate // step) * step))


def run_seconds(remaining_s: float, reserve_s: float, least_s: list[float], overhead_s: float,
                warmup_s: float) -> float:
    """How long each run may measure so that all of them and the reserve fit into what remains. `least_s` has for each
    run how long it takes at least: those that take longer than the others may leave these less."""
    left = remaining_s - reserve_s - len(least_s) * (overhead_s + warmup_s)
    each, short = LONGEST_RUN_S, sorted(least_s)
    while short:
        each = left / len(short)
        if short[-1] <= each:
            break
        left -= short.pop()
    return round(min(LONGEST_RUN_S, max(SHORTEST_RUN_S, each)), 3)


def run_lengths(experiment: Experiment, names: list[str]) -> list[float]:
    """How long each run of all blocks takes at least; repeats are not counted."""
    return experiment.blocks * [getattr(cell, "least_run_s", 0.0) for cell in experiment.cells for _ in cell.modes
                                for name in names if experiment.runs_here(name, cell)]


def run_count(experiment: Experiment, names: list[str]) -> int:
    """The runs of all blocks, repeats not counted."""
    return len(run_lengths(experiment, names))


def calibration_count(experiment: Experiment, names: list[str]) -> int:
    """The runs of the calibration; the twin takes no part in it."""
    shown = [name for name in names if name != experiment.twin_name]
    return experiment.calibration_rounds * sum(1 for cell in experiment.cells for name in shown
                                               if RATE in cell.modes and experiment.runs_here(name, cell))


def share_of(remaining_s: float, share: float, shares_after: float) -> float:
    """What an experiment may take of what remains, others still to come: what one leaves over goes to the next."""
    return remaining_s * share / (share + shares_after)


def fitting(experiment: Experiment, fd_limit: int) -> tuple[Experiment, list[str]]:
    """The experiment with the cells and claims that fit under the fd limit, and a sentence for each other cell."""
    spare = 64
    experiment = replace(experiment, cells=tuple(cell.fitted(fd_limit) for cell in experiment.cells))
    kept = tuple(cell for cell in experiment.cells if cell.connections + spare <= fd_limit)
    left = [f"{experiment.name}: {cell.title}" for cell in kept if getattr(cell, "asked", 0) > cell.connections]
    left += [f"{experiment.name}, {cell.name}: {cell.connections:,} connections do not fit under the limit of "
            f"{fd_limit:,} open files" for cell in experiment.cells if cell not in kept]
    names = {cell.name for cell in kept}
    claims = tuple(claim for claim in experiment.claims if claim.cell in names)
    return replace(experiment, cells=kept, claims=claims), left
