# SPDX-License-Identifier: BSD-3-Clause
"""Defines what an experiment is: cells, modes, contenders, claims. plans.py has the experiments themselves, as data."""

from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from versus.roster import PINGPONG

# The modes of a cell: "closed" sends as soon as answers arrive, "rate" sends at a fixed rate.
CLOSED = "closed"
RATE = "rate"
# The two metrics of a pair: the name, and which is better.
METRICS = {
    "server_cpu": ("server CPU per message", "less"),
    "speed": ("messages/s", "more"),
}
HTTP_PATH = "/collect?v=1"
# Slices of a duel. Short slices hide queueing, so they are only for closed loops.
SLICE_S, RATED_SLICE_S = 0.02, 0.5
MOST_ROUNDS = 1000  # in one restart


def metric_words(metric: str, unit: str = "message") -> tuple[str, str]:
    """Returns the name of a metric if the unit of work is `unit`, and which is better."""
    what, better = METRICS[metric]
    return what.replace("message", unit), better


def many(count: int) -> str:
    return "1 connection" if count == 1 else f"{count:,} connections"


def size_words(size: int, gap: str = "") -> str:
    """Returns "64B" or "16KiB", with `gap` between number and unit."""
    return f"{size // 1024}{gap}KiB" if size >= 1024 and size % 1024 == 0 else f"{size}{gap}B"


class Load:
    """The part that the cells of all kinds share."""

    over_tls = False
    least_slice_s = 0.0  # a slice must contain many round trips of all connections
    least_turn_s = 0.0  # minimum time per restart of a contender that plays alone, whatever the budget is
    idle = 0  # silent connections in addition to the others
    counts_calls = True  # whether system calls per message can be counted

    def facts(self) -> dict:
        """Returns facts of this cell for a page, in addition to those of every cell."""
        return {}

    @property
    def load_words(self) -> tuple[str, ...]:
        """Further options for the generator."""
        return ()

    @property
    def server_words(self) -> tuple[str, ...]:
        """Further words for a server's command."""
        return ()

    def fitted(self, fd_limit: int):
        """Returns the cell reduced to a limit of open files, if a smaller one is meaningful."""
        return self

    @property
    def headline_mode(self) -> str:
        """The mode in which the server's CPU per message is measured: the fixed rate if there is one."""
        return RATE if RATE in self.modes else CLOSED

    @property
    def generator_threads(self) -> int:
        return self.client_threads or self.threads

    def closed(self):
        """Returns the load in a closed loop only."""
        return replace(self, modes=(CLOSED,))


@dataclass(frozen=True)
class Cell(Load):
    """One ping-pong load: messages of `size` bytes on `connections` connections, `threads` threads on both sides."""

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
    """One HTTP load: `connections` clients. If `short`, each request has its own connection."""

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
    """A claim: in `cell`, `metric` of subject / rival is at most `bar`; at least `bar` if more is better."""

    subject: str
    rival: str
    cell: str
    metric: str = "server_cpu"
    bar: float = 1.0
    best_of: tuple[str, ...] = ()  # the rival is the best of these in the cell; then `rival` is only a name for them

    def sentence(self, where: str, unit: str = "message") -> str:
        """Returns the claim as a sentence. `where` is the title of its cell."""
        what, better = metric_words(self.metric, unit)
        if self.bar == 1.0:
            return f"{self.subject} has {better} {what} than {self.rival} ({where})"
        bound = "at most" if better == "less" else "at least"
        return f"{self.subject} has {bound} {self.bar:g} times the {what} of {self.rival} ({where})"


# peal-epoll is compared with all others; peal-uring with the loop that it must equal and with the floor.
PINGPONG_GRID = (("peal-epoll", ("*",)), ("peal-uring", ("raw-uring", "raw-epoll")))
# peal's HTTP servers are compared likewise; in addition, all are compared with the floor.
HTTP_GRID = (("http-peal-epoll", ("*",)), ("http-peal-uring", ("http-raw-uring",)), ("*", ("http-raw-epoll",)))


@dataclass(frozen=True)
class Duels:
    """How long a cell is played: the restarts and the rounds in each, in a closed loop and at a fixed rate. Slices at a
    fixed rate are longer. If each contender plays alone, there are `turns` restarts, and it plays `turn_s` seconds in
    each. A budget replaces `turn_s` by a share of the budget (duel/duel_campaign.py)."""

    restarts: int = 20
    rounds: int = 8
    slice_s: float = SLICE_S
    rated_restarts: int = 10
    rated_rounds: int = 2
    rated_slice_s: float = RATED_SLICE_S
    turns: int = 8
    turn_s: float = 2.0

    def shaped(self, restarts: int | None, run_s: float | None) -> "Duels":
        """Returns this with `restarts` restarts and with `run_s` seconds per contender and restart. If this needs more
        rounds than a duel may have, the slices become longer."""
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
    budget_s: float | None = None  # for the whole experiment; None: no limit
    trace_calls: bool = True
    kind: str = PINGPONG
    unit: str = "message"
    contenders: tuple[str, ...] = ()  # the contenders that run; empty: all usual ones of the kind
    share: float = 1.0  # of a plan's budget, relative to the other experiments
    grid: tuple[tuple[str, tuple[str, ...]], ...] = PINGPONG_GRID
    twin_of: str = "peal-epoll"
    classic: str = ""  # the published table that it reproduces
    note: str = ""  # a sentence for the page

    def cell(self, name: str) -> Load:
        return next(cell for cell in self.cells if cell.name == name)

    @property
    def twin_name(self) -> str:
        """The name of the A/A twin: a second copy of `twin_of`."""
        return f"{self.twin_of}-twin"

    def runs_here(self, name: str, cell: Load) -> bool:
        return name not in cell.without

    def grid_of(self, names: list[str]) -> list[tuple[str, str]]:
        """Returns the pairs that are shown. If none of the grid exists, the first name is compared with the others."""
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
    """A plan of `versus full`, `findings` or `models`: experiments, with a common budget if there is one."""

    name: str
    title: str
    experiments: tuple[Experiment, ...]
    budget_s: float | None = None
    drum: object = None  # a drum.DrumPlan for experiment 2, or None
    drum_share: float = 0.1
    variants: bool = False  # whether peal built by other compilers plays too


def check(experiment: Experiment) -> None:
    """Asserts that the experiment is consistent: a claim about an unknown cell is an error in the plan."""
    names = {cell.name for cell in experiment.cells}
    assert len(names) == len(experiment.cells), experiment.name
    assert all(claim.cell in names for claim in experiment.claims), experiment.name
    assert experiment.claims or experiment.note, experiment.name
