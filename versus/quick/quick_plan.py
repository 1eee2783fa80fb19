# SPDX-License-Identifier: BSD-3-Clause
"""The quick lab as data, declared before anything is measured: the cells, their contenders, and the claims.

The first contender of each cell is the floor. The others are compared with it, and it also plays against itself (A/A).
"""

from dataclasses import dataclass, replace

from versus.duel.duel_figures import CPU, RATE
from versus.duel.duel_runner import DuelLoad
from versus.experiments import HTTP_PATH, many, size_words
from versus.findings.judging import LEVEL
from versus.roster import HTTP, PINGPONG

PINGPONG_NAMES = ("raw-epoll", "peal-epoll", "peal-uring", "raw-uring", "libevent", "asio-per-thread", "libuv")
HTTP_NAMES = ("http-raw-epoll", "http-peal-epoll", "http-nginx", "http-libevent")


@dataclass(frozen=True)
class DuelCell:
    """One load, and its share of the time."""

    name: str
    title: str
    experiment: int  # the number of the published experiment
    kind: str
    connections: int
    contenders: tuple[str, ...]
    restarts: int  # at most; the budget may allow fewer
    share: float  # share of the time, relative to the other cells
    size: int = 0
    short: bool = False  # each request has its own connection
    slice_ms: int = 20
    rounds: int = 8

    @property
    def unit(self) -> str:
        return "message" if self.kind == PINGPONG else "request"

    @property
    def words(self) -> str:
        """The title with the protocol."""
        return f"{'echo' if self.kind == PINGPONG else 'HTTP'}, {self.title}"

    @property
    def load(self) -> DuelLoad:
        words = ["--connections", str(self.connections)]
        words += ["--size", str(self.size)] if self.kind == PINGPONG else ["--path", HTTP_PATH]
        words += ["--requests-per-connection", "1"] if self.short else []
        return DuelLoad(self.name, self.title, self.kind, tuple(words), self.slice_ms, self.rounds, self.restarts)


def _pingpong(size: int, connections: int, **more) -> DuelCell:
    return DuelCell(f"{size_words(size)}x{connections}", f"{size_words(size, ' ')}, {many(connections)}", 1, PINGPONG,
                    connections, PINGPONG_NAMES, size=size, **more)


# Rounds with a thousand connections scatter three times as much as those with a hundred. Longer slices help, because
# they end less often. This cell gets nearly half of the time.
CELLS = (
    _pingpong(64, 1, restarts=8, rounds=4, share=0.05),
    _pingpong(64, 1000, restarts=60, slice_ms=30, share=0.45),
    _pingpong(16384, 100, restarts=24, share=0.18),
    DuelCell("keep100", "100 clients, keep-alive", 3, HTTP, 100, HTTP_NAMES, restarts=32, share=0.14),
    DuelCell("short100", "100 clients, a connection per request", 4, HTTP, 100, HTTP_NAMES, restarts=32, share=0.18,
             short=True),
)


def cell_named(name: str) -> DuelCell:
    return next(cell for cell in CELLS if cell.name == name)


@dataclass(frozen=True)
class DuelClaim:
    """A claim about a cell: the server CPU of subject / rival is at most `bar`."""

    subject: str
    rival: str
    cell: str
    bar: float = 1.0

    @property
    def words(self) -> str:
        """The claim as an argument of `peal load duel --claim`."""
        return f"{CPU}: {self.subject}/{self.rival} <= {self.bar:g}"

    def sentence(self, cell: DuelCell) -> str:
        if self.bar == 1.0:
            return f"{self.subject}: less server CPU per {cell.unit} than {self.rival} ({cell.title})"
        bound = f"at most {self.bar:g} times"
        return f"{self.subject}: {bound} the server CPU per {cell.unit} of {self.rival} ({cell.title})"


CLAIMS = (
    DuelClaim("peal-epoll", "raw-epoll", "64Bx1000", 1.05),
    DuelClaim("peal-epoll", "raw-epoll", "16KiBx100", 1.05),
    DuelClaim("peal-uring", "raw-uring", "64Bx1000", 1.05),
    DuelClaim("peal-epoll", "libevent", "64Bx1000"),
    DuelClaim("peal-epoll", "asio-per-thread", "64Bx1000"),
    DuelClaim("peal-epoll", "libuv", "64Bx1000"),
    DuelClaim("http-peal-epoll", "http-raw-epoll", "keep100", 1.06),
    DuelClaim("http-peal-epoll", "http-nginx", "keep100", 0.9),
    DuelClaim("http-peal-epoll", "http-nginx", "short100", 1.05),
    DuelClaim("http-peal-epoll", "http-libevent", "short100"),
)


def claims_in(cell: str) -> list[DuelClaim]:
    return [claim for claim in CLAIMS if claim.cell == cell]


@dataclass(frozen=True)
class Published:
    """A published figure that is compared with a pair of a cell."""

    experiment: int
    sentence: str
    then: str
    subject: str
    rival: str
    cell: str
    metric: str
    least: float  # the sentence holds if the ratio lies between these two
    most: float = float("inf")
    stands_for: str = ""  # the published program that the subject replaces, if that one does not play

    def played_by(self, names: set[str]) -> "Published":
        """Returns this figure about the published program if it plays. Otherwise the sentence says that peal replaces
        it."""
        if not self.stands_for:
            return self
        if self.stands_for in names:
            return replace(self, subject=self.stands_for)
        return replace(self, sentence=f"{self.sentence} (here: peal instead)")


PUBLISHED = (
    Published(1, "muduo moves more than asio at 16 KiB", "at least 1.15", "peal-epoll", "asio-per-thread", "16KiBx100",
              RATE, 1.15, stands_for="muduo"),
    Published(1, "muduo moves up to 70 % more than libevent at 16 KiB", "1.7", "peal-epoll", "libevent", "16KiBx100",
              RATE, 1.7, stands_for="muduo"),
    Published(3, "nginx and libevent are level", "1.01", "http-nginx", "http-libevent", "keep100", RATE, 1 / LEVEL,
              LEVEL),
    Published(4, "with a connection per request nginx serves more pages than a library (here libevent's)",
              "1.4 to 1.6", "http-nginx", "http-libevent", "short100", RATE, 1.4),
)


def chosen(cells: list[str], given: dict[str, list[str]], only: list[str]) -> list[tuple[DuelCell, list[str]]]:
    """Returns the cells asked for (default: all) with the names that play in each: those of the table and those `given`
    on the command line. If `only` is not empty, only these names play. Cells without a name are left out."""
    plans = []
    for cell in (cell for cell in CELLS if not cells or cell.name in cells):
        names = [*cell.contenders, *given.get(cell.kind, [])]
        names = [name for name in names if not only or name in only]
        if names:
            plans.append((cell, names))
    return plans
