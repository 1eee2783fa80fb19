# SPDX-License-Identifier: BSD-3-Clause
"""The experiments and the claims, as data, declared before anything is measured.

A new experiment is one entry here: its cells, its kind of contender, its claims, its share of the time. The other
experiments are elsewhere:
- Experiment 2 (the drum) needs no generator; it is in drum.py.
- Experiment 5 (the concurrency models) is its own plan, in models/model_plans.py.
- Experiment 6 (TLS) is in tls/tls_plans.py.
- The quick lab is in quick/quick_plan.py.
"""

from dataclasses import replace

from versus import drum
from versus.models import model_plans
from versus.experiments import CLOSED, HTTP_GRID, RATE, Cell, Claim, Duels, Experiment, HttpCell, Plan
from versus.roster import HTTP
from versus.tls import tls_plans

# This server answers about a thousand requests a second. A fixed rate of half of that would be no load for the others.
SLOW_HTTP = ("http-python",)

PINGPONG_CLAIMS = (
    Claim("peal-epoll", "raw-epoll", "64Bx1000", bar=1.05),
    Claim("peal-epoll", "raw-epoll", "16KiBx100", bar=1.05),
    Claim("peal-uring", "raw-uring", "64Bx1000", bar=1.05),
    Claim("peal-epoll", "libevent", "64Bx1000"),
    Claim("peal-epoll", "asio-per-thread", "64Bx1000"),
    Claim("peal-epoll", "libuv", "64Bx1000"),
)


def http_costs(cell: str) -> tuple[Claim, ...]:
    return (Claim("http-peal-epoll", "http-raw-epoll", cell, bar=1.06),
            Claim("http-peal-epoll", "http-nginx", cell, bar=0.9))


def http_speeds(*cells: str) -> tuple[Claim, ...]:
    return tuple(Claim("http-peal-epoll", "http-nginx", cell, metric="speed") for cell in cells)


def _pingpong_cells() -> tuple[Cell, ...]:
    """Returns the classic matrix (16 KiB, 4 KiB) and 64 B, on one thread and on up to four."""
    cells = []
    for size in (16384, 4096, 64):
        for connections in (1, 10, 100, 1000, 10000):
            modes = (CLOSED,) if connections == 1 else (CLOSED, RATE)
            cells.append(Cell(size, connections, modes=modes))
        cells += [Cell(size, connections, threads, (CLOSED,)) for connections in (100, 1000) for threads in (2, 3, 4)]
    return tuple(cells)


FULL_PINGPONG = Experiment(
    name="pingpong",
    title="Experiment 1: ping-pong",
    cells=_pingpong_cells(),
    claims=PINGPONG_CLAIMS,
    classic="pingpong",
)

# The published load (8 server threads, 4 client threads, 200 connections) and one on a single thread.
FULL_REST = Experiment(
    name="rest",
    title="Experiment 3: REST servers",
    cells=(HttpCell(200, threads=8, client_threads=4), HttpCell(200, modes=(CLOSED, RATE), without=SLOW_HTTP)),
    claims=http_costs("keep200"),
    kind=HTTP,
    unit="request",
    grid=HTTP_GRID,
    twin_of="http-peal-epoll",
    classic="rest",
)

# webbench's matrix; with 100 clients, also a fixed rate.
FULL_PAGES = replace(
    FULL_REST,
    name="pages",
    title="Experiment 4: web pages per minute",
    cells=tuple(HttpCell(clients, 4, short=short, client_threads=min(clients, 4))
                for short in (True, False) for clients in (1, 10, 100, 1000))
    + tuple(HttpCell(100, modes=(RATE,), short=short, without=SLOW_HTTP) for short in (True, False)),
    claims=http_speeds("short100x4t", "short1000x4t"),
    trace_calls=False,
    unit="page",
    classic="pages",
)

# Compilers and optimisation levels: peal as released (g++ -O2) compared with its variants.
COMPILERS = Experiment(
    name="compilers",
    title="Compilers and optimisation levels",
    cells=(Cell(64, 1000), Cell(16384, 100)),
    claims=(),
    trace_calls=False,
    share=0.25,
    contenders=("peal-epoll", "peal-epoll-gcc-O0", "peal-epoll-gcc-O3", "peal-epoll-clang-O2", "peal-epoll-clang-O3",
                "asio-gcc-O2", "asio-clang-O3", "asio-gcc-O2-cxx14"),
    grid=(("peal-epoll-*", ("peal-epoll",)), ("asio-clang-*", ("asio-gcc-O2",)), ("asio-gcc-O2-*", ("asio-gcc-O2",))),
    note="No claim was declared: this decides published findings of experiments 3 and 4. peal-epoll is g++ -O2.",
)

# Only what the published findings of experiments 1 to 4 need: closed loops of the contenders that they name, and the
# drum with a few sizes.
FINDINGS = Plan("findings", "Then and now: the published findings", (
    replace(FULL_PINGPONG, cells=tuple(Cell(16384, n, modes=(CLOSED,)) for n in (1, 10, 100, 1000))
            + tuple(Cell(16384, n, threads, (CLOSED,)) for threads in (2, 4) for n in (100, 1000))
            + tuple(Cell(4096, n, modes=(CLOSED,)) for n in (1, 10, 100, 1000)),
            claims=(), duels=Duels(restarts=12), share=0.4,
            note="No claim was declared: the duels decide the published findings.",
            contenders=("peal-epoll", "libevent", "asio-per-thread", "asio-shared")),
    replace(FULL_REST, cells=(HttpCell(200, threads=8, client_threads=4),), claims=(), share=0.1,
            duels=Duels(restarts=16),
            note="No claim was declared: the duels decide the published findings.",
            contenders=("http-peal-epoll", "http-nginx", "http-libevent", "http-beast", "http-beast-locked",
                        "http-beast-shared")),
    replace(FULL_PAGES, cells=tuple(cell for cell in FULL_PAGES.cells if CLOSED in cell.modes), claims=(),
            duels=Duels(restarts=12), share=0.35,
            note="No claim was declared: the duels decide the published findings.",
            contenders=("http-peal-epoll", "http-peal-epoll-unpooled", "http-nginx", "http-libevent", "http-beast")),
    replace(COMPILERS, contenders=tuple(name for name in COMPILERS.contenders if name != "peal-epoll-clang-O3"))),
    drum=drum.FINDINGS, variants=True)

FULL = Plan("full", "The lab, full", (FULL_PINGPONG, FULL_REST, FULL_PAGES, *tls_plans.EXPERIMENTS, COMPILERS),
            drum=drum.FULL, variants=True)

BY_NAME = {plan.name: plan for plan in (FULL, FINDINGS, model_plans.QUICK, model_plans.FULL)}
DRUM = "drum"
NAMES = ("pingpong", DRUM, "rest", "pages", "tls", "https", "compilers")


def chosen(plan: Plan, names: list[str], variants: bool) -> Plan:
    """Returns the plan with only the named experiments. With `variants`, the compilers are added."""
    kept = tuple(experiment for experiment in plan.experiments if not names or experiment.name in names)
    wanted = variants or COMPILERS.name in names
    if wanted and all(experiment.name != COMPILERS.name for experiment in kept):
        kept += (COMPILERS,)
    return replace(plan, experiments=kept, drum=plan.drum if not names or DRUM in names else None,
                   variants=any(experiment.name == COMPILERS.name for experiment in kept))
