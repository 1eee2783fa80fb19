# SPDX-License-Identifier: BSD-3-Clause
"""The findings of experiments 1, 3 and 4 as one table, in the order of the page. of() inserts the findings of the drum,
experiment 2. The findings of experiment 5 are in models/model_findings.py."""

import math
from dataclasses import asdict
from functools import partial

from versus import drum_analysis, published
from versus.experiments import CLOSED
from versus.findings import traced_findings
from versus.findings.judging import COMPILERS, CPU, EQUAL, LEVEL, MIB, Rule, cells_of, judged
from versus.findings.traced_findings import LOCKED, SHARED, UNLOCKED, rest_cell

FAR_AHEAD, HALF = 1.20, 0.5
NEAR = 1.15  # "near each other": within what was published of muduo and libio from 10 clients on
LOCK_COST = 2.0  # a lock that makes a server this many times slower counts as slow; published: asio at 0.17 of libevent
MORE = (1.0, math.inf)
ASIO = ("asio-per-thread", "asio-shared")
LIBRARIES = ("http-libevent", "http-beast", "muduo", "libio")
CROWDS = (10, 100, 1000)
NO_VARIANTS = "the axis of compilers belongs to the full lab (or --variants)"
FULL_LAB = "closed-loop runs at {} KiB belong to the full lab"


def _same(**wanted):
    """Both sides in each closed-loop cell that is as wanted."""
    return lambda experiment: [(name, name) for name in cells_of(experiment, **wanted)]


def _on_threads(experiment: dict) -> list[tuple[str, str]]:
    return [(cell["name"],) * 2 for cell in experiment["cells"] if cell["threads"] > 1 and CLOSED in cell["modes"]]


def _in_rest(experiment: dict) -> list[tuple[str, str]]:
    return [(name, name) for name in rest_cell(experiment)]


def _anywhere(experiment: dict) -> list[tuple[str, str]]:
    return [(cell["name"],) * 2 for cell in experiment["cells"]]


def _short(*clients: int):
    return lambda experiment: [pair for count in clients for pair in _same(short=True, connections=count)(experiment)]


def _kept_alive(experiment: dict) -> list[tuple[str, str]]:
    """Long against short connections, at the same clients."""
    keeps = cells_of(experiment, short=False)
    return [(keep, short) for short in cells_of(experiment, short=True)
            if (keep := short.replace("short", "keep")) in keeps]


def _one_client(experiment: dict) -> list[tuple[str, str]]:
    """One client against ten. A server that hands a connection over pays two thread switches for each one."""
    return list(zip(cells_of(experiment, short=True, connections=1), cells_of(experiment, short=True, connections=10)))


