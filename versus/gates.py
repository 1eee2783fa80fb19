# SPDX-License-Identifier: BSD-3-Clause
"""The gates: rules fixed beforehand that mark a run INVALID or NOISY, each with one plain sentence.

INVALID: the figure does not mean what it says; the run is repeated once and shown. NOISY: it counts, and is flagged.
"""

from dataclasses import asdict, dataclass

from versus.run.counters import HostDelta
from versus.experiments import CLOSED, RATE
from versus.run.generator import Measurement

INVALID = "INVALID"
NOISY = "NOISY"
UNSERVED = "UNSERVED"  # not a single answer, from a server that could not give one: no figures, and nobody's fault

LEAST_ACHIEVED = 0.99
FULL_CORE = 0.85
LITTLE_OFF = 0.05
STEAL_SHARE = 0.01
FOREIGN_SHARE = 0.10
SEND_LAG_P99_NS = 2_000_000
# A handful of retransmits in a million segments is the loopback's own; more is loss.
RETRANSMITS_ALLOWED = 3


@dataclass(frozen=True)
class Gate:
    name: str
    verdict: str
    sentence: str

    def as_dict(self) -> dict:
        return asdict(self)


def of_measurement(run: Measurement, mode: str, asked: int, short: bool = False) -> list[Gate]:
    """What the generator's own figures say about the run; `short`: a connection per request."""
    found = []
    if run.errors:
        kinds = ", ".join(f"{name} {count}" for name, count in sorted(run.errors.items()))
        found.append(Gate("errors", INVALID, f"Errors nobody asked for: {kinds}."))
    if run.connections_open + run.connections_unopened < asked:
        found.append(Gate("connections", INVALID, f"{run.connections_open} of {asked} connections opened."))
    if run.messages == 0:
        found.append(Gate("nothing", INVALID, "Not one message came back."))
    if run.clamped:
        found.append(Gate("clamped", INVALID, f"{run.clamped} latencies lay outside the histogram's range."))
    if run.server_cpu_ns is None:
        found.append(Gate("server_cpu", INVALID, "The server's CPU time could not be read."))
    if mode == RATE and run.offered_rate > 0 and run.messages_per_s < LEAST_ACHIEVED * run.offered_rate:
        share = run.messages_per_s / run.offered_rate
        found.append(Gate("achieved", INVALID, f"{share:.1%} of the offered {run.offered_rate:,.0f}/s was achieved."))
    if run.client_share > FULL_CORE and run.server_share < FULL_CORE and not run.forgets_children:
        sentence = (f"The generator kept its core {run.client_share:.0%} busy and the server {run.server_share:.0%}: "
                    "this measures the generator, the throughput is a lower bound.")
        found.append(Gate("generator", NOISY if mode == CLOSED else INVALID, sentence))
    if run.send_lag_p99_ns > SEND_LAG_P99_NS:
        late_ms = run.send_lag_p99_ns / 1e6
        found.append(Gate("send_lag", NOISY, f"1 % of the sends left more than {late_ms:.1f} ms late."))
    # With a connection per request, a client is also in flight while it connects, which its latency leaves out; what
    # waits for its connection's turn never comes back.
    if mode == CLOSED and run.latency_mean_ns > 0 and asked > 0 and not short and not run.connections_queued:
        flight = run.messages_per_s * run.latency_mean_ns / 1e9
        if abs(flight / asked - 1.0) > LITTLE_OFF:
            found.append(Gate("little", NOISY, f"Rate times mean latency gives {flight:.1f} in flight, not {asked}."))
    return found


def of_host(delta: HostDelta, cores: int) -> list[Gate]:
    """What the host's counters say about the time the run took."""
    found = []
    if delta.listen_overflows or delta.listen_drops:
        count = max(delta.listen_overflows, delta.listen_drops)
        found.append(Gate("listen_drops", NOISY, f"The listener's queue overflowed {count} times while connecting."))
    if delta.retransmits > RETRANSMITS_ALLOWED:
        found.append(Gate("retransmits", NOISY, f"{delta.retransmits} segments were sent again."))
    if delta.steal_s > STEAL_SHARE * delta.elapsed_s * cores:
        share = delta.steal_s / (delta.elapsed_s * cores)
        found.append(Gate("steal", NOISY, f"The hypervisor took {share:.1%} of the CPU time away."))
    if delta.foreign_s > FOREIGN_SHARE * delta.elapsed_s:
        share = delta.foreign_s / delta.elapsed_s
        found.append(Gate("foreign_load", NOISY, f"Other processes used {share:.0%} of one core during the run."))
    return found


def combined(own: list[Gate], generators: list[Gate], mode: str) -> list[Gate]:
    """The harness's gates and then those the generator raised that say something new."""
    names = {gate.name for gate in own}
    kept = [gate for gate in generators if gate.name not in names]
    if mode == CLOSED:
        kept = [Gate(g.name, NOISY, g.sentence) if g.name == "generator" else g for g in kept]
    return own + kept


def of_queueing(found: list[Gate], run: Measurement, at_once: int, asked: int) -> list[Gate]:
    """`found` of a server that by its nature serves `at_once` of the `asked` connections at a time. That the others
    waited the generator was told to expect; where nobody's turn came nothing else is said."""
    if run.messages == 0 and run.connections_served == 0 and not run.errors:
        return [Gate("unserved", UNSERVED, f"It serves {at_once} of {asked} connections at a time, and of those nobody "
                     "was answered.")]
    return found


def full_before(names: list[str]) -> str:
    """Why a throughput decides nothing where the generator's core filled before that of these; "" where none is."""
    return f"the generator was full before {' and '.join(names)}" if names else ""


def status(found: list[Gate]) -> str:
    verdicts = {gate.verdict for gate in found}
    if UNSERVED in verdicts:
        return UNSERVED
    return INVALID if INVALID in verdicts else NOISY if NOISY in verdicts else "ok"
