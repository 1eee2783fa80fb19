# SPDX-License-Identifier: BSD-3-Clause
"""A campaign: calibrate, fix the rates and the length of a run, then the shuffled blocks. Resumable run by run."""

import math
import statistics
import time
from dataclasses import dataclass, replace

from versus import gates
from versus.run import schedule
from versus.experiments import RATE, Experiment, Load
from versus.roster import Contender
from versus.run.runner import Length, Runner, usable
from versus.run.schedule import Task
from versus.run.store import Store

# Kept back of a budget: counting system calls, a few repeats.
TRACE_RESERVE_S = 0.9
REPEATS_RESERVE = 0.02


@dataclass(frozen=True)
class Outline:
    """What a progress display is told beforehand."""

    experiment: Experiment
    contenders: int
    runs: int


class Campaign:
    """Runs one experiment. `progress` has begin(Outline), say(text) and ran(record)."""

    def __init__(self, experiment: Experiment, contenders: list[Contender], runner: Runner, store: Store, seed: int,
                 progress):
        self._experiment = experiment
        self._contenders = {contender.name: contender for contender in contenders}
        self._runner = runner
        self._store = store
        self._seed = seed
        self._progress = progress
        self._began = time.monotonic()
        self._wall_s = 0.0
        self._runs_left = 0
        self.left_out: list[str] = []

    @property
    def cells(self) -> tuple[Load, ...]:
        return self._experiment.cells

    @property
    def contenders(self) -> list[Contender]:
        """Those that are still in."""
        return list(self._contenders.values())

    def time_left_s(self) -> float:
        """Until this experiment must be over; without a budget, for ever."""
        budget = self._experiment.budget_s
        return math.inf if budget is None else self._began + budget - time.monotonic()

    def _key(self, *words: str) -> str:
        return "/".join((*words[:1], self._experiment.name, *words[1:]))

    def rate_of(self, cell: Load) -> float:
        record = self._store.get(self._key("rate", cell.name))
        return record["rate"] if record else 0.0

    def calibrate(self) -> None:
        """Saturation of every contender wherever a rate must be found; who cannot run is left out, and named."""
        length = Length(self._experiment.calibration_s, self._experiment.warmup_s)
        names = [name for name in self._contenders if name != self._experiment.twin_name]
        for round_ in range(1, self._experiment.calibration_rounds + 1):
            for task in schedule.calibration_tasks(self._experiment, round_, names, self._seed):
                self._do(task, length)
        self._drop_those_that_never_ran(self._calibrations())
        for cell in self.cells:
            if RATE in cell.modes and not self.rate_of(cell):
                saturations = self._saturations(cell)
                if saturations:
                    self._store.add({"key": self._key("rate", cell.name), "rate": schedule.fixed_rate(saturations)})

    def _records(self) -> list[dict]:
        return [record for record in self._store.records if record.get("experiment") == self._experiment.name]

    def _calibrations(self) -> list[dict]:
        return [record for record in self._records() if record["block"] < 0]

    def _saturations(self, cell: Load) -> dict[str, list[float]]:
        found: dict[str, list[float]] = {}
        for record in self._calibrations():
            if record["cell"] == cell.name and usable(record):
                found.setdefault(record["contender"], []).append(record["figures"]["messages_per_s"])
        return found

    def _drop_those_that_never_ran(self, records: list[dict]) -> None:
        """Those of whom `records` has runs, but not one with figures."""
        for name in list(self._contenders):
            mine = [record for record in records if record["contender"] == name]
            if mine and not any("figures" in record for record in mine):
                self.left_out.append(f"{name}: {mine[0]['gates'][0]['sentence']}")
                del self._contenders[name]

    def _length(self) -> Length:
        """The length of a measured run: given, or what the budget leaves; kept in the store for a restart."""
        kept = self._store.get(self._key("length"))
        if kept:
            return Length(kept["duration_s"], kept["warmup_s"])
        experiment = self._experiment
        if experiment.budget_s is None:
            duration = float(experiment.run_s)
        else:
            records = [record for record in self._store.records if "wall_s" in record and "duration_s" in record]
            overheads = [r["wall_s"] - r["duration_s"] - r["warmup_s"] for r in records]
            overhead = statistics.mean(overheads) if overheads else 0.1
            remaining = self.time_left_s()
            reserve = REPEATS_RESERVE * remaining
            if experiment.trace_calls:
                reserve += TRACE_RESERVE_S * len(self._contenders) * len(self.cells)
            least = schedule.run_lengths(experiment, list(self._contenders))
            duration = schedule.run_seconds(remaining, reserve, least, overhead, experiment.warmup_s)
        self._store.add({"key": self._key("length"), "duration_s": duration, "warmup_s": experiment.warmup_s})
        return Length(duration, experiment.warmup_s)

    def run(self) -> None:
        """Calibration and every block."""
        names = list(self._contenders)
        total = schedule.run_count(self._experiment, names) + schedule.calibration_count(self._experiment, names)
        self._progress.begin(Outline(self._experiment, len(self._contenders), total))
        self.calibrate()
        for cell in self.cells:
            if RATE in cell.modes:
                self._progress.say(f"{cell.name}: fixed rate {self.rate_of(cell):,.0f} {self._experiment.unit}s/s, "
                                   "half of the slowest contender's saturation")
        if not self._contenders:
            return
        length = self._length()
        self._runs_left = schedule.run_count(self._experiment, list(self._contenders))
        self._progress.say(f"{self._experiment.blocks} blocks, each run measured for {length.duration_s:.2f} s "
                           f"after {length.warmup_s:.2f} s of warm-up")
        for block in range(self._experiment.blocks):
            self._block(block, length)
        # Who runs closed loop alone meets no calibration.
        self._drop_those_that_never_ran(self._records())

    def _block(self, block: int, length: Length) -> None:
        marred = []
        for task in schedule.block_tasks(self._experiment, block, list(self._contenders), self._seed):
            if task.mode == RATE and not self.rate_of(task.cell):
                continue
            record = self._do(task, length)
            self._runs_left -= 1
            self._wall_s = max(0.8 * self._wall_s, record["wall_s"])
            if record["status"] == gates.INVALID:
                marred.append(task)
        for number, task in enumerate(marred):
            if self._store.get(task.again().key) is None and self.time_left_s() < (self._runs_left + 1) * self._wall_s:
                self._progress.say(f"block {block + 1}: no time to repeat {len(marred) - number} INVALID runs")
                break
            self._do(task.again(), length)

    def _do(self, task: Task, length: Length) -> dict:
        """The record of `task`: from the store if it was done before the restart, else from a run now."""
        record = self._store.get(task.key)
        if record is None:
            rate = self.rate_of(task.cell) if task.mode == RATE else 0.0
            if task.block >= 0:
                length = replace(length, duration_s=max(length.duration_s, getattr(task.cell, "least_run_s", 0.0)))
            record = self._runner.run(task, self._contenders[task.contender], length, rate)
            self._store.add(record)
        self._progress.ran(record)
        return record
