# SPDX-License-Identifier: BSD-3-Clause
"""Evaluates the runs of the drum: a row per cell and contender, paired ratios, and the published findings compared with
them. Pure functions over records. The rules are fixed here, beforehand.
"""

import math
import statistics
from itertools import product

from versus import published, stats
from versus.findings import judging
from versus.gates import usable

PARTS = ("total", "loop")
SUBJECT = "peal-epoll"
BOTH = ("libevent", "libev")
MORE = (1.0, math.inf)
SIMILAR = 1.25  # "similar growth" means a factor of at most 1.25
# The sources of the published claims.
LEHMANN = "M. Lehmann on the libevent-users list, 2008-05-07, about libev 3.31 and libevent 1.4.3"
README = "libev's README, which refers to libev.schmorp.de/bench.html"
DIFFERENCES = "libev's README about libevent 1.3e"
MUDUO = "Chen Shuo's article on the drum, about muduo 0.1.2 and libevent 2.0.6"


def rows(records: list[dict]) -> list[dict]:
    """Returns, by cell and contender, medians over the blocks. Each run contributes its figures of rounds 2 and
    later."""
    found: dict[tuple, list[dict]] = {}
    for record in filter(usable, records):
        place = (record["timeouts"], record["active"], record["pairs"], record["contender"])
        found.setdefault(place, []).append(record)
    result = []
    for (timeouts, active, pairs_, contender), runs in sorted(found.items()):
        row = {"cell": runs[0]["cell"], "pairs": pairs_, "active": active, "writes": runs[0]["writes"],
               "timeouts": timeouts, "contender": contender, "library": runs[0]["library"], "runs": len(runs)}
        for part in PARTS:
            for figure in ("mean", "median", "least"):
                row[f"{part}_{figure}_us"] = statistics.median(r["figures"][part][f"{figure}_ns"] for r in runs) / 1e3
            row[f"{part}_first_us"] = statistics.median(r["figures"]["first"][f"{part}_ns"] for r in runs) / 1e3
        for figure in ("waits", "events_per_wait"):
            row[figure] = statistics.median(r["figures"][figure] for r in runs)
        result.append(row)
    return result


def _figure(record: dict, part: str) -> float:
    return max(1.0, record["figures"][part]["median_ns"])


def by_block(records: list[dict], contender: str, part: str, **wanted) -> dict[int, float]:
    """Returns the median round of `contender` by block, in the cell with these properties."""
    return {record["block"]: _figure(record, part) for record in records
            if usable(record) and record["contender"] == contender
            and all(record[name] == value for name, value in wanted.items())}


def pairs(records: list[dict]) -> list[dict]:
    """Returns ratios of median rounds by block: peal on epoll / each other contender."""
    cells = list(dict.fromkeys(record["cell"] for record in records))
    names = list(dict.fromkeys(record["contender"] for record in records))
    result = []
    for cell in cells:
        for part in PARTS:
            for rival in sorted(name for name in names if name != SUBJECT):
                pair = stats.compare(by_block(records, SUBJECT, part, cell=cell),
                                     by_block(records, rival, part, cell=cell))
                if pair.blocks:
                    result.append({"cell": cell, "part": part, "subject": SUBJECT, "rival": rival} | pair.as_dict())
    return result


def _finding(sentence: str, source: str, what: str, pair: stats.Pair, bounds: tuple[float, float],
             missing: str = "too few runs of both") -> dict:
    """Returns a finding. Few blocks are enough here, because each is the median of 24 rounds."""
    verdict = judging.within(pair, *bounds, stats.FEWEST_BLOCKS)
    return {"sentence": f"{sentence} ({source})", "claim": sentence, "source": source, "verdict": verdict,
            "figure": judging.said(what, pair, missing, stats.FEWEST_BLOCKS)}


def _quotient(over: dict[int, float], under: dict[int, float]) -> dict[int, float]:
    return {block: over[block] / under[block] for block in over.keys() & under.keys()}


