# SPDX-License-Identifier: BSD-3-Clause
"""One run: a fresh server process, a fresh generator, the counters around them, the gates, one record."""

import os
import shlex
import time
from dataclasses import dataclass, replace
from pathlib import Path

from versus import gates
from versus.run import counters, generator, process
from versus.experiments import RATE
from versus.gates import Gate
from versus.roster import Contender
from versus.run.schedule import Task


@dataclass(frozen=True)
class Length:
    duration_s: float
    warmup_s: float


class Runner:
    """Runs tasks one after the other. Owns one scratch file under `folder`."""

    def __init__(self, program: Path, folder: Path):
        self._program = str(program)
        self._json = folder / "last-run.json"
        self._cores = len(os.sched_getaffinity(0))
        self._rss_start_bytes = 0

    def run(self, task: Task, contender: Contender, length: Length, rate: float = 0.0) -> dict:
        """The record of one run, whatever became of it."""
        before = counters.sample()
        started = time.time()
        self._json.unlink(missing_ok=True)
        measured, found, commands = self._measure(task, contender, length, rate)
        delta = counters.between(before, counters.sample())
        if measured is not None:
            cell = task.cell
            mine = gates.of_measurement(measured, task.mode, cell.connections, getattr(cell, "short", False))
            mine += gates.of_host(delta, self._cores)
            found += gates.combined(mine, [Gate(*gate) for gate in measured.gates], task.mode)
            at_once = contender.serves_at_once(cell)
            if at_once < cell.connections:
                found = gates.of_queueing(found, measured, at_once, cell.connections)
        self._json.unlink(missing_ok=True)
        record = {
            "key": task.key,
            "experiment": task.experiment,
            "cell": task.cell.name,
            "mode": task.mode,
            "block": task.block,
            "contender": task.contender,
            "attempt": task.attempt,
            "started": round(started, 3),
            "wall_s": round(delta.elapsed_s, 4),
            "duration_s": length.duration_s,
            "warmup_s": length.warmup_s,
            "rate": rate,
            "steal_s": round(delta.steal_s, 3),
            "foreign_s": round(delta.foreign_s, 3),
            "status": gates.status(found),
            "gates": [gate.as_dict() for gate in found],
            "commands": commands,
        }
        if measured is not None and record["status"] != gates.UNSERVED:
            record["figures"] = figures(measured) | {"rss_start_bytes": self._rss_start_bytes,
                                                    "foreign_share": delta.foreign_share}
        return record

    def _measure(self, task: Task, contender: Contender, length: Length, rate: float):
        """(measurement or None, gates, the two command lines)."""
        cell = task.cell
        pins = process.Pins.of(cell.threads, cell.generator_threads)
        commands: list[str] = []

        def words_for(host: str, port: int) -> list[str]:
            words = contender.for_cell(cell)(host, port)
            commands.append(as_typed(words, pins.server))
            return words

        try:
            with process.serving(words_for, pins.server, contender.given) as server:
                self._rss_start_bytes = counters.tree_rss_bytes(server.pid)
                queueing = contender.serves_at_once(cell) < cell.connections
                words = generator.command(self._program, server.target, cell, task.mode, length.duration_s,
                                          length.warmup_s, server.pid, self._json, rate, queueing)
                commands.append(as_typed(words, pins.client))
                outcome = process.run(words, pins.client, length.duration_s + length.warmup_s + 30.0)
                died = server.child.poll()
                forgets = getattr(cell, "short", False) and counters.forgets_children(server.pid)
        except process.StartFailed as error:
            return None, [Gate("server", gates.INVALID, f"The server did not start: {error}.")], commands
        found = []
        if died is not None:
            found.append(Gate("server", gates.INVALID, f"The server ended by itself with exit code {died}."))
        if outcome.code not in (generator.EXIT_DONE, generator.EXIT_GATE):
            ended = "it did not end in time" if outcome.code is None else f"exit code {outcome.code}"
            why = outcome.complaint or ended
            found.append(Gate("generator_failed", gates.INVALID, f"The generator failed: {why}."))
        try:
            measured = generator.read(self._json, contender.parallel(cell), bool(pins.server))
            if forgets:  # its children end during the run, and what they used is nowhere
                measured = replace(measured, server_cpu_ns=0.0, forgets_children=True)
            return measured, found, commands
        except generator.NoMeasurement as error:
            if not found:
                found.append(Gate("generator_failed", gates.INVALID, str(error)))
            return None, found, commands


def as_typed(words: list[str], cpus: tuple[int, ...]) -> str:
    """A command as one would type it to repeat it by hand."""
    pin = ["taskset", "-c", ",".join(map(str, cpus))] if cpus else []
    return shlex.join(pin + words)


def figures(run: generator.Measurement) -> dict:
    """The figures of a record: per-message costs in ns, shares of one core."""
    per = max(1, run.messages)
    return {
        "messages": run.messages,
        "messages_per_s": run.messages_per_s,
        "mib_per_s": run.mib_per_s,
        "mean_read_bytes": run.mib_per_s * 2**20 * run.seconds / run.reads if run.reads else 0.0,
        "offered_rate": run.offered_rate,
        "connections": run.connections_open,
        "served": run.connections_served,
        "failed": sum(run.errors.values()),
        "server_cpu_ns": (run.server_cpu_ns or 0.0) / per,
        "client_cpu_ns": run.client_cpu_ns / per,
        "server_share": run.server_share,
        "client_share": run.client_share,
        "machine_share": run.machine_share,
        "server_percent": run.server_percent,
        "server_rss_bytes": run.server_rss_bytes,
        "switches": (run.voluntary_switches + run.involuntary_switches) / per,
        "latency_hdr": run.latency_hdr,
        "connect_hdr": run.connect_hdr,
    }


def usable(record: dict | None) -> bool:
    """Whether a record's figures count."""
    return record is not None and record["status"] != gates.INVALID and "figures" in record


def is_lower_bound(record: dict) -> bool:
    """Whether the generator's core filled before the server's."""
    return record["mode"] != RATE and any(gate["name"] == "generator" for gate in record["gates"])


def never_saturated(record: dict) -> bool:
    """Whether a closed loop left the server short of work with the machine not full either: its figure is no limit.
    False where the server's CPU is not known."""
    found = record["figures"]
    if record["mode"] == RATE or not found["server_cpu_ns"]:
        return False
    machine = found["machine_share"] + found.get("foreign_share", 0.0)
    return max(found["server_share"], machine) < gates.FULL_CORE
