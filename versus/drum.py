# SPDX-License-Identifier: BSD-3-Clause
"""Experiment 2, drum passing: libevent's benchmark on peal's engines, libevent, libev and a bare epoll loop.

Each run is a new program that plays all its rounds and prints them. There is no server and no generator. Blocks are
shuffled with the seed. Runs are kept in the store, so that an interrupted campaign resumes.
"""

import json
import os
import random
import resource
import shlex
import shutil
import statistics
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from versus import drum_analysis, gates, roster
from versus.run import counters, process
from versus.gates import Gate
from versus.run.store import Store

NAME = "drum"
TITLE = "Experiment 2: drum passing"
# File descriptors that a process opens besides its pairs. The programs use the same number.
FDS_BESIDE = 32
SELECT_PAIRS = 490  # so many that the receiving ends and the library's own fds are below FD_SETSIZE
RUN_LIMIT_S = 120.0
MOST_PRINTED_BYTES = 1 << 26
SKIPPED = "SKIPPED"  # status of a run whose program does not support the cell's idle timers
NO_TIMERS = 77  # a drummer exits with this code if it cannot play --timeouts
STEPS = (1, 2, 3, 4, 5, 6, 7.5)


@dataclass(frozen=True)
class DrumCell:
    """One ring: `active` bytes travel among `pairs` pairs, and are passed on `writes` times per round."""

    pairs: int
    active: int
    writes: int = 100
    timeouts: bool = False

    @property
    def name(self) -> str:
        return f"n{self.pairs}a{self.active}w{self.writes}" + ("t" if self.timeouts else "")

    @property
    def title(self) -> str:
        return f"{self.pairs:,} pairs, {self.active:,} active, {self.writes:,} writes, " + (
            "idle timers" if self.timeouts else "no timers")

    @property
    def receives(self) -> int:
        return self.active + self.writes


@dataclass(frozen=True)
class Drummer:
    """A contender: its program, with the options that choose its engine."""

    name: str
    command: tuple[str, ...]
    note: str
    most_pairs: int = 10**9
    only_with_timeouts: bool = False

    def words(self, cell: DrumCell, rounds: int) -> list[str]:
        sizes = ["-n", str(cell.pairs), "-a", str(cell.active), "-w", str(cell.writes), "--rounds", str(rounds)]
        return [*self.command, *sizes, *(["--timeouts"] if cell.timeouts else []), "--json", "-"]

    def plays(self, cell: DrumCell) -> bool:
        return cell.pairs <= self.most_pairs and (cell.timeouts or not self.only_with_timeouts)


@dataclass(frozen=True)
class DrumPlan:
    """The cells, the number of blocks, and the time for all of them."""

    cells: tuple[DrumCell, ...]
    blocks: int
    rounds: int = 25
    budget_s: float | None = None
    stopped: tuple[str, ...] = ()  # a sentence about cells that the fd limit has dropped


def both_ways(cells: list[DrumCell]) -> tuple[DrumCell, ...]:
    """Returns each cell without and with idle timers."""
    return tuple(replace(cell, timeouts=timed) for cell in cells for timed in (False, True))


def classic_sizes() -> list[int]:
    """Returns 100 to 100,000 pairs: 1, 2, 3, 4, 5, 6, 7.5 and 10 per decade."""
    return [int(step * decade) for decade in (100, 1000, 10000) for step in STEPS] + [100000]


QUICK = DrumPlan(both_ways([DrumCell(1000, 100, 1000)]), blocks=8)
# The cells that the published findings need: both numbers of active bytes, a small and a large ring.
FINDINGS = DrumPlan(both_ways([DrumCell(n, a) for a in (100, 1000) for n in (1000, 9000)]), blocks=8)
FULL = DrumPlan(both_ways([DrumCell(n, a) for a in (100, 1000) for n in classic_sizes() if n >= a]), blocks=8)


def fitting(plan: DrumPlan, fd_limit: int) -> DrumPlan:
    """Returns the part of the plan that the fd limit allows, with a sentence about the rest."""
    most = (fd_limit - FDS_BESIDE) // 2
    kept = tuple(cell for cell in plan.cells if cell.pairs <= most)
    cut = sorted({cell.pairs for cell in plan.cells} - {cell.pairs for cell in kept})
    if not cut:
        return plan
    where = f"stopped after {max(cell.pairs for cell in kept):,} pairs" if kept else "nothing was run"
    until = f"{cut[0]:,}" if len(cut) == 1 else f"{cut[0]:,} to {cut[-1]:,}"
    sentence = (f"{TITLE}: {where}: {until} pairs do not fit, because a process may open {fd_limit:,} files here, "
                f"enough for {max(0, most):,} pairs")
    return replace(plan, cells=kept, stopped=(*plan.stopped, sentence))


