# SPDX-License-Identifier: BSD-3-Clause
"""The classic tables: this run in the historic form, beside the published figures. Pure functions: from results to
tables."""

import statistics

from versus import published
from versus.analysis import chosen_runs
from versus.experiments import CLOSED

KEPT_RUNS = (1, 2, 3)  # experiment 4 discards the first run and takes the mean of the next three


def pingpong(experiment: dict) -> list[dict]:
    """Returns tables of MiB/s over connections and over threads, for an experiment that has several of either."""
    views = []
    names = [contender["name"] for contender in experiment["contenders"] if contender["shown"]]
    cells = experiment["cells"]
    groups = [("size", "connections", lambda c: c["threads"] == 1), ("both", "threads", lambda c: True)]
    for kind, along, keep in groups:
        keys = {(c["size"], c["connections"] if kind == "both" else 0)
                for c in cells if keep(c) and CLOSED in c["modes"]}
        for size, connections in sorted(keys, reverse=True):
            members = [c for c in cells if keep(c) and c["size"] == size and CLOSED in c["modes"]
                       and (kind == "size" or c["connections"] == connections)]
            where = {c["name"]: c[along] for c in members}
            rows = [{"contender": row["contender"], "at": where[row["cell"]], "value": row["mib_per_s"]}
                    for row in experiment["saturation"] if row["cell"] in where]
            columns = sorted({row["at"] for row in rows})
            if len(columns) < 2:
                continue
            where_at = f"{connections:,} connections" if kind == "both" else "one thread on each side"
            table = [{"contender": name, "values": [_at(rows, name, at) for at in columns]}
                     for name in names if any(row["contender"] == name for row in rows)]
            views.append({"title": f"{size:,} B, {where_at}: MiB/s by {along}", "along": along, "unit": "MiB/s",
                          "columns": columns, "table": table, "rows": rows, "digits": 1})
    return views


def _at(rows: list[dict], name: str, at: int) -> float | None:
    return next((row["value"] for row in rows if row["contender"] == name and row["at"] == at), None)


def rest(experiment: dict) -> list[dict]:
    """Returns requests/s, CPU and memory as in the publication: this lab's rows first, then the published ones."""
    titles = {cell["name"]: cell["title"] for cell in experiment["cells"]}
    rows = []
    for row in experiment["saturation"]:
        cpu, memory = row["server_percent"], row["rss_bytes"]
        flags = []
        if row["never_saturated"]:
            flags.append("never saturated")
        if row["lower_bound"]:
            flags.append("the generator's core was full first")
        rows.append({"contender": row["contender"], "load": titles[row["cell"]], "here": True, "least": row["least"],
                     "most": row["most"], "mean": row["mean"], "cpu": f"{cpu['least']:.0f}-{cpu['most']:.0f}",
                     "memory": f"{memory['least'] / 1024:,.0f}-{memory['most'] / 1024:,.0f} KB",
                     "flag": "; ".join(flags)})
    for row in published.REST:
        flag = "" if row.saturated else "never saturated"
        if not row.here:
            flag = "; ".join(filter(None, (flag, published.how_to_add(row.name))))
        for level, figures in (("", row.requests), (", clang -O3", row.clang_o3)):
            if figures:
                rows.append({"contender": row.name + level, "load": f"Published: {published.REST_LOAD}", "here": False,
                             "least": figures[0], "most": figures[1], "mean": figures[2],
                             "cpu": row.cpu if not level else "-", "memory": row.memory if not level else "-",
                             "flag": flag if not level else ""})
    for at in range(len(rows) - 1, 0, -1):  # a load is named once, above its rows
        if rows[at]["load"] == rows[at - 1]["load"]:
            rows[at]["load"] = ""
    return rows


def _pages_per_minute(experiment: dict, cell: str, name: str) -> float | None:
    """Returns pages per minute: the mean of the three runs after the first one."""
    runs = chosen_runs(experiment["runs"], cell, CLOSED, name)
    values = [runs[block]["figures"]["messages_per_s"] for block in KEPT_RUNS if block in runs]
    return 60.0 * statistics.fmean(values) if values else None


def pages(experiment: dict) -> list[dict]:
    """Returns pages per minute over clients, for short and for long connections, with the published rows below."""
    views = []
    for life, short in (("short", True), ("long", False)):
        cells = [c for c in experiment["cells"] if c["short"] == short and CLOSED in c["modes"]]
        columns = sorted({cell["connections"] for cell in cells} | set(published.CLIENTS))
        by_clients = {cell["connections"]: cell["name"] for cell in cells}
        threads = " or ".join(str(count) for count in sorted({cell["threads"] for cell in cells}))
        table, rows = [], []
        for name in (contender["name"] for contender in experiment["contenders"] if contender["shown"]):
            values = [_pages_per_minute(experiment, by_clients[at], name) if at in by_clients else None
                      for at in columns]
            if any(value is not None for value in values):
                table.append({"contender": name, "here": True, "values": values})
                rows += [{"contender": name, "at": at, "value": value} for at, value in zip(columns, values) if value]
        table += [{"contender": name, "here": False,
                   "values": [published.pages(life, name, at) if at in published.CLIENTS else None for at in columns]}
                  for name in published.PAGES[life]]
        where = "one connection per request" if short else "keep-alive"
        views.append({"title": f"{life.capitalize()} connections ({where}): pages per minute by clients; "
                               f"here on {threads or 'no'} server thread{'' if threads == '1' else 's'}",
                      "along": "clients", "unit": "pages/min", "columns": columns, "table": table, "rows": rows,
                      "digits": 0})
    return views
