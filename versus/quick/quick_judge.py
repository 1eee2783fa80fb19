# SPDX-License-Identifier: BSD-3-Clause
"""Turns duels into verdicts: one family of claims for the whole page.

Ratios, intervals and p come from the duels, whose unit is the restart. Ratios that a duel did not compute itself are
computed from its slices. judge.py decides what may be said about them.
"""

import math
import statistics

from versus import published, stats
from versus.duel import judge
from versus.duel.duel_figures import CPU, RATE, obstacle, pair_of
from versus.duel.duel_runner import Duel
from versus.findings import published_findings
from versus.gates import full_before
from versus.models import model_findings
from versus.quick.quick_plan import PUBLISHED, DuelClaim, Published, cell_named

HOLDS, NO_LONGER = "true here", "not true here"
LAB, MODELS, UNPACKAGED = "by make lab", "by make models", "about programs that are in no package"
DRUM = 2  # the quick page itself shows the findings of this experiment
FIGURES = ("ratio", "low", "high", "restarts")
PEALS = ("peal-epoll", "peal-uring", "http-peal-epoll")
CROWD = "64Bx1000"  # the cell whose connections are enough to see what one costs in memory


def judge_twins(duels: list[Duel]) -> None:
    """Decides whether a program differs from itself, with all twins of the page as one family. Each duel has judged its
    own twin alone, at p <= 0.01. With five cells, this would cost one page in twenty a cell by chance. Changes the
    duels' JSON."""
    for metric in (CPU, RATE):
        twins = [(duel.found, twin) for duel in duels for twin in duel.found["twins"] if twin["metric"] == metric]
        answers = judge.ask([judge.question(twin["logs"]) for _, twin in twins])
        for (found, twin), answer in zip(twins, answers):
            if twin["verdict"] not in judge.APART or answer["verdict"] in judge.APART:
                continue
            twin["verdict"] = stats.CANNOT_TELL
            if metric == CPU:
                _judge_again(found)


def _judge_again(found: dict) -> None:
    """Judges the pairs of a duel again whose twin does not differ after all."""
    pairs = [pair for pair in found["pairs"] if pair["metric"] == CPU]
    answers = judge.ask([judge.question(pair["logs"], obstacle=obstacle(found, CPU, (pair["subject"], pair["rival"])))
                         for pair in pairs])
    for pair, answer in zip(pairs, answers):
        pair["verdict"] = answer["verdict"]


def claims(duels: list[Duel], declared: tuple[DuelClaim, ...]) -> list[dict]:
    """Returns each claim's verdict. Holm's correction covers all declared claims, measured or not."""
    by_name = {duel.load.name: duel.found for duel in duels}
    found = [by_name[claim.cell] if _play(by_name.get(claim.cell), claim) else None for claim in declared]
    answers = judge.ask([judge.question(pair_of(duel, CPU, claim.subject, claim.rival).logs if duel else (),
                                        bar=claim.bar,
                                        obstacle=obstacle(duel, CPU, (claim.subject, claim.rival)) if duel else "")
                         for claim, duel in zip(declared, found)])
    rows = []
    for claim, duel, answer in zip(declared, found, answers):
        told = (answer["verdict"], answer["why"]) if duel else (stats.NOT_MEASURED, "one of the two did not play")
        rows.append({"subject": claim.subject, "rival": claim.rival, "cell": claim.cell, "bar": claim.bar,
                     "p_adjusted": answer["p_adjusted"], "sentence": claim.sentence(cell_named(claim.cell)),
                     "verdict": told[0], "why": told[1]} | {key: answer[key] for key in FIGURES})
    return rows


def _play(duel: dict | None, claim: DuelClaim) -> bool:
    return duel is not None and {claim.subject, claim.rival} <= {each["name"] for each in duel["contenders"]}


def _bounded(duel: dict, name: str) -> bool:
    return any(contender["name"] == name and contender["bounded"] for contender in duel["contenders"])


def _question(past: Published, duel: dict) -> dict:
    full = [name for name in (past.subject, past.rival) if past.metric == RATE and _bounded(duel, name)]
    why = obstacle(duel, past.metric, (past.subject, past.rival)) or full_before(full)
    return judge.question(pair_of(duel, past.metric, past.subject, past.rival).logs, past.subject, past.rival,
                          least=past.least, most=past.most, obstacle=why)