def _lead(subject: str, words: str, rival: str, size: int, how: str, bound: float) -> Rule:
    """A lead of muduo, or of another contender in its place."""
    threads = {"threads": 1} if rival == "libevent" else {}  # its published runs had one thread
    lead = "at least" if how == "average" else "up to"
    sentence = f"{words} {lead} {(bound - 1) * 100:.0f} % ahead of {rival} at {size // 1024} KiB"
    return Rule(1, "pingpong", sentence + (", on average" if how == "average" else ""), subject,
                ASIO if rival == "asio" else (rival,), (bound, math.inf),
                "MiB/s, {loads} loads" if how == "average" else "MiB/s, {cells}", _same(size=size, **threads), MIB,
                FULL_LAB.format(size // 1024), largest=how != "average")


def _requests(sentence: str, subject: str, rivals: tuple[str, ...], bounds: tuple[float, float], **more) -> Rule:
    return Rule(3, "rest", sentence, subject, rivals, bounds, "requests/s, {cells}", _in_rest, **more)


def _lock(which: str, name: str):
    """Judges the lock by the server CPU of the same server with locks / without."""
    return partial(traced_findings.lock, rule=Rule(
        3, "rest", f"asio is slow because of a mutex around epoll: {which}", name, (UNLOCKED,), (LOCK_COST, math.inf),
        "server CPU per request, with locks / without", _in_rest, CPU, "its load on 8 threads belongs to the full lab"))


def _compiled(experiment: int, sentence: str, subject: str, base: str, bounds: tuple[float, float] | None,
              what: str) -> Rule:
    return Rule(experiment, COMPILERS, sentence, subject, (base,), bounds, f"server CPU per message, {what}", _anywhere,
                CPU, NO_VARIANTS)


def _pages(sentence: str, subject: str, rivals: tuple[str, ...], bounds: tuple[float, float],
           loads=_same(short=True)) -> Rule:
    return Rule(4, "pages", sentence, subject, rivals, bounds, "pages/min, {loads} loads", loads)


def _keep_alive(name: str, words: str) -> Rule:
    return Rule(4, "pages", f"Keep-alive carries at least twice the pages: {words}", name, (name,), (2.0, math.inf),
                "pages/min, keep-alive / a connection per request, {loads} loads", _kept_alive,
                missing=f"{name} did not run both")


def _alone(name: str, words: str) -> Rule:
    return Rule(4, "pages", f"With one client, a server that hands connections over is slow ({words} of 10 clients' "
                "pages)", name, (name,), (0.0, HALF), "pages/min, 1 client / 10 clients", _one_client)


# A rule, or a function of the results that answers a finding.
FINDINGS = (
    *(_lead("muduo", "muduo is", *row[1:]) for row in published.PINGPONG),
    traced_findings.short_reads,
    Rule(1, "pingpong", "asio with an io_context per CPU is faster than with one that all threads share (published: a "
         "guess)", ASIO[0], ASIO[1:], MORE, "MiB/s, {loads} loads on several threads", _on_threads, MIB,
         "runs on several threads belong to the full lab"),
    *(_lead("peal-epoll", "In muduo's place, peal on epoll:", *row[1:]) for row in published.PINGPONG),

    _requests("nginx and libevent are level (published: 1.01)", "http-nginx", ("http-libevent",), (1 / LEVEL, LEVEL)),
    _requests("asio answers less than half of libevent's requests (published: 0.17)", LOCKED, ("http-libevent",),
              (0.0, HALF)),
    _requests("muduo answers more than twice nginx's requests (published: 2.53)", "muduo", ("http-nginx",),
              (2.0, math.inf)),
    _requests("cppcms is the slowest (published: 15,500/s, asio 19,163/s)", "cppcms",
              (LOCKED, "muduo", "http-libevent", "http-nginx"), (0.0, 1.0), slowest=True),
    traced_findings.never_full,
    _lock("on a loop per thread, as published", LOCKED),
    _lock("on one loop that all threads share", SHARED),
    traced_findings.cppcms_lock,
    _compiled(3, "-O3 helps (published for asio 1.74 and muduo 1.06 times, by clang; here asio)", "asio-clang-O3",
              "asio-gcc-O2", None, "asio by clang -O3 / by g++ -O2"),
    _compiled(3, "-O3 helps (here peal itself)", "peal-epoll-gcc-O3", "peal-epoll", None, "g++ -O3 / g++ -O2"),
    _compiled(3, "g++ and clang are equal (here peal itself)", "peal-epoll-clang-O2", "peal-epoll", (1 / EQUAL, EQUAL),
              "clang -O2 / g++ -O2"),
    _compiled(3, "A newer C++ standard is a little faster (here asio: peal needs C++23)", "asio-gcc-O2",
              "asio-gcc-O2-cxx14", None, "asio as C++23 / as C++14"),

    _pages("With a connection per request nginx is far ahead of muduo (published: 1.4 to 1.6 times)", "http-nginx",
           ("muduo",), (FAR_AHEAD, math.inf)),
    _pages("With a connection per request nginx is far ahead of libio (published: 1.5 to 2.9 times)", "http-nginx",
           ("libio",), (FAR_AHEAD, math.inf)),
    _pages("With a connection per request nginx is far ahead of the fastest of the libraries here", "http-nginx",
           LIBRARIES, (FAR_AHEAD, math.inf)),
    _pages("libio and muduo are near each other from 10 clients on (published: 0.96 to 1.01, a connection per "
           "request)", "libio", ("muduo",), (1 / NEAR, NEAR), _short(*CROWDS)),
    _pages("With one client libio is clearly behind muduo (published: 0.54)", "libio", ("muduo",), (0.0, 1 / FAR_AHEAD),
           _short(1)),
    _keep_alive("libio", "libio (published: 2.4 to 5.2 times)"),
    _keep_alive("muduo", "muduo (published: 2.4 to 4.0 times)"),
    _keep_alive("http-libevent", "libevent"),
    _alone("libio", "libio published 0.17"),
    _alone("muduo", "muduo published 0.31"),
    # Two of the steps by which libio's author doubled his pages (docs/models.md: all steps). libio pooled the objects
    # of connections. peal reuses the exchanges of requests, and deletes the session of a connection.
    _pages("Reused objects carry more pages than newly allocated ones (libio: connection objects; here peal's "
           "exchanges, and sessions until 28 November 2026)", "http-peal-epoll", ("http-peal-epoll-unpooled",), MORE),
    _compiled(4, "-O2 instead of -O0 makes a server faster (here peal itself)", "peal-epoll-gcc-O0", "peal-epoll", MORE,
              "g++ -O0 / g++ -O2"),
)


def of(results: dict) -> list[dict]:
    """Every finding, as plain data, in the order of the experiments, also those that the plan left out."""
    drummed = (results.get("drum") or {}).get("findings") or drum_analysis.findings([])
    found = [asdict(judged(results, each) if isinstance(each, Rule) else each(results)) for each in FINDINGS]
    return sorted([*found, *({"experiment": 2} | finding for finding in drummed)], key=lambda row: row["experiment"])
