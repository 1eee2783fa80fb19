# SPDX-License-Identifier: BSD-3-Clause
"""Experiment 5 as data: the situations that every model is put into, the published loads, and the claims. All of it is
declared before anything is measured.

A server with several workers gets the same number everywhere, and the generator is one thread. The page says which CPUs
they have in each situation.
- `models` is the grid. It has no claims; its figures are the basis of "when to choose which".
- `model_claims` has the claims about peal, one loop against one loop: in a closed loop, and in the full plan at a fixed
  rate.
- `historic` has the published loads.

In the grid, and in the published load of the simple models, each contender plays alone: there are many models, and a
blocking one leaves connections waiting.
"""

from dataclasses import replace

from versus.run.echo_cell import LONG, ONE, EchoCell
from versus.experiments import Claim, Duels, Experiment, Plan
from versus.roster import MODEL

GRID, CLAIMS, HISTORIC = "models", "model_claims", "historic"
SUBJECT = "peal_callbacks+epoll"
BAR = 1.05
BEST = "the best hand-written epoll reactor"
HAND_WRITTEN = ("reactor_epoll", "reactor_epoll_edge")
ALL_HAND_WRITTEN = (*HAND_WRITTEN, "reactor_thread_pool", "libio_reactor")
EACH_BESIDE_PEAL = ((SUBJECT, ("*",)),)
NO_CLAIM = ("No claim was declared for this part. Its figures are medians over the blocks. A model within 5 % of the "
            "best is called level with it.")

# The situations of the quick grid. Each shows a different aspect.
FEW, MANY = EchoCell(64, 100), EchoCell(64, 1000)
SHORT = EchoCell(64, 100, ONE)
SLEEPING = EchoCell(64, 64, work="1ms", work_kind="sleep")
COMPUTING = EchoCell(64, 64, work="50us")
MOSTLY_IDLE = EchoCell(64, 10, idle=990)

QUICK_GRID = Experiment(
    name=GRID,
    title="Experiment 5: concurrency models",
    cells=(FEW, MANY, SHORT, SLEEPING, MOSTLY_IDLE),
    claims=(),
    duels=Duels(turns=3),
    budget_s=240.0,
    share=0.73,
    trace_calls=False,
    kind=MODEL,
    unit="request",
    grid=EACH_BESIDE_PEAL,
    twin_of=SUBJECT,
    note=NO_CLAIM,
)


def one_loop(cell: EchoCell) -> EchoCell:
    """Returns the cell with one loop on each side."""
    return replace(cell, pool=1)


def rated(cell: EchoCell) -> EchoCell:
    """Returns the cell at a fixed rate. A cell with one connection stays in a closed loop."""
    return cell if cell.connections == 1 else cell.at_a_rate()


def claims_of(cells: tuple[EchoCell, ...], rivals: tuple[str, ...]) -> tuple[Claim, ...]:
    return tuple(Claim(SUBJECT, BEST, cell.name, bar=BAR, best_of=rivals) for cell in cells)


CLAIM_CELLS = tuple(map(one_loop, (FEW, MANY, EchoCell(4096, 100))))

QUICK_CLAIMS = replace(
    QUICK_GRID,
    name=CLAIMS,
    title="Experiment 5: peal against the hand-written reactors",
    cells=CLAIM_CELLS,
    claims=claims_of(CLAIM_CELLS, HAND_WRITTEN),
    share=0.27,
    duels=Duels(),
    contenders=(SUBJECT, *HAND_WRITTEN),
    note="",
)

FULL_CELLS = tuple(EchoCell(size, connections) for size in (64, 4096) for connections in (1, 100, 1000)) + (
    SHORT, EchoCell(64, 100, 40), COMPUTING, SLEEPING, MOSTLY_IDLE)
FULL_GRID = replace(
    QUICK_GRID,
    cells=FULL_CELLS + tuple(cell.at_a_rate() for cell in (FEW, MANY, SHORT)),
    duels=Duels(turns=6, turn_s=0.4),
    budget_s=None,
)

FULL_CLAIM_CELLS = tuple(rated(one_loop(cell)) for cell in FULL_CELLS)
FULL_CLAIMS = replace(
    QUICK_CLAIMS,
    cells=FULL_CLAIM_CELLS,
    claims=claims_of(FULL_CLAIM_CELLS, ALL_HAND_WRITTEN),
    budget_s=None,
    contenders=(SUBJECT, "peal_coroutines+epoll", *ALL_HAND_WRITTEN),
)

