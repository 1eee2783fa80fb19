# SPDX-License-Identifier: BSD-3-Clause
"""The experiment as data, declared before anything is measured: what the published comparisons were asked, and could
not say on one machine. Ping-pong in a closed loop, on as many connections as fill the link; of each cell the first
contender is the floor, and plays against itself (A/A).
"""

from dataclasses import dataclass, replace

from versus.duel.duel_runner import DuelLoad
from versus.quick.quick_plan import DuelClaim
from versus.roster import PINGPONG

CONTENDERS = ("raw-epoll", "peal-epoll", "peal-uring", "asio-per-thread", "libevent", "libuv")
BUDGET_S = 300.0
RESTARTS = 10
FIRST_CONNECTIONS, MOST_CONNECTIONS = 100, 800
# At 1 Gbit/s a hundred messages of 16 KiB are 13 ms of the link: shorter slices would be mostly their ends.
SLICE_MS, ROUNDS = 300, 3


@dataclass(frozen=True)
class LinkCell:
    """Blocks of `size` bytes that go to the server and back."""

    size: int
    connections: int = FIRST_CONNECTIONS
    contenders: tuple[str, ...] = CONTENDERS
    unit: str = "message"

    @property
    def name(self) -> str:
        return f"{self.size // 1024}KiB"

    @property
    def title(self) -> str:
        return f"{self.size // 1024} KiB"

    def load(self, restarts: int, rounds: int = ROUNDS) -> DuelLoad:
        words = ("--connections", str(self.connections), "--size", str(self.size))
        return DuelLoad(self.name, f"{self.title}, {self.connections} connections", PINGPONG, words, SLICE_MS, rounds,
                        restarts)

    def on(self, connections: int) -> "LinkCell":
        return replace(self, connections=connections)


CELLS = (LinkCell(16384), LinkCell(4096))
NAMES = tuple(cell.name for cell in CELLS)
CLAIMS = tuple(claim for cell in CELLS for claim in (
    DuelClaim("peal-epoll", "raw-epoll", cell.name, 1.05),
    DuelClaim("peal-epoll", "asio-per-thread", cell.name),
    DuelClaim("peal-epoll", "libevent", cell.name),
    DuelClaim("peal-epoll", "libuv", cell.name)))


def cell_named(name: str) -> LinkCell:
    return next(cell for cell in CELLS if cell.name == name)
