# SPDX-License-Identifier: BSD-3-Clause
"""The findings of experiment 3: who answers how much under wrk, why the slow ones are slow, and what compilers give.

The published asio ran a loop per thread whose locks were on, as they are by default: http-beast-locked stands for it,
http-beast is the same without the locks, http-beast-shared one loop for all threads.
"""

import math

from versus import published, stats
from versus.analysis import noise_floor
from versus.duel import judge
from versus.findings.judging import (AT_BOUND, CONFIRMED, CPU, EQUAL, FEWEST_BLOCKS, HALF, LEVEL, NO_VARIANTS,
                                     NOT_HERE, REFUTED, UNUSABLE, Finding, Saying, Side, axis_of_compilers, cells_of,
                                     experiment_of, judged, known_names, ratio, said, throughput, unless_itself)

LOCKED, UNLOCKED, SHARED = "http-beast-locked", "http-beast", "http-beast-shared"
# What counts as a lock on the way of a request.
FUTEX_PER_REQUEST = 0.1
# A lock that makes a server slow: taking it away halves what a request costs. Published: asio at 0.17 of libevent.
LOCK_COST = 2.0
SLOW = "asio is slow for a mutex around epoll"


def rest_cell(experiment: dict | None) -> tuple[str, ...]:
    """The published load where it was run, else the one there is."""
    classic = cells_of(experiment, threads=8)
    return tuple((classic or cells_of(experiment))[:1])


def _requests(experiment: dict | None, sentence: str, names: tuple[str, str], bounds: tuple[float, float]) -> Finding:
    cell = rest_cell(experiment)
    strangers = [name for name in names if name in published.RIVALS and name not in known_names(experiment)]
    missing = published.how_to_add(strangers[0]) if strangers else UNUSABLE
    sides = (Side(names[0], cell), Side(names[1], cell))
    return throughput(experiment, Saying(3, sentence, sides, bounds, missing), f"requests/s, {', '.join(cell)}")


def _slowest(experiment: dict | None) -> Finding:
    """Of those that were published, cppcms against the one that is slowest but for it."""
    sentence = "cppcms is the slowest (published: 15,500/s, asio 19,163/s)"
    cell = rest_cell(experiment)
    others = [row for row in (experiment or {}).get("saturation", ()) if row["cell"] in cell
              and row["contender"] in ("muduo", "http-libevent", "http-nginx", LOCKED)]
    rival = min(others, key=lambda row: row["messages_per_s"])["contender"] if others else LOCKED
    return _requests(experiment, sentence, ("cppcms", rival), (0.0, 1.0))


def _never_full(experiment: dict | None) -> Finding:
    sentence = "asio's and cppcms's rows never saturated the CPU (published: 302-357 and 230-249 of 800 %)"
    cells = rest_cell(experiment)
    rows = [row for row in (experiment or {}).get("saturation", ()) if row["cell"] in cells]
    slow = [row for row in rows if row["contender"] in (LOCKED, "cppcms")]
    if not slow:
        return Finding(3, sentence, NOT_HERE, f"{LOCKED} on 8 threads belongs to the full lab; "
                       + published.how_to_add("cppcms"))
    if all(other["never_saturated"] for other in rows):
        return Finding(3, sentence, NOT_HERE, "nobody saturated under this load: that is the generator's doing")
    verdict = CONFIRMED if all(row["never_saturated"] for row in slow) else REFUTED
    told = [f"{row['contender']} used {row['server_percent']['mean']:.0f} % (100 is a core), "
            f"{row['server_share'] * 100:.0f} % of what it could have" for row in slow]
    return Finding(3, sentence, verdict, "; ".join(told))


def _futexes(experiment: dict | None, name: str) -> float | None:
    cells = rest_cell(experiment)
    return next((row["calls_by_name"].get("futex", 0.0) for row in (experiment or {}).get("costs", ())
                 if row["contender"] == name and row["cell"] in cells and row["calls_by_name"]), None)


