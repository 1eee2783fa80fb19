# SPDX-License-Identifier: BSD-3-Clause
"""Server CPU per message at a fixed rate, peal / raw, in each of {64 B, 16 KiB} x {100, 1000}."""

from versus import roster
from versus.analysis import Analysis
from versus.bars.common import CannotMeasure, Context, Row
from versus.run.campaign import Campaign
from versus.experiments import Cell, Claim, Experiment
from versus.run.runner import Runner
from versus.stats import fewest_blocks_for
from versus.run.store import Store
from versus.terminal import Progress
from versus.page.verdict import span

BAR = 1.05
CELLS = tuple(Cell(size, connections) for size in (64, 16384) for connections in (100, 1000))
PAIRS = (("peal-epoll", "raw-epoll"), ("peal-uring", "raw-uring"))
NAMES = tuple(name for pair in PAIRS for name in pair)
RUN_S, WARMUP_S = 0.7, 0.15


def measure(context: Context) -> list[Row]:
    contenders = context.contenders(NAMES)
    ready = {contender.name for contender in contenders}
    claims = tuple(Claim(subject, rival, cell.name, bar=BAR) for subject, rival in PAIRS for cell in CELLS
                   if {subject, rival} <= ready)
    if not claims:
        raise CannotMeasure("neither peal nor the raw loops were built")
    context.tool("peal")
    folder = context.out / "cost_ratio"
    experiment = Experiment("bench-cost", "Server CPU per message", CELLS, claims,
                            max(context.blocks, fewest_blocks_for(len(claims))), WARMUP_S, run_s=RUN_S)
    store = Store(folder, {"seed": context.seed, "blocks": experiment.blocks, "contenders": sorted(ready)})
    twin = roster.twin(contenders, folder / "twin")
    progress = Progress()
    try:
        campaign = Campaign(experiment, contenders + ([twin] if twin else []),
                            Runner(context.bin_dir / "peal", folder), store, context.seed, progress)
        campaign.run()
        progress.end()
        analysis = Analysis(experiment, [c.name for c in campaign.contenders], store.records, context.seed)
        costs = {(row["cell"], row["contender"]): row for row in analysis.costs({})}
        rows = [_row(claim, costs, experiment) for claim in analysis.claims()]
        if context.everyone:
            rows += [Row(f"the same, {pair['subject']} / {pair['rival']}, {pair['cell']}", "-", span(pair), "", pair)
                     for pair in analysis.pairs() if (pair["subject"], pair["rival"]) not in PAIRS]
        return rows
    finally:
        store.close()


def _row(claim: dict, costs: dict, experiment: Experiment) -> Row:
    def micros(name: str) -> str:
        row = costs.get((claim["cell"], name))
        return f"{row['server_us']:.3f}" if row else "-"

    subject, rival = claim["subject"], claim["rival"]
    beside = "" if rival == "raw-epoll" else f"; raw-epoll {micros('raw-epoll')}"
    measured = f"{span(claim)}; {micros(subject)} / {micros(rival)} us{beside}"
    figure = f"server CPU per message, {subject} / {rival}, {experiment.cell(claim['cell']).title}"
    return Row(figure, f"<= {BAR}", measured, claim["verdict"], claim)
