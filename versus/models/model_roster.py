# SPDX-License-Identifier: BSD-3-Clause
"""The rows of experiment 5: every concurrency model that the program lists, and variants of models that have options.

A new model appears as soon as `peal model list --json` lists it. A variant is its own row, named MODEL+VARIANT. If the
model does not have the variant's option, there is no such row. The row also says what a model by its design cannot do.
"""

import json
import subprocess
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from versus.experiments import RATE
from versus.roster import MODEL, Contender

LIST_LIMIT_S = 30.0
FD_SETSIZE = 1024
SELECT_SPARE = 24  # descriptors that the server itself needs below FD_SETSIZE
FORKS = "blocking_process_per_connection"
MOST_PROCESSES = 2000
# How many connections a model serves at a time, in the words of `peal model list`.
ONE, PER_WORKER, MANY = "one", "one a worker", "many"


@dataclass(frozen=True)
class Variant:
    suffix: str  # "": the model with its defaults
    words: tuple[str, ...]
    note: str = ""
    usual: bool = True  # False: runs only in the full plan


PLAIN = Variant("", ())
REPLY = (Variant("", ("--reply-by", "worker"), "the worker writes"),
         Variant("+io", ("--reply-by", "io"), "the I/O thread writes"))
POLLERS = (Variant("", ("--poller", "epoll"), "on epoll"), Variant("+poll", ("--poller", "poll"), "on poll", False),
           Variant("+select", ("--poller", "select"), "on select", False))
WRITE = Variant("+epollout", ("--write", "epollout"), "waits for writability, then writes")
WAIT = Variant("+wait", ("--wait-for-readable",), "hands a connection over when its first bytes have arrived")
DYNAMIC = Variant("+dynamic", ("--dynamic-timeout",), "does not sleep after a wait that brought events")
QUEUES = (Variant("", ("--queues", "per-worker"), "one queue per worker"),
          Variant("+one_queue", ("--queues", "one"), "one queue for all workers"))
BOOST = Variant("+boost", ("--contexts", "boost"), "Boost.Context instead of the C library's")


def _engines(usual: tuple[str, ...]) -> tuple[Variant, ...]:
    return tuple(Variant(f"+{name}", ("--engine", engine, "--workers", "1"), f"one loop on {engine}", name in usual)
                 for name, engine in (("epoll", "epoll"), ("uring", "io_uring"), ("poll", "poll"),
                                      ("select", "select")))


VARIANTS: dict[str, tuple[Variant, ...]] = {
    "reactor_epoll": (PLAIN, WRITE, Variant("+drain", ("--read-until-eagain",), "reads until EAGAIN", False),
                      Variant("+accept_one", ("--no-loop-accept",), "accepts one connection per event", False)),
    "coroutine_stackful": (Variant("", ("--contexts", "c"), "the C library's contexts"), BOOST, DYNAMIC),
    "coroutine_stackless": (PLAIN, Variant(DYNAMIC.suffix, DYNAMIC.words, DYNAMIC.note, False)),
    "half_sync_unbounded_queue": REPLY,
    "half_sync_bounded_queue": REPLY,
    "main_sub_threads": (PLAIN, WAIT),
    "libio_reactor": POLLERS,
    "libio_proactor": POLLERS,
    "libio_accept_thread": QUEUES,
    "peal_callbacks": (*_engines(("epoll", "uring")), Variant("+loops", ("--engine", "epoll"), "one loop per worker")),
    "peal_coroutines": _engines(("epoll",)),
}


@dataclass(frozen=True)
class ModelContender(Contender):
    """A row: a model with the options of its variant."""

    model: str = ""
    historic: str = ""
    family: str = ""
    serves: str = MANY
    processes: bool = False
    times_out: bool = True
    takes: tuple[str, ...] = ()

    def _words_in(self, cell) -> list[str]:
        words = ["--work", cell.work, "--work-kind", cell.work_kind] if cell.work else []
        wanted = dict(cell.options)
        if "--workers" in self.takes:
            wanted.setdefault("--workers", str(cell.threads))
        for name, value in wanted.items():
            if name in self.takes and name not in self.command:
                words += [name, value]
        return words

    def for_cell(self, cell):
        more = self._words_in(cell)
        return lambda host, port: self.words(host, port, cell.threads) + more

    def _number(self, cell, option: str, otherwise: int) -> int:
        words = [*self.command, *self._words_in(cell)]
        return int(words[words.index(option) + 1]) if option in words else otherwise

    def parallel(self, cell) -> int:
        if self.serves == ONE:
            return 1
        if "--workers" in self.takes:
            workers = self._number(cell, "--workers", cell.threads)
            return workers + (self._number(cell, "--io-threads", 1) if "--io-threads" in self.takes else 0)
        return cell.threads if "per_connection" in self.model else 1

    def serves_at_once(self, cell) -> int:
        return {ONE: 1, PER_WORKER: self.parallel(cell)}.get(self.serves, cell.connections)

    def facts(self) -> dict:
        return {"model": self.model, "historic": self.historic, "family": self.family, "serves": self.serves,
                "processes": self.processes, "times_out": self.times_out}

    def unfit_for(self, cell) -> str:
        many = cell.connections + getattr(cell, "idle", 0)
        if any("select" in word for word in (self.name, *self.command)) and many > FD_SETSIZE - SELECT_SPARE:
            return f"select works only with file descriptors below {FD_SETSIZE}"
        if self.model == FORKS and many > MOST_PROCESSES:
            return f"it would need a process for each of {many:,} connections"
        if RATE in cell.modes and self.serves_at_once(cell) < cell.connections:
            return f"it serves {self.serves_at_once(cell)} at a time and cannot hold a rate over {cell.connections:,}"
        return ""


def _row(program: Path, model: dict, variant: Variant, everything: bool) -> ModelContender:
    note = model["line"] + (f"; {variant.note}" if variant.note else "")
    command = (str(program), "model", "run", model["name"], "--listen", "{listen}", *variant.words)
    return ModelContender(
        model["name"] + variant.suffix, command, note, usual=everything or variant.usual, kind=MODEL,
        model=model["name"], historic=model["historic"], family=model["family"], serves=model["serves"],
        processes=model["processes"], times_out=model["times_out"], takes=tuple(model["options"]))


def rows_of(listed: list[dict], program: Path, everything: bool = False) -> list[ModelContender]:
    """Returns a row for each variant of each listed model that has the variant's options. With `everything`, all are
    usual."""
    rows = []
    for model in listed:
        for variant in VARIANTS.get(model["name"], (PLAIN,)):
            if all(word in model["options"] for word in _options(variant)):
                rows.append(_row(program, model, variant, everything))
    return rows


def _options(variant: Variant) -> list[str]:
    """Returns the options that a variant needs. --no-X is the negative form of --X."""
    return [word.replace("--no-", "--") for word in variant.words if word.startswith("--")]


def listed_by(program: Path) -> list[dict]:
    """Returns what the program lists as its models. Returns [] if it has none."""
    try:
        said = subprocess.run([str(program), "model", "list", "--json"], capture_output=True, timeout=LIST_LIMIT_S,
                              check=True, text=True)
        return json.loads(said.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return []


def matching(names: list[str], patterns: tuple[str, ...]) -> list[str]:
    """Returns the names that match a pattern; without patterns, all names."""
    return [name for name in names if not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)]


def is_meant(contender: Contender, cell) -> bool:
    """True if the cell is about this contender. A twin counts as the contender that it copies."""
    patterns = getattr(cell, "only", ())
    return bool(matching([contender.name.removesuffix("-twin")], patterns))
