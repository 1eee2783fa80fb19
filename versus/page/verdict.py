# SPDX-License-Identifier: BSD-3-Clause
"""The verdict in plain words, from the claims and the pairs."""

from versus.experiments import METRICS
from versus.findings import VERDICTS
from versus.models.model_analysis import winners
from versus.roster import PINGPONG
from versus.stats import AT_THE_BAR, CANNOT_TELL, MET, NOT_MEASURED, NOT_MET

SPOKEN = {MET: "met", NOT_MET: "not met", AT_THE_BAR: "at the bar", CANNOT_TELL: "cannot be told",
          NOT_MEASURED: "not measured"}
WITHOUT_CLAIMS = "No claim was declared for what ran; the ratios and the published findings stand below."
UNQUIET_SHARE = 0.1
SPOKEN_CELLS = 4


def number(value: float | None, digits: int = 2) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"


def span(row: dict, digits: int = 2) -> str:
    """"0.98 (0.97 to 1.01)"."""
    if row["ratio"] is None:
        return "-"
    if row["low"] is None:
        return f"{row['ratio']:.{digits}f} (too few runs for an interval)"
    return f"{row['ratio']:.{digits}f} ({row['low']:.{digits}f} to {row['high']:.{digits}f})"


def headline(claims: list[dict], without: str = WITHOUT_CLAIMS) -> tuple[str, str]:
    """(tone, sentence) of the banner; the tone is good, bad or unsure. `without` is the sentence where no claim is."""
    verdicts = [claim["verdict"] for claim in claims]
    if not verdicts:
        return "unsure", without
    if set(verdicts) == {NOT_MEASURED}:
        return "unsure", "No claim was measured: the contenders it speaks of did not run, or too seldom."
    if set(verdicts) == {MET}:
        return "good", f"All {len(verdicts)} claims declared beforehand are met."
    told = [f"{verdicts.count(verdict)} {words}" for verdict, words in SPOKEN.items() if verdict in verdicts]
    tone = "bad" if NOT_MET in verdicts else "good" if set(verdicts) <= {MET, AT_THE_BAR} else "unsure"
    return tone, f"Of {len(verdicts)} claims declared beforehand: {', '.join(told)}."


def sentences(results: dict) -> list[str]:
    """What was found, a sentence a cell, experiment by experiment; then how the published findings stand."""
    lines = []
    for experiment in results["experiments"]:
        say = _of_models if "rows" in experiment else _of_pingpong if experiment["kind"] == PINGPONG else _of_http
        lines += say(experiment)
    found = [row["verdict"] for row in results["findings"]]
    told = ", ".join(f"{found.count(verdict)} {verdict}" for verdict in VERDICTS if verdict in found)
    return lines + ([f"Published findings: {told}."] if told else []) + disturbance(results)


def _spoken_cells(experiment: dict) -> dict[str, str]:
    """Titles by cell: all, or of many those that claims are about."""
    titles = {cell["name"]: cell["title"] for cell in experiment["cells"]}
    if len(titles) > SPOKEN_CELLS:
        claimed = {claim["cell"] for claim in experiment["claims"]}
        titles = {name: title for name, title in titles.items() if name in claimed}
    return titles


def _of_http(experiment: dict) -> list[str]:
    """Throughput of each cell, the fastest first; a lower bound is marked as one."""
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
    """Of the grid, who is best in each of the first situations; the claims and the published loads speak elsewhere."""
    if experiment["claims"] or not experiment["pairs"]:
        return []
    lines = []
    for row in winners(experiment)[:SPOKEN_CELLS]:
        told = [f"{entry['metric']} {entry['value']} ({entry['best']})" for entry in row["entries"] if entry["best"]]
        lines += [f"{row['title']}, the best: {', '.join(told)}."] if told else []
    return lines


def _of_pingpong(experiment: dict) -> list[str]:
    """From peal-epoll's side."""
    lines = []
    for cell, title in _spoken_cells(experiment).items():
        mine = [pair for pair in experiment["pairs"]
                if pair["cell"] == cell and pair["subject"] == "peal-epoll" and pair["ratio"] is not None]
        cpu = {pair["rival"]: pair for pair in mine if pair["metric"] == "server_cpu"}
        speed = {pair["rival"]: pair for pair in mine if pair["metric"] == "speed"}
        parts = []
        if "raw-epoll" in cpu:
            parts.append(f"{span(cpu['raw-epoll'])} times the {METRICS['server_cpu'][0]} of the raw epoll loop")
        if "raw-epoll" in speed:
            parts.append(f"{span(speed['raw-epoll'])} times its round trips per second")
        proven = {claim["rival"] for claim in experiment["claims"] if claim["cell"] == cell and claim["bar"] == 1.0
                  and claim["subject"] == "peal-epoll" and claim["verdict"] == "met"}
        proven |= {name for name, pair in cpu.items() if pair["says"] == "less CPU"}
        rivals = [name for name in cpu if name in proven and not name.startswith(("raw", "peal"))]
        if rivals:
            parts.append(f"less CPU than {_listed(rivals)}")
        dearer = [name for name, pair in cpu.items()
                  if pair["says"] == "more CPU" and not name.startswith("peal")]
        if dearer:
            parts.append(f"but more CPU than {_listed(dearer)}")
        if parts:
            lines.append(f"{title}: peal on epoll takes {', '.join(parts)}.")
    return lines


def every_run(results: dict) -> list[dict]:
    """The runs of all experiments, the drum's among them."""
    return [run for part in [*results["experiments"], results["drum"]] if part for run in part["runs"]]


def _is_disturbed(run: dict) -> bool:
    return any(gate["name"] in ("steal", "foreign_load") for gate in run["gates"])


def _duel_of(run: dict) -> tuple | None:
    is_restart = "rounds" in run.get("figures", {})
    return (run["experiment"], run["cell"], run["mode"], run["block"] < 0) if is_restart else None


def disturbance(results: dict) -> list[str]:
    """A warning where steal or foreign load marked more than a tenth of the runs; what is said of a duel is said in
    its first restart, and is about all of them."""
    runs = every_run(results)
    duels = {_duel_of(run) for run in runs if _is_disturbed(run)} - {None}
    marked = sum(1 for run in runs if _is_disturbed(run) or _duel_of(run) in duels)
    if marked <= UNQUIET_SHARE * len(runs):
        return []
    return [f"The machine was not quiet: steal or the load of other programs marked {marked} of {len(runs)} "
            "runs, so intervals are wider than they need be. Run it again on an idle machine."]


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
