# SPDX-License-Identifier: BSD-3-Clause
"""`versus full`, `versus findings` and `versus models`: run a plan and write runs.ndjson, results.json and
report.html."""

import json
import math
import os
import shlex
import shutil
import time
from dataclasses import replace
from pathlib import Path

from versus import drum, experiment_results, plans, roster, terminal, traces, variants
from versus.findings import published_findings
from versus.models import model_findings, model_plans, model_roster
from versus.run import environment, process, schedule, server_host
from versus.duel.duel_campaign import DuelCampaign
from versus.experiments import Experiment, Load, Plan
from versus.roster import MODEL, PINGPONG, TLS_KINDS, Contender
from versus.run.server_host import Known, ServerHost
from versus.run.store import Store
from versus.tls import certificate

# Part of the budget that is kept for drawing the page.
REPORT_RESERVE_S = 14.0
# Part of an experiment's budget for counting system calls after its runs.
CALLS_SHARE = 0.1


class CannotCompare(RuntimeError):
    """Nothing can be compared. The text is one sentence that says why."""


def _count_calls(experiment: Experiment, contenders: list[Contender]) -> dict[str, dict[str, dict]]:
    """Returns system calls per message by cell and contender, until the time is used up."""
    until = time.monotonic() + (experiment.budget_s or math.inf) * CALLS_SHARE
    if not experiment.trace_calls or not traces.available():
        return {}
    terminal.say("counting system calls (strace, outside the duels)")
    calls: dict[str, dict[str, dict]] = {}
    for cell in experiment.cells:
        if cell.threads > 1 and experiment.kind == PINGPONG:
            continue
        for contender in (contender for contender in contenders if contender.shown):
            if time.monotonic() >= until:
                terminal.say("no time left to count the other system calls")
                return calls
            if not experiment.runs_here(contender.name, cell):
                continue
            found = traces.calls_per_message(contender, cell)
            if found:
                calls.setdefault(cell.name, {})[contender.name] = found
    return calls


def placed(experiment: Experiment, contenders: list[Contender]) -> Experiment:
    """Returns the experiment. Its cells leave out the contenders that they are not about or that cannot run in them."""
    def left_out(cell: Load) -> tuple[str, ...]:
        return tuple(c.name for c in contenders if not model_roster.is_meant(c, cell) or c.unfit_for(cell))

    if experiment.kind != MODEL:
        return experiment
    return replace(experiment, cells=tuple(replace(cell, without=left_out(cell)) for cell in experiment.cells))


def shaped(plan: Plan, options, fd_limit: int) -> tuple[Plan, list[str]]:
    """Returns the plan as options and fd limit allow, and sentences about what does not fit."""
    plan = plans.chosen(plan, options.experiments, options.variants)
    kept, left = [], []
    for experiment in plan.experiments:
        fitted, unfit = schedule.fitting(experiment, fd_limit)
        left += unfit
        fitted = replace(fitted, trace_calls=fitted.trace_calls and not options.no_calls,
                         duels=fitted.duels.shaped(options.blocks, options.run_seconds))
        if options.run_seconds:
            as_asked = tuple(replace(cell, least_turn_s=0.0) if cell.least_turn_s else cell for cell in fitted.cells)
            fitted = replace(fitted, cells=as_asked, budget_s=None)
        if fitted.cells:
            kept.append(fitted)
    budget = None if options.run_seconds else options.budget or plan.budget_s
    return replace(plan, experiments=tuple(kept), budget_s=budget), left


def elsewhere(plan: Plan, host: ServerHost | None) -> tuple[Plan, list[str]]:
    """Returns the part of the plan whose servers can run on another machine, and sentences about the rest."""
    if host is None:
        return plan, []
    left = ["system calls: not counted, because strace would run on this machine"]
    left += [f"{drum.TITLE}: its programs run on one machine, without a generator"] if plan.drum else []
    left += [f"{plans.COMPILERS.title}: programs that are built here are not on that machine"] if plan.variants else []
    left += [f"{each.title}: its certificate is made here" for each in plan.experiments if each.kind in TLS_KINDS]
    kept = tuple(replace(each, trace_calls=False) for each in plan.experiments
                 if each.name != plans.COMPILERS.name and each.kind not in TLS_KINDS)
    return replace(plan, experiments=kept, drum=None, variants=False), left


