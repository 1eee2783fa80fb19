# SPDX-License-Identifier: BSD-3-Clause
"""Makes a lab's run records from a duel's slices: one record per contender and restart. Pure functions: no files, no
clock."""

import os
import statistics
from dataclasses import dataclass

from versus import gates
from versus.duel.duel_figures import columns, gates_of
from versus.duel.duel_runner import Duel
from versus.experiments import CLOSED, Load
from versus.gates import Gate
from versus.roster import Contender

MIB = 2**20


@dataclass(frozen=True)
class Played:
    """The experiment, cell and mode of a duel, and its contenders."""

    experiment: str
    cell: Load
    mode: str
    rate: float = 0.0
    first_block: int = 0  # negative in a calibration
    began: float = 0.0  # seconds since 1970
    contenders: tuple[Contender, ...] = ()

    def key(self, block: int, name: str) -> str:
        return f"{self.experiment}/{self.cell.name}/{self.mode}/{block}/{name}/0"

    def _of(self, name: str) -> Contender | None:
        """Returns the contender; for a twin, the contender that it copies."""
        return next((c for c in self.contenders if c.name == name.removesuffix("-twin")), None)

    def parallel(self, name: str) -> int:
        """Returns how many of its threads can compute at once."""
        contender = self._of(name)
        return contender.parallel(self.cell) if contender else self.cell.threads

    def at_once(self, name: str) -> int:
        """Returns how many connections it serves at once."""
        contender = self._of(name)
        return contender.serves_at_once(self.cell) if contender else self.cell.connections


@dataclass
class _Sum:
    """The sum of one contender's slices in one restart."""

    messages: int = 0
    seconds: float = 0.0
    server_cpu_ns: float = 0.0
    client_cpu_ns: float = 0.0
    switches: float | None = 0.0


def _rounds(duel: Duel, restart: int, contender: int) -> list[list]:
    at = columns(duel.found)
    return [row for row in duel.found["slices"]
            if row[at["restart"]] == restart and row[at["contender"]] == contender]


def _figures(duel: Duel, played: Played, rows: list[list], contender: dict, restart: int) -> dict:
    at = columns(duel.found)
    total = _Sum()
    for row in rows:
        total.messages += row[at["messages"]]
        total.seconds += row[at["seconds"]]
        total.server_cpu_ns += row[at["server_cpu_ns"]] or 0
        total.client_cpu_ns += row[at["client_cpu_ns"]]
        counted = row[at["server_switches"]]
        total.switches = None if None in (counted, total.switches) else total.switches + counted
    per, cell = max(1, total.messages), played.cell
    cores = len(os.sched_getaffinity(0))
    at_most = 10**6 if duel.found["server_cpus"] else cores  # if CPUs are not pinned, all processes share them
    busy_ns = max(total.seconds, 1e-9) * 1e9
    on_machine_ns = total.server_cpu_ns + total.client_cpu_ns
    if duel.is_apart:  # then the question is whether the server's machine is full
        cores, on_machine_ns = max(1, duel.server_host["cpus"]), total.server_cpu_ns
    speed = total.messages / max(total.seconds, 1e-9)
    return {
        "messages": total.messages, "messages_per_s": speed, "mib_per_s": speed * cell.size / MIB,
        "mean_read_bytes": contender["mean_read_bytes"], "offered_rate": played.rate, "connections": cell.connections,
        "served": contender["served_by_restart"][restart] if played.at_once(contender["name"]) < cell.connections
                  else cell.connections,
        "failed": 0,
        "server_cpu_ns": total.server_cpu_ns / per, "client_cpu_ns": total.client_cpu_ns / per,
        "server_share": total.server_cpu_ns / busy_ns / min(played.parallel(contender["name"]), at_most),
        "client_share": total.client_cpu_ns / busy_ns / min(cell.generator_threads, at_most),
        "machine_share": on_machine_ns / busy_ns / cores,
        "server_percent": 100 * total.server_cpu_ns / busy_ns,
        "foreign_share": duel.host.foreign_share if duel.host and not duel.is_apart else 0.0,
        "server_rss_bytes": contender["rss_by_restart"][restart],
        "rss_start_bytes": contender["rss_start_by_restart"][restart],
        "switches": None if total.switches is None else total.switches / per,
        # In turn, each restart has its own histogram. Otherwise it covers all restarts, so only one record has it.
        "latency_hdr": contender["hdr_by_restart"][restart] if duel.load.in_turn
                       else contender["latency"]["hdr"] if restart == 0 else "",
        "connect_hdr": contender.get("connect", {}).get("hdr", "") if restart == 0 else "",
        "rounds": duel.found["rounds"],
        "turn_s": duel.load.rounds * duel.load.slice_ms / 1e3 if duel.load.in_turn else 0.0,  # 0 if not in turn
    }


