# SPDX-License-Identifier: BSD-3-Clause
"""The experiments and the claims, as data, declared before anything is measured."""

from dataclasses import dataclass, replace

from versus import stats

# What a run of a cell does: "closed" sends as fast as answers come back, "rate" sends at a fixed rate.
CLOSED = "closed"
RATE = "rate"
# The two figures a pair is compared by: which is better, and how it is called.
METRICS = {
    "server_cpu": ("server CPU per message", "less"),
    "speed": ("messages/s", "more"),
}


@dataclass(frozen=True)
class Cell:
    """One load: blocks of `size` bytes on `connections`, `threads` on both sides."""

    size: int
    connections: int
    threads: int = 1
    modes: tuple[str, ...] = (RATE,)

    @property
    def name(self) -> str:
        size = f"{self.size // 1024}KiB" if self.size >= 1024 and self.size % 1024 == 0 else f"{self.size}B"
        return f"{size}x{self.connections}" + (f"x{self.threads}t" if self.threads > 1 else "")

    @property
    def title(self) -> str:
        size = f"{self.size // 1024} KiB" if self.size >= 1024 and self.size % 1024 == 0 else f"{self.size} B"
        many = "1 connection" if self.connections == 1 else f"{self.connections:,} connections"
        return f"{size}, {many}" + (f", {self.threads} threads" if self.threads > 1 else "")

    @property
    def headline_mode(self) -> str:
        """Where the server's CPU per message is read: at the fixed rate if there is one."""
        return RATE if RATE in self.modes else CLOSED


@dataclass(frozen=True)
class Claim:
    """What shall be true of `metric` in `cell`: subject / rival is at most `bar`; without one, subject is better."""

    subject: str
    rival: str
    cell: str
    metric: str = "server_cpu"
    bar: float | None = None

    def sentence(self, where: str) -> str:
        """The claim in words; `where` is its cell's title."""
        what, better = METRICS[self.metric]
        if self.bar is not None:
            return f"{self.subject} takes at most {self.bar:g} times the {what} of {self.rival} ({where})"
        return f"{self.subject} has {better} {what} than {self.rival} ({where})"


@dataclass(frozen=True)
class Experiment:
    """A set of cells, the claims about them, and how often and how long each run is."""

    name: str
    title: str
    cells: tuple[Cell, ...]
    claims: tuple[Claim, ...]
    blocks: int
    warmup_s: float
    # Either a budget for the whole thing, from which the length of a run follows, or the length of a run.
    budget_s: float | None = None
    run_s: float | None = None
    calibration_rounds: int = 2
    calibration_s: float = 0.25
    trace_calls: bool = True

    def cell(self, name: str) -> Cell:
        return next(cell for cell in self.cells if cell.name == name)

    def with_blocks(self, blocks: int) -> "Experiment":
        return replace(self, blocks=blocks)


# Six claims need eight blocks: 6 x 2^(1-8) = 0.047.
QUICK_CLAIMS = (
    Claim("peal-epoll", "raw-epoll", "64Bx1000", bar=1.05),
    Claim("peal-epoll", "raw-epoll", "16KiBx100", bar=1.05),
    Claim("peal-uring", "raw-uring", "64Bx1000", bar=1.05),
    Claim("peal-epoll", "libevent", "64Bx1000"),
    Claim("peal-epoll", "asio-per-thread", "64Bx1000"),
    Claim("peal-epoll", "libuv", "64Bx1000"),
)

QUICK = Experiment(
    name="quick",
    title="Ping-pong, quick",
    cells=(Cell(64, 1, modes=(CLOSED,)), Cell(64, 1000), Cell(16384, 100)),
    claims=QUICK_CLAIMS,
    blocks=8,
    warmup_s=0.12,
    budget_s=262.0,
)


def _full_cells() -> tuple[Cell, ...]:
    """The classic matrix (16 KiB, 4 KiB) and the modern size, on one thread and on up to four."""
    cells = []
    for size in (16384, 4096, 64):
        for connections in (1, 10, 100, 1000, 10000):
            modes = (CLOSED,) if connections == 1 else (CLOSED, RATE)
            cells.append(Cell(size, connections, modes=modes))
        cells += [Cell(size, connections, threads, (CLOSED,)) for connections in (100, 1000) for threads in (2, 3, 4)]
    return tuple(cells)


FULL = Experiment(
    name="full",
    title="Ping-pong, the whole matrix",
    cells=_full_cells(),
    claims=QUICK_CLAIMS,
    blocks=8,
    warmup_s=0.3,
    run_s=2.0,
    calibration_s=0.5,
)

BY_NAME = {experiment.name: experiment for experiment in (QUICK, FULL)}


def check(experiment: Experiment) -> None:
    """An experiment whose blocks cannot let its claims pass is a mistake of whoever wrote it."""
    names = {cell.name for cell in experiment.cells}
    assert experiment.blocks >= stats.fewest_blocks_for(len(experiment.claims)), experiment.name
    assert all(claim.cell in names for claim in experiment.claims), experiment.name
    assert (experiment.budget_s is None) != (experiment.run_s is None), experiment.name
