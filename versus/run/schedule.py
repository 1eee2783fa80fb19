# SPDX-License-Identifier: BSD-3-Clause
"""Decides what an experiment gets: the cells that fit, a rate that every contender can hold, and a share of the
budget."""

import statistics
from dataclasses import replace

from versus.experiments import Experiment


def fixed_rate(saturations: dict[str, list[float]]) -> float:
    """Returns half of the slowest contender's saturation (its median). Every contender holds this rate with room to
    spare."""
    slowest = min(statistics.median(values) for values in saturations.values() if values)
    rate = slowest / 2.0
    # The rate is rounded down to two significant digits, which read better and lose at most 10 %.
    step = 10 ** max(0, len(str(int(rate))) - 2)
    return float(max(1, int(rate // step) * step))


def share_of(remaining_s: float, share: float, shares_after: float) -> float:
    """Returns how much of the remaining time an experiment may take, if others follow. Time that one does not use goes
    to the next ones."""
    return remaining_s * share / (share + shares_after)


def fitting(experiment: Experiment, fd_limit: int) -> tuple[Experiment, list[str]]:
    """Returns the experiment with the cells and claims that fit under the fd limit, and a sentence for each changed or
    dropped cell."""
    spare = 64
    experiment = replace(experiment, cells=tuple(cell.fitted(fd_limit) for cell in experiment.cells))
    kept = tuple(cell for cell in experiment.cells if cell.connections + spare <= fd_limit)
    left = [f"{experiment.name}: {cell.title}" for cell in kept if getattr(cell, "asked", 0) > cell.connections]
    left += [f"{experiment.name}, {cell.name}: {cell.connections:,} connections do not fit under the limit of "
            f"{fd_limit:,} open files" for cell in experiment.cells if cell not in kept]
    names = {cell.name for cell in kept}
    claims = tuple(claim for claim in experiment.claims if claim.cell in names)
    return replace(experiment, cells=kept, claims=claims), left
