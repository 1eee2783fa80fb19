# SPDX-License-Identifier: BSD-3-Clause
"""The findings that need more than a ratio: system calls, counted by strace, or shares of the CPU.

The published asio of experiment 3 ran a loop per thread whose locks were on, as they are by default: http-beast-locked
stands for it, http-beast is the same without the locks, http-beast-shared one loop for all threads.
"""

from dataclasses import replace

from versus import published
from versus.findings.judging import (CONFIRMED, NOT_HERE, REFUTED, UNUSABLE, Finding, Rule, cells_of, experiment_of,
                                     judged, known_names)
from versus.roster import PINGPONG

LOCKED, UNLOCKED, SHARED = "http-beast-locked", "http-beast", "http-beast-shared"
READS = ("read", "readv", "recv", "recvfrom", "recvmsg")
# From this many futex calls a request on, a lock counts as part of each request.
FUTEX_PER_REQUEST = 0.1


def rest_cell(experiment: dict | None) -> tuple[str, ...]:
    """The published load of experiment 3 where it was run, else the one there is."""
    classic = cells_of(experiment, threads=8)
    return tuple((classic or cells_of(experiment))[:1])


def short_reads(results: dict) -> Finding:
    """Judged by the system calls of a 16 KiB message: a server that reads 4,096 bytes at a time needs four reads."""
    experiment, size = experiment_of(results, "pingpong"), 16384
    sentence = f"libevent reads at most {published.LIBEVENT_READS:,} bytes at a time, muduo a whole message of 16 KiB"
    rows = [row for row in (experiment or {}).get("costs", ()) if row["calls_by_name"]
            and row["cell"] in cells_of(experiment, size=size)]
    reads = {name: [sum(row["calls_by_name"].get(call, 0.0) for call in READS) for row in rows
                    if row["contender"] == name] for name in ("libevent", "muduo")}
    if not reads["libevent"]:
        return Finding(1, sentence, NOT_HERE, "system calls at 16 KiB are counted by the full lab")
    told = {name: f"{name} {min(counts):.2f}" for name, counts in reads.items() if counts}
    often = min(reads["libevent"]) >= size / published.LIBEVENT_READS
    once = not reads["muduo"] or min(reads["muduo"]) <= 1.5
    beside = "" if reads["muduo"] else f"; {published.how_to_add('muduo', PINGPONG)}"
    return Finding(1, sentence, CONFIRMED if often and once else REFUTED,
                   f"reads a message of 16 KiB: {', '.join(told.values())}{beside}")


def never_full(results: dict) -> Finding:
    experiment = experiment_of(results, "rest")
    sentence = "asio and cppcms never saturated the CPU (published: 302-357 and 230-249 of 800 %)"
    cells = rest_cell(experiment)
    rows = [row for row in (experiment or {}).get("saturation", ()) if row["cell"] in cells]
    slow = [row for row in rows if row["contender"] in (LOCKED, "cppcms")]
    if not slow:
        return Finding(3, sentence, NOT_HERE, f"{LOCKED} on 8 threads belongs to the full lab; "
                       + published.how_to_add("cppcms"))
    if all(other["never_saturated"] for other in rows):
        return Finding(3, sentence, NOT_HERE, "no server saturated under this load: the generator limited all of them")
    verdict = CONFIRMED if all(row["never_saturated"] for row in slow) else REFUTED
    told = [f"{row['contender']} used {row['server_percent']['mean']:.0f} % (100 is a core), "
            f"{row['server_share'] * 100:.0f} % of what it could have" for row in slow]
    return Finding(3, sentence, verdict, "; ".join(told))


def _futexes(results: dict, name: str) -> float | None:
    experiment = experiment_of(results, "rest")
    cells = rest_cell(experiment)
    return next((row["calls_by_name"].get("futex", 0.0) for row in (experiment or {}).get("costs", ())
                 if row["contender"] == name and row["cell"] in cells and row["calls_by_name"]), None)


def lock(results: dict, rule: Rule) -> Finding:
    """The verdict of the rule, with the number of futex calls of the server."""
    found, futexes = judged(results, rule), _futexes(results, rule.subject)
    return found if futexes is None else replace(found, figure=f"{found.figure}; {futexes:.3f} futex calls a request")


def cppcms_lock(results: dict) -> Finding:
    sentence = "cppcms is slow because of a mutex around epoll"
    futexes = _futexes(results, "cppcms")
    if futexes is None:
        is_known = "cppcms" in known_names(experiment_of(results, "rest"))
        return Finding(3, sentence, NOT_HERE, UNUSABLE if is_known else published.how_to_add("cppcms"))
    verdict = CONFIRMED if futexes >= FUTEX_PER_REQUEST else REFUTED
    return Finding(3, sentence, verdict, f"{futexes:.3f} futex calls a request: its loop hands each request to a "
                   "pool of threads; there is no build without these calls to compare with")