def with_twin(experiment: Experiment, contenders: list[Contender]) -> list[Contender]:
    """Returns the contenders and the A/A twin: a second copy of one of them, which the duel itself starts."""
    return contenders + [replace(c, name=experiment.twin_name, note="the same program a second time (A/A)", shown=False)
                         for c in contenders if c.name == experiment.twin_of]


def _built(*programs: Path | str) -> dict[str, list[int]]:
    """Returns each program's size and build time. A lab does not resume with other programs."""
    found = {}
    for name in map(str, programs):
        about = os.stat(shutil.which(name) or name)
        found[name] = [about.st_size, about.st_mtime_ns]
    return found


class Comparison:
    """One plan that is carried out, with its store, its contenders and its clock."""

    def __init__(self, plan: Plan, options, left_out: list[str]):
        self._plan = plan
        self._options = options
        self._began = time.monotonic()
        self._host = ServerHost.of(options)
        bin_dir = self._host.bin_dir if self._host else options.bin
        self._known = self._ask(bin_dir)
        there = self._known.programs if self._host else None
        self._of_models = plan.name in model_plans.PLANS
        models = self._models() if self._of_models else []
        self._drummers = drum.given(options.bin, options.contender) if plan.drum and not self._host else []
        self._ready, absent = roster.choose(bin_dir, options.contender, options.only,
                                            MODEL if self._of_models else "", models, there)
        kinds = {contender.name: contender.kind for contender in roster.built_in(bin_dir) + models}
        self.left_out = [line for line in absent if self._is_wanted(name := line.partition(":")[0], kinds.get(name))]
        self.left_out += left_out
        self._program = options.bin / "peal"
        if not shutil.which(str(self._program)):
            raise CannotCompare(f"{self._program}, the load generator, is missing: run `make build` first.")
        if not any(self._of(experiment) for experiment in plan.experiments) and not plan.drum:
            raise CannotCompare(f"No contender can run: {'; '.join(absent)}. Run `make build` first.")
        self._store = Store(options.out, {"plan": plan.name, "seed": options.seed, "blocks": options.blocks,
                                          "experiments": [experiment.name for experiment in plan.experiments],
                                          "run_seconds": options.run_seconds,
                                          "contenders": self._commands(),
                                          "programs": _built(self._program, *self._started()),
                                          "server_host": self._host.name if self._host else None})
        self._built: list[Contender] = []
        self._machines_of_a_duel: dict | None = None  # machines_of() of the last duel

    def _ask(self, bin_dir: Path) -> Known:
        if not self._host:
            return Known()
        everybody = roster.built_in(bin_dir) + [roster.given(text) for text in self._options.contender]
        return self._host.known(roster.programs_of(everybody))

    def _started(self) -> list[str]:
        """Returns the programs of all contenders that can run on this machine."""
        here = [] if self._host else [c.program for c in self._ready]
        return here + [each.command[0] for each in drum.ready(self._drummers)[0]]

    def _commands(self) -> dict[str, str]:
        """Returns each contender's command. If it was given on the command line, its key names its kind too, because
        two may share a name."""
        own = {c.name: shlex.join(c.command) for c in self._ready if not c.given}
        given = {("" if c.kind == PINGPONG else f"{c.kind}:") + c.name: shlex.join(c.command)
                 for c in self._ready if c.given}
        return own | given | {f"{drum.NAME}:{each.name}": shlex.join(each.command) for each in self._drummers}

    def _models(self) -> list[Contender]:
        """Returns every model that the program lists; in the full plan with every variant."""
        program = self._options.bin / "peal"
        return model_roster.rows_of(model_roster.listed_by(program), program, self._plan.name == model_plans.FULL.name)

    def _is_wanted(self, name: str, kind: str | None) -> bool:
        """True if an experiment would run this absent contender. A `kind` of None means that it was given by hand."""
        return any(kind in (None, experiment.kind) and (self._options.only or not experiment.contenders
                   or name in experiment.contenders) for experiment in self._plan.experiments)

    def _of(self, experiment: Experiment) -> list[Contender]:
        """Returns the contenders of `experiment`: of its kind, and named by it, by --only, or given on the command
        line."""
        return [c for c in self._ready if c.kind == experiment.kind
                and (c.name in experiment.contenders or not experiment.contenders
                     or (experiment.name != plans.COMPILERS.name and (c.given or self._options.only)))]

    def _left_s(self) -> float | None:
        if self._plan.budget_s is None:
            return None
        return self._plan.budget_s - REPORT_RESERVE_S - (time.monotonic() - self._began)

    def _on_budget(self, experiment: Experiment, at: int) -> Experiment:
        left = self._left_s()
        if left is None:
            return experiment
        after = sum(other.share for other in self._plan.experiments[at + 1 :])
        after += self._plan.drum_share if self._plan.drum else 0.0
        return replace(experiment, budget_s=max(1.0, schedule.share_of(left, experiment.share, after)))

    def _variants(self) -> list[Contender]:
        if not self._plan.variants:
            return []
        wanted = next(each.contenders for each in self._plan.experiments if each.name == plans.COMPILERS.name)
        ready, absent = variants.build(self._ready, wanted, terminal.say, os.cpu_count() or 1)
        self.left_out += absent
        return ready

    def _experiment(self, at: int) -> dict | None:
        experiment = self._plan.experiments[at]
        contenders = self._of(experiment)
        if experiment.name == plans.COMPILERS.name:
            contenders += self._built
        if not contenders:
            self.left_out.append(f"{experiment.title}: there is no contender of its kind ({experiment.kind})")
            return None
        if experiment.kind in TLS_KINDS:
            try:
                contenders = certificate.made_in(self._options.out / "tls", self._program).given_to(contenders)
            except certificate.NoCertificate as error:
                self.left_out.append(f"{experiment.title}: {error}")
                return None
        contenders = with_twin(experiment, contenders)
        experiment = self._on_budget(placed(experiment, contenders), at)
        campaign = DuelCampaign(experiment, contenders, self._program, self._options.out / "duels", self._store,
                                self._options.seed, terminal.say, self._host)
        campaign.run()
        self.left_out += campaign.left_out
        played = campaign.contenders
        calls = _count_calls(experiment, played)
        where = self._machines_of_a_duel = campaign.machines or self._machines_of_a_duel
        placement = server_host.placement(where) if where else ""
        return experiment_results.of(experiment, played, self._store, calls, placement)

    def _drum(self) -> dict:
        """Runs experiment 2, whose programs need no generator. drum.py has its cells and its findings."""
        left = self._left_s()
        plan = replace(self._plan.drum, blocks=self._options.blocks or self._plan.drum.blocks,
                       budget_s=None if left is None else max(1.0, left))
        return drum.run(plan, self._options.bin, self._store, self._options.seed, terminal.say,
                        others=self._drummers)

    def run(self, command: str) -> dict:
        """Runs everything. Returns the results in the format of results.json."""
        options = self._options
        terminal.say(f"seed {options.seed}; runs are kept in {options.out}/runs.ndjson")
        for line in self.left_out:
            terminal.say(f"left out: {line}")
        started = time.strftime("%Y-%m-%d %H:%M:%S %Z")
        described = environment.describe(options.bin, process.Pins.of(1).words)
        self._built = self._variants()
        self._began = time.monotonic()  # building does not count towards the budget
        try:
            done = [self._experiment(at) for at in range(len(self._plan.experiments))]
            drummed = self._drum() if self._plan.drum else None
        finally:
            self._store.close()
        experiment_results.judged([experiment for experiment in done if experiment])
        described, machines = server_host.machines(self._host, self._known, described, self._machines_of_a_duel)
        results = {
            "schema": 2, "seed": options.seed, "plan": {"name": self._plan.name, "title": self._plan.title},
            "started": started, "elapsed_s": time.monotonic() - self._began, "environment": described,
            "two_machines": machines,
            "command": command, "left_out": list(dict.fromkeys(self.left_out)),
            "experiments": [experiment for experiment in done if experiment], "drum": drummed,
        }
        return results | {"findings": (model_findings if self._of_models else published_findings).of(results)}


def compare(name: str, options, command: str) -> dict:
    """Carries out the plan `name`, writes its files to options.out and returns the results. Raises CannotCompare."""
    plan, unfit = shaped(plans.BY_NAME[name], options, process.raise_fd_limit())
    plan, missed = elsewhere(plan, ServerHost.of(options))
    results = Comparison(plan, options, unfit + missed).run(command)
    _write(results, options.out)
    return results


def _write(results: dict, folder: Path) -> None:
    from versus.page import report  # imported late, so that the measuring process does not load matplotlib

    (folder / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    report.write(results, folder / "report.html")
