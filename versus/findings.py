# SPDX-License-Identifier: BSD-3-Clause
"""Each published finding of experiments 1, 3 and 4 held against this run: confirmed, refuted or not measurable here.

Pure functions over the results; the rules (what counts as "level", as "far ahead") are fixed here, beforehand. It is
the whole interval of a paired ratio that judges, never its median: where the interval holds the bound, this run cannot
tell. Experiment 2's findings come from the drum itself.
"""

import math
import statistics
from dataclasses import asdict, dataclass, replace

from versus import published, stats
from versus.analysis import chosen_runs, noise_floor, restart_logs
from versus.experiments import CLOSED
from versus.roster import PINGPONG

CONFIRMED, REFUTED, NOT_HERE = "confirmed", "refuted", "not measurable here"
FEWEST_BLOCKS = 6  # fewer restarts than this judge no published finding
LEVEL = 1.10  # "level": within a tenth of each other
EQUAL = 1.05  # "equal" of two compilers
FAR_AHEAD = 1.20
HALF = 0.5
# What counts as a lock on the way of a request, and how much rarer it must be elsewhere.
FUTEX_PER_REQUEST = 0.1
FUTEX_TIMES = 5.0
ITSELF = "the same program differs from itself there"
ASIO = ("asio-per-thread", "asio-shared")
LIBRARIES = ("http-libevent", "http-beast", "http-poco", "muduo", "libio")


@dataclass(frozen=True)
class Finding:
    experiment: int
    sentence: str
    verdict: str
    figure: str


@dataclass(frozen=True)
class Side:
    """One side of a ratio: a contender in some cells."""

    contender: str
    cells: tuple[str, ...]


def _experiment(results: dict, name: str) -> dict | None:
    return next((experiment for experiment in results["experiments"] if experiment["name"] == name), None)


def _cells(experiment: dict | None, **wanted) -> list[str]:
    """The names of its closed-loop cells that are as wanted."""
    return [cell["name"] for cell in (experiment or {}).get("cells", ())
            if CLOSED in cell["modes"] and all(cell[key] == value for key, value in wanted.items())]


def ratio(experiment: dict | None, subject: Side, rival: Side, figure: str = "messages_per_s",
          mode: str = CLOSED) -> stats.Pair:
    """subject / rival by block: over several cells their geometric mean, of blocks that have them all."""
    if experiment is None:
        return stats.UNKNOWN
    logs = [restart_logs(*(chosen_runs(experiment["runs"], cell, mode, side.contender)
                           for side, cell in zip((subject, rival), cells)), figure)
            for cells in zip(subject.cells, rival.cells)]
    blocks = set.intersection(*(set(by_block) for by_block in logs)) if logs else set()
    return stats.of_logs([statistics.fmean(by_block[block] for by_block in logs) for block in sorted(blocks)])


def within(pair: stats.Pair, least: float, most: float) -> str:
    """Whether the ratio lies in [least, most]: the interval wholly in it, wholly out of it, or neither."""
    if pair.blocks < FEWEST_BLOCKS:
        return NOT_HERE
    if pair.low >= least and pair.high <= most:
        return CONFIRMED
    return REFUTED if pair.high < least or pair.low > most else NOT_HERE


def _said(what: str, pair: stats.Pair, verdict: str, missing: str) -> str:
    if not pair.known:
        return missing
    words = f"{what}: {pair.ratio:.2f} ({pair.low:.2f} to {pair.high:.2f}), {pair.blocks} blocks"
    if pair.blocks < FEWEST_BLOCKS:
        return f"{words}: too few, {FEWEST_BLOCKS} are needed"
    return words + ("; the interval holds the bound" if verdict == NOT_HERE else "")


def _judged(number: int, sentence: str, what: str, pair: stats.Pair, bounds: tuple[float, float],
            missing: str) -> Finding:
    verdict = within(pair, *bounds)
    return Finding(number, sentence, verdict, _said(what, pair, verdict, missing))


def _bounded(experiment: dict | None, side: Side) -> bool:
    """Whether the generator's core filled first in one of these rows: the true throughput is higher."""
    return any(row["lower_bound"] for row in (experiment or {}).get("saturation", ())
               if row["contender"] == side.contender and row["cell"] in side.cells)


def twin_differs(experiment: dict | None, cells: tuple[str, ...], metric: str) -> bool:
    """Whether in one of the cells the same program differs from itself: nothing is said of anybody there."""
    return any(row["differs"] for row in (experiment or {}).get("noise", ())
               if row["cell"] in cells and row["metric"] == metric)