class _Ring:
    """The records with the fewest active bytes, where the loop itself matters most. Knows the smallest and the largest
    ring that both libraries played with them. All ratios are libevent / libev."""

    def __init__(self, records: list[dict]):
        self._records = records
        played = [{(r["active"], r["pairs"], r["timeouts"]) for r in records if usable(r) and r["contender"] == name}
                  for name in BOTH]
        common = sorted(played[0] & played[1])
        self.active = common[0][0] if common else 0
        sizes = sorted({pairs_ for active, pairs_, _ in common if active == self.active})
        self.least, self.most = (sizes[0], sizes[-1]) if sizes else (0, 0)
        self.where = f"{self.most:,} pairs, {self.active:,} active"

    def _values(self, name: str, part: str, timeouts: bool, pairs_: int) -> dict[int, float]:
        return by_block(self._records, name, part, active=self.active, pairs=pairs_, timeouts=timeouts)

    def ratio(self, part: str, timeouts: bool) -> stats.Pair:
        """Returns the ratio in the largest ring."""
        return stats.compare(*(self._values(name, part, timeouts, self.most) for name in BOTH))

    def growth(self) -> stats.Pair:
        """Returns the ratio of growth: total time with idle timeouts, largest ring / smallest ring."""
        if self.least == self.most:
            return stats.UNKNOWN
        return stats.compare(*(_quotient(self._values(name, "total", True, self.most),
                                         self._values(name, "total", True, self.least)) for name in BOTH))

    def slowing(self) -> stats.Pair:
        """Returns the ratio of slowing: loop time, with idle timeouts / without them."""
        return stats.compare(*(_quotient(self._values(name, "loop", True, self.most),
                                         self._values(name, "loop", False, self.most)) for name in BOTH))


def findings(records: list[dict]) -> list[dict]:
    """Returns each published finding as {sentence, claim, source, verdict, figure}, at the largest ring that was
    played."""
    ring = _Ring(records)
    found = []
    for part, timeouts in product(PARTS, (False, True)):
        timed = "with idle timeouts" if timeouts else "without timeouts"
        what, pair = f"{part}, libevent / libev, {ring.where}, {timed}", ring.ratio(part, timeouts)
        found += [_finding(f"libev is faster than libevent: {part} time, {timed}", README, what, pair, MORE),
                  _finding(f"libevent takes 2 to 3 times as long as libev: {part} time, {timed}", LEHMANN, what, pair,
                           (2.0, 3.0))]
    return [
        *found,
        _finding("libevent's time grows with the size of the ring as libev's does", LEHMANN,
                 f"growth of total from {ring.least:,} to {ring.most:,} pairs, libevent / libev", ring.growth(),
                 (1 / SIMILAR, SIMILAR), "rings of several sizes belong to the full lab"),
        _finding("Stopping and starting watchers between two turns costs libev fewer epoll_ctl calls than libevent, so "
                 "registering anew is cheaper", DIFFERENCES,
                 f"registering anew, libevent / libev, {ring.where}, without timeouts", ring.ratio("enlist", False),
                 MORE),
        _finding("libev's timers are the more efficient: idle timeouts slow libevent's loop down more", DIFFERENCES,
                 f"slowing of the loop by timeouts, libevent / libev, {ring.where}", ring.slowing(), MORE),
        *_muduo(records)]


def _both(records: list[dict], part: str, names: tuple[str, str]) -> tuple[stats.Pair, int]:
    """Returns the ratio of the two names without timeouts, and over how many rings. For each number of active bytes, it
    takes the largest ring that both played; the ratio of a block is the geometric mean over these rings."""
    played = [{(r["active"], r["pairs"]) for r in records if usable(r) and r["contender"] == name
               and not r["timeouts"]} for name in names]
    largest = dict(sorted(played[0] & played[1]))  # for each `active` the last entry, which has the most pairs
    logs: list[dict[int, float]] = []
    for active, most in largest.items():
        over, under = (by_block(records, name, part, active=active, pairs=most, timeouts=False) for name in names)
        logs.append({block: math.log(value) for block, value in _quotient(over, under).items()})
    blocks = set.intersection(*(set(each) for each in logs)) if logs else set()
    return stats.of_logs([statistics.fmean(each[block] for each in logs) for block in sorted(blocks)]), len(largest)


def _muduo(records: list[dict]) -> list[dict]:
    """The two findings of the article, and the same two with peal in muduo's place."""
    sayings = (("libevent registers its events faster than muduo (published: by 20 % on a server, level on a laptop)",
                "enlist", "registering anew", ("libevent", "muduo"), (0.0, 1.0)),
               ("muduo handles events faster than libevent (published: by 20 % on a server, 40 % on a laptop)",
                "loop", "loop", ("libevent", "muduo"), MORE))
    found = []
    for sentence, part, what, names, bounds in sayings:
        for subject in ("muduo", SUBJECT):
            sides = tuple(subject if name == "muduo" else name for name in names)
            pair, rings = _both(records, part, sides)
            missing = published.how_to_add("muduo", "drum") if subject == "muduo" else "too few runs of both"
            own = sentence.split(" (")[0].replace("muduo", "peal")
            told = sentence if subject == "muduo" else f"In muduo's place, peal on epoll: {own}"
            found.append(_finding(told, MUDUO, f"{what}, {' / '.join(sides)}, {rings} rings", pair, bounds, missing))
    return found