def built_in(bin_dir: Path) -> list[Drummer]:
    """Returns the table of drummers, with the paths at which `make build` puts the programs."""
    folder = bin_dir / "contenders"

    def peal(name: str, engine: str, note: str, *more: str, **limits) -> Drummer:
        return Drummer(name, (str(bin_dir / "peal"), "drum", "--engine", engine, *more), note, **limits)

    def peer(name: str, note: str) -> Drummer:
        return Drummer(name, (str(folder / f"drum_{name.replace('-', '_')}"),), note)

    return [
        peal("peal-epoll", "epoll", "peal on epoll; a byte only stores its time, as in peal's own idle timeouts"),
        peal("peal-epoll-rearm", "epoll", "the same, but each byte moves the timer, as in libevent and libev",
             "--rearm", only_with_timeouts=True),
        peal("peal-uring", "io_uring", "peal on io_uring"),
        peal("peal-poll", "poll", "peal on poll"),
        peal("peal-select", "select", "peal on select, for rings below its limit", most_pairs=SELECT_PAIRS),
        peer("raw-epoll", "a bare epoll loop in C: the floor; an idle timeout is a store per byte, a sweep a second"),
        peer("libevent", "libevent's events; with EV_PERSIST and a timeout, libevent itself moves the timer"),
        peer("libevent-changelist", "libevent with EVENT_BASE_FLAG_EPOLL_USE_CHANGELIST, which is off by default"),
        peer("libev", "libev's ev_io and, for the timeouts, ev_timer_again"),
    ]


def given(bin_dir: Path, texts: list[str]) -> list[Drummer]:
    """Returns the drummers among the contenders that were given as [KIND:]NAME=COMMAND. Raises BadContender."""
    taken = {drummer.name for drummer in built_in(bin_dir)}
    found = [Drummer(c.name, c.command, c.note) for c in map(roster.given, texts) if c.kind == roster.DRUM]
    for drummer in found:
        if drummer.name in taken:
            raise roster.BadContender(f"There are two drummers named '{drummer.name}'.")
        taken.add(drummer.name)
    return found


def ready(drummers: list[Drummer]) -> tuple[list[Drummer], list[str]]:
    """Returns the drummers whose programs exist, and a sentence about each other one."""
    there = [drummer for drummer in drummers if shutil.which(drummer.command[0])]
    return there, [f"{TITLE}, {d.name}: {d.command[0]} is not there" for d in drummers if d not in there]


def order(plan: DrumPlan, block: int, drummers: list[Drummer], seed: int) -> list[tuple[DrumCell, Drummer]]:
    """Returns every contender once in every cell. The cells are shuffled, then the contenders of each cell, so that
    what is compared runs close together in time."""
    shuffler = random.Random(f"{seed}/{NAME}/{block}")
    cells = list(plan.cells)
    shuffler.shuffle(cells)
    tasks = []
    for cell in cells:
        players = [drummer for drummer in drummers if drummer.plays(cell)]
        shuffler.shuffle(players)
        tasks += [(cell, drummer) for drummer in players]
    return tasks


def _times(rounds: list[dict], part: str) -> dict:
    values = [each[part] for each in rounds]
    return {"mean_ns": statistics.fmean(values), "median_ns": statistics.median(values), "least_ns": min(values)}


def figures_of(document: dict) -> dict:
    """Returns the figures of a run from its JSON. The first round is separate. Raises ValueError."""
    rounds = document["rounds"]
    wanted = document["active"] + document["writes"]
    if len(rounds) < 2 or any(each["receives"] != wanted for each in rounds):
        raise ValueError(f"not every round received exactly {wanted} bytes")
    later = rounds[1:]
    waits = sum(each["waits"] for each in later)
    return {
        "first": {"total_ns": rounds[0]["total_ns"], "loop_ns": rounds[0]["loop_ns"]},
        "total": _times(later, "total_ns"),
        "loop": _times(later, "loop_ns"),
        "enlist": _times([{"ns": each["total_ns"] - each["loop_ns"]} for each in later], "ns"),
        "waits": waits / len(later),
        "events_per_wait": sum(each["events"] for each in later) / waits if waits else 0.0,
    }


def _measured(words: list[str], cpus: tuple[int, ...], timeouts: bool) -> tuple[dict | None, list[Gate]]:
    """Returns the run's result, or a gate that says why it is useless. Returns neither if the program cannot play idle
    timers."""
    outcome = process.run(words, cpus, RUN_LIMIT_S, MOST_PRINTED_BYTES)
    if outcome.code == NO_TIMERS and timeouts:
        return None, []
    if outcome.code != 0:
        ended = f"it did not end within {RUN_LIMIT_S:.0f} s" if outcome.code is None else f"exit code {outcome.code}"
        return None, [Gate("program", gates.INVALID, f"The program failed: {outcome.complaint or ended}.")]
    try:
        document = json.loads(outcome.out)
        return {"document": document, "figures": figures_of(document)}, []
    except (ValueError, KeyError, TypeError) as error:
        return None, [Gate("program", gates.INVALID, f"The program's output is not usable: {error}.")]


