# SPDX-License-Identifier: BSD-3-Clause
"""Makes docs/findings.md from the results of one or more runs. The page says of each published finding how it stands
today and by which figure, and of each run its date, machine and command. Pure, except for the files that are read."""

import json
from dataclasses import dataclass
from pathlib import Path

from versus import published
from versus.findings import published_findings
from versus.findings.judging import NOT_HERE, VERDICTS
from versus.models import model_findings

TITLES = {1: "Ping-pong throughput", 2: "Drum passing", 3: "REST servers under wrk", 4: "Web pages per minute",
          5: "Concurrency models"}
MACHINE = ("Processor", "CPUs usable", "Kernel", "C++ compiler", "C++ flags", "Open files")
HEAD = Path(__file__).parent / "findings_head.md"
# Begins the sentences that judge peal by a finding about muduo. They were not published, so they are not counted.
STAND_IN = "In muduo's place"
SCHEMA = 2  # of the results that are read


class BadResults(ValueError):
    """A file does not hold results; the message says why in one sentence."""


@dataclass(frozen=True)
class Told:
    """A finding as a run left it, and the index of that run among those that were read; -1: no run."""

    row: dict
    run: int

    @property
    def decides(self) -> bool:
        return self.row["verdict"] != NOT_HERE


def everything() -> list[dict]:
    """Every published finding, in order, as it stands without a run."""
    nothing = {"experiments": []}
    return published_findings.of(nothing) + model_findings.of(nothing)


def chosen(runs: list[dict]) -> list[Told]:
    """For each finding, what the last run that decides it says. If none decides it, the last run that says why not."""
    found = []
    for finding in everything():
        told = [Told(row, number) for number, results in enumerate(runs) for row in results["findings"]
                if (row["experiment"], row["sentence"]) == (finding["experiment"], finding["sentence"])]
        decided = [each for each in told if each.decides]
        why = [each for each in told if each.row["figure"] != finding["figure"]]
        found.append((decided or why or [Told(finding, -1)])[-1])
    return found


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _counts(told: list[Told]) -> list[str]:
    lines = ["| experiment | findings | " + " | ".join(VERDICTS) + " |", "|---|---|" + "---|" * len(VERDICTS)]
    for number in [*TITLES, 0]:
        rows = [each.row["verdict"] for each in told if number in (0, each.row["experiment"])
                and not each.row["sentence"].startswith(STAND_IN)]
        name = f"{number}: {TITLES[number]}" if number else "all"
        lines.append(f"| {name} | {len(rows)} | " + " | ".join(str(rows.count(verdict)) for verdict in VERDICTS) + " |")
    return lines


def _experiment(number: int, told: list[Told], runs: list[dict]) -> list[str]:
    lines = [f"## {number}. {TITLES[number]}", ""]
    lines += [f"- {source.what}: {source.where}" for source in published.SOURCES if source.experiment == number]
    lines += ["", "| published finding | today | the figure that decides |", "|---|---|---|"]
    rows = [each for each in told if each.row["experiment"] == number]
    lines += [f"| {_cell(each.row['sentence'])} | {each.row['verdict']} | {_cell(each.row['figure'])} |"
              for each in rows]
    for run in sorted({each.run for each in rows if each.run >= 0}):
        lines += ["", f"Measured {runs[run]['started'][:10]}: `{runs[run]['command']}`"]
    return lines


def _machine(runs: list[dict]) -> list[str]:
    described = [" · ".join(f"{name}: {run['environment'][name]}" for name in MACHINE if name in run["environment"])
                 for run in runs]
    return ["## The machine", "", *(f"- {line}" for line in dict.fromkeys(described))]


def text(runs: list[dict]) -> str:
    """The page. `runs` are results; if several decide a finding, the last of them counts."""
    told = chosen(runs)
    head = HEAD.read_text(encoding="utf-8").rstrip()
    parts = [[head], _counts(told), *(_experiment(number, told, runs) for number in TITLES), _machine(runs)]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def document(paths: list[Path]) -> str:
    """The page of the results.json in `paths`, or in folders there. Raises OSError, BadResults."""
    return text([_read(path / "results.json" if path.is_dir() else path) for path in paths])


def _read(file: Path) -> dict:
    try:
        results = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        results = None
    if _is_results(results):
        return results
    raise BadResults(f"{file} holds no results of `versus findings`, `full` or `models`")


def _is_results(results) -> bool:
    """Whether it has everything that the page needs."""
    kinds = {"findings": list, "started": str, "command": str, "environment": dict}
    return isinstance(results, dict) and results.get("schema") == SCHEMA \
        and all(isinstance(results.get(name), kind) for name, kind in kinds.items()) \
        and all(map(_is_finding, results["findings"]))


def _is_finding(row) -> bool:
    return isinstance(row, dict) and isinstance(row.get("experiment"), int) and row.get("verdict") in VERDICTS \
        and all(isinstance(row.get(name), str) for name in ("sentence", "figure"))