def _unless_doubtful(found: Finding, experiment: dict | None, pair: stats.Pair, sides: tuple[Side, Side],
                     bounds: tuple[float, float]) -> Finding:
    """`found`, about a ratio of throughputs; a verdict that a lower bound on either side could turn over is none, nor
    one where a program differs from itself."""
    if found.verdict == NOT_HERE:
        return found
    if twin_differs(experiment, sides[0].cells + sides[1].cells, "speed"):
        return replace(found, verdict=NOT_HERE, figure=f"{found.figure}; but {ITSELF}")
    least, most = bounds
    confirmed = found.verdict == CONFIRMED
    # A bounded subject can only make the ratio rise, a bounded rival can only make it fall.
    rises = most < math.inf if confirmed else pair.high < least
    falls = least > 0.0 if confirmed else pair.low > most
    full = [side.contender for side, matters in zip(sides, (rises, falls)) if matters and _bounded(experiment, side)]
    if not full:
        return found
    figure = f"{found.figure}; but the generator's core filled first with {' and '.join(full)}"
    return replace(found, verdict=NOT_HERE, figure=figure)


def _throughput(number: int, sentence: str, what: str, experiment: dict | None, sides: tuple[Side, Side],
                bounds: tuple[float, float], missing: str) -> Finding:
    """A finding about subject / rival in requests/s."""
    pair = ratio(experiment, *sides)
    return _unless_doubtful(_judged(number, sentence, what, pair, bounds, missing), experiment, pair, sides, bounds)


def _known_names(experiment: dict | None) -> set[str]:
    return {contender["name"] for contender in (experiment or {}).get("contenders", ())}


# ---- experiment 1

def _lead(experiment: dict | None, subject: str, rivals: tuple[str, ...], cells: list[str],
          how: str) -> tuple[stats.Pair, tuple[Side, Side]]:
    """The lead over the rival that is faster in these cells, on average or in the cell where it is largest; and of
    which sides it is."""
    groups = [tuple(cells)] if how == "average" else [(cell,) for cell in cells]
    leads = []
    for group in groups if cells else []:
        sides = [(Side(subject, group), Side(rival, group)) for rival in rivals]
        known = [(pair, both) for both in sides if (pair := ratio(experiment, *both, "mib_per_s")).known]
        leads += [min(known, key=lambda entry: entry[0].ratio)] if known else []
    nothing = (stats.UNKNOWN, (Side(subject, ()), Side(rivals[0], ())))
    return max(leads, key=lambda entry: entry[0].ratio) if leads else nothing


def of_pingpong(results: dict) -> list[Finding]:
    """muduo's leads; and, because muduo is not packaged, peal's in its place."""
    experiment = _experiment(results, "pingpong")
    found = []
    for subject in ("muduo", "peal-epoll"):
        for _, rival, size, how, bound in published.PINGPONG:
            rivals = ASIO if rival == "asio" else ("libevent",)
            cells = [name for name in _cells(experiment, size=size)]
            by = f"{(bound - 1) * 100:.0f} %"
            lead = f"at least {by} ahead of {rival}" if how == "average" else \
                f"up to {by} ahead of {rival} in single cases"
            sentence = f"muduo is {lead} at {size // 1024} KiB" + (", on average" if how == "average" else "")
            if subject != "muduo":
                sentence = f"In muduo's place, peal on epoll: {lead} at {size // 1024} KiB"
            missing = (f"closed-loop runs at {size // 1024} KiB belong to the full lab" if subject == "peal-epoll"
                       or "muduo" in _known_names(experiment) else published.how_to_add("muduo", PINGPONG))
            pair, sides = _lead(experiment, subject, rivals, cells, how)
            bounds = (bound, math.inf)
            judged = _judged(1, sentence, f"MiB/s, {subject} / {sides[1].contender}", pair, bounds, missing)
            found.append(_unless_doubtful(judged, experiment, pair, sides, bounds))
    return found


# ---- experiment 3

def _rest_cell(experiment: dict | None) -> tuple[str, ...]:
    """The published load where it was run, else the one there is."""
    classic = _cells(experiment, threads=8)
    return tuple((classic or _cells(experiment))[:1])


