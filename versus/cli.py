# SPDX-License-Identifier: BSD-3-Clause
"""The command line of `python3 -m versus`. Exit codes: 0 done, 1 it failed, 2 it was called wrongly."""

import argparse
import ipaddress
import math
import random
import shlex
import signal
import sys
import time
from pathlib import Path

from versus import comparison, drum, plans, roster, terminal
from versus.duel import judge
from versus.findings import findings_document
from versus.models import model_plans, model_roster
from versus.bars import bench
from versus.quick import quick_lab, quick_plan, quick_words
from versus.run import server_host
from versus.run.process import StartFailed
from versus.run.server_host import BadHost, Unreachable
from versus.run.store import StoreError

DONE, FAILED, CALLED_WRONGLY = 0, 1, 2
EXAMPLES = """examples:
  python3 -m versus quick
  python3 -m versus quick --experiments keep100,short100
  python3 -m versus quick --contender 'mine=./my_server --port {port}' --only peal-epoll,raw-epoll,mine
  python3 -m versus full --out build/versus/full --seed 7      # run again to go on where it stopped
  python3 -m versus findings                     # what the published findings need; then `document` its results
  python3 -m versus models                       # every concurrency model; --full: every situation and published load
  python3 -m versus quick --server-host box2 --server-bin /opt/peal/bin
  python3 -m versus bench --only instructions,idle_memory
"""


def _names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


def _experiments_of(known: tuple[str, ...]):
    def parse(text: str) -> list[str]:
        strangers = [name for name in _names(text) if name not in known]
        if strangers:
            raise argparse.ArgumentTypeError(f"there is no experiment '{strangers[0]}'; there are {', '.join(known)}")
        return _names(text)

    return parse