def _lock(experiment: dict | None, sentence: str, name: str) -> Finding:
    """What the lock costs is what the same server costs without it."""
    cell = rest_cell(experiment)
    pair = ratio(experiment, Side(name, cell), Side(UNLOCKED, cell), CPU)
    found = judged(3, sentence, f"server CPU per request, {name} / {UNLOCKED} (no locks)", pair, (LOCK_COST, math.inf),
                   "its load on 8 threads belongs to the full lab")
    found = unless_itself(found, experiment, cell, CPU)
    futexes = _futexes(experiment, name)
    if futexes is None:
        return found
    return Finding(3, sentence, found.verdict, f"{found.figure}; {futexes:.3f} futex calls a request")


def _cppcms_lock(experiment: dict | None) -> Finding:
    sentence = "cppcms is slow for a mutex around epoll"
    futexes = _futexes(experiment, "cppcms")
    if futexes is None:
        missing = UNUSABLE if "cppcms" in known_names(experiment) else published.how_to_add("cppcms")
        return Finding(3, sentence, NOT_HERE, missing)
    verdict = CONFIRMED if futexes >= FUTEX_PER_REQUEST else REFUTED
    return Finding(3, sentence, verdict, f"{futexes:.3f} futex calls a request: its loop hands each to a pool of "
                   "threads; what they cost cannot be taken away to see")


def _compilers(results: dict) -> list[Finding]:
    experiment, cells, mode = axis_of_compilers(results)

    def cpu(name: str, base: str) -> stats.Pair:
        return ratio(experiment, Side(name, cells), Side(base, cells), CPU, mode)

    floor = noise_floor(cpu((experiment or {}).get("twin", ""), "peal-epoll"))

    def helps(sentence: str, name: str, base: str, what: str) -> Finding:
        """Refuted: whatever it may gain is less than the same program differs from itself."""
        pair = cpu(name, base)
        verdict = NOT_HERE
        if pair.known and pair.blocks >= FEWEST_BLOCKS and floor is not None:
            verdict = CONFIRMED if judge.alone(pair.logs) == judge.LESS and pair.ratio < 1.0 / floor else \
                REFUTED if pair.low >= 1.0 / floor else AT_BOUND
        figure = said(what, pair, NO_VARIANTS)
        return Finding(3, sentence, verdict, figure + (f"; noise floor ±{(floor - 1) * 100:.1f} %"
                                                       if pair.known and floor is not None else ""))

    return [
        helps("-O3 helps (published for asio 1.74 and muduo 1.06 times, by clang; here asio)", "asio-clang-O3",
              "asio-gcc-O2", "server CPU per message, asio by clang -O3 / by g++ -O2"),
        helps("-O3 helps (here peal itself)", "peal-epoll-gcc-O3", "peal-epoll",
              "server CPU per message, g++ -O3 / g++ -O2"),
        judged(3, "g++ and clang are equal (here peal itself)", "server CPU per message, clang -O2 / g++ -O2",
               cpu("peal-epoll-clang-O2", "peal-epoll"), (1 / EQUAL, EQUAL), NO_VARIANTS),
        helps("A newer C++ standard is a little faster (here asio: peal needs C++23)", "asio-gcc-O2",
              "asio-gcc-O2-cxx14", "server CPU per message, asio as C++23 / as C++14"),
    ]


def of(results: dict) -> list[Finding]:
    experiment = experiment_of(results, "rest")
    return [
        _requests(experiment, "nginx and libevent are level (published: 1.01)", ("http-nginx", "http-libevent"),
                  (1 / LEVEL, LEVEL)),
        _requests(experiment, "asio answers less than half of libevent's requests (published: 0.17)",
                  (LOCKED, "http-libevent"), (0.0, HALF)),
        _requests(experiment, "muduo answers more than twice nginx's requests (published: 2.53)",
                  ("muduo", "http-nginx"), (2.0, math.inf)),
        _slowest(experiment),
        _never_full(experiment),
        _lock(experiment, f"{SLOW}: on a loop per thread, as published", LOCKED),
        _lock(experiment, f"{SLOW}: on one loop that all threads share", SHARED),
        _cppcms_lock(experiment),
        *_compilers(results),
    ]