def _rest_ratio(number: int, experiment: dict | None, sentence: str, names: tuple[str, str],
                bounds: tuple[float, float], missing: str) -> Finding:
    cell = _rest_cell(experiment)
    return _throughput(number, sentence, f"requests/s, {names[0]} / {names[1]}, {', '.join(cell)}", experiment,
                       (Side(names[0], cell), Side(names[1], cell)), bounds, missing)


def _never_full(experiment: dict | None) -> Finding:
    sentence = "asio's and cppcms's rows never saturated the CPU (published: 302-357 and 230-249 of 800 %)"
    cells = _cells(experiment, threads=8)
    rows = [row for row in (experiment or {}).get("saturation", ()) if row["cell"] in cells]
    row = next((row for row in rows if row["contender"] == "http-beast"), None)
    if row is None:
        return Finding(3, sentence, NOT_HERE, "http-beast on 8 threads belongs to the full lab; "
                       + published.how_to_add("cppcms"))
    if all(other["never_saturated"] for other in rows):
        return Finding(3, sentence, NOT_HERE, "nobody saturated under this load: that is the generator's doing")
    verdict = CONFIRMED if row["never_saturated"] else REFUTED
    return Finding(3, sentence, verdict, f"of asio alone: http-beast used {row['server_percent']['mean']:.0f} % "
                   f"(100 is a core), {row['server_share'] * 100:.0f} % of what it could have")


def _locks(experiment: dict | None) -> Finding:
    sentence = "The slow ones are slow for a mutex around epoll"
    cells = _cells(experiment, threads=8)
    calls = {row["contender"]: row["calls_by_name"] for row in (experiment or {}).get("costs", ())
             if row["cell"] in cells and row["calls_by_name"]}
    if "http-beast" not in calls or "http-libevent" not in calls:
        return Finding(3, sentence, NOT_HERE, "system calls on 8 threads are counted by the full lab")
    slow, fast = (calls[name].get("futex", 0.0) for name in ("http-beast", "http-libevent"))
    verdict = CONFIRMED if slow >= FUTEX_PER_REQUEST and slow >= FUTEX_TIMES * fast else REFUTED
    return Finding(3, sentence, verdict, f"futex calls per request: http-beast {slow:.3f}, http-libevent {fast:.3f}")


def _compilers(results: dict) -> list[Finding]:
    experiment = _experiment(results, "compilers")
    cells = tuple(cell["name"] for cell in (experiment or {}).get("cells", ()))
    mode = experiment["cells"][0]["modes"][0] if cells else CLOSED
    base = Side("peal-epoll", cells)

    def cpu(name: str) -> stats.Pair:
        return ratio(experiment, Side(name, cells), base, "server_cpu_ns", mode)

    missing = "the axis of compilers belongs to the full lab (or --variants)"
    level = cpu("peal-epoll-gcc-O3")
    floor = noise_floor(ratio(experiment, Side((experiment or {}).get("twin", ""), cells), base, "server_cpu_ns", mode))
    verdict = NOT_HERE
    if level.known and floor is not None:
        # Refuted: whatever it may gain is less than the same program differs from itself.
        verdict = CONFIRMED if stats.differs(level) == "below" and level.ratio < 1.0 / floor else \
            REFUTED if level.low >= 1.0 / floor and level.blocks >= FEWEST_BLOCKS else NOT_HERE
    figure = _said("server CPU per message, g++ -O3 / g++ -O2", level, "", missing)
    if level.known and floor is not None:
        figure += f"; noise floor ±{(floor - 1) * 100:.1f} %"
    return [
        Finding(3, "-O3 helps (published for asio and muduo; here peal itself)", verdict, figure),
        _judged(3, "g++ and clang are equal (here peal itself)", "server CPU per message, clang -O2 / g++ -O2",
                cpu("peal-epoll-clang-O2"), (1 / EQUAL, EQUAL), missing),
        Finding(3, "A newer C++ standard is a little faster", NOT_HERE,
                "peal needs C++23: there is no older one to set beside it"),
    ]


def of_rest(results: dict) -> list[Finding]:
    experiment = _experiment(results, "rest")
    absent = "one of the two did not run"
    muduo = "did not run" if "muduo" in _known_names(experiment) else published.how_to_add("muduo")
    return [
        _rest_ratio(3, experiment, "nginx and libevent are level (published: 1.01)", ("http-nginx", "http-libevent"),
                    (1 / LEVEL, LEVEL), absent),
        _rest_ratio(3, experiment, "asio answers less than half of libevent's requests (published: 0.17)",
                    ("http-beast", "http-libevent"), (0.0, HALF), absent),
        _rest_ratio(3, experiment, "muduo answers more than twice nginx's requests (published: 2.53)",
                    ("muduo", "http-nginx"), (2.0, math.inf), muduo),
        Finding(3, "cppcms is the slowest (published: 15,500/s)", NOT_HERE, published.how_to_add("cppcms")),
        _never_full(experiment),
        _locks(experiment),
        *_compilers(results),
    ]


