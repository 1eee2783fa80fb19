# SPDX-License-Identifier: BSD-3-Clause
"""The command line of `python3 -m versus`. Exit codes: 0 done, 1 failed, 2 wrong command line."""

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
from versus.figures import figures
from versus.figures.figures_document import MarksMissing
from versus.figures.ledger import BadLedger
from versus.findings import findings_document
from versus.models import model_plans, model_roster
from versus.bars import bench
from versus.quick import quick_lab, quick_plan, quick_sentences, quick_words
from versus.run import server_host
from versus.run.process import StartFailed
from versus.run.server_host import BadHost, Unreachable
from versus.run.store import StoreError

DONE, FAILED, CALLED_WRONGLY = 0, 1, 2
EXAMPLES = """examples:
  python3 -m versus quick
  python3 -m versus quick --experiments keep100,short100
  python3 -m versus quick --contender 'mine=./my_server --port {port}' --only peal-epoll,raw-epoll,mine
  python3 -m versus full --out build/versus/full --seed 7      # run again to resume where it stopped
  python3 -m versus findings                     # the runs behind docs/findings.md; then `document` with their results
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
            raise argparse.ArgumentTypeError(f"there is no experiment '{strangers[0]}'; known are {', '.join(known)}")
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
    """Adds the options that choose a part of a plan."""
    verb.add_argument("--only", type=_names, default=[], metavar="NAME,...", help="run only these contenders")
    verb.add_argument("--experiments", type=_experiments_of(known), default=[], metavar="NAME,...",
                      help=f"run only these; known are {', '.join(known)}")


def _add_plan(commands, name: str, words: str, parents: list[argparse.ArgumentParser], known: tuple[str, ...]):
    """Adds a verb that carries out a plan."""
    verb = _add_verb(commands, name, words, parents)
    _add_choice(verb, known)
    verb.add_argument("--blocks", type=_count, help="number of restarts of all contenders (default: the plan's)")
    length = verb.add_mutually_exclusive_group()
    length.add_argument("--budget", type=_positive, metavar="SECONDS", help="wall time for the whole run")
    length.add_argument("--run-seconds", type=_positive, metavar="SECONDS",
                        help="how long each contender runs in a restart")
    verb.add_argument("--no-calls", action="store_true", help="do not count system calls")
    return verb


def _add_quick(commands, parents: list[argparse.ArgumentParser]) -> None:
    verb = _add_verb(commands, "quick", "duels in one or two cells of each experiment; less than five minutes",
                     parents)
    _add_choice(verb, quick_lab.NAMES)
    verb.add_argument("--budget", type=_positive, metavar="SECONDS",
                      help=f"wall time for the whole run (default: {quick_lab.BUDGET_S:.0f})")
    verb.add_argument("--no-instructions", action="store_true", help="do not count user instructions")


def _given(text: str) -> str:
    """Refuses an empty value: it comes from an unset variable of a script, and all servers would run on this
    machine."""
    if not text:
        raise argparse.ArgumentTypeError("the value may not be empty")
    return text


def _address(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"'{text}' is not an IP address") from error


def _elsewhere() -> argparse.ArgumentParser:
    """Returns the options that name another machine for the servers."""
    elsewhere = argparse.ArgumentParser(add_help=False)
    group = elsewhere.add_argument_group("two machines (docs/two-machines.md)")
    group.add_argument("--server-host", type=_given, metavar="HOST",
                       help="run the servers on the machine HOST, the generator here")
    group.add_argument("--server-address", type=_address, metavar="IP",
                       help="the address on which servers listen there (default: the one that leads to that machine)")
    group.add_argument("--server-bin", type=Path, metavar="DIR",
                       help="the folder of the programs on that machine (default: that of --bin)")
    group.add_argument("--remote-shell", type=_given, metavar="WORDS",
                       help="the program that runs a command there; HOST and the command are appended (default: "
                            f"{server_host.SHELL})")
    group.add_argument("--agent", type=_given, metavar="COMMAND",
                       help="the agent's command there (default: `peal load agent` from --server-bin)")
    return elsewhere


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="python3 -m versus",
        description="Compares servers on real sockets, fairly, and writes one report page.",
        epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = top.add_subparsers(dest="verb", required=True,
                                  metavar="quick|full|findings|models|bench|figures|document|list")
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--bin", type=Path, default=Path("build/release/bin"), metavar="DIR",
                        help="the folder of the built programs (default: build/release/bin)")
    shared.add_argument("--contender", action="append", default=[], metavar="NAME=COMMAND",
                        help="adds a server; http:NAME=COMMAND is a web server, model:NAME=COMMAND a server of framed "
                             "echo, tls: and https: are the first two over TLS. The command must contain {listen}, or "
                             "{host} and {port}; it may contain {threads}, and over TLS {cert} and {key}. "
                             "drum:NAME=COMMAND is a program that plays the drum as `peal drum` does")
    shared.add_argument("--contenders-from", action="append", type=Path, default=[], metavar="FILE",
                        help="a file of contenders, one NAME=COMMAND per line; '#' begins a comment (scripts/rivals "
                             "writes one)")
    measured = argparse.ArgumentParser(add_help=False)
    measured.add_argument("--out", type=Path, metavar="DIR",
                          help="the folder for the results (default: build/versus/VERB-TIME)")
    measured.add_argument("--seed", type=int,
                          help="the seed of the order (default: random, printed)")
    elsewhere = _elsewhere()
    _add_quick(commands, [shared, measured, elsewhere])
    full = _add_plan(commands, "full", "the whole matrix; takes hours, resumable", [shared, measured, elsewhere],
                     plans.NAMES)
    full.add_argument("--variants", action="store_true",
                      help="also runs peal built by g++ and clang at -O2 and -O3, whatever --experiments names")
    # These verbs run everything on one machine.
    here = dict.fromkeys(("server_host", "server_address", "server_bin", "agent", "remote_shell"))
    found = _add_plan(commands, "findings", "the runs that decide the published findings of experiments 1 to 4; about "
                      "40 minutes, resumable", [shared, measured], plans.NAMES)
    found.set_defaults(variants=False, **here)
    models = _add_plan(commands, "models", "every concurrency model of one framed echo service (experiment 5)",
                       [shared, measured], model_plans.NAMES)
    models.add_argument("--full", action="store_true", help="every situation, variant and published load; takes hours")
    models.set_defaults(variants=False, **here)
    bars = _add_verb(commands, "bench", "peal's figures, beside the bars that they must meet", [shared, measured],
                     "Measures peal's figures and prints each beside the bar that it must meet.")
    bars.add_argument("--only", type=_names, default=[], metavar="FIGURE,...",
                      help=f"measure only these of {', '.join(bench.names())}")
    bars.add_argument("--all", action="store_true",
                      help="also measure the peers in figures that usually cover only peal and the floor")
    bars.add_argument("--blocks", type=_count, default=8, help="paired blocks of each ratio; a duel has three restarts "
                                                                "per block (default: 8)")
    bars.add_argument("--record", action="store_true",
                      help="put the figures into docs/figures.json, and write the documents that show them")
    figures_verb = commands.add_parser(
        "figures", help="writes the documents that show figures, from docs/figures.json",
        description="Writes docs/figures.md, the tables in README.md and docs/comparison.md, and the pictures of the "
                    "front page, from docs/figures.json. Marks figures as stale if the code has changed since.")
    figures_verb.add_argument("--take", action="append", default=[], metavar="TABLE=RESULTS",
                              help="first put a run of the quick lab, its results.json, into docs/figures.json as the "
                                   f"table {' or '.join(figures.TABLES)}")
    document = commands.add_parser("document", help="prints docs/findings.md from the results of one or more runs",
                                   description="Prints how every published finding stands, according to these results. "
                                               "If several decide a finding, the last one counts.")
    document.add_argument("results", type=Path, nargs="+", metavar="RESULTS", help="a results.json, or its folder")
    commands.add_parser("list", parents=[shared], help="the contenders, the experiments and the figures")
    return top


def _list(options) -> int:
    rows = []
    models = model_roster.rows_of(model_roster.listed_by(options.bin / "peal"), options.bin / "peal")
    for contender in roster.built_in(options.bin) + models + [roster.given(text) for text in options.contender]:
        rows.append([contender.name, contender.note, contender.missing() or "ready"])
    print(terminal.table(["contender", "description", "state"], rows, "<<<"))
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
    if options.verb == "figures":
        figures.write(options.take)
        return DONE
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
        print(f"{quick_words.summary(results)}\n\n{quick_sentences.text(results)}\n\n"
              f"{(options.out / 'report.html').resolve()}")
        return DONE if results["cells"] or results["drum"] else FAILED
    results = comparison.compare(_plan_name(options), options, command)
    print(terminal.summary(results))
    print(f"\n{(options.out / 'report.html').resolve()}")
    return DONE if results["drum"] or any(each["costs"] for each in results["experiments"]) else FAILED


def main(words: list[str] | None = None) -> int:
    words = sys.argv[1:] if words is None else words
    options = parser().parse_args(words)
    command = "python3 -m versus " + shlex.join(words)
    # SIGTERM and SIGHUP act like SIGINT: started programs are ended, and the sentence below is printed.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    try:
        return _run(options, command)
    except (roster.BadContender, bench.UnknownFigure, BadHost, BadLedger, StoreError) as error:
        print(f"versus: {error}", file=sys.stderr)
        return CALLED_WRONGLY
    except (comparison.CannotCompare, findings_document.BadResults, MarksMissing, StartFailed, Unreachable,
            OSError) as error:
        print(f"versus: {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        kept = "" if options.verb == "quick" else "; finished runs are kept: the same --out and --seed resume"
        print(f"\nversus: stopped{kept}.", file=sys.stderr)
        return FAILED
