# SPDX-License-Identifier: BSD-3-Clause
"""Measures the p99 of small requests while 16 clients download a large file as fast as the server can send it. The
figure is the p99 with the downloads / without them, in paired blocks, at a fixed rate far below the server's maximum.

The downloads are not throttled. If they were, the server would be idle most of the time, and no request would have to
wait. They share the client's processor with the generator, which has priority; if the generator itself was late, the
run does not count. On the loopback, the kernel does the receiver's work inside the server's sends, so the server waits
for this work too. With --all, nginx's figure beside the same downloads is the comparison.
"""

import os
import sys
import tempfile
from pathlib import Path

from versus import hdr
from versus.run import process
from versus.bars import common, http_load
from versus.bars.common import Context, Marred, Row
from versus.bars.http_load import contenders
from versus.bars.http_serve import NGINX, PEAL

BAR = 3.0
RATE = 2000
RUN_S = 2.0
PEAL_URING = "http-peal-uring"
SMALL, LARGE = "small.txt", "large.bin"
SMALL_BYTES, LARGE_BYTES = 64, 64 * 1024 * 1024
READY_LIMIT_S = 20.0
LATEST_US = 100.0  # the generator's own p99 lag, in microseconds
LEAST_BYTES_PER_S = 64 * 1024 * 1024  # sum of all downloads; if they are slower, they are no load worth measuring


def downloading(server: process.Server):
    """Runs the downloads in a separate process. The block starts when each client has received bytes. The number is the
    bytes of all."""
    words = [sys.executable, "-m", "versus.downloaders", server.target, f"/{LARGE}", str(LARGE_BYTES)]
    return common.company(words, READY_LIMIT_S, "the downloads did not begin", process.Pins.of(1).client)


def p99_us(context: Context, contender, root: Path, busy: bool) -> float:
    """Returns the p99 of small requests, in microseconds. Raises Marred."""

    def load():
        return http_load.run(context, server, RUN_S, ("--rate", f"{RATE}/s"), connections=8, path=f"/{SMALL}")

    with process.serving(contender.for_threads(1, "--root", str(root)), process.Pins.of(1).server) as server:
        if busy:
            with downloading(server) as downloaded:
                found = load()
            if downloaded[0] < LEAST_BYTES_PER_S * RUN_S:
                raise Marred(f"all downloads together received only {downloaded[0]:,} bytes")
        else:
            found = load()
    if not busy and found.messages_per_s < 0.9 * RATE:  # beside downloads, the server itself may be the reason
        raise Marred(f"the small requests received {found.messages_per_s:,.0f} of {RATE:,} answers/s")
    if found.send_lag_p99_ns > LATEST_US * 1e3:
        raise Marred(f"the generator itself was {found.send_lag_p99_ns / 1e3:,.0f} us late")
    return hdr.decode(found.latency_hdr).percentiles([99.0])[0] / 1e3


def make_files(root: Path) -> None:
    """Makes the small and the large file."""
    os.chmod(root, 0o755)
    (root / SMALL).write_bytes(b"x" * SMALL_BYTES)
    (root / LARGE).write_bytes(bytes(LARGE_BYTES))


def measure(context: Context) -> list[Row]:
    ours = (PEAL, PEAL_URING)
    all_of = contenders(context, (*ours, NGINX) if context.everyone else ours)
    rows = []
    with tempfile.TemporaryDirectory(prefix="versus-root-") as folder:
        root = Path(folder)
        make_files(root)
        for name, each in all_of.items():
            what = f"small requests beside downloads, {name}"
            context.say(f"{what}: {context.blocks} blocks")
            values = common.paired(context, what, {"beside": lambda each=each: p99_us(context, each, root, True),
                                                   "alone": lambda each=each: p99_us(context, each, root, False)})
            sides = ("beside", "alone")
            rows.append(common.ratio_row(f"p99 of small requests, 16 large downloads beside / none, {name}", values,
                                         sides, BAR, f"{common.medians(values, sides)} us", digits=2,
                                         barred=name in ours))
    return rows
