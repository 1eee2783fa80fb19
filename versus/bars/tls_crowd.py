# SPDX-License-Identifier: BSD-3-Clause
"""What a hundred connected clients feel while a thousand others shake hands at once: the p99 of their echoes with that
crowd / without, in paired blocks. They ask again as soon as they are answered, so that a turn of the server has work of
theirs beside a step of a handshake; a server that does all handshakes in one turn has them wait for all of those."""

import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

from versus import hdr
from versus.bars import common, tls_common
from versus.bars.common import CannotMeasure, Context, Marred, Row
from versus.roster import TLS, Contender
from versus.run import generator, process
from versus.tls.tls_plans import FLOOR, OURS, RING

BAR = 3.0
CONNECTIONS, CROWD = 100, 1000
RUN_S, WARMUP_S = 2.0, 0.2
READY_LIMIT_S = 30.0


@contextmanager
def crowd(server: process.Server, certificate: str, clients: int = CROWD):
    """When its first wave was answered. Yields a list: of how many were answered, once the block has ended."""
    words = [sys.executable, "-m", "versus.tls.crowd", server.target, certificate, "--clients", str(clients)]
    child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    count: list[int] = []
    try:
        if process.line_of(child, READY_LIMIT_S) != "ready":
            raise CannotMeasure("the crowd did not come")
        yield count
    finally:
        child.stdin.close()
        said = process.line_of(child, READY_LIMIT_S)
        count.append(int(said) if said.isdigit() else 0)
        if not process.wait_for_end(child, READY_LIMIT_S):
            child.kill()
            child.wait()
        child.stdout.close()


def _load(context: Context, server: process.Server, certificate: str) -> float:
    """The p99 of echoes of 64 bytes, in us. Raises Marred, CannotMeasure."""
    with tempfile.TemporaryDirectory(prefix="versus-load-") as folder:
        out = Path(folder) / "run.json"
        words = [context.tool("peal"), "load", "pingpong", server.target, "--tls", "--tls-ca", certificate, "--size",
                 "64", "--connections", str(CONNECTIONS), "--threads", "1", "--duration", f"{RUN_S * 1000:.0f}ms",
                 "--warmup", f"{WARMUP_S * 1000:.0f}ms", "--json", str(out)]
        outcome = process.run(words, process.Pins.of(1).client, RUN_S + 60.0)
        if outcome.code not in (generator.EXIT_DONE, generator.EXIT_GATE):
            raise CannotMeasure(f"peal load failed: {outcome.complaint or outcome.code}")
        try:
            found = generator.read(out)
        except generator.NoMeasurement as error:
            raise CannotMeasure(str(error)) from error
    if found.errors or not found.messages:
        raise Marred(f"{found.messages} echoes, errors {found.errors}")
    return hdr.decode(found.latency_hdr).percentiles([99.0])[0] / 1e3


def p99_us(context: Context, contender: Contender, crowded: bool) -> float:
    """Of a fresh server. Raises Marred, CannotMeasure."""
    certificate = dict(contender.files)["cert"]
    with process.serving(contender.for_threads(1), process.Pins.of(1).server, contender.given) as server:
        if not crowded:
            return _load(context, server, certificate)
        with crowd(server, certificate) as count:
            value = _load(context, server, certificate)
        if count[0] < 2 * CROWD:
            raise Marred(f"only {count[0]} of the crowd were answered")
        return value


def _row(context: Context, contender: Contender) -> Row:
    what = f"echoes beside a crowd that shakes hands, {contender.name}"
    context.say(f"{what}: {context.blocks} blocks")
    values = common.paired(context, what, {"beside": lambda: p99_us(context, contender, True),
                                           "alone": lambda: p99_us(context, contender, False)})
    pair = common.pair_of(values, "beside", "alone")
    middle = [common.middle_of(list(values[side].values())).ratio for side in ("beside", "alone")]
    judged = contender.name in (OURS, RING)
    return Row(f"p99 of echoes over TLS while {CROWD:,} others shake hands / while none does, {contender.name}",
               f"<= {BAR:g}" if judged else "-", f"{common.span(pair, 2)}; {middle[0]:,.0f} / {middle[1]:,.0f} us",
               common.at_most(pair, BAR) if judged else "", common.ratio_data(pair, values))


def measure(context: Context) -> list[Row]:
    rows = []
    for each in tls_common.contenders(context, TLS, (OURS, RING, FLOOR)):
        rows += common.rows_or_why(f"echoes beside a crowd, {each.name}", lambda each=each: [_row(context, each)])
    return rows