SIMPLE = ("blocking_*", "trigger_*")
POLLERS = ("reactor_select", "reactor_poll", "reactor_epoll")
LEVEL_EDGE_COROUTINE = ("reactor_epoll", "reactor_epoll+drain", "reactor_epoll_edge", "coroutine_stackful*",
                        "coroutine_stackless")
POOLS = ("reactor_thread_pool", "coroutine_process_pool*", "main_sub_*", "half_sync_*")
ONE_AND_ONE = (("--io-threads", "1"), ("--workers", "1"))


def published(label: str, threads: int, requests: int, size: int, clients: int, only: tuple[str, ...],
              **more) -> EchoCell:
    """Returns a load as it was given to the historic tool: `clients` is the number per thread."""
    return EchoCell(size, threads * clients, requests, client_threads=threads, only=only, label=label, **more)


# Arguments: threads, requests per connection, body bytes, clients per thread. The tool's rate limit was never reached.
# A p99.9 needs 10,000 requests in each restart; the slowest simple models answer about ten thousand a second.
TAILS_S = 1.5
SIMPLE_LOAD = published("simple models", 1, 40, 1024, 64, SIMPLE, least_turn_s=TAILS_S)
SELECT_LOAD = published("pollers where select fits", 1, 40, 256, 480, POLLERS)
POLLER_LOAD = published("pollers", 1, 40, 256, 2000, POLLERS)
MOST_LOAD = published("pollers, many", 4, LONG, 512, 8000, POLLERS)
EDGE_LOAD = published("level, edge, coroutine", 4, LONG, 4096, 250, LEVEL_EDGE_COROUTINE)
WRITE_LOAD = published("write first", 4, LONG, 512, 250, ("reactor_epoll", "reactor_epoll+epollout"))
REPLY_LOAD = published("who writes", 4, LONG, 4096, 250, ("half_sync_*",), options=ONE_AND_ONE)
WAIT_LOADS = tuple(published("first event", 4, requests, 4096, 250, ("main_sub_threads*",), options=ONE_AND_ONE)
                   for requests in (LONG, ONE))
DYNAMIC_LOAD = published("dynamic timeout", 4, LONG, 4096, 1000, ("coroutine_stackful", "coroutine_stackful+dynamic"),
                         options=(("--events", "2048"),))
POOL_LONG, POOL_SHORT = (published("pools", 4, requests, 512, 500, POOLS) for requests in (LONG, ONE))
SINGLE_LOAD = published("one reactor", 4, LONG, 1024, 250, ("reactor_epoll",))
# libio's short connections: one client and ten clients, with at most four client threads.
ONE_CLIENT, TEN_CLIENTS = (EchoCell(64, clients, ONE, client_threads=min(clients, 4), label="hand-over",
                                    only=("libio_accept_thread", "main_sub_threads")) for clients in (1, 10))

FULL_HISTORIC = replace(
    FULL_GRID,
    name=HISTORIC,
    title="Experiment 5: the published loads",
    cells=(SIMPLE_LOAD, SELECT_LOAD, POLLER_LOAD, MOST_LOAD, EDGE_LOAD, WRITE_LOAD, REPLY_LOAD, *WAIT_LOADS,
           DYNAMIC_LOAD, POOL_LONG, POOL_SHORT, SINGLE_LOAD, ONE_CLIENT, TEN_CLIENTS),
    grid=(),
    duels=Duels(turn_s=1.0),
    note="The published runs lasted 30 or 60 s (use --run-seconds 60 for the same), and were limited to 200,000 or "
         "1,000,000 requests per second and thread. No run here comes near this limit, so they are closed loops.",
)

# The loads that fit into minutes: without the one with 4 x 8000 connections, which take seconds to open.
QUICK_HISTORIC = replace(
    FULL_HISTORIC,
    cells=tuple(cell for cell in FULL_HISTORIC.cells if cell is not MOST_LOAD),
    duels=Duels(restarts=12, turns=6),
    budget_s=440.0,
    share=1.4,
)

QUICK = Plan("models", "Concurrency models, quick", (QUICK_CLAIMS, QUICK_GRID, QUICK_HISTORIC), budget_s=770.0)
FULL = Plan("models-full", "Concurrency models, full", (FULL_CLAIMS, FULL_GRID, FULL_HISTORIC))

NAMES = (GRID, CLAIMS, HISTORIC)
PLANS = (QUICK.name, FULL.name)
