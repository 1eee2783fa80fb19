# SPDX-License-Identifier: BSD-3-Clause
"""The statistics of a paired comparison: what the numbers allow one to say.

A pair is two contenders that are measured together. The unit is the restart: new processes of both give one value, the
logarithm of their ratio, so that "twice" and "half" count equally. In a duel, a restart is all its rounds together; a
contender that plays alone counts as one round. The interval is Student's over the restarts (Ibragimov and Mueller 2010:
it is also valid if the values scatter differently). Nothing is removed: if a run is missing, its restart is missing in
that pair, and this is counted. judge.py asks what may be said about a pair.
"""

import math
import statistics
from dataclasses import dataclass

from scipy import stats as scipy_stats

CONFIDENCE = 0.95
# With fewer restarts than this there is no interval: the pair is shown as "too few runs".
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
        """Returns plain data. Unknown values are None."""
        ratio, low, high = (None if math.isnan(value) else value for value in (self.ratio, self.low, self.high))
        return {"blocks": self.blocks, "ratio": ratio, "low": low, "high": high}


UNKNOWN = Pair(0, math.nan, math.nan, math.nan)


def of_logs(logs: list[float]) -> Pair:
    """Returns the pair with these log ratios, one per restart."""
    logs = [log for log in logs if math.isfinite(log)]
    if not logs:
        return UNKNOWN
    mean = statistics.fmean(logs)
    if len(logs) < FEWEST_BLOCKS:
        return Pair(len(logs), math.exp(mean), math.nan, math.nan, tuple(logs))
    half = scipy_stats.t.ppf((1 + CONFIDENCE) / 2, len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
    return Pair(len(logs), math.exp(mean), math.exp(mean - half), math.exp(mean + half), tuple(logs))


def compare(subject: dict[int, float], rival: dict[int, float]) -> Pair:
    """Returns the pair over the restarts in which both were measured. Values are positive, by restart."""
    both = sorted(at for at in subject.keys() & rival.keys() if subject[at] > 0 and rival[at] > 0)
    return of_logs([math.log(subject[at] / rival[at]) for at in both])


def standing(pair: Pair) -> str:
    """Returns the state of a speed ratio: "not behind", "behind" (completely below 1), "cannot tell" or "too few
    runs"."""
    if not pair.known:
        return "too few runs"
    if pair.high < 1.0:
        return "behind"
    return "not behind" if pair.ratio >= NOT_BEHIND else "cannot tell"
