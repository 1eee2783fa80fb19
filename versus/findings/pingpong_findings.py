# SPDX-License-Identifier: BSD-3-Clause
"""The findings of experiment 1: muduo's leads, libevent's short reads, asio with one loop or one per CPU."""

import math

from versus import published
from versus.findings.judging import (CONFIRMED, MIB, NOT_HERE, REFUTED, Finding, Saying, Side, cells_of, experiment_of,
                                     known_names, ratio, throughput)
from versus.roster import PINGPONG

ASIO = ("asio-per-thread", "asio-shared")
READS = ("read", "readv", "recv", "recvfrom", "recvmsg")
FULL_LAB = "closed-loop runs at {} KiB belong to the full lab"


def _groups(cells: list[str], how: str) -> list[tuple[str, ...]]:
    """Over all cells together, or in each by itself."""
    return [tuple(cells)] if how == "average" and cells else [(cell,) for cell in cells]


def _lead(experiment: dict | None, subject: str, rivals: tuple[str, ...], cells: list[str],
          how: str) -> tuple[Side, Side]:
    """Subject and rival where the lead over the rival that is faster there is the largest."""
    leads = []
    for group in _groups(cells, how):
        sides = [(Side(subject, group), Side(rival, group)) for rival in rivals]
        known = [(pair.ratio, both) for both in sides if (pair := ratio(experiment, *both, MIB)).known]
        leads += [min(known, key=lambda entry: entry[0])] if known else []
    return max(leads, key=lambda entry: entry[0])[1] if leads else (Side(subject, ()), Side(rivals[0], ()))


def _leads(experiment: dict | None, subject: str) -> list[Finding]:
    """muduo's leads; or another's in its place."""
    found = []
    for _, rival, size, how, bound in published.PINGPONG:
        rivals = ASIO if rival == "asio" else (rival,)
        ran = [cell for cell in cells_of(experiment, size=size)
               if all(ratio(experiment, Side(subject, (cell,)), Side(name, (cell,)), MIB).known for name in rivals)]
        if rival == "libevent":  # its published runs had one thread
            ran = [cell for cell in ran if cell in cells_of(experiment, threads=1)]
        by = f"{(bound - 1) * 100:.0f} %"
        lead = f"at least {by} ahead of {rival}" if how == "average" else f"up to {by} ahead of {rival}"
        lead += f" at {size // 1024} KiB" + (", on average" if how == "average" else "")
        sentence = f"muduo is {lead}" if subject == "muduo" else f"In muduo's place, peal on epoll: {lead}"
        missing = FULL_LAB.format(size // 1024)
        if subject == "muduo" and "muduo" not in known_names(experiment):
            missing = published.how_to_add("muduo", PINGPONG)
        sides = _lead(experiment, subject, rivals, ran, how)
        where = f"MiB/s, {len(sides[0].cells)} loads" if how == "average" else f"MiB/s, {''.join(sides[0].cells)}"
        found.append(throughput(experiment, Saying(1, sentence, sides, (bound, math.inf), missing), where, MIB))
    return found


def _short_reads(experiment: dict | None) -> Finding:
    """From the system calls of a 16 KiB message: who reads 4,096 bytes a time needs four of them."""
    size = 16384
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


def _per_cpu(experiment: dict | None) -> Finding:
    """The article's guess about its own asio figures."""
    sentence = "asio with an io_context per CPU is faster than with one that all threads share (published: a guess)"
    cells = tuple(cell["name"] for cell in (experiment or {}).get("cells", ()) if cell["threads"] > 1
                  and cell["name"] in cells_of(experiment))
    sides = (Side("asio-per-thread", cells), Side("asio-shared", cells))
    return throughput(experiment, Saying(1, sentence, sides, (1.0, math.inf),
                                         "runs on several threads belong to the full lab"),
                      f"MiB/s, {len(cells)} loads on several threads", MIB)


def of(results: dict) -> list[Finding]:
    experiment = experiment_of(results, "pingpong")
    return [*_leads(experiment, "muduo"), _short_reads(experiment), _per_cpu(experiment),
            *_leads(experiment, "peal-epoll")]


