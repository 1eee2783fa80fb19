# SPDX-License-Identifier: BSD-3-Clause
"""Measures how a server answers sixteen small messages that arrive together, one record each: the number of sends, and
the server's CPU per message. The comparison is OpenSSL on a bare epoll loop, which answers each message with its own
write.

For the CPU, two bare clients take turns of milliseconds, each against its own server. A restart starts all processes
again.
"""

import json
from functools import partial

from versus import traces
from versus.bars import common, duel_bar, tls_common
from versus.bars.common import CannotMeasure, Context, Marred, Row
from versus.roster import TLS, Contender
from versus.run import process, turns
from versus.tls.tls_plans import FLOOR, OURS

BURST = 16
SENDS_BAR, CPU_BAR = 1, 0.5
BURSTS = 200
CONNECTIONS, ROUNDS = 100, 60  # for the count of CPU: some tenths of a second
LIMIT_S = 60.0
CPU_FIGURE = (f"server CPU per message of bursts of {BURST} records over TLS, {OURS} / {FLOOR}, "
              f"{CONNECTIONS} connections")
SENDS = ("write", "writev", "sendto", "sendmsg", "sendmmsg")


def sends_per_burst(context: Context, contender: Contender, bursts: int = BURSTS) -> float:
    """Returns the sends per burst, as the difference of two counts, so that the sends of handshakes are not
    included."""
    if not traces.available():
        raise CannotMeasure("strace is not installed")
    found = []
    for messages in (bursts // 2, bursts + bursts // 2):
        with process.serving(contender.for_threads(1), (), contender.given) as server:
            calls = traces.counted(server.pid, lambda server=server, messages=messages: tls_common.drive(
                context, "bare_tls_client", server, {"messages": messages, "burst": BURST}))
        if calls is None:
            raise CannotMeasure("strace could not count system calls")
        found.append(sum(calls.get(name, 0) for name in SENDS))
    return (found[1] - found[0]) / bursts


def _sends_row(context: Context, contender: Contender) -> Row:
    def measured() -> tuple[float, str, dict]:
        value = sends_per_burst(context, contender)
        return value, f"{value:.2f}", {"sends": value}

    context.say(f"sends per burst over TLS: {contender.name}")
    return common.counted(f"sends per answered burst of {BURST} records over TLS, {contender.name}",
                          f"{SENDS_BAR}" if contender.name == OURS else common.NO_BAR, SENDS_BAR + 0.05, measured)


def _restart(context: Context, both: dict[str, Contender], number: int) -> dict[str, float]:
    """Returns each server's CPU per message, in nanoseconds. Raises Marred."""
    pins = process.Pins.of(1)
    names = list(both) if number % 2 else list(both)[::-1]
    first, second = (both[name] for name in names)
    with process.serving(first.for_threads(1), pins.server, first.given) as one, \
            process.serving(second.for_threads(1), pins.server, second.given) as other:
        words = {name: tls_common.client_words(
            context, "bare_tls_client", server.target,
            {"connections": CONNECTIONS, "burst": BURST, "messages": ROUNDS, "server-pid": server.pid})
            for name, server in zip(names, (one, other))}
        found = turns.take_turns(words, pins.client, f"{context.seed}/burst/{number}", LIMIT_S)
    try:
        return {name: json.loads(outcome.out)["server_cpu_ns_per_message"] for name, outcome in found.items()}
    except (ValueError, KeyError) as error:
        said = "; ".join(filter(None, (outcome.complaint.strip() for outcome in found.values())))
        raise Marred(f"a bare client printed no figures: {said or error}") from error


def _cpu_rows(context: Context, by_name: dict[str, Contender]) -> list[Row]:
    missing = next((name for name in (OURS, FLOOR) if name not in by_name), None)
    if missing:
        raise CannotMeasure(f"{missing} is not built")
    both = {name: by_name[name] for name in (OURS, FLOOR)}
    context.say(f"bursts over TLS: {OURS} and {FLOOR}, in turns of {turns.TURN_S * 1000:.0f} ms")
    values = common.restarts(context, "bursts over TLS", duel_bar.restarts_of(context) // 2,
                             partial(_restart, context, both))
    return [common.ratio_row(CPU_FIGURE, values, (OURS, FLOOR), CPU_BAR,
                             f"{common.medians(values, (OURS, FLOOR), 3, 1e-3)} us")]


def measure(context: Context) -> list[Row]:
    by_name = {contender.name: contender for contender in tls_common.contenders(context, TLS, (OURS, FLOOR))}
    sends = [_sends_row(context, contender) for contender in by_name.values()]
    return sends + common.in_parts({CPU_FIGURE: partial(_cpu_rows, context, by_name)})
