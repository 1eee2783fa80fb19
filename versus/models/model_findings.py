# SPDX-License-Identifier: BSD-3-Clause
"""Compares each published finding about the concurrency models with this run.

A finding is a ratio of one figure, subject / rival, in the published load that it was made with. The rules are fixed
here beforehand. They judge as for all findings: the whole interval of a ratio that is paired by block, over at least
six blocks. If a finding names several rivals, it must hold for each of them; one that contradicts refutes it.
"""

import math
from dataclasses import asdict, dataclass

from versus import hdr, stats
from versus.models import model_plans as plan
from versus.analysis import chosen_runs
from versus.experiments import CLOSED
from versus.findings.judging import (AT_BOUND, CONFIRMED, CPU, DECIDED, EQUAL, FEWEST_BLOCKS, LEVEL, NOT_HERE, REFUTED,
                                     SPEED, Finding, Side, held, ratio, said, within)
from versus.models.model_analysis import PERCENTILES

NUMBER = 5
MORE = (1.0, math.inf)
LESS = (0.0, 1.0)
SAME = (1 / LEVEL, LEVEL)
NO_CHANGE = (1 / EQUAL, EQUAL)
A_LITTLE = (1.0, 1.25)
NOT_FASTER = (0.0, EQUAL)
# libio's author published this ratio: one client gets 0.17 of ten clients' pages.
HALF_AT_MOST = (0.0, 0.5)
WORDS = {SPEED: "requests/s", CPU: "server CPU per request", "p50": "p50", "p95": "p95", "p99": "p99",
         "p999": "p99.9"}
PUBLISHED_PER_S = 220_000
NOT_RUN = "its load did not run"
NO_FIGURE = "one of the two has no such figure here"
TOO_SHORT = "the runs are too short: in no block do both have ten requests above it"

SINGLE = "blocking_single"
PER_PROCESS, PER_THREAD = "blocking_process_per_connection", "blocking_thread_per_connection"
PROCESS_POOL_1, PROCESS_POOL_2 = "blocking_process_pool_one_listener", "blocking_process_pool_own_listeners"
THREAD_POOL = "blocking_thread_pool_own_listeners"
LEADER = "blocking_leader_follower"
ALL_POOLS = (PROCESS_POOL_1, PROCESS_POOL_2, THREAD_POOL)


@dataclass(frozen=True)
class Rule:
    """A finding: the ratio of `figure`, subject / rival, lies in `bounds` for each rival, in one cell of the published
    loads. If `rival_cell` is set, the rivals' figure comes from that cell."""

    sentence: str
    cell: str
    subject: str
    rivals: tuple[str, ...]
    bounds: tuple[float, float]
    figure: str = SPEED
    rival_cell: str = ""

    @property
    def cells(self) -> tuple[str, str]:
        return self.cell, self.rival_cell or self.cell


def _alike(sentence: str, cell: str, subject: str, rival: str) -> list[Rule]:
    """The two are the same by every figure, each a finding of its own."""
    return [Rule(f"{sentence}: {words}", cell, subject, (rival,), SAME, figure) for figure, words in WORDS.items()]


