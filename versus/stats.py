# SPDX-License-Identifier: BSD-3-Clause
"""The statistics of a paired comparison: what the numbers allow one to say.

A pair is two contenders measured in the same blocks. Everything is done on the log of their ratio per block, so that
"twice" and "half" weigh the same. Nothing is removed: a missing run takes its block out of that pair, and is counted.
"""

import math
from dataclasses import dataclass

import numpy
from scipy import stats as scipy_stats

CONFIDENCE = 0.95
ALPHA = 0.05
RESAMPLES = 5000
# Fewer blocks than this make no interval: the pair is shown as "too few runs".
FEWEST_BLOCKS = 4
# "Not behind": the median may be this little below 1, and the interval must reach 1.
NOT_BEHIND = 0.97


@dataclass(frozen=True)
class Pair:
    """The ratio subject / rival over the blocks: median, 95 % bootstrap interval, exact Wilcoxon p."""

    blocks: int
    ratio: float
    low: float
    high: float
    p: float
    logs: tuple[float, ...] = ()

    @property
    def known(self) -> bool:
        return self.blocks >= FEWEST_BLOCKS


UNKNOWN = Pair(0, math.nan, math.nan, math.nan, 1.0)


def fewest_blocks_for(claims: int) -> int:
    """The smallest n with claims * 2^(1-n) <= 0.05: fewer blocks could not let every claim pass."""
    blocks = FEWEST_BLOCKS
    while claims * 2.0 ** (1 - blocks) > ALPHA:
        blocks += 1
    return blocks


def wilcoxon_p(logs: list[float]) -> float:
    """Two-sided exact signed-rank p of "the median of `logs` is zero"; zeros say nothing and are dropped."""
    values = [value for value in logs if value != 0.0]
    if not values:
        return 1.0
    method = "exact" if len(values) <= 50 else "approx"
    return float(scipy_stats.wilcoxon(values, alternative="two-sided", method=method).pvalue)


def bootstrap_median(logs: list[float], seed: int) -> tuple[float, float]:
    """The percentile interval of the median of `logs`, from a generator seeded with `seed`."""
    values = numpy.asarray(logs, dtype=float)
    random = numpy.random.default_rng(seed)
    medians = numpy.median(values[random.integers(0, len(values), (RESAMPLES, len(values)))], axis=1)
    tail = (1.0 - CONFIDENCE) / 2.0
    low, high = numpy.quantile(medians, [tail, 1.0 - tail])
    return float(low), float(high)


def compare(subject: dict[int, float], rival: dict[int, float], seed: int) -> Pair:
    """The pair over the blocks both were measured in; values are positive, keyed by block."""
    blocks = sorted(b for b in subject.keys() & rival.keys() if subject[b] > 0 and rival[b] > 0)
    logs = [math.log(subject[b] / rival[b]) for b in blocks]
    if len(logs) < FEWEST_BLOCKS:
        ratio = math.exp(float(numpy.median(logs))) if logs else math.nan
        return Pair(len(logs), ratio, math.nan, math.nan, 1.0, tuple(logs))
    low, high = bootstrap_median(logs, seed)
    ratio = math.exp(float(numpy.median(logs)))
    return Pair(len(logs), ratio, math.exp(low), math.exp(high), wilcoxon_p(logs), tuple(logs))


def p_against(pair: Pair, bound: float) -> float:
    """Two-sided Wilcoxon p of "the ratio is `bound`"."""
    return wilcoxon_p([value - math.log(bound) for value in pair.logs]) if pair.known else 1.0


def holm(p_values: list[float]) -> list[float]:
    """Holm's step-down adjustment, in the order given."""
    count = len(p_values)
    adjusted, running = [1.0] * count, 0.0
    for rank, index in enumerate(sorted(range(count), key=lambda i: p_values[i])):
        running = max(running, min(1.0, (count - rank) * p_values[index]))
        adjusted[index] = running
    return adjusted


def noise_floor(twin: Pair) -> float:
    """The A/A floor as a ratio >= 1: the farther end of the twin's interval. NaN where there was no twin."""
    if not twin.known:
        return math.nan
    return math.exp(max(abs(math.log(twin.low)), abs(math.log(twin.high))))


def differs(pair: Pair, floor: float, p_adjusted: float) -> str:
    """"below", "above" or "" (cannot tell): the interval excludes 1, the effect exceeds the floor, and p holds."""
    if not pair.known or math.isnan(floor) or p_adjusted > ALPHA:
        return ""
    if abs(math.log(pair.ratio)) <= math.log(floor):
        return ""
    if pair.high < 1.0:
        return "below"
    return "above" if pair.low > 1.0 else ""


def against_bar(pair: Pair, bar: float, p_adjusted: float) -> str:
    """"met", "not met" or "cannot tell" of "ratio <= bar"; p is that of p_against(pair, bar), adjusted."""
    if not pair.known or p_adjusted > ALPHA:
        return "cannot tell"
    if pair.high <= bar:
        return "met"
    return "not met" if pair.low > bar else "cannot tell"


def obstacle(pair: Pair, bound: float, floor: float, p_adjusted: float) -> str:
    """Why a claim against `bound` (1 for a plain difference) cannot be told, in a few words."""
    if not pair.known:
        return f"{pair.blocks} usable blocks"
    if pair.low <= bound < pair.high:
        return f"the interval holds {bound:g}"
    if bound == 1.0 and math.isnan(floor):
        return "there was no A/A twin"
    if bound == 1.0 and abs(math.log(pair.ratio)) <= math.log(floor):
        return "the effect is within the noise floor"
    return f"p is {p_adjusted:.2f}" if p_adjusted > ALPHA else ""


def standing(pair: Pair) -> str:
    """How a speed ratio stands: "not behind", "behind" (wholly below 1) or "cannot tell"."""
    if not pair.known:
        return "too few runs"
    if pair.high < 1.0:
        return "behind"
    return "not behind" if pair.ratio >= NOT_BEHIND else "cannot tell"