# ---- experiment 4

def of_pages(results: dict) -> list[Finding]:
    experiment = _experiment(results, "pages")
    short = {cell: cell.replace("short", "keep") for cell in _cells(experiment, short=True)}
    names = _known_names(experiment)
    leads = [(name, ratio(experiment, Side("http-nginx", tuple(short)), Side(name, tuple(short))))
             for name in LIBRARIES if name in names]
    known = [(name, pair) for name, pair in leads if pair.known]
    best = min(known, key=lambda entry: entry[1].ratio)[0] if known else ""
    long = tuple(keep for keep in short.values() if keep in _cells(experiment, short=False))
    both = tuple(cell for cell, keep in short.items() if keep in long)
    return [
        _throughput(4, "With a connection per request nginx is far ahead of the libraries "
                    "(published: 1.4 to 1.6 times)", f"pages/min, http-nginx / {best} (the fastest library here)",
                    experiment, (Side("http-nginx", tuple(short)), Side(best, tuple(short))), (FAR_AHEAD, math.inf),
                    "nginx or every library did not run"),
        _throughput(4, "Keep-alive carries at least twice the pages "
                    "(published: libio 2.4 to 5.2, muduo 2.4 to 4.0 times)",
                    "pages/min, keep-alive / a connection per request, http-libevent", experiment,
                    (Side("http-libevent", long), Side("http-libevent", both)), (2.0, math.inf),
                    "http-libevent did not run both"),
        *_one_client(experiment),
        *_ablations(results, experiment, tuple(short)),
    ]


def _ablations(results: dict, experiment: dict | None, short: tuple[str, ...]) -> list[Finding]:
    """What libio's author did to double his pages, each step for itself (here of peal itself)."""
    compilers = _experiment(results, "compilers")
    cells = tuple(cell["name"] for cell in (compilers or {}).get("cells", ()))
    mode = compilers["cells"][0]["modes"][0] if cells else CLOSED
    unoptimised = ratio(compilers, Side("peal-epoll-gcc-O0", cells), Side("peal-epoll", cells), "server_cpu_ns", mode)
    return [
        _throughput(4, "Pooled connection objects carry more pages than new ones (here peal itself)",
                    "pages/min, http-peal-epoll / http-peal-epoll-unpooled", experiment,
                    (Side("http-peal-epoll", short), Side("http-peal-epoll-unpooled", short)), (1.0, math.inf),
                    "one of the two did not run"),
        _judged(4, "-O2 instead of -O0 makes a server faster (here peal itself)",
                "server CPU per message, g++ -O0 / g++ -O2", unoptimised, (1.0, math.inf),
                "the axis of compilers belongs to the full lab (or --variants)"),
        Finding(4, "A queue per worker carries more pages than one for all; registering for reads on hand-over as many "
                "as reading at once", NOT_HERE, "an ablation of concurrency models: `make models` judges it"),
    ]


def _one_client(experiment: dict | None) -> list[Finding]:
    sentence = "One client is slow for whoever hands connections over (published, of 10 clients' pages: {})"
    shares = {"libio": "libio 0.17", "muduo": "muduo 0.31"}
    found = []
    for name, share in shares.items():
        one = tuple(cell for cell in _cells(experiment, short=True, connections=1))
        ten = tuple(cell for cell in _cells(experiment, short=True, connections=10))
        found.append(_throughput(4, sentence.format(share), f"pages/min, 1 client / 10 clients, {name}", experiment,
                                 (Side(name, one), Side(name, ten)), (0.0, 0.5), published.how_to_add(name)))
    return found


def of(results: dict) -> list[dict]:
    """Every finding, as plain data, in the order of the experiments; of those the plan left out, too."""
    drummed = (results.get("drum") or {}).get("findings") or []
    found = [asdict(finding) for finding in of_pingpong(results) + of_rest(results) + of_pages(results)]
    return sorted([*found, *({"experiment": 2} | finding for finding in drummed)], key=lambda row: row["experiment"])
