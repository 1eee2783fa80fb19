# SPDX-License-Identifier: BSD-3-Clause
"""Writes the verdict in plain words, from the claims and the pairs."""

from versus.experiments import METRICS
from versus.findings import VERDICTS
from versus.models.model_analysis import winners
from versus.roster import PINGPONG
from versus.stats import AT_THE_BAR, CANNOT_TELL, MET, NOT_MEASURED, NOT_MET

SPOKEN = {MET: "met", NOT_MET: "not met", AT_THE_BAR: "at the bar", CANNOT_TELL: "undecided",
          NOT_MEASURED: "not measured"}
WITHOUT_CLAIMS = "No claim was declared for what ran. The ratios and the published findings are below."
UNQUIET_SHARE = 0.1
SPOKEN_CELLS = 4


def number(value: float | None, digits: int = 2) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"


def span(row: dict, digits: int = 2) -> str:
    """Returns a ratio with its interval, for example "0.98 (0.97 to 1.01)"."""
    if row["ratio"] is None:
        return "-"
    if row["low"] is None:
        return f"{row['ratio']:.{digits}f} (too few runs for an interval)"
    return f"{row['ratio']:.{digits}f} ({row['low']:.{digits}f} to {row['high']:.{digits}f})"


def headline(claims: list[dict], without: str = WITHOUT_CLAIMS) -> tuple[str, str]:
    """Returns (tone, sentence) of the banner. The tone is good, bad or unsure. `without` is the sentence if there are
    no claims."""
    verdicts = [claim["verdict"] for claim in claims]
    if not verdicts:
        return "unsure", without
    if set(verdicts) == {NOT_MEASURED}:
        return "unsure", "No claim was measured: their contenders did not run, or not often enough."
    if set(verdicts) == {MET}:
        return "good", f"All {len(verdicts)} claims declared beforehand are met."
    told = [f"{verdicts.count(verdict)} {words}" for verdict, words in SPOKEN.items() if verdict in verdicts]
    tone = "bad" if NOT_MET in verdicts else "good" if set(verdicts) <= {MET, AT_THE_BAR} else "unsure"
    return tone, f"Of {len(verdicts)} claims declared beforehand: {', '.join(told)}."


def sentences(results: dict) -> list[str]:
    """Returns sentences about what was found: one per cell for each experiment, then the state of the published
    findings."""
    lines = []
    for experiment in results["experiments"]:
        say = _of_models if "rows" in experiment else _of_pingpong if experiment["kind"] == PINGPONG else _of_http
        lines += say(experiment)
    found = [row["verdict"] for row in results["findings"]]
    told = ", ".join(f"{found.count(verdict)} {verdict}" for verdict in VERDICTS if verdict in found)
    return lines + ([f"Published findings: {told}."] if told else []) + disturbance(results)


def _spoken_cells(experiment: dict) -> dict[str, str]:
    """Returns titles by cell. If there are many cells, returns only those with claims."""
    titles = {cell["name"]: cell["title"] for cell in experiment["cells"]}
    if len(titles) > SPOKEN_CELLS:
        claimed = {claim["cell"] for claim in experiment["claims"]}
        titles = {name: title for name, title in titles.items() if name in claimed}
    return titles


def _of_http(experiment: dict) -> list[str]:
    """Returns the throughput of each cell, the fastest first. A lower bound is marked."""
    lines = []
    for cell, title in _spoken_cells(experiment).items():
        rows = sorted((row for row in experiment["saturation"] if row["cell"] == cell),
                      key=lambda row: -row["messages_per_s"])
        per, scale = ("pages/min", 60.0) if experiment["unit"] == "page" else (f"{experiment['unit']}s/s", 1.0)
        told = ", ".join(f"{row['contender'].removeprefix('http-')} {'≥ ' if row['lower_bound'] else ''}"
                         f"{row['messages_per_s'] * scale:,.0f}" for row in rows)
        if told:
            lines.append(f"{title} ({per}): {told}.")
    return lines


def _of_models(experiment: dict) -> list[str]:
    """Returns the best model in each of the grid's first situations. The claims and the published loads have their own
    sections."""
    if experiment["claims"] or not experiment["pairs"]:
        return []
    lines = []
    for row in winners(experiment)[:SPOKEN_CELLS]:
        told = [f"{entry['metric']} {entry['value']} ({entry['best']})" for entry in row["entries"] if entry["best"]]
        lines += [f"{row['title']}, the best: {', '.join(told)}."] if told else []
    return lines


def _of_pingpong(experiment: dict) -> list[str]:
    """Returns sentences from peal-epoll's point of view."""
    lines = []
    for cell, title in _spoken_cells(experiment).items():
        mine = [pair for pair in experiment["pairs"]
                if pair["cell"] == cell and pair["subject"] == "peal-epoll" and pair["ratio"] is not None]
        cpu = {pair["rival"]: pair for pair in mine if pair["metric"] == "server_cpu"}
        speed = {pair["rival"]: pair for pair in mine if pair["metric"] == "speed"}
        parts = []
        if "raw-epoll" in cpu:
            parts.append(f"needs {span(cpu['raw-epoll'])} times the {METRICS['server_cpu'][0]} of the raw epoll loop")
        if "raw-epoll" in speed:
            parts.append(f"makes {span(speed['raw-epoll'])} times its round trips per second")
        proven = {claim["rival"] for claim in experiment["claims"] if claim["cell"] == cell and claim["bar"] == 1.0
                  and claim["subject"] == "peal-epoll" and claim["verdict"] == "met"}
        proven |= {name for name, pair in cpu.items() if pair["says"] == "less CPU"}
        rivals = [name for name in cpu if name in proven and not name.startswith(("raw", "peal"))]
        if rivals:
            parts.append(f"needs less CPU than {listed(rivals)}")
        dearer = [name for name, pair in cpu.items()
                  if pair["says"] == "more CPU" and not name.startswith("peal")]
        if dearer:
            parts.append(f"but needs more CPU than {listed(dearer)}")
        if parts:
            lines.append(f"{title}: peal on epoll {', '.join(parts)}.")
    return lines


def every_run(results: dict) -> list[dict]:
    """Returns the runs of all experiments, including the drum's."""
    return [run for part in [*results["experiments"], results["drum"]] if part for run in part["runs"]]


def _is_disturbed(run: dict) -> bool:
    return any(gate["name"] in ("steal", "foreign_load") for gate in run["gates"])


def _duel_of(run: dict) -> tuple | None:
    is_restart = "rounds" in run.get("figures", {})
    return (run["experiment"], run["cell"], run["mode"], run["block"] < 0) if is_restart else None


def disturbance(results: dict) -> list[str]:
    """Returns a warning if steal or foreign load marked more than a tenth of the runs. A duel is marked only in its
    first restart, but the mark is about all of them."""
    runs = every_run(results)
    duels = {_duel_of(run) for run in runs if _is_disturbed(run)} - {None}
    marked = sum(1 for run in runs if _is_disturbed(run) or _duel_of(run) in duels)
    if marked <= UNQUIET_SHARE * len(runs):
        return []
    return [f"The machine was not quiet: steal or the load of other programs marked {marked} of {len(runs)} runs. "
            "Intervals are wider than necessary. Run it again on an idle machine."]


def listed(names: list[str]) -> str:
    """Returns the names as in a sentence: "a, b and c"."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
