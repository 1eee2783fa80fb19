# SPDX-License-Identifier: BSD-3-Clause
"""Server CPU per request at a fixed rate: peal's callbacks on epoll / the best hand-written epoll reactor of models/,
one loop each, framed echo of 64 B at 100 and 1000 connections and of 4 KiB at 100."""

from versus.models import model_plans, model_roster
from versus.analysis import Analysis
from versus.bars.common import CannotMeasure, Context, Row
from versus.run.campaign import Campaign
from versus.comparison import placed, with_twin
from versus.experiments import Experiment
from versus.models.model_plans import BAR, CLAIM_CELLS, HAND_WRITTEN, SUBJECT, claims_of
from versus.roster import MODEL, Contender
from versus.run.runner import Runner
from versus.run.store import Store
from versus.terminal import Progress
from versus.page.verdict import span

RUN_S, WARMUP_S = 0.7, 0.15


def _contenders(context: Context) -> list[Contender]:
    program = context.bin_dir / "peal"
    rivals = model_plans.ALL_HAND_WRITTEN if context.everyone else HAND_WRITTEN
    rows = model_roster.rows_of(model_roster.listed_by(program), program)
    found = [row for row in rows if row.name in (SUBJECT, *rivals)]
    if SUBJECT not in [row.name for row in found] or len(found) < 2:
        raise CannotMeasure(f"{program} does not list peal_callbacks and the hand-written reactors")
    return found


def _experiment(context: Context, rivals: tuple[str, ...]) -> Experiment:
    return Experiment("bench-models", "Server CPU per request, peal beside the hand-written reactors", CLAIM_CELLS,
                      claims_of(CLAIM_CELLS, rivals), max(context.blocks, model_plans.QUICK_CLAIMS.blocks), WARMUP_S,
                      run_s=RUN_S, trace_calls=False, kind=MODEL, unit="request",
                      grid=model_plans.EACH_BESIDE_PEAL, twin_of=SUBJECT)


def measure(context: Context) -> list[Row]:
    context.tool("peal")
    contenders = _contenders(context)
    experiment = _experiment(context, tuple(c.name for c in contenders if c.name != SUBJECT))
    folder = context.out / "model_cost"
    store = Store(folder, {"seed": context.seed, "blocks": experiment.blocks,
                           "contenders": [contender.name for contender in contenders]})
    contenders = with_twin(experiment, contenders, folder)
    progress = Progress()
    try:
        campaign = Campaign(placed(experiment, contenders), contenders, Runner(context.bin_dir / "peal", folder), store,
                            context.seed, progress)
        campaign.run()
        analysis = Analysis(experiment, [c.name for c in campaign.contenders], store.records, context.seed)
        costs = {(row["cell"], row["contender"]): row["server_us"] for row in analysis.costs({})}
        return [_row(claim, costs, experiment) for claim in analysis.claims()]
    finally:
        progress.end()
        store.close()


def _row(claim: dict, costs: dict[tuple[str, str], float], experiment: Experiment) -> Row:
    def micros(name: str) -> str:
        cost = costs.get((claim["cell"], name))
        return "-" if cost is None else f"{cost:.3f}"

    beside = ", ".join(f"{name} {micros(name)}" for name in experiment.claims[0].best_of)
    figure = f"server CPU per request, {claim['subject']} / {claim['rival']}, {experiment.cell(claim['cell']).title}"
    measured = f"{span(claim)}; {micros(claim['subject'])} us; {beside} us"
    return Row(figure, f"<= {BAR}", measured, claim["verdict"], claim)
