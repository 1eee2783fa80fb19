# SPDX-License-Identifier: BSD-3-Clause
"""What the kernel counts about the host and about one process: CPU, steal, memory."""

import os
import resource
import time
from dataclasses import dataclass

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGESIZE")


@dataclass(frozen=True)
class HostSample:
    """One reading of the host's counters; the difference of two tells what happened between."""

    at_s: float
    busy_s: float
    steal_s: float
    own_s: float


@dataclass(frozen=True)
class HostDelta:
    """What happened on the host during a run, the CPU of the run itself taken out."""

    elapsed_s: float
    steal_s: float
    foreign_s: float

    @property
    def foreign_share(self) -> float:
        """Of all CPUs: what others had, and what the hypervisor took."""
        return (self.foreign_s + self.steal_s) / max(self.elapsed_s, 1e-9) / len(os.sched_getaffinity(0))


def sample() -> HostSample:
    """The host now. `own_s` is the CPU of this process and of the children it has reaped."""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _idle, _iowait, irq, softirq, steal = (int(word) for word in file.readline().split()[1:9])
    own = sum(
        usage.ru_utime + usage.ru_stime
        for usage in (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    )
    return HostSample(
        at_s=time.monotonic(),
        busy_s=(user + nice + system + irq + softirq) / TICKS_PER_SECOND,
        steal_s=steal / TICKS_PER_SECOND,
        own_s=own,
    )


def between(before: HostSample, after: HostSample) -> HostDelta:
    """`after` minus `before`; both are taken while the run's processes are not there, so all of theirs is in own_s."""
    return HostDelta(
        elapsed_s=after.at_s - before.at_s,
        steal_s=after.steal_s - before.steal_s,
        foreign_s=max(0.0, (after.busy_s - before.busy_s) - (after.own_s - before.own_s)),
    )


def descendants(pid: int) -> list[int]:
    """`pid` and every process under it now."""
    found = [pid]
    for parent in found:
        try:
            threads = os.listdir(f"/proc/{parent}/task")
        except OSError:
            continue
        for thread in threads:
            try:
                with open(f"/proc/{parent}/task/{thread}/children", encoding="ascii") as file:
                    found += [int(word) for word in file.read().split()]
            except OSError:
                continue
    return found


def tree_rss_bytes(pid: int) -> int:
    """Resident memory of `pid` and of the processes under it, pages they share counted in each."""
    total = process_rss_bytes(pid)
    for child in descendants(pid)[1:]:
        try:
            total += process_rss_bytes(child)
        except OSError:
            continue  # it ended meanwhile
    return total


def process_rss_bytes(pid: int) -> int:
    """Resident memory of `pid` counted page by page (smaps_rollup); statm is cached per CPU and lags behind."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
            for line in file:
                if line.startswith("Rss:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * PAGE_BYTES