def _positive(text: str) -> float:
    value = float(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return value


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not at least 1")
    return value


def _add_verb(commands, name: str, words: str, parents: list[argparse.ArgumentParser], description: str = ""):
    return commands.add_parser(name, parents=parents, help=words, description=description or words, epilog=EXAMPLES,
                               formatter_class=argparse.RawDescriptionHelpFormatter)


def _add_choice(verb: argparse.ArgumentParser, known: tuple[str, ...]) -> None:
    """The options that say what of a plan is played."""
    verb.add_argument("--only", type=_names, default=[], metavar="NAME,...", help="these contenders alone")
    verb.add_argument("--experiments", type=_experiments_of(known), default=[], metavar="NAME,...",
                      help=f"these alone, of {', '.join(known)}")


def _add_plan(commands, name: str, words: str, parents: list[argparse.ArgumentParser], known: tuple[str, ...]):
    """A verb that carries out a plan."""
    verb = _add_verb(commands, name, words, parents)
    _add_choice(verb, known)
    verb.add_argument("--blocks", type=_count, help="how often everybody is started anew (default: the plan's)")
    length = verb.add_mutually_exclusive_group()
    length.add_argument("--budget", type=_positive, metavar="SECONDS", help="wall time for the whole")
    length.add_argument("--run-seconds", type=_positive, metavar="SECONDS",
                        help="how long each plays in a restart")
    verb.add_argument("--no-calls", action="store_true", help="do not count system calls")
    return verb


def _add_quick(commands, parents: list[argparse.ArgumentParser]) -> None:
    verb = _add_verb(commands, "quick", "duels in a cell or two of each experiment, together in under five minutes",
                     parents)
    _add_choice(verb, quick_lab.NAMES)
    verb.add_argument("--budget", type=_positive, metavar="SECONDS",
                      help=f"wall time for the whole (default: {quick_lab.BUDGET_S:.0f})")
    verb.add_argument("--no-instructions", action="store_true", help="do not count user instructions")


def _given(text: str) -> str:
    """An empty one is a variable of a script that is not set: everything would be played on this machine."""
    if not text:
        raise argparse.ArgumentTypeError("it may not be empty")
    return text


def _address(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"'{text}' is not an IP address") from error


def _elsewhere() -> argparse.ArgumentParser:
    """The options that say on which other machine the servers run."""
    elsewhere = argparse.ArgumentParser(add_help=False)
    group = elsewhere.add_argument_group("two machines (docs/two-machines.md)")
    group.add_argument("--server-host", type=_given, metavar="HOST",
                       help="the servers run on this machine, the generator here")
    group.add_argument("--server-address", type=_address, metavar="IP",
                       help="where servers listen there (default: where that machine is reached)")
    group.add_argument("--server-bin", type=Path, metavar="DIR",
                       help="where the programs are on that machine (default: as --bin)")
    group.add_argument("--remote-shell", type=_given, metavar="WORDS",
                       help=f"what leads there; HOST and a command come behind it (default: {server_host.SHELL})")
    group.add_argument("--agent", type=_given, metavar="COMMAND",
                       help="the agent's command there (default: `peal load agent` of --server-bin)")
    return elsewhere


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="python3 -m versus",
        description="Compares servers on real sockets, fairly, and writes one page.",
        epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = top.add_subparsers(dest="verb", required=True,
                                  metavar="quick|full|findings|models|bench|document|list")
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--bin", type=Path, default=Path("build/release/bin"), metavar="DIR",
                        help="where the programs were built (default: build/release/bin)")
    shared.add_argument("--contender", action="append", default=[], metavar="NAME=COMMAND",
                        help="another server, http:NAME=COMMAND a web server, model:NAME=COMMAND one of framed echo; "
                             "its command holds {listen} or {host} and {port}, and may hold {threads}. tls: and https: "
                             "are the first two over TLS, and may hold {cert} and {key}. "
                             "drum:NAME=COMMAND is a program that plays the drum as `peal drum` does")
    shared.add_argument("--contenders-from", action="append", type=Path, default=[], metavar="FILE",
                        help="more of them, one NAME=COMMAND a line; '#' begins a comment (scripts/rivals writes one)")
    measured = argparse.ArgumentParser(add_help=False)
    measured.add_argument("--out", type=Path, metavar="DIR",
                          help="where the results go (default: build/versus/VERB-TIME)")
    measured.add_argument("--seed", type=int,
                          help="the seed of the order (default: a new one, printed)")
    elsewhere = _elsewhere()
    _add_quick(commands, [shared, measured, elsewhere])
    full = _add_plan(commands, "full", "the whole matrix: hours; resumable", [shared, measured, elsewhere],
                     plans.NAMES)
    full.add_argument("--variants", action="store_true",
                      help="peal built by g++ and clang at -O2 and -O3, too, also where --experiments names others")
    # Of who plays on one machine.
    here = dict.fromkeys(("server_host", "server_address", "server_bin", "agent", "remote_shell"))
    found = _add_plan(commands, "findings", "what answers the published findings of experiments 1 to 4: some 40 "
                      "minutes; resumable", [shared, measured], plans.NAMES)
    found.set_defaults(variants=False, **here)
    models = _add_plan(commands, "models", "every concurrency model of one framed echo service (experiment 5)",
                       [shared, measured], model_plans.NAMES)
    models.add_argument("--full", action="store_true", help="every situation, variant and published load: hours")
    models.set_defaults(variants=False, **here)
    bars = _add_verb(commands, "bench", "the figures peal must reach, beside their bars", [shared, measured],
                     "Measures the figures peal must reach and prints each beside its bar.")
    bars.add_argument("--only", type=_names, default=[], metavar="FIGURE,...", help=f"of {', '.join(bench.names())}")
    bars.add_argument("--all", action="store_true",
                      help="the peers too, where a figure is usually peal's and the floor's")
    bars.add_argument("--blocks", type=_count, default=8, help="paired blocks of each ratio; of a duel three "
                                                                   "restarts each (default: 8)")
    document = commands.add_parser("document", help="docs/findings.md, of the results of one or more runs",
                                   description="Prints how every published finding stands, by the results given; of "
                                               "a finding that several decide the last has the word.")
    document.add_argument("results", type=Path, nargs="+", metavar="RESULTS", help="a results.json, or its folder")
    commands.add_parser("list", parents=[shared], help="the contenders, the experiments and the figures")
    return top


