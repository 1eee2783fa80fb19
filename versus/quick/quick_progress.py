# SPDX-License-Identifier: BSD-3-Clause
"""How far a run of the quick lab is: its steps, the time left, and the ratios known so far.

A plain object on the thread of the lab. It writes nothing; quick_view.py shows it.
"""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field

# How much longer a restart takes than its slices, before one was measured: servers start, connect and end.
USUAL_SLOWNESS = 1.5
PRELIMINARY = "preliminary"


@dataclass
class RatioRow:
    """The server CPU of subject / rival in a cell, as far as it is known."""

    subject: str
    rival: str
    bar: float | None = None  # the claim's; None if no claim is about this pair
    ratio: float | None = None  # None: not known yet
    low: float | None = None  # of the 95 % interval; None if there are too few restarts
    high: float | None = None
    verdict: str = ""


@dataclass
class Step:
    """One part of the run. All times are in seconds."""

    name: str
    title: str
    about: str  # what is done, in words
    planned_s: float = 0.0  # its length; of a duel: the most, which begin() corrects
    share: float = 0.0  # a duel's share of the time; 0 if the step is no duel
    restarts: int = 0  # of a duel: at most
    least_s: float = 0.0  # of a duel: the slices of one restart
    fills: bool = False  # takes the time that is left of the budget, if that is more than planned
    rows: list[RatioRow] = field(default_factory=list)
    detail: str = ""  # what it does at the moment, or what came out
    began: float | None = None
    ended: float | None = None
    restart: int = 0  # that many have ended
    restarts_s: float = 0.0  # the time they took

    @property
    def slowness(self) -> float | None:
        """How much longer its restarts take than their slices. None if no restart has ended."""
        return self.restarts_s / (self.restart * self.least_s) if self.restart and self.least_s else None

    def expected_s(self, budget_s: float, slowness: float) -> float:
        """Returns the length of the duel if it may take `budget_s`."""
        return min(budget_s, self.restarts * self.least_s * (self.slowness or slowness))


class Progress:
    """The steps of one run in order, and what was said. `budget_s` is the time of the whole run."""

    def __init__(self, steps: list[Step], budget_s: float, clock: Callable[[], float] = time.monotonic):
        self.steps = steps
        self.budget_s = budget_s
        self.said: list[str] = []
        self.on_say: Callable[[str], None] = lambda text: None
        self._clock = clock
        self._began = clock()

    def say(self, text: str) -> None:
        """Notes a line for those who read no terminal."""
        self.said.append(text)
        self.on_say(text)

    def step(self, name: str) -> Step:
        return next(step for step in self.steps if step.name == name)

    @property
    def now(self) -> Step | None:
        """Returns the step that runs."""
        return next((step for step in self.steps if step.began is not None and step.ended is None), None)

    def begin(self, name: str, planned_s: float | None = None, about: str = "") -> None:
        """Begins a step. `planned_s` replaces its planned length, and `about` its words."""
        step = self.step(name)
        step.began = self._clock()
        step.planned_s = step.planned_s if planned_s is None else planned_s
        step.about = about or step.about

    def end(self, name: str, detail: str = "") -> None:
        step = self.step(name)
        step.ended = self._clock()
        step.detail = detail
        for row in step.rows:  # a first value of a duel that failed afterwards is none
            if row.verdict == PRELIMINARY:
                row.ratio, row.verdict = None, ""

    def detail(self, text: str) -> None:
        """Says what the step that runs does at the moment."""
        if self.now:
            self.now.detail = text

    def on_restart(self, line: str) -> None:
        """Takes a line of `peal load duel --live on`: the restart that has ended, and first ratios."""
        step, told = self.now, re.match(r"restart (\d+) of (\d+), ", line)
        if not step or not told:
            return
        step.restart, step.restarts = int(told[1]), int(told[2])
        step.restarts_s = self._clock() - step.began
        for row in step.rows:
            pair = re.escape(f" | {row.subject}/{row.rival} ")
            found = re.search(pair + r"(\d+\.\d+)(?: \+-(\d+\.\d+) %)?", line)
            if found:
                wide = None if found[2] is None else 1 + float(found[2]) / 100
                row.ratio, row.verdict = float(found[1]), PRELIMINARY
                row.low, row.high = (None, None) if wide is None else (row.ratio / wide, row.ratio * wide)

    def elapsed_s(self) -> float:
        return self._clock() - self._began

    def left_s(self) -> float:
        """Returns how long the run will still take: planned lengths, corrected by how long restarts took so far."""
        waiting = [step for step in self.steps if step.began is None]
        known = [step.slowness for step in self.steps if step.slowness]
        slowness = sum(known) / len(known) if known else USUAL_SLOWNESS
        left = self._left_of_now(slowness)
        kept = sum(step.planned_s for step in waiting if not step.share)
        pool = self.budget_s - self.elapsed_s() - left - kept
        shares = sum(step.share for step in waiting)
        for step in waiting:
            if step.share:
                takes = step.expected_s(max(0.0, pool * step.share / shares), slowness)
                shares -= step.share
                pool -= takes
            else:
                takes = step.planned_s + (max(0.0, pool) if step.fills else 0.0)
            left += takes
        return left

    def _left_of_now(self, slowness: float) -> float:
        step = self.now
        if step is None:
            return 0.0
        length = step.expected_s(step.planned_s, slowness) if step.share else step.planned_s
        return max(0.0, length - (self._clock() - step.began))

    def done_share(self) -> float:
        """Returns the share of the time that has passed, from 0 to 1."""
        together = self.elapsed_s() + self.left_s()
        return self.elapsed_s() / together if together else 1.0
