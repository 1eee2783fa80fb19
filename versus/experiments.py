# SPDX-License-Identifier: BSD-3-Clause
"""What an experiment is: cells, modes, contenders, claims. plans.py holds the experiments themselves, as data."""

from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from versus.roster import PINGPONG

# How a cell is played: "closed" sends as fast as answers come back, "rate" sends at a fixed rate.
CLOSED = "closed"
RATE = "rate"
# The two figures a pair is compared by: which is better, and how it is called.
METRICS = {
    "server_cpu": ("server CPU per message", "less"),
    "speed": ("messages/s", "more"),
}
HTTP_PATH = "/collect?v=1"
# Of a duel: the shorter hide queueing, so they are for closed loops.
SLICE_S, RATED_SLICE_S = 0.02, 0.5
MOST_ROUNDS = 1000  # of a restart


def metric_words(metric: str, unit: str = "message") -> tuple[str, str]:
    """What a metric is called where the unit of work is `unit`, and which is better."""
    what, better = METRICS[metric]
    return what.replace("message", unit), better


def many(count: int) -> str:
    return "1 connection" if count == 1 else f"{count:,} connections"


def size_words(size: int, gap: str = "") -> str:
    """"64B", "16KiB"; with the gap between number and unit."""
    return f"{size // 1024}{gap}KiB" if size >= 1024 and size % 1024 == 0 else f"{size}{gap}B"


class Load:
    """What the cells of all kinds share."""

    over_tls = False
    least_slice_s = 0.0  # a slice shall have many rounds of all connections
    least_turn_s = 0.0  # a contender that plays by itself plays at least this long in a restart, whatever the budget
    idle = 0  # silent connections beside the others
    counts_calls = True  # whether its system calls can be counted, a message at a time

    def facts(self) -> dict:
        """What a page says of the cell beside what every cell has."""
        return {}

    @property
    def load_words(self) -> tuple[str, ...]:
        """What the generator is told beside what a load of its kind is."""
        return ()

    @property
    def server_words(self) -> tuple[str, ...]:
        """What a server is told beside its command."""
        return ()

    def fitted(self, fd_limit: int):
        """The same under a limit of open files, where less of it means something."""
        return self

    @property
    def headline_mode(self) -> str:
        """Where the server's CPU per message is read: at the fixed rate if there is one."""
        return RATE if RATE in self.modes else CLOSED

    @property
    def generator_threads(self) -> int:
        return self.client_threads or self.threads

    def closed(self):
        """The same load, in a closed loop alone."""
        return replace(self, modes=(CLOSED,))


@dataclass(frozen=True)
class Cell(Load):
    """One ping-pong load: blocks of `size` bytes on `connections`, `threads` on both sides."""

    size: int
    connections: int
    threads: int = 1
    modes: tuple[str, ...] = (RATE,)
    client_threads: int = 0  # 0: as many as the server's
    without: tuple[str, ...] = ()  # contenders that do not run here

    @property
    def name(self) -> str:
        return f"{size_words(self.size)}x{self.connections}" + (f"x{self.threads}t" if self.threads > 1 else "")

    @property
    def title(self) -> str:
        return f"{size_words(self.size, ' ')}, {many(self.connections)}" + (
            f", {self.threads} threads" if self.threads > 1 else "")


@dataclass(frozen=True)
class HttpCell(Load):
    """One HTTP load: `connections` clients, each request on a connection of its own where `short`."""

    connections: int
    threads: int = 1
    modes: tuple[str, ...] = (CLOSED,)
    short: bool = False
    client_threads: int = 0
    without: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        return 0

    @property
    def path(self) -> str:
        return HTTP_PATH

    @property
    def counts_calls(self) -> bool:
        return not self.short

    @property
    def name(self) -> str:
        threads = f"x{self.threads}t" if self.threads > 1 else ""
        return ("short" if self.short else "keep") + f"{self.connections}{threads}"

    @property
    def title(self) -> str:
        life = "a connection per request" if self.short else "keep-alive"
        clients = "1 client" if self.connections == 1 else f"{self.connections:,} clients"
        return f"{clients}, {life}, " + ("1 server thread" if self.threads == 1 else f"{self.threads} server threads")


@dataclass(frozen=True)
class Claim:
    """What shall be true of `metric` in `cell`: subject / rival is at most `bar`, or at least where more is better."""

    subject: str
    rival: str
    cell: str
    metric: str = "server_cpu"
    bar: float = 1.0
    best_of: tuple[str, ...] = ()  # `rival` is whichever of these is best in the cell; then it is but a word for them

    def sentence(self, where: str, unit: str = "message") -> str:
        """The claim in words; `where` is its cell's title."""
        what, better = metric_words(self.metric, unit)
        if self.bar == 1.0:
            return f"{self.subject} has {better} {what} than {self.rival} ({where})"
        bound = "at most" if better == "less" else "at least"
        return f"{self.subject} has {bound} {self.bar:g} times the {what} of {self.rival} ({where})"


