# SPDX-License-Identifier: BSD-3-Clause
"""What the quick lab says in words: the verdict, a sentence a cell, the tables of the terminal."""

from collections import Counter

from versus.stats import AT_THE_BAR, CANNOT_TELL, MET, NOT_MEASURED, NOT_MET
from versus.terminal import table

SPOKEN = {MET: "met", NOT_MET: "not met", AT_THE_BAR: "at the bar", CANNOT_TELL: "cannot be told",
          NOT_MEASURED: "not measured"}


def span(row: dict, digits: int = 3) -> str:
    """"0.984 (0.971 to 1.010)"."""
    if row["ratio"] is None:
        return "-"
    if row["low"] is None:
        return f"{row['ratio']:.{digits}f}"
    return f"{row['ratio']:.{digits}f} ({row['low']:.{digits}f} to {row['high']:.{digits}f})"


def headline(claims: list[dict]) -> tuple[str, str]:
    """(tone, sentence) of the whole; the tone is good, bad or unsure."""
    verdicts = [claim["verdict"] for claim in claims]
    if not verdicts:
        return "unsure", "No claim was declared for what was played; what it costs stands below."
    told = [f"{verdicts.count(verdict)} {words}" for verdict, words in SPOKEN.items() if verdict in verdicts]
    sentence = f"Of {len(verdicts)} claims declared beforehand: {', '.join(told)}."
    if verdicts.count(MET) == len(verdicts):
        return "good", f"All {len(verdicts)} claims declared beforehand are met."
    decided = all(verdict in (MET, AT_THE_BAR) for verdict in verdicts)
    return ("bad" if NOT_MET in verdicts else "good" if decided else "unsure"), sentence


def found(cell: dict) -> str:
    """Who costs less and who more than the floor, as far as that is decided."""
    parts = []
    for says, words in (("less", "less"), ("level", "the same"), ("more", "more")):
        names = [f"{row['contender']} ({_percent(row['ratio'])})" if says != "level" else row["contender"]
                 for row in cell["rows"] if row["says"] == says and not row["floor"]]
        if names:
            parts.append(f"{words}: {', '.join(names)}")
    unsure = [row["contender"] for row in cell["rows"] if row["says"] == CANNOT_TELL]
    if unsure:
        parts.append(f"cannot be told: {', '.join(unsure)}")
    return f"Server CPU beside {cell['floor']}. " + "; ".join(parts).capitalize() + "." if parts else ""


def _percent(ratio: float) -> str:
    if ratio >= 2:
        return f"{ratio:.1f} times"
    return f"{(ratio - 1) * 100:+.0f} %"


def twins(cells: list[dict]) -> list[dict]:
    """The A/A pairs of all cells."""
    return [twin | {"cell": cell["title"]} for cell in cells for twin in cell["twins"]]


def twins_sentence(cells: list[dict]) -> str:
    rows = twins(cells)
    claiming = [row for row in rows if row["verdict"] in ("less", "more")]
    if not rows:
        return ""
    if not claiming:
        return f"The same program against itself, {len(rows)} times: no difference is claimed."
    where = ", ".join(f"{row['cell']} ({row['metric']})" for row in claiming)
    return f"The same program differs from itself in {where}: nothing is claimed there."


def elsewhere(rows: list[dict]) -> str:
    """How many published findings are judged where, the most first."""
    counted = Counter(row["where"] for row in rows)
    parts = [f"{count} {where}" for where, count in counted.most_common()]
    return f"{len(rows)} published findings are judged elsewhere: {', '.join(parts)}"


def _cell_table(cell: dict) -> str:
    unit = cell["unit"]
    rows = []
    for row in cell["rows"]:
        rate = "-" if row["messages_per_s"] is None else \
            f"{'≥' if row['bounded'] else ''}{row['messages_per_s']:,.0f}"
        rows.append([row["contender"], "the floor" if row["floor"] else span(row), row["says"],
                     "-" if row["server_us"] is None else f"{row['server_us']:.2f}",
                     "-" if row["instructions"] is None else f"{row['instructions']:,.0f}", rate])
    header = ["contender", "server CPU, ratio (95 %)", "", f"us/{unit}", f"instructions/{unit}", f"{unit}s/s"]
    return f"{cell['title']} ({cell['restarts']} restarts)\n" + table(header, rows, "<<<>>>")


def summary(results: dict) -> str:
    """The tables and the verdict, for a terminal."""
    parts = [_cell_table(cell) for cell in results["cells"]]
    if results["claims"]:
        rows = [[claim["sentence"], span(claim), ": ".join(filter(None, (claim["verdict"], claim["why"])))]
                for claim in results["claims"]]
        parts.append(table(["claim", "ratio (95 % interval)", "verdict"], rows, "<<<"))
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
