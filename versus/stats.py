# SPDX-License-Identifier: BSD-3-Clause
"""The statistics of a paired comparison: what the numbers allow one to say.

A pair is two contenders measured side by side. Its unit is the restart: fresh processes of both give one value, the log
of their ratio, so that "twice" and "half" weigh the same. A duel's restart is all its rounds together; a run that was
played by itself is a restart of one round. Over the restarts stands Student's interval (Ibragimov and Mueller
2010: it holds for values of different scatter too). Nothing is removed: a missing run takes its restart out of that
pair, and is counted. Which word may be said of a pair is for judge.py to ask.
"""

import math
import statistics
from dataclasses import dataclass

from scipy import stats as scipy_stats

CONFIDENCE = 0.95
# Fewer restarts than this make no interval: the pair is shown as "too few runs".
FEWEST_BLOCKS = 4
# "Not behind": the ratio may be this little below 1, and the interval must reach 1.
NOT_BEHIND = 0.97

MET, NOT_MET, AT_THE_BAR, CANNOT_TELL = "met", "not met", "at the bar", "cannot tell"
NOT_MEASURED = "not measured"


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


def standing(pair: Pair) -> str:
    """How a speed ratio stands: "not behind", "behind" (wholly below 1) or "cannot tell"."""
    if not pair.known:
        return "too few runs"
    if pair.high < 1.0:
        return "behind"
    return "not behind" if pair.ratio >= NOT_BEHIND else "cannot tell"
