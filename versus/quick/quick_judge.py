# SPDX-License-Identifier: BSD-3-Clause
"""From duels to verdicts: one family of claims for the whole page, by the rules of load/statistics/duel_verdict.h.

The ratios, their intervals and their p come from the duels, which take the restart for their unit. Ratios that no duel
was asked for are worked out here in the same way, from its slices. Pure: no files, no clock.
"""

import math

from versus import published, stats
from versus.duel.duel_figures import CPU, RATE, obstacle, pair_of
from versus.duel.duel_runner import Duel
from versus.findings import published_findings
from versus.models import model_findings
from versus.quick.quick_plan import PUBLISHED, DuelClaim, Published, cell_named

APART = ("less", "more")
HOLDS, NO_LONGER = "so today", "not so today"
LAB, MODELS, UNPACKAGED = "by make lab", "by make models", "of programs that no package holds"
DRUM = 2  # the experiment whose findings the page has itself


def estimate(pair: stats.Pair) -> dict:
    """The ratio with its 95 % interval; no interval of fewer than four restarts."""
    found = pair.as_dict()
    return {"ratio": found["ratio"], "low": found["low"], "high": found["high"], "restarts": found["blocks"]}


def _claimed(found: dict) -> stats.Pair:
    """A claim of the JSON as a pair, without its restarts."""
    low, high = (math.nan if found[key] is None else found[key] for key in ("low", "high"))
    return stats.Pair(found["restarts"], found["ratio"] or math.nan, low, high)


def judge_twins(duels: list[Duel]) -> None:
    """Whether a program differs from itself, as one family for the whole page: each duel judged its own twin alone, at
    p <= 0.01, and of five cells one in twenty pages would lose a cell to that. Changes what the duels found."""
    for metric in (CPU, RATE):
        twins = [(duel.found, twin) for duel in duels for twin in duel.found["twins"] if twin["metric"] == metric]
        adjusted = stats.holm([1.0 if twin["p"] is None else twin["p"] for _, twin in twins])
        for (found, twin), p in zip(twins, adjusted):
            if twin["verdict"] not in APART or p <= stats.PAIR_ALPHA:
                continue
            twin["verdict"] = stats.CANNOT_TELL
            for pair in (pair for pair in found["pairs"] if pair["metric"] == metric == CPU):
                if not obstacle(found, CPU, (pair["subject"], pair["rival"])):
                    pair["verdict"] = _said(pair)


def _said(pair: dict) -> str:
    """As load/statistics/duel_verdict.cc judges a pair whose twin does not differ."""
    if pair["low"] is None:
        return stats.CANNOT_TELL
    far = not 1 / stats.PAIR_MARGIN < pair["ratio"] < stats.PAIR_MARGIN
    if far and pair["p_adjusted"] <= stats.PAIR_ALPHA and not pair["low"] <= 1 <= pair["high"]:
        return APART[pair["ratio"] > 1]
    return "level" if 2 - stats.NARROW < pair["low"] and pair["high"] < stats.NARROW else stats.CANNOT_TELL


def claims(duels: list[Duel], declared: tuple[DuelClaim, ...], named=cell_named) -> list[dict]:
    """Each claim's verdict, p adjusted by Holm over all that were declared, measured or not. `named` finds a cell."""
    asked = []
    for claim in declared:
        duel = next((duel for duel in duels if duel.load.name == claim.cell), None)
        found = next((row for row in duel.found["claims"] if row["text"] == claim.words), None) if duel else None
        asked.append((claim, duel, found))
    adjusted = stats.holm([1.0 if found is None or found["p"] is None else found["p"] for _, _, found in asked])
    rows = []
    for (claim, duel, found), p in zip(asked, adjusted):
        row = {"subject": claim.subject, "rival": claim.rival, "cell": claim.cell, "bar": claim.bar, "p_adjusted": p}
        if found is None:
            rows.append(row | estimate(stats.UNKNOWN) | {"sentence": claim.sentence(named(claim.cell)),
                                              "verdict": stats.NOT_MEASURED, "why": "one of the two did not play"})
            continue
        why = obstacle(duel.found, CPU, (claim.subject, claim.rival))
        spoken, why = (stats.CANNOT_TELL, why) if why else stats.judged(_claimed(found), claim.bar, p)
        rows.append(row | {"sentence": claim.sentence(named(claim.cell)), "verdict": spoken, "why": why}
                    | {key: found[key] for key in ("ratio", "low", "high", "restarts")})
    return rows


def _bounded(duel: dict, name: str) -> bool:
    return any(contender["name"] == name and contender["bounded"] for contender in duel["contenders"])


def _then_and_now(past: Published, duel: Duel) -> dict:
    past = past.played_by({contender["name"] for contender in duel.found["contenders"]})
    found = estimate(pair_of(duel.found, past.metric, past.subject, past.rival))
    row = {"experiment": past.experiment, "sentence": past.sentence, "then": past.then,
           "what": f"{past.subject} / {past.rival}", "cell": duel.load.title, **found}
    full = [name for name in (past.subject, past.rival)
            if past.metric == RATE and _bounded(duel.found, name)]
    why = obstacle(duel.found, past.metric, (past.subject, past.rival))
    if found["low"] is None:
        few = f"{found['restarts']} usable restarts"
        spoken = stats.CANNOT_TELL, "one of the two did not play" if found["ratio"] is None else few
    elif why:
        spoken = stats.CANNOT_TELL, why
    elif full:
        spoken = stats.CANNOT_TELL, f"the generator was full before {' and '.join(full)}"
    elif found["low"] >= past.least and found["high"] <= past.most:
        spoken = HOLDS, ""
    elif found["high"] < past.least or found["low"] > past.most:
        spoken = NO_LONGER, ""
    else:
        spoken = stats.CANNOT_TELL, "the interval holds the bound"
    return row | {"verdict": spoken[0], "why": spoken[1]}


def then_and_now(duels: list[Duel]) -> list[dict]:
    """Published figures beside what was measured, as far as their cells were played."""
    by_name = {duel.load.name: duel for duel in duels}
    return [_then_and_now(past, by_name[past.cell]) for past in PUBLISHED if past.cell in by_name]


def elsewhere() -> list[dict]:
    """The published findings of other labs, and which lab judges them."""
    nothing = {"experiments": []}
    rows = [(row, MODELS) for row in model_findings.of(nothing)]
    rows += [(row, UNPACKAGED if published.NOT_PACKAGED in row["figure"] else LAB)
             for row in published_findings.of(nothing) if row["experiment"] != DRUM]
    return [{"experiment": row["experiment"], "sentence": row["sentence"], "where": where} for row, where in rows]


def costs(duel: Duel) -> list[dict]:
    """A row a contender, the cheapest first: server CPU beside the floor's, and what else was seen."""
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
