# SPDX-License-Identifier: BSD-3-Clause
"""The statistics of a paired comparison: what the numbers allow one to say.

A pair is two contenders measured side by side. Its unit is the restart: fresh processes of both give one value, the log
of their ratio, so that "twice" and "half" weigh the same. A duel's restart is all its rounds together; a run that was
played by itself is a restart of one round. Over the restarts stands Student's interval (Ibragimov and Mueller
2010: it holds for values of different scatter too). Nothing is removed: a missing run takes its restart out of that
pair, and is counted. load/statistics/ has the same rules for `peal load duel`, and tries them on simulated noise.
"""

import math
import statistics
from dataclasses import dataclass

from scipy import stats as scipy_stats

CONFIDENCE = 0.95
ALPHA = 0.05
# Fewer restarts than this make no interval: the pair is shown as "too few runs".
FEWEST_BLOCKS = 4
# A pair about which nothing was claimed beforehand is one of many: it differs at this p, by at least so much.
PAIR_ALPHA, PAIR_MARGIN = 0.01, 1.01
# "Not behind": the ratio may be this little below 1, and the interval must reach 1.
NOT_BEHIND = 0.97
# An interval no farther than this from its ratio says "at the bar" of a bar that is no farther away.
NARROW = 1.02

MET, NOT_MET, AT_THE_BAR, CANNOT_TELL = "met", "not met", "at the bar", "cannot tell"
NOT_MEASURED = "not measured"
DECIDED = (MET, NOT_MET, AT_THE_BAR)


@dataclass(frozen=True)
class Pair:
    """The ratio subject / rival over the restarts, with Student's 95 % interval."""

    blocks: int
    ratio: float
    low: float
    high: float
    logs: tuple[float, ...] = ()

    @property
    def known(self) -> bool:
        return self.blocks >= FEWEST_BLOCKS

    @property
    def p(self) -> float:
        """Of "the two are the same"."""
        return p_against(self, 1.0)

    def as_dict(self) -> dict:
        """Plain data; what is not known is None."""
        ratio, low, high = (None if math.isnan(value) else value for value in (self.ratio, self.low, self.high))
        return {"blocks": self.blocks, "ratio": ratio, "low": low, "high": high}


UNKNOWN = Pair(0, math.nan, math.nan, math.nan)


def of_logs(logs: list[float]) -> Pair:
    """The pair whose log ratio is one of `logs` in each restart."""
    logs = [log for log in logs if math.isfinite(log)]
    if not logs:
        return UNKNOWN
    mean = statistics.fmean(logs)
    if len(logs) < FEWEST_BLOCKS:
        return Pair(len(logs), math.exp(mean), math.nan, math.nan, tuple(logs))
    half = scipy_stats.t.ppf((1 + CONFIDENCE) / 2, len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
    return Pair(len(logs), math.exp(mean), math.exp(mean - half), math.exp(mean + half), tuple(logs))


def compare(subject: dict[int, float], rival: dict[int, float]) -> Pair:
    """The pair over the restarts both were measured in; values are positive, keyed by restart."""
    both = sorted(at for at in subject.keys() & rival.keys() if subject[at] > 0 and rival[at] > 0)
    return of_logs([math.log(subject[at] / rival[at]) for at in both])


def p_against(pair: Pair, bound: float) -> float:
    """Two-sided p of Student's test of "the ratio is `bound`"; 1 of a pair with too few restarts."""
    if not pair.known:
        return 1.0
    off = statistics.fmean(pair.logs) - math.log(bound)
    error = statistics.stdev(pair.logs) / math.sqrt(len(pair.logs))
    if error == 0.0:
        return 1.0 if off == 0.0 else 0.0
    return float(2.0 * scipy_stats.t.sf(abs(off) / error, len(pair.logs) - 1))


def holm(p_values: list[float]) -> list[float]:
    """Holm's step-down adjustment, in the order given."""
    count = len(p_values)
    adjusted, running = [1.0] * count, 0.0
    for rank, index in enumerate(sorted(range(count), key=lambda i: p_values[i])):
        running = max(running, min(1.0, (count - rank) * p_values[index]))
        adjusted[index] = running
    return adjusted


def differs(pair: Pair) -> str:
    """"below", "above" or "" (cannot tell): of a pair about which nothing was claimed beforehand."""
    if pair.p > PAIR_ALPHA or abs(math.log(pair.ratio)) <= math.log(PAIR_MARGIN):
        return ""
    return "below" if pair.ratio < 1.0 else "above"


def judged(pair: Pair, bar: float, p_adjusted: float) -> tuple[str, str]:
    """(verdict, why it cannot be told) of "ratio <= bar", claimed beforehand; the p is p_against(pair, bar), adjusted
    over all that was claimed with it."""
    if not pair.known:
        return CANNOT_TELL, f"{pair.blocks} usable restarts"
    holds = pair.low <= bar <= pair.high
    if not holds and p_adjusted <= ALPHA:
        return (MET if pair.ratio < bar else NOT_MET), ""
    if pair.high / pair.ratio < NARROW and 1 / NARROW < pair.ratio / bar < NARROW:
        return AT_THE_BAR, ""
    return CANNOT_TELL, f"the interval holds {bar:g}" if holds else f"p is {p_adjusted:.2f}"


def judged_alone(pair: Pair, bar: float, at_least: bool = False) -> str:
    """The verdict of "ratio <= bar", or ">= bar", that stands by itself."""
    verdict, _ = judged(pair, bar, p_against(pair, bar))
    mirrored = {MET: NOT_MET, NOT_MET: MET}
    return mirrored.get(verdict, verdict) if at_least else verdict


def standing(pair: Pair) -> str:
    """How a speed ratio stands: "not behind", "behind" (wholly below 1) or "cannot tell"."""
    if not pair.known:
        return "too few runs"
    if pair.high < 1.0:
        return "behind"
    return "not behind" if pair.ratio >= NOT_BEHIND else "cannot tell"
