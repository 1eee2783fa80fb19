# SPDX-License-Identifier: BSD-3-Clause
"""The gates: rules fixed beforehand that mark a run INVALID or NOISY, each with one plain sentence.

INVALID: the figure does not mean what it says, and does not count. NOISY: it counts, and is flagged.
"""

from dataclasses import asdict, dataclass

from versus.run.counters import HostDelta
from versus.experiments import RATE

INVALID = "INVALID"
NOISY = "NOISY"
UNSERVED = "UNSERVED"  # not a single answer, from a server that could not give one: no figures, and nobody's fault

FULL_CORE = 0.85
STEAL_SHARE = 0.01
FOREIGN_SHARE = 0.10


@dataclass(frozen=True)
class Gate:
    name: str
    verdict: str
    sentence: str

    def as_dict(self) -> dict:
        return asdict(self)


def of_host(delta: HostDelta, cores: int) -> list[Gate]:
    """What the host's counters say about the time the run took."""
    found = []
    if delta.steal_s > STEAL_SHARE * delta.elapsed_s * cores:
        share = delta.steal_s / (delta.elapsed_s * cores)
        found.append(Gate("steal", NOISY, f"The hypervisor took {share:.1%} of the CPU time away."))
    if delta.foreign_s > FOREIGN_SHARE * delta.elapsed_s:
        share = delta.foreign_s / delta.elapsed_s
        found.append(Gate("foreign_load", NOISY, f"Other processes used {share:.0%} of one core during the run."))
    return found


def full_before(names: list[str]) -> str:
    """Why a throughput decides nothing where the generator's core filled before that of these; "" where none is."""
    return f"the generator was full before {' and '.join(names)}" if names else ""


def status(found: list[Gate]) -> str:
    verdicts = {gate.verdict for gate in found}
    if UNSERVED in verdicts:
        return UNSERVED
    return INVALID if INVALID in verdicts else NOISY if NOISY in verdicts else "ok"


def usable(record: dict | None) -> bool:
    """Whether a record's figures count."""
    return record is not None and record["status"] != INVALID and "figures" in record


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
    return max(found["server_share"], machine) < FULL_CORE