def _list(options) -> int:
    rows = []
    models = model_roster.rows_of(model_roster.listed_by(options.bin / "peal"), options.bin / "peal")
    for contender in roster.built_in(options.bin) + models + [roster.given(text) for text in options.contender]:
        rows.append([contender.name, contender.note, contender.missing() or "ready"])
    print(terminal.table(["contender", "what it is", "state"], rows, "<<<"))
    print("\nquick:")
    for cell in quick_plan.CELLS:
        print(f"  {cell.name}: experiment {cell.experiment}: {cell.title}; {', '.join(cell.contenders)}")
    for claim in quick_plan.CLAIMS:
        print(f"    claim: {claim.sentence(quick_plan.cell_named(claim.cell))}")
    print(f"  {drum.NAME}: {drum.TITLE}; {', '.join(cell.name for cell in drum.QUICK.cells)}")
    for plan in plans.BY_NAME.values():
        print(f"\n{plan.name}:")
        for experiment in plan.experiments:
            print(f"  {experiment.name}: {experiment.title}; at most {experiment.duels.restarts} restarts; "
                  f"{', '.join(cell.name for cell in experiment.cells)}")
            for claim in experiment.claims:
                print(f"    claim: {claim.sentence(experiment.cell(claim.cell).title, experiment.unit)}")
        if plan.drum:
            print(f"  {drum.NAME}: {drum.TITLE}; {', '.join(cell.name for cell in drum.FULL.cells)}")
    print(f"\nbench: {', '.join(bench.names())}")
    return DONE


def _plan_name(options) -> str:
    return model_plans.FULL.name if options.verb == "models" and options.full else options.verb


def _run(options, command: str) -> int:
    if options.verb == "document":
        print(findings_document.document(options.results), end="")
        return DONE
    options.contender = options.contender + [text for file in options.contenders_from
                                             for text in roster.listed_in(file)]
    if options.verb == "list":
        return _list(options)
    judge.need()
    if options.seed is None:
        options.seed = random.SystemRandom().randrange(1, 10**6)
    if options.out is None:
        options.out = Path("build/versus") / f"{options.verb}-{time.strftime('%Y%m%d-%H%M%S')}"
    if options.verb == "bench":
        return bench.run(options, command)
    if options.verb == "quick":
        results = quick_lab.run(options, command)
        print(f"{quick_words.summary(results)}\n\n{(options.out / 'report.html').resolve()}")
        return DONE if results["cells"] or results["drum"] else FAILED
    results = comparison.compare(_plan_name(options), options, command)
    print(terminal.summary(results))
    print(f"\n{(options.out / 'report.html').resolve()}")
    return DONE if results["drum"] or any(each["costs"] for each in results["experiments"]) else FAILED


def main(words: list[str] | None = None) -> int:
    words = sys.argv[1:] if words is None else words
    options = parser().parse_args(words)
    command = "python3 -m versus " + shlex.join(words)
    # As SIGINT does: what was started is ended, and the sentence below is said.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    try:
        return _run(options, command)
    except (roster.BadContender, bench.UnknownFigure, BadHost, StoreError) as error:
        print(f"versus: {error}", file=sys.stderr)
        return CALLED_WRONGLY
    except (comparison.CannotCompare, findings_document.BadResults, StartFailed, Unreachable, OSError) as error:
        print(f"versus: {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        kept = "" if options.verb == "quick" else "; the runs done are kept, and the same --out and --seed go on"
        print(f"\nversus: stopped{kept}.", file=sys.stderr)
        return FAILED
