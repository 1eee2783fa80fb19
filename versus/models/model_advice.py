# SPDX-License-Identifier: BSD-3-Clause
"""Says when to choose a model and when not to. The sentences are made from the model's cells, and each names the figure
that it rests on.

The rules are fixed here. "Level" is within 5 % of the best. "Far behind" is 1.5 times the best or more. A "long tail"
is five times the shortest p99. If no cell is in a model's favour, a sentence says so.
"""

from versus.models.model_analysis import CPU, LEVEL, MEMORY, SPEED, TAIL, Metric, Situations, serves_all

FAR_BEHIND = 1.5
LONG_TAIL = 5.0
HEAVY = 5.0
SPOKEN = 3  # the number of situations that one sentence names
PRAISE = ((SPEED, "Fastest, or level with the fastest"), (CPU, "Least server CPU per request, or level"),
          (TAIL, "Shortest p99, or level"), (MEMORY, "Least memory, or level"))
BLAME = ((SPEED, FAR_BEHIND, "Fewer requests"), (CPU, FAR_BEHIND, "More server CPU"),
         (TAIL, LONG_TAIL, "A longer p99"), (MEMORY, HEAVY, "More memory"))
SHARED = " (a page that processes share counts once for each of them)"


def _figure(at: Situations, cell: dict, name: str, metric: Metric) -> str:
    return metric.shown(at.row(cell, name)[metric.key])


def _listed(entries: list[str]) -> str:
    more = len(entries) - SPOKEN
    return "; ".join(entries[:SPOKEN]) + (f"; and {more} more" if more > 0 else "")


def _against(at: Situations, cell: dict, name: str, metric: Metric, times: float) -> str:
    best = at.best(cell, metric)
    return (f"{cell['title']}: {times:.1f} times worse, {_figure(at, cell, name, metric)} against "
            f"{metric.shown(best[metric.key])} of {best['contender']}")


def reasons_for(at: Situations, name: str) -> list[str]:
    found = []
    for metric, words in PRAISE:
        level = [f"{cell['title']} ({_figure(at, cell, name, metric)})" for times, cell in at.times(name, metric)
                 if times <= LEVEL]
        if level:
            found.append(f"{words}: {_listed(level)}.")
    for times, cell in at.times(name, SPEED):
        if cell.get("work_kind") == "sleep" and cell.get("work") and LEVEL < times <= 2.0:
            found.append(f"Requests that sleep {cell['work']} overlap: {_figure(at, cell, name, SPEED)}, "
                         f"{1 / times:.2f} of the fastest.")
    nearest = at.times(name, SPEED)
    if not found and nearest:
        times, cell = nearest[0]
        found.append(f"In no situation here is it within {(LEVEL - 1) * 100:.0f} % of the best. It is nearest in "
                     f"{cell['title']}: {_figure(at, cell, name, SPEED)}, {1 / times:.2f} of the fastest.")
    return found or ["No situation here speaks for it: it did not serve all connections in any of them."]


def _few_served(at: Situations, name: str) -> list[str]:
    few = [f"{row['served']} of {row['asked']} ({cell['title']})" for cell in at.cells
           if (row := at.row(cell, name)) and not serves_all(row)]
    return [f"It serves few connections at a time; the others wait for ever: served {_listed(few)}."] if few else []


def reasons_against(at: Situations, name: str, contender: dict) -> list[str]:
    found = _few_served(at, name)
    for metric, bound, words in BLAME:
        far = [_against(at, cell, name, metric, times) for times, cell in reversed(at.times(name, metric))
               if times > bound]
        if far:
            shared = SHARED if metric is MEMORY and contender.get("processes") else ""
            found.append(f"{words}{shared}: {_listed(far)}.")
    unfit = [f"{cell['title']}: {cell['unfit'][name]}" for cell in at.cells if name in cell["unfit"]
             and not cell["rated"]]
    if unfit:
        found.append(f"Not run: {_listed(unfit)}.")
    if contender.get("times_out") is False:
        found.append("A client that stops in the middle of a frame keeps its place: slow clients are not closed "
                     "(peal model list).")
    return found or ["Nothing here speaks against it."]


def advice(experiment: dict) -> list[dict]:
    """Returns the sentences for and against each model that ran, and each of its variants."""
    at = Situations(experiment)
    ran = {row["contender"] for row in experiment["rows"]}
    return [{"contender": contender["name"], "for": reasons_for(at, contender["name"]),
             "against": reasons_against(at, contender["name"], contender)}
            for contender in experiment["contenders"] if contender["name"] in ran]