# peal-epoll stands against everyone; peal-uring against the loop it must equal and against the floor.
PINGPONG_GRID = (("peal-epoll", ("*",)), ("peal-uring", ("raw-uring", "raw-epoll")))
# The same of those that speak HTTP, and everyone against the floor.
HTTP_GRID = (("http-peal-epoll", ("*",)), ("http-peal-uring", ("http-raw-uring",)), ("*", ("http-raw-epoll",)))


@dataclass(frozen=True)
class Duels:
    """How long a cell is played: the restarts, and the rounds in each, in a closed loop and at a fixed rate, whose
    slices are longer. Where each contender plays by itself, there are `turns` restarts, and it plays `turn_s` seconds
    in each. A budget replaces `turn_s` by a share of the budget (duel/duel_campaign.py)."""

    restarts: int = 20
    rounds: int = 8
    slice_s: float = SLICE_S
    rated_restarts: int = 10
    rated_rounds: int = 2
    rated_slice_s: float = RATED_SLICE_S
    turns: int = 8
    turn_s: float = 2.0

    def shaped(self, restarts: int | None, run_s: float | None) -> "Duels":
        """With as many restarts, and as many rounds as `run_s` has slices of a contender; of more than a duel may have
        the slices are longer."""
        found = self if not restarts else replace(self, restarts=restarts, rated_restarts=restarts, turns=restarts)
        if not run_s:
            return found
        rounds, rated_rounds = (min(MOST_ROUNDS, max(1, round(run_s / each))) for each in (SLICE_S, RATED_SLICE_S))
        return replace(found, rounds=rounds, slice_s=max(SLICE_S, run_s / rounds), rated_rounds=rated_rounds,
                       rated_slice_s=max(RATED_SLICE_S, run_s / rated_rounds), turn_s=run_s)


@dataclass(frozen=True)
class Experiment:
    """A set of cells, the claims about them, and how often and how long each is played."""

    name: str
    title: str
    cells: tuple[Load, ...]
    claims: tuple[Claim, ...]
    duels: Duels = Duels()
    budget_s: float | None = None  # for the whole thing; None: it takes as long as it takes
    trace_calls: bool = True
    kind: str = PINGPONG
    unit: str = "message"
    contenders: tuple[str, ...] = ()  # those that run; none named: all of the kind that are usual
    share: float = 1.0  # of a plan's budget, beside the other experiments' shares
    grid: tuple[tuple[str, tuple[str, ...]], ...] = PINGPONG_GRID
    twin_of: str = "peal-epoll"
    classic: str = ""  # which of the published tables it reproduces
    note: str = ""  # a sentence for the page

    def cell(self, name: str) -> Load:
        return next(cell for cell in self.cells if cell.name == name)

    @property
    def twin_name(self) -> str:
        """The A/A twin: `twin_of`'s program once more."""
        return f"{self.twin_of}-twin"

    def runs_here(self, name: str, cell: Load) -> bool:
        return name not in cell.without

    def grid_of(self, names: list[str]) -> list[tuple[str, str]]:
        """The pairs shown among `names`; where none of the grid is there, the first against the others."""
        if not self.grid:
            return []
        pairs = []
        for subject_pattern, rival_patterns in self.grid:
            for subject in (name for name in names if fnmatchcase(name, subject_pattern)):
                pairs += [(subject, rival) for rival in names if rival != subject
                          and any(fnmatchcase(rival, pattern) for pattern in rival_patterns)]
        kept = [pair for at, pair in enumerate(pairs) if pair not in pairs[:at] and pair[::-1] not in pairs[:at]]
        return kept or [(names[0], rival) for rival in names[1:]] if names else []


@dataclass(frozen=True)
class Plan:
    """What `versus full` or `versus models` does: experiments, on one budget where there is one."""

    name: str
    title: str
    experiments: tuple[Experiment, ...]
    budget_s: float | None = None
    drum: object = None  # a drum.DrumPlan: experiment 2, too
    drum_share: float = 0.1
    variants: bool = False  # whether peal is built with other compilers and flags, as contenders


def check(experiment: Experiment) -> None:
    """A claim about a cell that is not there is a mistake of whoever wrote it."""
    names = {cell.name for cell in experiment.cells}
    assert len(names) == len(experiment.cells), experiment.name
    assert all(claim.cell in names for claim in experiment.claims), experiment.name
    assert experiment.claims or experiment.note, experiment.name