def then_and_now(duels: list[Duel]) -> list[dict]:
    """Returns published figures beside those measured here, for the cells that were played."""
    by_name = {duel.load.name: duel for duel in duels}
    asked = [(past.played_by({each["name"] for each in by_name[past.cell].found["contenders"]}), by_name[past.cell])
             for past in PUBLISHED if past.cell in by_name]
    words = {judge.WITHIN: (HOLDS, ""), judge.OUTSIDE: (NO_LONGER, ""),
             judge.AT_THE_BOUND: (stats.CANNOT_TELL, "the interval contains the bound")}
    rows = []
    for (past, duel), answer in zip(asked, judge.ask([_question(past, duel.found) for past, duel in asked])):
        why = "one of the two did not play" if answer["ratio"] is None else answer["why"]
        verdict, why = words.get(answer["verdict"], (answer["verdict"], why))
        rows.append({"experiment": past.experiment, "sentence": past.sentence, "then": past.then,
                     "what": f"{past.subject} / {past.rival}", "cell": duel.load.title, "verdict": verdict, "why": why}
                    | {key: answer[key] for key in FIGURES})
    return rows


def comparisons(duels: list[Duel]) -> list[dict]:
    """Returns how each of peal's servers stands beside each other one, in each cell, in server CPU and in throughput.
    The ratios of one peal server in one metric are a family."""
    asked = []
    for duel in duels:
        names = [contender["name"] for contender in duel.found["contenders"]
                 if not contender["twin_of"] and not contender.get("fault")]
        asked += [(duel, metric, subject, rival) for metric in (CPU, RATE) for subject in names if subject in PEALS
                  for rival in names if rival not in PEALS]
    rows = []
    for (duel, metric, subject, rival), answer in zip(asked, judge.ask([_beside(*each) for each in asked])):
        full = metric == RATE and any(_bounded(duel.found, name) for name in (subject, rival))
        rows.append({"cell": duel.load.name, "metric": metric, "subject": subject, "rival": rival, "bounded": full,
                     "verdict": answer["verdict"], "why": answer["why"]} | {key: answer[key] for key in FIGURES})
    return rows


def _beside(duel: Duel, metric: str, subject: str, rival: str) -> dict:
    sides = (("subject", subject), ("rival", rival))
    return judge.question(pair_of(duel.found, metric, subject, rival).logs, subject, rival,
                          family=f"{metric} {subject}", obstacle=obstacle(duel.found, metric, (subject, rival)),
                          bounded=[side for side, name in sides if metric == RATE and _bounded(duel.found, name)])


def memory(duels: list[Duel]) -> list[dict]:
    """Returns the resident memory of each server with many connections, and how much of it came with each one: means
    over the restarts, in bytes. Linux counts in steps of up to 128 KiB for a process."""
    rows = []
    for duel in (duel for duel in duels if duel.load.name == CROWD):
        for contender in duel.found["contenders"]:
            after, before = contender["rss_by_restart"], contender["rss_start_by_restart"]
            served = contender["served_by_restart"]
            if contender["twin_of"] or not after or not all((*after, *before, *served)):
                continue
            grown = [(end - start) / count for end, start, count in zip(after, before, served)]
            rows.append({"contender": contender["name"], "bytes": statistics.fmean(after),
                         "bytes_per_connection": statistics.fmean(grown)})
    return rows


def elsewhere() -> list[dict]:
    """Returns the published findings that other labs judge, and which lab that is."""
    nothing = {"experiments": []}
    rows = [(row, MODELS) for row in model_findings.of(nothing)]
    rows += [(row, UNPACKAGED if published.NOT_PACKAGED in row["figure"] else LAB)
             for row in published_findings.of(nothing) if row["experiment"] != DRUM]
    return [{"experiment": row["experiment"], "sentence": row["sentence"], "where": where} for row, where in rows]


def costs(duel: Duel) -> list[dict]:
    """Returns one row per contender, the cheapest first: server CPU compared with the floor's, and other figures."""
    floor = duel.found["contenders"][0]["name"]
    pairs = {pair["subject"]: pair for pair in duel.found["pairs"] if pair["metric"] == CPU}
    rates = {pair["subject"]: pair for pair in duel.found["pairs"] if pair["metric"] == RATE}
    rows = []
    for contender in duel.found["contenders"]:
        if contender["twin_of"]:
            continue
        pair = pairs.get(contender["name"], {"ratio": 1.0, "low": None, "high": None, "verdict": ""})
        rate = rates.get(contender["name"], {"ratio": 1.0, "low": None, "high": None, "verdict": ""})
        rows.append({
            "contender": contender["name"], "floor": contender["name"] == floor,
            "server_us": _micros(contender["server_cpu_ns"]), "client_us": _micros(contender["client_cpu_ns"]),
            "messages_per_s": contender["messages_per_s"], "bounded": contender["bounded"],
            "rss_bytes": contender["rss_bytes"], "says": pair["verdict"], "rate_says": rate["verdict"],
            **{key: pair[key] for key in ("ratio", "low", "high")},
            **{f"rate_{key}": rate[key] for key in ("ratio", "low", "high")}})
    return sorted(rows, key=lambda row: row["ratio"] if row["ratio"] is not None else math.inf)


def _micros(nanoseconds: float | None) -> float | None:
    return None if nanoseconds is None else nanoseconds / 1e3
