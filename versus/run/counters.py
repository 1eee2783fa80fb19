# SPDX-License-Identifier: BSD-3-Clause
"""Reads the kernel's counters of the host and of a process: CPU, steal, memory."""

import os
import resource
import time
from dataclasses import dataclass

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGESIZE")


@dataclass(frozen=True)
class HostSample:
    """One reading of the host's counters. The difference of two readings tells what happened in between."""

    at_s: float
    busy_s: float
    steal_s: float
    own_s: float


@dataclass(frozen=True)
class HostDelta:
    """The CPU that the host used during a run, without the CPU of the run itself."""

    elapsed_s: float
    steal_s: float
    foreign_s: float

    @property
    def foreign_share(self) -> float:
        """The share of all CPUs that other programs and the hypervisor took."""
        return (self.foreign_s + self.steal_s) / max(self.elapsed_s, 1e-9) / len(os.sched_getaffinity(0))


def sample() -> HostSample:
    """Reads the host's counters. `own_s` is the CPU of this process and of the children that it has waited for."""
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
    """Returns `after` minus `before`. Both readings must be taken while no process of the run exists, so that all of
    their CPU is in own_s."""
    return HostDelta(
        elapsed_s=after.at_s - before.at_s,
        steal_s=after.steal_s - before.steal_s,
        foreign_s=max(0.0, (after.busy_s - before.busy_s) - (after.own_s - before.own_s)),
    )


def descendants(pid: int) -> list[int]:
    """Returns `pid` and all its descendants that exist now."""
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
    """Returns the resident memory of `pid` and its descendants. Shared pages count once for each process."""
    total = process_rss_bytes(pid)
    for child in descendants(pid)[1:]:
        try:
            total += process_rss_bytes(child)
        except OSError:
            continue  # it has ended meanwhile
    return total


def process_rss_bytes(pid: int) -> int:
    """Returns the resident memory of `pid`, counted page by page (smaps_rollup). The number in statm is cached per CPU
    and lags behind; it is used only if smaps_rollup cannot be read."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
            for line in file:
                if line.startswith("Rss:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * PAGE_BYTES
