# SPDX-License-Identifier: BSD-3-Clause
"""Who runs when: shuffled blocks from one seed, and the length of a run from the budget."""

import random
from dataclasses import dataclass

from versus.experiments import CLOSED, RATE, Cell, Experiment

SHORTEST_RUN_S = 0.15
LONGEST_RUN_S = 3.0


@dataclass(frozen=True)
class Task:
    """One run: a contender in a cell in a block. Block -1, -2... are the calibration's rounds."""

    cell: Cell
    mode: str
    block: int
    contender: str
    attempt: int = 0

    @property
    def key(self) -> str:
        return f"{self.cell.name}/{self.mode}/{self.block}/{self.contender}/{self.attempt}"

    def again(self) -> "Task":
        return Task(self.cell, self.mode, self.block, self.contender, self.attempt + 1)


def block_tasks(cells: tuple[Cell, ...], block: int, names: list[str], seed: int) -> list[Task]:
    """Every contender once in every cell and mode. Cells are shuffled, then the contenders within each: what is
    compared runs close together in time."""
    shuffler = random.Random(f"{seed}/{block}")
    slots = [(cell, mode) for cell in cells for mode in cell.modes]
    shuffler.shuffle(slots)
    tasks = []
    for cell, mode in slots:
        order = list(names)
        shuffler.shuffle(order)
        tasks += [Task(cell, mode, block, name) for name in order]
    return tasks


def calibration_tasks(cells: tuple[Cell, ...], round_: int, names: list[str], seed: int) -> list[Task]:
    """One closed-loop run of every contender in every cell that has a fixed rate to be found."""
    rated = tuple(Cell(c.size, c.connections, c.threads, (CLOSED,)) for c in cells if RATE in c.modes)
    return block_tasks(rated, -round_, names, seed)


def fixed_rate(saturations: dict[str, list[float]]) -> float:
    """Half of the slowest contender's saturation: a rate everyone holds with room to spare."""
    slowest = min(max(values) for values in saturations.values() if values)
    rate = slowest / 2.0
    # Two significant digits read better in the report, and lose at most 5 %.
    step = 10 ** max(0, len(str(int(rate))) - 2)
    return float(max(1, int(rate // step) * step))


def run_seconds(remaining_s: float, reserve_s: float, runs: int, overhead_s: float, warmup_s: float) -> float:
    """How long each of `runs` may measure so that all of them and the reserve fit into what remains."""
    if runs <= 0:
        return LONGEST_RUN_S
    each = (remaining_s - reserve_s) / runs - overhead_s - warmup_s
    return round(min(LONGEST_RUN_S, max(SHORTEST_RUN_S, each)), 3)


def run_count(experiment: Experiment, contenders: int) -> int:
    """The runs of all blocks, repeats not counted."""
    return experiment.blocks * contenders * sum(len(cell.modes) for cell in experiment.cells)


def fitting(cells: tuple[Cell, ...], fd_limit: int) -> tuple[tuple[Cell, ...], list[str]]:
    """The cells whose connections fit under the fd limit, and a sentence for each that does not."""
    spare = 64
    kept = tuple(cell for cell in cells if cell.connections + spare <= fd_limit)
    left = [f"{cell.name}: {cell.connections:,} connections do not fit under the limit of {fd_limit:,} open files"
            for cell in cells if cell not in kept]
    return kept, left