def run_one(cell: DrumCell, drummer: Drummer, block: int, rounds: int) -> dict:
    """Runs once. Returns the record, whatever the result is."""
    pins = process.Pins.of(1).server
    words = drummer.words(cell, rounds)
    before, started = counters.sample(), time.time()
    found, marks = _measured(words, pins, cell.timeouts)
    skipped = not found and not marks
    delta = counters.between(before, counters.sample())
    marks += [] if skipped else gates.of_host(delta, len(os.sched_getaffinity(0)))
    pin = ["taskset", "-c", ",".join(map(str, pins))] if pins else []
    record = asdict(cell) | {
        "key": key_of(cell, drummer.name, block), "experiment": NAME, "cell": cell.name, "block": block,
        "contender": drummer.name, "started": round(started, 3), "wall_s": round(delta.elapsed_s, 4),
        "status": SKIPPED if skipped else gates.status(marks), "gates": [mark.as_dict() for mark in marks],
        "commands": [shlex.join(pin + words)],
    }
    if found:
        record |= {"figures": found["figures"], "rounds": found["document"]["rounds"],
                   "library": found["document"]["library"]}
    return record


def key_of(cell: DrumCell, contender: str, block: int) -> str:
    return f"{NAME}/{cell.name}/{block}/{contender}"


def records(plan: DrumPlan, drummers: list[Drummer], store: Store, seed: int, say=print) -> Iterator[dict]:
    """Yields every run of the plan as plain data: from the store if it was done before, otherwise measured now. If the
    budget is used up, the last blocks are left out as a whole, and a line says so. A drummer that exceeded its time
    limit is not run again."""
    began = time.monotonic()
    stuck: set[str] = set()
    longest = 0.0
    for block in range(plan.blocks):
        left = None if plan.budget_s is None else plan.budget_s - (time.monotonic() - began)
        if left is not None and block > 0 and left < longest:
            say(f"{TITLE}: the budget is used up after {block} of {plan.blocks} blocks")
            return
        block_began = time.monotonic()
        for cell, drummer in order(plan, block, drummers, seed):
            record = store.get(key_of(cell, drummer.name, block))
            if record is None and drummer.name in stuck:
                continue
            if record is None:
                record = run_one(cell, drummer, block, plan.rounds)
                store.add(record)
                if record["status"] == gates.INVALID:
                    say(f"{record['cell']} {record['contender']}: INVALID. {record['gates'][0]['sentence']}")
                    stuck |= {drummer.name} if record["wall_s"] >= RUN_LIMIT_S else set()
            yield record
        longest = max(longest, time.monotonic() - block_began)


def run(plan: DrumPlan, bin_dir: Path, store: Store, seed: int, say=print, fd_limit: int = 0,
        others: list[Drummer] | None = None) -> dict:
    """Runs the whole experiment. Returns it in the format of results.json; drum_figures.section() draws it. `others`
    are further drummers."""
    plan = fitting(plan, fd_limit or resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    drummers, absent = ready(built_in(bin_dir) + (others or []))
    say(f"{TITLE}: {len(plan.cells)} cells, {len(drummers)} contenders, up to {plan.blocks} blocks")
    done = list(records(plan, drummers, store, seed, say))
    beyond = [f"{TITLE}, {d.name}: not run with more than {d.most_pairs:,} pairs" for d in drummers
              if any(cell.pairs > d.most_pairs for cell in plan.cells)]
    without = dict.fromkeys(f"{TITLE}, {record['contender']}: it does not support idle timers (exit code {NO_TIMERS})"
                            for record in done if record["status"] == SKIPPED)
    return results(plan, drummers, done, seed, [*plan.stopped, *absent, *beyond, *without])


def results(plan: DrumPlan, drummers: list[Drummer], done: list[dict], seed: int, left_out: list[str]) -> dict:
    """Returns the results of these records in the format of results.json."""
    return {
        "title": TITLE, "seed": seed, "blocks": len({record["block"] for record in done}), "rounds": plan.rounds,
        "cells": [asdict(cell) | {"name": cell.name, "title": cell.title} for cell in plan.cells],
        "contenders": [{"name": d.name, "note": d.note, "command": shlex.join(d.command)} for d in drummers],
        "left_out": left_out,
        "rows": drum_analysis.rows(done),
        "pairs": drum_analysis.pairs(done),
        "findings": drum_analysis.findings(done),
        "runs": done,
    }
