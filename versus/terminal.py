# SPDX-License-Identifier: BSD-3-Clause
"""The terminal's output: a line for each duel while the lab runs, and tables at the end."""

import sys

from versus.page import verdict
from versus.page.verdict import number
from versus.models.model_analysis import CPU, MEMORY, SPEED, TAIL
from versus.roster import MODEL, PINGPONG


def say(text: str) -> None:
    """Prints a line about the progress."""
    print(text, file=sys.stderr, flush=True)


def table(header: list[str], rows: list[list[str]], sides: str = "<") -> str:
    """Returns a table. Columns are as wide as their widest entry; `sides` aligns each one ("<" or ">"; ">" if it is
    shorter)."""
    sides = sides.ljust(len(header), ">")
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    lines = []
    for row in [header, *rows]:
        lines.append("  ".join(f"{text:{side}{width}}" for text, side, width in zip(row, sides, widths)).rstrip())
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)


def claims_table(claims: list[dict], digits: int = 2) -> str:
    rows = [[claim["sentence"], verdict.span(claim, digits), ": ".join(filter(None, (claim["verdict"], claim["why"])))]
            for claim in claims]
    return table(["claim", "ratio (95 % interval)", "verdict"], rows, "<<<")


def _subject_of(experiment: dict) -> str:
    """Returns the contender that the table compares with each other one: peal's, or the one that has the A/A twin."""
    return "peal-epoll" if experiment["kind"] == PINGPONG else experiment["twin_of"]


def _pair_beside(experiment: dict, cell: str, name: str) -> str:
    """Returns the ratio of the experiment's subject and the contender `name`, in the direction in which the pair was
    made."""
    subject = _subject_of(experiment)
    for pair in experiment["pairs"]:
        if (pair["cell"], pair["metric"]) != (cell, "server_cpu"):
            continue
        if (pair["subject"], pair["rival"]) in ((subject, name), (name, subject)):
            return f"{pair['subject'] if pair['rival'] == subject else subject} / " \
                   f"{pair['rival']} {verdict.span(pair)}, {pair['says']}"
    return ""


def _cell_table(experiment: dict, cell: dict) -> str:
    unit = experiment["unit"]
    per, scale = ("min", 60.0) if unit == "page" else ("s", 1.0)
    saturation = {row["contender"]: row for row in experiment["saturation"] if row["cell"] == cell["name"]}
    rows = []
    for row in (row for row in experiment["costs"] if row["cell"] == cell["name"]):
        name = row["contender"]
        full = saturation.get(name)
        top = "-"
        if full is not None:
            mark = "≥" if full["lower_bound"] else "~" if full["never_saturated"] else ""
            top = mark + f"{full['messages_per_s'] * scale:,.0f}"
        rows.append([name, number(row["server_us"], 3), number(row["sum_us"], 3), number(row["calls"], 2),
                     number(row["switches"], 3), top, _pair_beside(experiment, cell["name"], name)])
    header = ["contender", f"server us/{unit}", "+ client", "calls", "switches", f"closed loop {unit}s/{per}",
              "server CPU, ratio"]
    how = f"at {cell['rate']:,.0f} {unit}s/s" if cell["rate"] else "closed loop"
    return f"{cell['title']} ({how})\n" + table(header, rows, "<>>>>><")


def _model_table(experiment: dict, cell: dict) -> str:
    """Returns a table of all models in a situation: first those that served all connections, by speed."""
    rows = sorted((row for row in experiment["rows"] if row["cell"] == cell["name"]),
                  key=lambda row: (row["served"] < row["asked"], -(row["messages_per_s"] or 0.0)))
    shown = [[row["contender"], f"{row['served']}/{row['asked']}", SPEED.shown(row["messages_per_s"]),
              TAIL.shown(row["p50_us"]), TAIL.shown(row["p99_us"]), CPU.shown(row["server_us"]),
              number(row["switches"], 3), MEMORY.shown(row["rss_bytes"])] for row in rows]
    header = ["model", "served", "requests", "p50", "p99", "server CPU/request", "switches/request", "memory"]
    return f"{cell['title']}\n" + table(header, shown)


def _experiment_tables(experiment: dict) -> list[str]:
    parts = [f"== {experiment['title']}"]
    if experiment["kind"] == MODEL and not experiment["claims"]:
        return [*parts, *(_model_table(experiment, cell) for cell in experiment["cells"])]
    parts += [_cell_table(experiment, cell) for cell in experiment["cells"]]
    noise = ", ".join(f"{row['cell']} ±{(row['floor'] - 1) * 100:.1f} %" for row in experiment["noise"]
                      if row["metric"] == "server_cpu" and row["floor"])
    parts.append(f"Noise floor of the A/A twin ({experiment['twin']}): {noise or 'not measured'}")
    if experiment["claims"]:
        parts.append(claims_table(experiment["claims"]))
    return parts


def _drum_tables(drummed: dict) -> list[str]:
    """Returns tables of microseconds per round. If there are many rings, returns only those of the largest one."""
    parts = [f"== {drummed['title']}"]
    largest = max((cell["pairs"] for cell in drummed["cells"]), default=0)
    for cell in (cell for cell in drummed["cells"] if cell["pairs"] == largest):
        rows = [[row["contender"], number(row["total_median_us"], 1), number(row["loop_median_us"], 1),
                 number(row["waits"], 1), number(row["events_per_wait"], 1)]
                for row in drummed["rows"] if row["cell"] == cell["name"]]
        parts.append(f"{cell['title']} (median round, microseconds)\n"
                     + table(["contender", "total", "loop", "waits", "events/wait"], rows))
    return parts


def summary(results: dict) -> str:
    """Returns the tables and the verdict."""
    parts = [part for experiment in results["experiments"] for part in _experiment_tables(experiment)]
    parts += _drum_tables(results["drum"]) if results["drum"] else []
    judged = [row for row in results["findings"] if row["verdict"] != "not measurable here"]
    if judged:
        lines = [f"{row['verdict']:<12}  {row['experiment']}: {row['sentence']}\n{'':14}{row['figure']}"
                 for row in judged]
        parts.append("\n".join(["== Published findings (the others were not measurable here)", *lines]))
    runs = verdict.every_run(results)
    marked = [run for run in runs if run["gates"]]
    invalid = sum(1 for run in marked if run["status"] == "INVALID")
    parts.append(f"Gates: {len(marked)} of {len(runs)} runs marked, {invalid} of them INVALID.")
    parts += [f"Left out: {line}" for line in results["left_out"]]
    parts += [results["two_machines"]] if results.get("two_machines") else []
    claims = [claim for experiment in results["experiments"] for claim in experiment["claims"]]
    parts.append("\n".join(["Verdict: " + verdict.headline(claims)[1], *verdict.sentences(results)]))
    return "\n\n".join(parts)