def _is_bounded(contender: dict, figures: list[dict]) -> bool:
    """Returns whether the generator was full before the server. The server may have fewer threads than it has CPUs."""
    return contender["bounded"] and \
        statistics.median(each["server_share"] for each in figures) < gates.FULL_CORE


def _gates(duel: Duel, contender: dict) -> list[Gate]:
    found = [Gate("duel", gate["verdict"], gate["sentence"]) for gate in gates_of(duel.found, contender["name"])]
    if duel.server_host:
        found += [Gate("server_host", gate["verdict"], gate["sentence"])
                  for gate in gates_of(duel.found, duel.server_host["name"])]
    host = gates.of_host(duel.host, len(os.sched_getaffinity(0))) if duel.host else []
    return found + host


def _unserved(played: Played, name: str) -> Gate:
    """Returns the gate of a contender that answered no request: UNSERVED if it serves few connections at a time,
    otherwise INVALID."""
    at_once, asked = played.at_once(name), played.cell.connections
    if at_once < asked:
        return Gate("unserved", gates.UNSERVED, f"It serves {at_once} of {asked} connections at a time, and answered "
                    "none of them.")
    return Gate("nothing", gates.INVALID, "No message came back.")


def _record(duel: Duel, played: Played, block: int, contender: dict, found: list[Gate]) -> dict:
    started = played.began + duel.found["elapsed_s"] * abs(block - played.first_block) / max(1, duel.found["restarts"])
    return {"key": played.key(block, contender["name"]), "experiment": played.experiment, "cell": played.cell.name,
            "mode": played.mode, "block": block, "contender": contender["name"], "attempt": 0, "rate": played.rate,
            "started": round(started, 3),
            "status": gates.status(found), "gates": [gate.as_dict() for gate in found],
            "commands": [duel.alone.get(contender["name"].removesuffix("-twin"), duel.command)]}


def records_of(duel: Duel, played: Played) -> list[dict]:
    """Returns the records. A gate is about the whole duel, so it stands only in the contender's first record. If it is
    INVALID, there are no further records. A contender that could not play has none."""
    records = []
    for number, contender in enumerate(duel.found["contenders"]):
        if contender["fault"]:
            continue
        found = _gates(duel, contender)
        rows = [_rounds(duel, restart, number) for restart in range(duel.found["restarts"])]
        figures = {} if gates.status(found) == gates.INVALID else {
            restart: _figures(duel, played, some, contender, restart) for restart, some in enumerate(rows) if some}
        if figures and _is_bounded(contender, list(figures.values())):
            sentence = "The generator's core was full before the server's: the throughput is only a lower bound."
            found.append(Gate("generator", gates.NOISY if played.mode == CLOSED else gates.INVALID, sentence))
        if gates.status(found) == gates.INVALID:
            records.append(_record(duel, played, played.first_block, contender, found))
            continue
        for restart, each in figures.items():
            block = played.first_block - restart if played.first_block < 0 else restart
            mine = found if restart == 0 else []
            if each["messages"]:
                records.append(_record(duel, played, block, contender, mine) | {"figures": each})
            else:
                unserved = _unserved(played, contender["name"])
                records.append(_record(duel, played, block, contender, [*mine, unserved]))
    return records
