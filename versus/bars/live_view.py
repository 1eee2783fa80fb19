# SPDX-License-Identifier: BSD-3-Clause
"""Measures whether the live line changes the figures: throughput and p99 with the line on / off.

Each block has one run with the line and two without. The two runs without are the A/A pair, whose interval is the floor
of what can be seen. All runs have a terminal as stderr, and the line is updated ten times as often as by default.
"""

import os
import pty
import subprocess
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path

from versus import hdr, stats
from versus.run import generator, process
from versus.bars import common, http_load
from versus.bars.common import CannotMeasure, Context, Row
from versus.duel import judge

RUN_S = 1.5
INTERVAL = "100ms"
METRICS = {"requests/s": lambda found: found.messages_per_s,
           "p99": lambda found: float(hdr.decode(found.latency_hdr).percentiles([99.0])[0])}


@contextmanager
def terminal():
    """Yields a terminal's fd and a list that collects what is written to it. The list is complete when the block has
    ended."""
    reader, writer = pty.openpty()
    said: list[bytes] = []

    def drain() -> None:
        try:
            while piece := os.read(reader, 65536):
                said.append(piece)
        except OSError:
            pass  # EIO: the last writer has closed the terminal

    thread = threading.Thread(target=drain)
    thread.start()
    try:
        yield writer, said
    finally:
        os.close(writer)
        thread.join()
        os.close(reader)


def _once(context: Context, live: str) -> generator.Measurement:
    with http_load.web_server(context, "http-raw-epoll") as server, \
            tempfile.TemporaryDirectory(prefix="versus-live-") as folder:
        path = Path(folder) / "run.json"
        words = http_load.words(context, server, RUN_S, ("--interval", INTERVAL, "--live", live, "--json", str(path)))
        with terminal() as (writer, said):
            child = process.spawn(words, process.Pins.of(1).client, stdout=subprocess.DEVNULL, stderr=writer)
            ended = process.reap(child, RUN_S + 20.0)
        if not ended or child.returncode not in (generator.EXIT_DONE, generator.EXIT_GATE):
            raise CannotMeasure(f"peal load --live {live} failed with exit code {child.returncode}")
        if (live == "on") != bool(b"".join(said).strip()):
            raise CannotMeasure(f"--live {live} {'wrote nothing' if live == 'on' else 'wrote on the terminal'}")
        return common.run_in(path, "requests")


def verdict(pair: stats.Pair, again: stats.Pair) -> str:
    """Returns the verdict. "met" means only that no difference could be seen. If the same program differs from itself
    (`again`), there is no verdict."""
    found, itself = (judge.alone(each.logs) for each in (pair, again))
    if not pair.known or not again.known or itself in judge.APART:
        return stats.CANNOT_TELL
    return stats.NOT_MET if found in judge.APART else stats.MET


def measure(context: Context) -> list[Row]:
    context.say(f"live view: {context.blocks} blocks of on, off and off again")
    runs = common.paired(context, "live_view", {name: (lambda live=live: _once(context, live)) for name, live in
                                                (("on", "on"), ("off", "off"), ("off again", "off"))})
    rows = []
    for metric, of in METRICS.items():
        values = {name: {block: of(found) for block, found in by_block.items()} for name, by_block in runs.items()}
        pair, again = common.pair_of(values, "on", "off"), common.pair_of(values, "off again", "off")
        measured = f"{common.span(pair)}; A/A {common.span(again)}; {http_load.load_average()}"
        rows.append(Row(f"{metric}, live view on / off", "no difference", measured, verdict(pair, again),
                        common.ratio_data(pair, values)))
    return rows
