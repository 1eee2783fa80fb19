# SPDX-License-Identifier: BSD-3-Clause
"""Measures generator CPU per keep-alive GET, `peal load` / wrk, against one nginx worker, in paired blocks.

Both generators are charged in the same way, from outside: user and system time of the whole process, as wait4() reports
it. Start and end are removed by subtraction: the extra CPU of a long run over a short one, divided by its extra
requests.
"""

import re
import resource
import shutil
from collections.abc import Callable

from versus.run import process
from versus.bars import common, http_load
from versus.bars.common import CannotMeasure, Context, Marred, Row
from versus.bars.http_load import CONNECTIONS

BAR = 0.8
SHORT_S, LONG_S = 1, 3  # whole seconds, because wrk accepts no fractions


def children_cpu_s() -> float:
    """Returns the CPU time of the children that have been waited for. A server that still runs is not included."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def wrk_requests(text: str) -> int:
    """Returns the number of requests that wrk's output reports. Raises Marred if it reports errors."""
    trouble = re.search(r"Socket errors: .*|Non-2xx or 3xx responses: \d+", text)
    if trouble:
        raise Marred(f"wrk: {trouble.group(0)}")
    found = re.search(r"(\d+) requests in ", text)
    if not found:
        raise CannotMeasure("wrk's output has no number of requests")
    return int(found.group(1))


def _wrk(program: str, server: process.Server, seconds: int) -> int:
    words = [program, "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", http_load.url(server)]
    outcome = process.run(words, process.Pins.of(1).client, seconds + 20.0)
    if outcome.code != 0:
        raise CannotMeasure(f"wrk failed: {outcome.complaint or outcome.code}")
    return wrk_requests(outcome.out)


def marginal(run: Callable[[int], int], cpu_s: Callable[[], float] = children_cpu_s) -> float:
    """Returns CPU seconds per request: the slope between a short and a long run. `run(seconds)` returns the number of
    requests."""

    def charged(seconds: int) -> tuple[int, float]:
        before = cpu_s()
        return run(seconds), cpu_s() - before

    few, little = charged(SHORT_S)
    many, much = charged(LONG_S)
    if many <= few or much <= little:
        raise Marred(f"the long run made {many} requests in {much:.3f} s of CPU, the short one {few} in {little:.3f} s")
    return (much - little) / (many - few)


def measure(context: Context) -> list[Row]:
    wrk = shutil.which("wrk")
    if not wrk:
        raise CannotMeasure("wrk is not installed")
    context.tool("peal")
    context.say(f"http generator: {context.blocks} blocks, peal load and wrk against nginx")
    with http_load.web_server(context, "http-nginx") as server:
        def peal(more: tuple[str, ...] = ()) -> float:
            return marginal(lambda seconds: http_load.run(context, server, seconds, more, warmup_s=0.0).messages)

        variants = {"peal load": peal, "wrk": lambda: marginal(lambda seconds: _wrk(wrk, server, seconds))}
        if context.everyone:
            variants["peal load, epoll"] = lambda: peal(("--engine", "epoll"))
        values = common.paired(context, "http_generator", variants)
    rows = []
    for name in [name for name in values if name != "wrk"]:
        sides = (name, "wrk")
        rows.append(common.ratio_row(
            f"generator CPU per keep-alive GET against one nginx, {name} / wrk, {CONNECTIONS} connections", values,
            sides, BAR, f"{common.medians(values, sides, 2, 1e6)} us; {http_load.load_average()}"))
    return rows
