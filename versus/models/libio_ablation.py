# SPDX-License-Identifier: BSD-3-Clause
"""What libio's author changed to double his pages, step by step: rows of libio_accept_thread that only this part of
experiment 5 plays.

His steps, each on top of the last: a queue for each worker instead of one that all share; a connection that a worker
takes is only registered, not read at once; objects of connections are pooled; -O2 instead of -O0. A row is named by
what it lacks of them, or by how far the steps have come; those that end in -O0 come from a program built so.
"""

from dataclasses import dataclass, replace

from versus import stats
from versus.analysis import chosen_runs, restart_logs
from versus.experiments import CLOSED

LIBIO = "libio_accept_thread"
BUILD = "peal-epoll-gcc-O0"  # the variant of variants.py whose program has the -O0 rows
UNOPTIMISED = "-O0"
SPEED, CPU = "messages_per_s", "server_cpu_ns"


def options(queues: str, on_hand_over: str, connections: str) -> tuple[str, ...]:
    return ("--queues", queues, "--on-hand-over", on_hand_over, "--connections", connections)


@dataclass(frozen=True)
class Step:
    """How far the author has come: the row at -O2 and what distinguishes it, and its row at -O0."""

    words: str
    row: str
    row_unoptimised: str
    options: tuple[str, ...]


STEPS = (
    Step("naive", f"{LIBIO}+naive", f"{LIBIO}+naive{UNOPTIMISED}", options("one", "read", "new")),
    Step("own queues", f"{LIBIO}+own_queues", f"{LIBIO}+own_queues{UNOPTIMISED}", options("per-worker", "read", "new")),
    Step("register only", f"{LIBIO}+unpooled", f"{LIBIO}+unpooled{UNOPTIMISED}",
         options("per-worker", "register", "new")),
    Step("pooled", LIBIO, f"{LIBIO}+all{UNOPTIMISED}", options("per-worker", "register", "pooled")),
)
LAST = "-O2"
# All but one of the steps; with STEPS' own rows, everything at -O2.
WITHOUT = {f"{LIBIO}+one_queue": options("one", "register", "pooled"),
           f"{LIBIO}+read_on_hand_over": options("per-worker", "read", "pooled")}
ROWS = tuple(dict.fromkeys([*(step.row for step in STEPS), *WITHOUT]))
ROWS_UNOPTIMISED = tuple(step.row_unoptimised for step in STEPS)
NAIVE, NAIVE_UNOPTIMISED, ALL_UNOPTIMISED = STEPS[0].row, ROWS_UNOPTIMISED[0], ROWS_UNOPTIMISED[-1]


def unoptimised(rows: list, program: str) -> list:
    """The -O0 rows: those of STEPS that are among `rows`, of another program."""
    by_name = {row.name: row for row in rows}
    return [replace(by_name[step.row], name=step.row_unoptimised, command=(program, *by_name[step.row].command[1:]),
                    note=f"{by_name[step.row].note}; built at -O0")
            for step in STEPS if step.row in by_name]


@dataclass(frozen=True)
class Point:
    """A step's row in figures: requests/s and server CPU per request with their intervals, each also over the row
    before it, paired by restart."""

    step: str
    row: str
    speed: stats.Pair
    cpu: stats.Pair
    speed_gain: stats.Pair = stats.UNKNOWN
    cpu_gain: stats.Pair = stats.UNKNOWN


def _point(runs: list[dict], cell: str, step: str, row: str, before: str | None) -> Point | None:
    mine = chosen_runs(runs, cell, CLOSED, row)
    if not mine:
        return None
    last = chosen_runs(runs, cell, CLOSED, before) if before else {}

    def alone(figure: str) -> stats.Pair:
        values = {at: run["figures"][figure] or 0.0 for at, run in mine.items()}
        return stats.compare(values, dict.fromkeys(values, 1.0))

    gains = [stats.of_logs(list(restart_logs(mine, last, figure).values())) for figure in (SPEED, CPU)]
    return Point(step, row, alone(SPEED), alone(CPU), *gains)


def points(experiment: dict, rows: list[tuple[str, str]]) -> list[Point]:
    """A point for each (step, row) that has figures."""
    cell, found = experiment["cells"][0]["name"], []
    for step, row in rows:
        point = _point(experiment["runs"], cell, step, row, found[-1].row if found else None)
        found += [point] if point else []
    return found


def as_published(experiment: dict) -> list[Point]:
    """The author's way: at -O0 until the last step."""
    return points(experiment, [*((step.words, step.row_unoptimised) for step in STEPS), (LAST, LIBIO)])


def at_o2(experiment: dict) -> list[Point]:
    """The same steps, all at -O2."""
    return points(experiment, [(step.words, step.row) for step in STEPS])
