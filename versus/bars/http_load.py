# SPDX-License-Identifier: BSD-3-Clause
"""What the figures of the HTTP generator share: a web server, a run of `peal load http`, a verdict on medians.

The server has one core and the generator the other; how much of a core each could use is printed beside the figures,
for on a shared machine neither has it whole.
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
    """The web servers of these names. Raises CannotMeasure where one cannot run."""
    ready, absent = roster.choose(context.bin_dir, [], list(names), roster.HTTP)
    if absent:
        raise CannotMeasure(absent[0])
    return {contender.name: contender for contender in ready}


def web_server(context: Context, name: str):
    """The contender `name` on one thread, for the length of a block. Raises CannotMeasure, StartFailed."""
    return process.serving(contenders(context, (name,))[name].for_threads(1), process.Pins.of(1).server)


def url(server: process.Server, path: str = HTTP_PATH) -> str:
    return f"http://{server.target}{path}"


def words(context: Context, server: process.Server, seconds: float, more: tuple[str, ...] = (),
          warmup_s: float = WARMUP_S, connections: int = CONNECTIONS, path: str = HTTP_PATH) -> list[str]:
    """The command of one run on one thread over keep-alive connections."""
    return [context.tool("peal"), "load", "http", url(server, path), "--connections", str(connections), "--threads",
            "1", "--duration", f"{round(seconds * 1000)}ms", "--warmup", f"{round(warmup_s * 1000)}ms",
            "--server-pid", str(server.pid), *more]


def run(context: Context, server: process.Server, seconds: float, more: tuple[str, ...] = (),
        **options) -> Measurement:
    """The run of words(). A gate that failed is no failure here: the bar judges."""
    return common.generated(words(context, server, seconds, more, **options), seconds + 20.0, "requests")


def load_average() -> str:
    return f"load average {os.getloadavg()[0]:.1f}"
