# SPDX-License-Identifier: BSD-3-Clause
"""The parts that the figures of the HTTP generator share: a web server and a run of `peal load http`.

The server has one core and the generator another. The share of a core that each could use is printed beside the
figures, because on a shared machine neither has a whole core.
"""

import os

from versus import roster
from versus.experiments import HTTP_PATH
from versus.run import process
from versus.bars import common
from versus.bars.common import CannotMeasure, Context
from versus.roster import Contender
from versus.run.generator import Measurement

CONNECTIONS = 64
WARMUP_S = 0.2


def contenders(context: Context, names: tuple[str, ...]) -> dict[str, Contender]:
    """Returns the web servers of these names. Raises CannotMeasure if one of them cannot run."""
    ready, absent = roster.choose(context.bin_dir, [], list(names), roster.HTTP)
    if absent:
        raise CannotMeasure(absent[0])
    return {contender.name: contender for contender in ready}


def web_server(context: Context, name: str):
    """Runs the contender `name` on one thread while the block runs. Raises CannotMeasure, StartFailed."""
    return process.serving(contenders(context, (name,))[name].for_threads(1), process.Pins.of(1).server)


def url(server: process.Server, path: str = HTTP_PATH) -> str:
    return f"http://{server.target}{path}"


def words(context: Context, server: process.Server, seconds: float, more: tuple[str, ...] = (),
          warmup_s: float = WARMUP_S, connections: int = CONNECTIONS, path: str = HTTP_PATH) -> list[str]:
    """Returns the command of one run on one thread over keep-alive connections."""
    return [context.tool("peal"), "load", "http", url(server, path), "--connections", str(connections), "--threads",
            "1", "--duration", f"{round(seconds * 1000)}ms", "--warmup", f"{round(warmup_s * 1000)}ms",
            "--server-pid", str(server.pid), *more]


def run(context: Context, server: process.Server, seconds: float, more: tuple[str, ...] = (),
        **options) -> Measurement:
    """Makes the run of words() and returns its result. A failed gate is no error here, because the bar judges the
    figure."""
    return common.generated(words(context, server, seconds, more, **options), seconds + 20.0, "requests")


def load_average() -> str:
    return f"load average {os.getloadavg()[0]:.1f}"