def _rules() -> list[Rule]:
    simple, edge, reply = plan.SIMPLE_LOAD.name, plan.EDGE_LOAD.name, plan.REPLY_LOAD.name
    long, short = plan.POOL_LONG.name, plan.POOL_SHORT.name
    one, ten = plan.ONE_CLIENT.name, plan.TEN_CLIENTS.name
    return [
        Rule("A single process is the slowest of the simple models", simple, SINGLE,
             (PER_PROCESS, PER_THREAD, *ALL_POOLS, LEADER), LESS),
        Rule("A process per connection is faster than a single process", simple, PER_PROCESS, (SINGLE,), MORE),
        Rule("A process per connection has a higher p50 than every pool", simple, PER_PROCESS, ALL_POOLS, MORE, "p50"),
        Rule("A process per connection has a higher p95 than every pool", simple, PER_PROCESS, ALL_POOLS, MORE, "p95"),
        Rule("A thread per connection is faster than a single process", simple, PER_THREAD, (SINGLE,), MORE),
        Rule("A thread per connection has a higher p50 than every pool", simple, PER_THREAD, ALL_POOLS, MORE, "p50"),
        Rule("A thread per connection has a higher p95 than every pool", simple, PER_THREAD, ALL_POOLS, MORE, "p95"),
        Rule("A process pool is faster than a process per connection", simple, PROCESS_POOL_1, (PER_PROCESS,), MORE),
        Rule("A thread pool is faster than a thread per connection", simple, THREAD_POOL, (PER_THREAD,), MORE),
        Rule("A process pool with a listener per worker is a little faster than one with a shared listener", simple,
             PROCESS_POOL_2, (PROCESS_POOL_1,), A_LITTLE),
        Rule("A process pool with a listener per worker has a worse p99.9 than one with a shared listener", simple,
             PROCESS_POOL_2, (PROCESS_POOL_1,), MORE, "p999"),
        Rule("A thread pool with a listener per worker has a worse p99.9 than a process pool with a shared listener",
             simple, THREAD_POOL, (PROCESS_POOL_1,), MORE, "p999"),
        *_alike("The thread pool is like the process pool with a listener per worker", simple, THREAD_POOL,
                PROCESS_POOL_2),
        *_alike("Leader/follower is like the process pool with a shared listener", simple, LEADER, PROCESS_POOL_1),
        *(Rule(f"{poller}, used only as a trigger, is as fast as a single process", simple, f"trigger_{poller}",
               (SINGLE,), SAME) for poller in ("select", "poll", "epoll")),
        Rule("select is slower than poll and epoll (published at 2,000 connections; here at as many as fit)",
             plan.SELECT_LOAD.name, "reactor_select", ("reactor_poll", "reactor_epoll"), LESS),
        Rule("poll is as fast as epoll at 2,000 connections", plan.POLLER_LOAD.name, "reactor_poll",
             ("reactor_epoll",), SAME),
        Rule("poll is slower than epoll at many more connections (published at 4 x 8,000; here at as many as fit)",
             plan.MOST_LOAD.name, "reactor_poll", ("reactor_epoll",), LESS),
        Rule("Edge-triggered epoll is not faster than level-triggered epoll", edge, "reactor_epoll_edge",
             ("reactor_epoll",), NOT_FASTER),
        Rule("Coroutines cost a little latency", edge, "coroutine_stackful", ("reactor_epoll",), A_LITTLE, "p50"),
        Rule("Writing first is at least 4 % faster than asking for writability first", plan.WRITE_LOAD.name,
             "reactor_epoll", ("reactor_epoll+epollout",), (1.04, math.inf)),
        *(Rule(f"A server is at least 25 % faster if its workers write the answers, not its I/O thread: {queue} queue",
               reply, f"half_sync_{queue}_queue", (f"half_sync_{queue}_queue+io",), (1.25, math.inf))
          for queue in ("unbounded", "bounded")),
        *(Rule(f"Waiting for the first readable event before the hand-over changes almost nothing: {life} connections",
               load.name, "main_sub_threads+wait", ("main_sub_threads",), NO_CHANGE)
          for life, load in zip(("long", "short"), plan.WAIT_LOADS)),
        Rule("A dynamic timeout of the wait gains at least 14 % with many events", plan.DYNAMIC_LOAD.name,
             "coroutine_stackful+dynamic", ("coroutine_stackful",), (1.14, math.inf)),
        Rule("With long connections, main and sub reactors in processes are the fastest", long, "main_sub_processes",
             ("reactor_thread_pool", "coroutine_process_pool", "main_sub_threads"), MORE),
        Rule("With long connections, the thread pool of reactors is faster than the process pool of coroutines", long,
             "reactor_thread_pool", ("coroutine_process_pool",), MORE),
        Rule("With short connections, main and sub reactors are faster in processes than in threads", short,
             "main_sub_processes", ("main_sub_threads",), MORE),
        Rule("With short connections, the process pool of coroutines is faster than the thread pool of reactors", short,
             "coroutine_process_pool", ("reactor_thread_pool",), MORE),
        Rule("With one client, a server that hands connections over through a queue is slow (libio published 0.17 of "
             "10 clients' pages)", one, "libio_accept_thread", ("libio_accept_thread",), HALF_AT_MOST, rival_cell=ten),
        Rule("With one client, a server that adds connections to another thread's epoll is slow (libio published 0.17 "
             "of 10 clients' pages)", one, "main_sub_threads", ("main_sub_threads",), HALF_AT_MOST, rival_cell=ten),
    ]


RULES = tuple(_rules())


def _percentile(experiment: dict, cell: str, name: str, percent: float) -> dict[int, float]:
    """Returns a percentile by block, for blocks with enough requests above it."""
    runs = chosen_runs(experiment["runs"], cell, CLOSED, name)
    found = {block: hdr.decode(run["figures"]["latency_hdr"]) for block, run in runs.items()
             if run["figures"]["latency_hdr"]}
    return {block: histogram.percentiles([percent])[0] for block, histogram in found.items()
            if histogram.known(percent)}


