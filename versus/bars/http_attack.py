# SPDX-License-Identifier: BSD-3-Clause
"""Measures a clean (well-behaved) client's p99 while `peal serve http` is attacked in five ways at once: slow heads,
slow bodies, slow reading, endless heads, and thousands of idle connections. The figure is the p99 with the attack /
without it, in paired blocks, at a fixed rate. The server's memory is a second figure.

The attackers are a separate process. On few processors, about half of the figure is the processor time of the attackers
and of the kernel for their bytes. Therefore nginx is measured too: both servers are attacked in turns of two seconds,
while the attackers of the other server are stopped. A machine that delays programs by 4 ms once a second decides the
p99 of a single turn. So the p99 is taken over all turns of a restart.
"""

import random
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from functools import partial

from versus import hdr
from versus.run import counters, process
from versus.bars import common, http_load
from versus.bars.common import CannotMeasure, Context, Marred, Row
from versus.bars.http_load import contenders
from versus.bars.http_serve import NGINX, PEAL

BAR, BAR_BESIDE_NGINX = 2.0, 1.0
RATE = 2000
LEAST_SHARE = 0.9  # share of RATE that the clean client must reach; below that, something delayed the client itself
RUN_S = 6.0
ROUNDS, TURN_S, SETTLE_S = 3, 2.0, 0.5
RESTARTS_A_BLOCK = 2
IDLE = 10_000
MOST_MIB = 256
READY_LIMIT_S = 60.0


@contextmanager
def attack(server: process.Server, idle: int):
    """Runs all kinds of attackers while the block runs; it starts when all are connected. They run on the server's CPU.
    On the client's CPU they would delay the measuring client."""
    words = [sys.executable, "-m", "versus.attackers", server.target, "--idle", str(idle)]
    with process.companion(words, process.Pins.of(1).server, end_by=signal.SIGKILL) as attackers:
        line = process.line_of(attackers, READY_LIMIT_S)
        if line != "ready":
            raise CannotMeasure(f"the attackers did not start: {line or 'they printed nothing'}")
        try:
            yield attackers
        finally:
            attackers.send_signal(signal.SIGCONT)


def _p99_us(context: Context, contender, idle: int | None) -> tuple[float, float]:
    """Returns the clean client's p99 and the server's resident memory in MiB. If `idle` is None, there are no
    attackers."""
    with process.serving(contender.for_threads(1), process.Pins.of(1).server) as server:
        if idle is None:
            latency = _latency(context, server, RUN_S)
        else:
            with attack(server, idle):
                latency = _latency(context, server, RUN_S)
        memory = counters.process_rss_bytes(server.pid) / 2**20
    return _p99_of(latency), memory


def _latency(context: Context, server: process.Server, seconds: float) -> hdr.Histogram:
    """Returns the clean client's latency. Raises Marred."""
    found = http_load.run(context, server, seconds, ("--rate", f"{RATE}/s"), connections=8)
    if found.messages_per_s < LEAST_SHARE * RATE:
        raise Marred(f"the clean client received {found.messages_per_s:,.0f} of {RATE:,} answers/s")
    return hdr.decode(found.latency_hdr)


def _p99_of(latency: hdr.Histogram) -> float:
    """Returns the p99 in microseconds."""
    return latency.percentiles([99.0])[0] / 1e3


def _in_turn(context: Context, server: process.Server, attackers: subprocess.Popen) -> hdr.Histogram:
    """Returns the clean client's latency while this server's attackers run. Raises Marred."""
    attackers.send_signal(signal.SIGCONT)
    time.sleep(SETTLE_S)
    try:
        return _latency(context, server, TURN_S)
    finally:
        attackers.send_signal(signal.SIGSTOP)


def _restart(context: Context, all_of: dict, idle: int, shuffler: random.Random) -> dict[str, float]:
    """Returns each server's p99 over all its turns. Raises Marred."""
    latencies = {name: hdr.Histogram() for name in all_of}
    with ExitStack() as stack:
        sides = {}
        for name, each in all_of.items():
            server = stack.enter_context(process.serving(each.for_threads(1), process.Pins.of(1).server))
            sides[name] = server, stack.enter_context(attack(server, idle))
            sides[name][1].send_signal(signal.SIGSTOP)
        for _ in range(ROUNDS):
            order = list(all_of)
            shuffler.shuffle(order)
            for name in order:
                latencies[name].add(_in_turn(context, *sides[name]))
    return {name: _p99_of(latency) for name, latency in latencies.items()}


def _beside_nginx(context: Context, idle: int, figure: str) -> Row:
    all_of = contenders(context, (PEAL, NGINX))
    restarts = RESTARTS_A_BLOCK * context.blocks
    context.say(f"attack on {PEAL} and {NGINX} in turns: {restarts} restarts")
    shuffler = random.Random(f"{context.seed}/attack")
    values = common.restarts(context, "attack in turns", restarts,
                             lambda _number: _restart(context, all_of, idle, shuffler))
    sides = (PEAL, NGINX)
    return common.ratio_row(figure, values, sides, BAR_BESIDE_NGINX, f"{common.medians(values, sides)} us", digits=2)


def _beside_peace(context: Context, name: str, idle: int) -> list[Row]:
    each = contenders(context, (name,))[name]
    context.say(f"attack on {name}: {context.blocks} blocks")
    memory: list[float] = []

    def attacked() -> float:
        p99, mib = _p99_us(context, each, idle)
        memory.append(mib)
        return p99

    values = common.paired(context, f"attack on {name}",
                           {"attacked": attacked, "alone": lambda: _p99_us(context, each, None)[0]})
    sides, ours = ("attacked", "alone"), name == PEAL
    return [
        common.ratio_row(f"p99 of a clean client, five attacks at once / none, {name}", values, sides, BAR,
                         f"{common.medians(values, sides)} us", digits=2, barred=ours),
        common.counted(f"resident memory under the attacks ({idle:,} idle connections), {name}",
                       f"<= {MOST_MIB} MiB" if ours else common.NO_BAR, MOST_MIB,
                       lambda: (max(memory), f"{max(memory):.1f} MiB", {})),
    ]


def measure(context: Context) -> list[Row]:
    idle = min(IDLE, process.raise_fd_limit() - 1000)
    parts = {f"p99 of a clean client, five attacks at once / none, {name}": partial(_beside_peace, context, name, idle)
             for name in ((PEAL, NGINX) if context.everyone else (PEAL,))}
    beside = f"p99 of a clean client under five attacks at once, {PEAL} / {NGINX}"
    return common.in_parts(parts | {beside: lambda: [_beside_nginx(context, idle, beside)]})
