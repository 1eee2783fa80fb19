# SPDX-License-Identifier: BSD-3-Clause
"""Evaluates a duel's JSON: ratios by restart, the twin, the gates. Pure functions: no files, no clock."""

import math

from versus import stats

CPU, RATE = "cpu", "rate"  # the metrics of a pair, as `peal load duel` names them


def columns(duel: dict) -> dict[str, int]:
    """Returns the position of each value in a slice."""
    return {name: at for at, name in enumerate(duel["slice_columns"])}


def _values(duel: dict, metric: str) -> dict[int, dict[str, float]]:
    """Returns the metric by restart and contender, over all rounds of the restart."""
    names = [contender["name"] for contender in duel["contenders"]]
    at = columns(duel)
    sums: dict[tuple[int, str], list[float]] = {}
    for row in duel["slices"]:
        messages, cost = row[at["messages"]], row[at["server_cpu_ns" if metric == CPU else "seconds"]]
        if cost is None:
            continue
        both = sums.setdefault((row[at["restart"]], names[row[at["contender"]]]), [0.0, 0.0])
        both[0] += messages
        both[1] += cost
    found: dict[int, dict[str, float]] = {}
    for (restart, name), (messages, cost) in sorted(sums.items()):
        if messages and cost:
            found.setdefault(restart, {})[name] = cost / messages if metric == CPU else messages / cost
    return found


def restart_logs(duel: dict, metric: str, subject: str, rival: str) -> list[float]:
    """Returns ln(subject / rival) for each restart that has both."""
    return [math.log(values[subject] / values[rival]) for values in _values(duel, metric).values()
            if subject in values and rival in values]


def pair_of(duel: dict, metric: str, subject: str, rival: str) -> stats.Pair:
    return stats.of_logs(restart_logs(duel, metric, subject, rival))


def twin_of(duel: dict, metric: str) -> dict | None:
    return next((twin for twin in duel["twins"] if twin["metric"] == metric), None)


def differs_from_itself(duel: dict, metric: str) -> bool:
    twin = twin_of(duel, metric)
    return twin is not None and twin["verdict"] in ("less", "more")


def gates_of(duel: dict, name: str) -> list[dict]:
    """Returns the gates that are about this contender."""
    return [gate for gate in duel["gates"] if gate["sentence"].startswith(f"{name}: ")]


def obstacle(duel: dict, metric: str, names: tuple[str, ...]) -> str:
    """Returns why there can be no verdict about these contenders, or ""."""
    if differs_from_itself(duel, metric):
        return "the same program differs from itself"
    return next((gate["sentence"] for name in names for gate in gates_of(duel, name) if gate["verdict"] == "INVALID"),
                "")
