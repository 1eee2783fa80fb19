# SPDX-License-Identifier: BSD-3-Clause
"""What an experiment gets: the cells that fit, a rate that everybody holds, its share of a budget."""

import statistics
from dataclasses import replace

from versus.experiments import Experiment


def fixed_rate(saturations: dict[str, list[float]]) -> float:
    """Half of the slowest contender's saturation (its median): a rate everyone holds with room to spare."""
    slowest = min(statistics.median(values) for values in saturations.values() if values)
    rate = slowest / 2.0
    # Two significant digits read better in the report, and lose at most 5 %.
    step = 10 ** max(0, len(str(int(rate))) - 2)
    return float(max(1, int(rate // step) * step))


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
