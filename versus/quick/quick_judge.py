# SPDX-License-Identifier: BSD-3-Clause
"""From duels to verdicts: one family of claims for the whole page, by the rules of load/statistics/duel_verdict.h.

The ratios, their intervals and their p come from the duels, which take the restart for their unit. Ratios that no duel
was asked for are worked out here in the same way, from its slices. Pure: no files, no clock.
"""

import math
import statistics

from scipy import stats as scipy_stats

from versus import stats
from versus.quick.duel_runner import Duel
from versus.quick.quick_plan import CPU, PUBLISHED, RATE, DuelClaim, Published, cell_named

MET, NOT_MET, AT_THE_BAR, CANNOT_TELL = "met", "not met", "at the bar", "cannot tell"
NOT_MEASURED = "not measured"
DECIDED = (MET, NOT_MET, AT_THE_BAR)
HOLDS, NO_LONGER = "so today", "not so today"
NARROW = 1.02  # an interval no farther than this from its ratio says "at the bar" of a bar it holds
FEWEST_RESTARTS = 4
CONFIDENCE = 0.95


def _values(duel: dict, metric: str) -> dict[tuple[int, int], dict[str, float]]:
    """The metric by (restart, round) and contender."""
    names = [contender["name"] for contender in duel["contenders"]]
    columns = {name: at for at, name in enumerate(duel["slice_columns"])}
    found: dict[tuple[int, int], dict[str, float]] = {}
    for row in duel["slices"]:
        messages, server_cpu = row[columns["messages"]], row[columns["server_cpu_ns"]]
        if not messages or (metric == CPU and not server_cpu):
            continue
        value = server_cpu / messages if metric == CPU else messages / row[columns["seconds"]]
        where = (row[columns["restart"]], row[columns["round"]])
        found.setdefault(where, {})[names[row[columns["contender"]]]] = value
    return found


def restart_logs(duel: dict, metric: str, subject: str, rival: str) -> list[float]:
    """ln(subject / rival) of each restart: the median over its rounds."""
    rounds: dict[int, list[float]] = {}
    for (restart, _round), values in sorted(_values(duel, metric).items()):
        if subject in values and rival in values:
            rounds.setdefault(restart, []).append(math.log(values[subject] / values[rival]))
    return [statistics.median(logs) for logs in rounds.values()]


def estimate(logs: list[float]) -> dict:
    """The ratio with its 95 % interval, Student's over the restarts; no interval of fewer than four."""
    if not logs:
        return {"ratio": None, "low": None, "high": None, "restarts": 0}
    mean = statistics.fmean(logs)
    found = {"ratio": math.exp(mean), "low": None, "high": None, "restarts": len(logs)}
    if len(logs) < FEWEST_RESTARTS:
        return found
    half = scipy_stats.t.ppf((1 + CONFIDENCE) / 2, len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
    return found | {"low": math.exp(mean - half), "high": math.exp(mean + half)}


def twin_of(duel: dict, metric: str) -> dict | None:
    return next((twin for twin in duel["twins"] if twin["metric"] == metric), None)


def differs_from_itself(duel: dict, metric: str) -> bool:
    twin = twin_of(duel, metric)
    return twin is not None and twin["verdict"] in ("less", "more")


def _invalid(duel: dict, names: tuple[str, ...]) -> str:
    """The first gate that makes one of these contenders' figures mean nothing, or ""."""
    return next((gate["sentence"] for gate in duel["gates"]
                 if gate["verdict"] == "INVALID" and gate["sentence"].startswith(tuple(f"{name}: " for name in names))),
                "")


def verdict_of(row: dict, claim: DuelClaim, p_adjusted: float, obstacle: str) -> tuple[str, str]:
    """(verdict, why it cannot be told); `row` has ratio, low and high."""
    if obstacle:
        return CANNOT_TELL, obstacle
    if row["low"] is None:
        return CANNOT_TELL, "too few restarts"
    holds = row["low"] <= claim.bar <= row["high"]
    if not holds and p_adjusted <= stats.ALPHA:
        return (MET if row["ratio"] < claim.bar else NOT_MET), ""
    narrow = row["high"] / row["ratio"] < NARROW
    if narrow and 1 / NARROW < row["ratio"] / claim.bar < NARROW:
        return AT_THE_BAR, ""
    return CANNOT_TELL, f"the interval holds {claim.bar:g}" if holds else f"p is {p_adjusted:.2f}"


def _obstacle(duel: dict, claim: DuelClaim) -> str:
    if differs_from_itself(duel, CPU):
        return "the same program differs from itself"
    return _invalid(duel, (claim.subject, claim.rival))


def claims(duels: list[Duel], declared: tuple[DuelClaim, ...]) -> list[dict]:
    """Each claim's verdict, p adjusted by Holm over all that were declared, measured or not."""
    asked = []
    for claim in declared:
        duel = next((duel for duel in duels if duel.cell.name == claim.cell), None)
        found = next((row for row in duel.found["claims"] if row["text"] == claim.words), None) if duel else None
        asked.append((claim, duel, found))
    adjusted = stats.holm([1.0 if found is None or found["p"] is None else found["p"] for _, _, found in asked])
    rows = []
    for (claim, duel, found), p in zip(asked, adjusted):
        row = {"subject": claim.subject, "rival": claim.rival, "cell": claim.cell, "bar": claim.bar, "p_adjusted": p}
        if found is None:
            rows.append(row | estimate([]) | {"sentence": claim.sentence(cell_named(claim.cell)),
                                              "verdict": NOT_MEASURED, "why": "one of the two did not play"})
            continue
        spoken, why = verdict_of(found, claim, p, _obstacle(duel.found, claim))
        rows.append(row | {"sentence": claim.sentence(duel.cell), "verdict": spoken, "why": why}
                    | {key: found[key] for key in ("ratio", "low", "high", "restarts")})
    return rows


def _bounded(duel: dict, name: str) -> bool:
    return any(contender["name"] == name and contender["bounded"] for contender in duel["contenders"])


def _then_and_now(published: Published, duel: Duel) -> dict:
    found = estimate(restart_logs(duel.found, published.metric, published.subject, published.rival))
    row = {"experiment": published.experiment, "sentence": published.sentence, "then": published.then,
           "what": f"{published.subject} / {published.rival}", "cell": duel.cell.title, **found}
    full = [name for name in (published.subject, published.rival)
            if published.metric == RATE and _bounded(duel.found, name)]
    if found["low"] is None:
        spoken = CANNOT_TELL, "one of the two did not play" if found["ratio"] is None else "too few restarts"
    elif full:
        spoken = CANNOT_TELL, f"the generator was full before {' and '.join(full)}"
    elif found["low"] >= published.least and found["high"] <= published.most:
        spoken = HOLDS, ""
    elif found["high"] < published.least or found["low"] > published.most:
        spoken = NO_LONGER, ""
    else:
        spoken = CANNOT_TELL, "the interval holds the bound"
    return row | {"verdict": spoken[0], "why": spoken[1]}


def then_and_now(duels: list[Duel]) -> list[dict]:
    """Published figures beside what was measured, as far as their cells were played."""
    by_name = {duel.cell.name: duel for duel in duels}
    return [_then_and_now(published, by_name[published.cell]) for published in PUBLISHED if published.cell in by_name]


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
