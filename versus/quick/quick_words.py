# SPDX-License-Identifier: BSD-3-Clause
"""The texts of the quick lab: the verdict, a sentence per cell, and the tables of the terminal."""

from collections import Counter

from versus.page import verdict
from versus.stats import CANNOT_TELL
from versus.terminal import claims_table, table


def headline(claims: list[dict]) -> tuple[str, str]:
    """Returns (tone, sentence) about all claims."""
    return verdict.headline(claims, "No claim was declared for the cells that were played. The costs are below.")


def span(row: dict, digits: int = 3) -> str:
    """Returns the ratio with three digits, because duels resolve thousandths."""
    return verdict.span(row, digits)


def found(cell: dict) -> str:
    """Returns which contenders cost less or more than the floor, as far as that is decided."""
    parts = []
    for says, words in (("less", "less"), ("level", "the same"), ("more", "more")):
        names = [f"{row['contender']} ({_percent(row['ratio'])})" if says != "level" else row["contender"]
                 for row in cell["rows"] if row["says"] == says and not row["floor"]]
        if names:
            parts.append(f"{words}: {', '.join(names)}")
    unsure = [row["contender"] for row in cell["rows"] if row["says"] == CANNOT_TELL]
    if unsure:
        parts.append(f"undecided: {', '.join(unsure)}")
    return f"Server CPU compared with {cell['floor']}. " + "; ".join(parts).capitalize() + "." if parts else ""


def _percent(ratio: float) -> str:
    if ratio >= 2:
        return f"{ratio:.1f} times"
    return f"{(ratio - 1) * 100:+.0f} %"


def twins(cells: list[dict]) -> list[dict]:
    """Returns the A/A pairs of all cells."""
    return [twin | {"cell": cell["title"]} for cell in cells for twin in cell["twins"]]


def twins_sentence(cells: list[dict]) -> str:
    rows = twins(cells)
    claiming = [row for row in rows if row["verdict"] in ("less", "more")]
    if not rows:
        return ""
    if not claiming:
        return f"The same program was compared with itself {len(rows)} times, and no difference was found."
    where = ", ".join(f"{row['cell']} ({row['metric']})" for row in claiming)
    return f"The same program differs from itself in {where}: no verdict is given there."


def elsewhere(rows: list[dict]) -> str:
    """Returns how many published findings are judged by which lab, the most first."""
    counted = Counter(row["where"] for row in rows)
    parts = [f"{count} {where}" for where, count in counted.most_common()]
    return f"{len(rows)} published findings are judged elsewhere: {', '.join(parts)}"


def _cell_table(cell: dict) -> str:
    unit = cell["unit"]
    rows = []
    for row in cell["rows"]:
        rate = ("≥" if row["bounded"] else "") + verdict.number(row["messages_per_s"], 0)
        rows.append([row["contender"], "the floor" if row["floor"] else span(row), row["says"],
                     verdict.number(row["server_us"]), verdict.number(row["instructions"], 0), rate])
    header = ["contender", "server CPU, ratio (95 %)", "", f"us/{unit}", f"instructions/{unit}", f"{unit}s/s"]
    return f"{cell['title']} ({cell['restarts']} restarts)\n" + table(header, rows, "<<<>>>")


def summary(results: dict) -> str:
    """Returns the tables and the verdict for a terminal."""
    parts = [_cell_table(cell) for cell in results["cells"]]
    if results["claims"]:
        parts.append(claims_table(results["claims"], 3))
    if results["then_and_now"]:
        rows = [[str(row["experiment"]), row["sentence"], row["then"], span(row, 2),
                 ": ".join(filter(None, (row["verdict"], row["why"])))] for row in results["then_and_now"]]
        parts.append(table(["exp.", "published", "then", "now", ""], rows, "><<<<"))
    lines = [f"INVALID: {gate['sentence']} ({cell['title']})" for cell in results["cells"] for gate in cell["gates"]
             if gate["verdict"] == "INVALID"]
    lines += [f"Left out: {line}" for line in results["left_out"]]
    lines += [results["two_machines"]] if results.get("two_machines") else []
    lines += [line for line in [twins_sentence(results["cells"])] if line]
    parts.append("\n".join([*lines, "Verdict: " + headline(results["claims"])[1]]))
    return "\n\n".join(parts)