def pair_of(experiment: dict, rule: Rule, rival: str) -> stats.Pair:
    if rule.figure in (SPEED, CPU):
        return ratio(experiment, Side(rule.subject, rule.cells[:1]), Side(rival, rule.cells[1:]), rule.figure)
    percent = PERCENTILES[rule.figure]
    return stats.compare(_percentile(experiment, rule.cell, rule.subject, percent),
                         _percentile(experiment, rule.cells[1], rival, percent))


def _ran(experiment: dict, cell: str, names: tuple[str, ...]) -> bool:
    return all(chosen_runs(experiment["runs"], cell, CLOSED, name) for name in names)


def _bounded(experiment: dict, cell: str, name: str) -> bool:
    return any(row["lower_bound"] for row in experiment["rows"] if (row["cell"], row["contender"]) == (cell, name))


def _judged(experiment: dict, rule: Rule, rival: str) -> tuple[str, str]:
    """Returns (verdict, figure) for one rival. If the generator filled its core, a verdict that this could change is
    not given."""
    pair, both = pair_of(experiment, rule, rival), tuple(zip(rule.cells, (rule.subject, rival)))
    what = f"{WORDS[rule.figure]}, {rule.subject} / {rival}"
    if rule.rival_cell:
        what += f", {rule.cell} / {rule.rival_cell}"
    if not pair.blocks:
        is_short = rule.figure in PERCENTILES and all(_ran(experiment, cell, (name,)) for cell, name in both)
        return NOT_HERE, f"{what}: {TOO_SHORT if is_short else NO_FIGURE}"
    few = f"{what}: {pair.ratio:.2f} over {pair.blocks} blocks: too few, {FEWEST_BLOCKS} are needed"
    verdict, told = held(experiment, pair, rule.bounds, rule.cells, rule.figure, said(what, pair, few))
    full = tuple(_bounded(experiment, cell, name) for cell, name in both)
    could_turn = verdict in DECIDED and rule.figure == SPEED and any(full)
    if could_turn and within(pair, *rule.bounds, full=full) == NOT_HERE:
        names = dict.fromkeys(name for (_, name), is_full in zip(both, full) if is_full)
        return NOT_HERE, f"{told}; but the generator's core filled first with {' and '.join(names)}"
    return verdict, told


def _together(verdicts: list[str]) -> str:
    if REFUTED in verdicts:
        return REFUTED
    return next((each for each in (NOT_HERE, AT_BOUND) if each in verdicts), CONFIRMED)


def finding(experiment: dict | None, rule: Rule) -> Finding:
    """Returns the rule's verdict. If there are several rivals, the figure names the one that decides."""
    names = [cell["name"] for cell in experiment["cells"]] if experiment else []
    if not set(rule.cells) <= set(names):
        return Finding(NUMBER, rule.sentence, NOT_HERE, NOT_RUN)
    judged = [_judged(experiment, rule, rival) for rival in rule.rivals]
    verdict = _together([each for each, _ in judged])
    deciding = next(figure for each, figure in judged if each == verdict) if verdict != CONFIRMED else \
        "; ".join(figure for _, figure in judged)
    return Finding(NUMBER, rule.sentence, verdict, deciding)


def _one_reactor(experiment: dict | None) -> Finding:
    sentence = "A single epoll reactor serves 220,000 requests a second at 1 KiB"
    cell = plan.SINGLE_LOAD.name
    runs = chosen_runs(experiment["runs"], cell, CLOSED, "reactor_epoll") if experiment else {}
    values = {block: run["figures"][SPEED] for block, run in runs.items()}
    pair = stats.compare(values, dict.fromkeys(values, float(PUBLISHED_PER_S)))
    if pair.blocks < FEWEST_BLOCKS:
        return Finding(NUMBER, sentence, NOT_HERE, NOT_RUN if not pair.blocks else
                       f"{pair.blocks} blocks: too few, {FEWEST_BLOCKS} are needed")
    low, middle, high = (value * PUBLISHED_PER_S for value in (pair.low, pair.ratio, pair.high))
    figure = f"{middle:,.0f}/s ({low:,.0f} to {high:,.0f}), {pair.blocks} blocks, on this machine"
    verdict = within(pair, *MORE)
    if verdict == REFUTED and _bounded(experiment, cell, "reactor_epoll"):
        return Finding(NUMBER, sentence, NOT_HERE, figure + "; but the generator's core filled first")
    return Finding(NUMBER, sentence, verdict, figure)


def of(results: dict) -> list[dict]:
    """Returns every published finding of experiment 5, as plain data."""
    loads = next((each for each in results["experiments"] if each["name"] == plan.HISTORIC), None)
    return [asdict(each) for each in (*(finding(loads, rule) for rule in RULES), _one_reactor(loads))]
