# SPDX-License-Identifier: BSD-3-Clause
"""A duel's slices as the records of a lab's runs: one for each contender and restart, so that a duel and runs one after
the other are told, drawn and judged alike. Pure: no files, no clock.
"""

import os
from dataclasses import dataclass

from versus import gates
from versus.duel.duel_figures import columns, gates_of
from versus.duel.duel_runner import Duel
from versus.experiments import CLOSED, Load
from versus.gates import Gate

MIB = 2**20
DISTURBED = ("steal", "foreign_load")  # what the host says of a minute, as it does of a second


@dataclass(frozen=True)
class Played:
    """What a duel was played for."""

    experiment: str
    cell: Load
    mode: str
    rate: float = 0.0
    first_block: int = 0  # below 0: a calibration's
    began: float = 0.0  # seconds since 1970

    def key(self, block: int, name: str) -> str:
        return f"{self.experiment}/{self.cell.name}/{self.mode}/{block}/{name}/0"


@dataclass
class _Sum:
    """The slices of one contender in one restart."""

    messages: int = 0
    seconds: float = 0.0
    server_cpu_ns: float = 0.0
    client_cpu_ns: float = 0.0


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
    per, cell = max(1, total.messages), played.cell
    cores = len(os.sched_getaffinity(0))
    at_most = 10**6 if duel.found["server_cpus"] else cores  # without CPUs of their own all share what there is
    busy_ns = max(total.seconds, 1e-9) * 1e9
    on_machine_ns = total.server_cpu_ns + total.client_cpu_ns
    if duel.is_apart:  # whether the machine is full is asked of the server's
        cores, on_machine_ns = max(1, duel.server_host["cpus"]), total.server_cpu_ns
    speed = total.messages / max(total.seconds, 1e-9)
    return {
        "messages": total.messages, "messages_per_s": speed, "mib_per_s": speed * cell.size / MIB,
        "mean_read_bytes": None, "offered_rate": played.rate, "connections": cell.connections,
        "served": cell.connections, "failed": 0,
        "server_cpu_ns": total.server_cpu_ns / per, "client_cpu_ns": total.client_cpu_ns / per,
        "server_share": total.server_cpu_ns / busy_ns / min(cell.threads, at_most),
        "client_share": total.client_cpu_ns / busy_ns / min(cell.generator_threads, at_most),
        "machine_share": on_machine_ns / busy_ns / cores,
        "server_percent": 100 * total.server_cpu_ns / busy_ns,
        "foreign_share": duel.host.foreign_share if duel.host and not duel.is_apart else 0.0,
        "server_rss_bytes": contender["rss_by_restart"][restart], "rss_start_bytes": None, "switches": None,
        # Of all restarts together, so it stands once.
        "latency_hdr": contender["latency"]["hdr"] if restart == 0 else "",
        "connect_hdr": contender.get("connect", {}).get("hdr", "") if restart == 0 else "",
        "rounds": duel.found["rounds"],
    }


def _gates(duel: Duel, mode: str, contender: dict) -> list[Gate]:
    found = [Gate("duel", gate["verdict"], gate["sentence"]) for gate in gates_of(duel.found, contender["name"])]
    if duel.server_host:
        found += [Gate("server_host", gate["verdict"], gate["sentence"])
                  for gate in gates_of(duel.found, duel.server_host["name"])]
    host = gates.of_host(duel.host, len(os.sched_getaffinity(0))) if duel.host else []
    found += [gate for gate in host if gate.name in DISTURBED]
    if contender["bounded"]:
        sentence = "The generator's core filled before the server's: the throughput is a lower bound."
        found.append(Gate("generator", gates.NOISY if mode == CLOSED else gates.INVALID, sentence))
    return found


def _record(duel: Duel, played: Played, block: int, contender: dict, found: list[Gate]) -> dict:
    started = played.began + duel.found["elapsed_s"] * abs(block - played.first_block) / max(1, duel.found["restarts"])
    return {"key": played.key(block, contender["name"]), "experiment": played.experiment, "cell": played.cell.name,
            "mode": played.mode, "block": block, "contender": contender["name"], "attempt": 0, "rate": played.rate,
            "started": round(started, 3),
            "status": gates.status(found), "gates": [gate.as_dict() for gate in found], "commands": [duel.command]}


def records_of(duel: Duel, played: Played) -> list[dict]:
    """The records. A gate speaks of the whole duel and stands in the contender's first; an INVALID one has no
    others."""
    records = []
    for number, contender in enumerate(duel.found["contenders"]):
        found = _gates(duel, played.mode, contender)
        if gates.status(found) == gates.INVALID:
            records.append(_record(duel, played, played.first_block, contender, found))
            continue
        for restart in range(duel.found["restarts"]):
            rows = _rounds(duel, restart, number)
            if not rows:
                continue
            block = played.first_block - restart if played.first_block < 0 else restart
            record = _record(duel, played, block, contender, found if restart == 0 else [])
            records.append(record | {"figures": _figures(duel, played, rows, contender, restart)})
    return records
