# SPDX-License-Identifier: BSD-3-Clause
"""The five sentences that one would tell a colleague about a run of the quick lab, made from its results.

They are about throughput, server CPU, HTTP, memory, and what peal lost. A sentence whose figures are missing says so.
"""

import shutil
import sys
import textwrap
from collections.abc import Callable

from versus.duel import judge
from versus.duel.duel_figures import CPU, RATE
from versus.page.verdict import listed
from versus.quick.quick_judge import CROWD
from versus.quick.quick_plan import cell_named
from versus.stats import AT_THE_BAR, CANNOT_TELL, MET, NOT_MEASURED, NOT_MET

ECHO, FLOOR, HTTP, NGINX = "peal-epoll", "raw-epoll", "http-peal-epoll", "http-nginx"
PEERS = ("asio-per-thread", "libuv", "libevent")
NAMES = {"asio-per-thread": "asio", "raw-epoll": "a bare epoll loop in C", "raw-uring": "a bare io_uring loop in C",
         "http-raw-epoll": "a bare epoll loop in C", "http-nginx": "nginx", "http-libevent": "libevent",
         "peal-epoll": "peal on epoll", "peal-uring": "peal on io_uring", "http-peal-epoll": "peal's HTTP server"}
JUDGED = {MET: "meets", NOT_MET: "misses", AT_THE_BAR: "is at", CANNOT_TELL: "leaves undecided",
          NOT_MEASURED: "was not held against"}
NO_WIDTH = 10**6
NO_TAIL = "tail latency is not measured here, but by `make lab`"


def _row(results: dict, cell: str, metric: str, subject: str, rival: str) -> dict | None:
    """Returns a comparison that has a ratio."""
    return next((row for row in results["comparisons"] if row["ratio"] is not None and
                 (row["cell"], row["metric"], row["subject"], row["rival"]) == (cell, metric, subject, rival)), None)


def _name(contender: str) -> str:
    return NAMES.get(contender, contender)


def _times(row: dict) -> str:
    return f"{row['ratio']:.2f} times"


def _interval(row: dict, confidence: str = "") -> str:
    """Returns the interval, and what the judge does not allow to be said. `confidence` is put before it."""
    words = ["too few restarts for an interval" if row["low"] is None else
             f"{confidence}{row['low']:.2f} to {row['high']:.2f}"]
    words += ["undecided"] if row["verdict"] == CANNOT_TELL else ["the generator was full"] if row["bounded"] else []
    return f"({', '.join(words)})"


def throughput(results: dict) -> str:
    cell = cell_named(CROWD)
    rows = {rival: _row(results, CROWD, RATE, ECHO, rival) for rival in PEERS}
    told = [f"{_times(row)} as many {'' if at else 'messages a second '}as {_name(row['rival'])} "
            f"{_interval(row, '' if at else '95 % interval ')}" for at, row in enumerate(filter(None, rows.values()))]
    if not told:
        return f"How many messages a second peal echoes beside other libraries was not measured ({cell.title})."
    absent = [_name(rival) for rival, row in rows.items() if row is None]
    return (f"On one core with {cell.connections:,} connections peal echoed {listed(told)}"
            f"{f'; not measured: {listed(absent)}' if absent else ''}.")


def cost(results: dict) -> str:
    row = _row(results, CROWD, CPU, ECHO, FLOOR)
    if row is None:
        return f"What a message costs peal beside {_name(FLOOR)} was not measured ({cell_named(CROWD).title})."
    claim = next((claim for claim in results["claims"] if (claim["cell"], claim["subject"], claim["rival"])
                  == (CROWD, ECHO, FLOOR)), None)
    bar = f", which {JUDGED[claim['verdict']]} the bar of {claim['bar']:.2f}" if claim else ""
    counts = {each["contender"]: each["instructions"] for cell in results["cells"] if cell["name"] == CROWD
              for each in cell["rows"]}
    mine, floors = counts.get(ECHO), counts.get(FLOOR)
    counted = f", and {mine:,.0f} user instructions" if mine else ""
    counted += f" (the loop {floors:,.0f})" if mine and floors else ""
    judged = row | {"verdict": ""} if claim else row  # the bar is what is decided
    return f"Each message cost peal {_times(row)} the server CPU of {_name(FLOOR)} {_interval(judged)}{bar}{counted}."


def http(results: dict) -> str:
    told = []
    for cell, words in (("keep100", "on kept connections"), ("short100", "with a connection for each request")):
        row = _row(results, cell, CPU, HTTP, NGINX)
        if row:
            told.append(f"{_times(row)} {'' if told else 'the server CPU of nginx '}{words} {_interval(row)}")
    if not told:
        return "What an HTTP request costs peal beside nginx was not measured."
    return f"An HTTP request took peal {listed(told)}."


def memory(results: dict) -> str:
    rows = {row["contender"]: row for row in results["memory"]}
    if ECHO not in rows:
        return f"How much memory a connection takes was not measured ({cell_named(CROWD).title})."

    def told(value: Callable[[dict], float], unit: str) -> str:
        others = ", ".join(f"{_name(rival)} {value(rows[rival]):.1f}" for rival in PEERS if rival in rows)
        return f"{value(rows[ECHO]):.1f} {unit}{f' ({others})' if others else ''}"

    each = told(lambda row: row["bytes_per_connection"] / 2**10, "KiB of memory")
    whole = told(lambda row: row["bytes"] / 2**20, "MiB")
    return (f"With {cell_named(CROWD).connections:,} connections open, each cost peal about {each}, and the whole "
            f"process took {whole}.")


def worst(results: dict) -> str:
    """Returns what peal lost, what stayed undecided, and what was not measured."""
    rows = [row for row in results["comparisons"] if row["metric"] == CPU and row["ratio"] is not None]
    if not rows:
        return f"What peal loses is not known, because it met no other server in this run; {NO_TAIL}."
    lost = sorted((row for row in rows if row["verdict"] == judge.MORE), key=lambda row: -row["ratio"])
    undecided = sum(row["verdict"] == CANNOT_TELL for row in rows)
    told = "none"
    if lost:
        row = lost[0]
        first = f"{len(lost)}, at worst" if len(lost) > 1 else "1,"
        told = (f"{first} {_name(row['subject'])} against {_name(row['rival'])} "
                f"({cell_named(row['cell']).words}: {_times(row)}, {row['low']:.2f} to {row['high']:.2f})")
    return (f"Of {len(rows)} comparison{'' if len(rows) == 1 else 's'} of server CPU, peal lost {told}; "
            f"{undecided or 'none'} {'is' if undecided == 1 else 'are'} undecided, and {NO_TAIL}.")


def five(results: dict) -> list[str]:
    """Returns the sentences in order."""
    return [throughput(results), cost(results), http(results), memory(results), worst(results)]


def text(results: dict, columns: int | None = None) -> str:
    """Returns the sentences for the end of the run, each as an item of a list. `columns` is the width at which lines
    are broken; None: that of the terminal, or none if stdout is no terminal."""
    if columns is None:
        columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else NO_WIDTH
    return "\n".join(textwrap.fill(f"- {sentence}", max(20, columns), subsequent_indent="  ")
                     for sentence in five(results))
