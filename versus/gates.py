# SPDX-License-Identifier: BSD-3-Clause
"""The gates: rules fixed beforehand that mark a run INVALID or NOISY. Each has one plain sentence.

INVALID: the figure cannot be trusted and does not count. NOISY: it counts, and is marked.
"""

from dataclasses import asdict, dataclass

from versus.run.counters import HostDelta
from versus.experiments import RATE

INVALID = "INVALID"
NOISY = "NOISY"
# The server answered no request, because it serves few connections at a time: no figures, but no fault either.
UNSERVED = "UNSERVED"

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
    """Returns the gates that the host's counters during the run give."""
    found = []
    if delta.steal_s > STEAL_SHARE * delta.elapsed_s * cores:
        share = delta.steal_s / (delta.elapsed_s * cores)
        found.append(Gate("steal", NOISY, f"The hypervisor took {share:.1%} of the CPU time."))
    if delta.foreign_s > FOREIGN_SHARE * delta.elapsed_s:
        share = delta.foreign_s / delta.elapsed_s
        found.append(Gate("foreign_load", NOISY, f"Other processes used {share:.0%} of one core during the run."))
    return found


def full_before(names: list[str]) -> str:
    """Returns why there is no verdict on a throughput: the generator's core was full before these contenders'. Returns
    "" if `names` is empty."""
    return f"the generator was full before {' and '.join(names)}" if names else ""


def status(found: list[Gate]) -> str:
    verdicts = {gate.verdict for gate in found}
    if UNSERVED in verdicts:
        return UNSERVED
    return INVALID if INVALID in verdicts else NOISY if NOISY in verdicts else "ok"


def usable(record: dict | None) -> bool:
    """True if a record's figures count."""
    return record is not None and record["status"] != INVALID and "figures" in record


def is_lower_bound(record: dict) -> bool:
    """True if the generator's core was full before the server's."""
    return record["mode"] != RATE and any(gate["name"] == "generator" for gate in record["gates"])


def never_saturated(record: dict) -> bool:
    """True if a closed loop did not fill the server's threads or the machine: then the figure is not the server's
    limit. False if the server's CPU is not known."""
    found = record["figures"]
    if record["mode"] == RATE or not found["server_cpu_ns"]:
        return False
    machine = found["machine_share"] + found.get("foreign_share", 0.0)
    return max(found["server_share"], machine) < FULL_CORE
