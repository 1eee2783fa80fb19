# SPDX-License-Identifier: BSD-3-Clause
"""What the experiment at a full link says in words: a sentence a cell, the tables of the terminal."""

from versus.quick import quick_words
from versus.terminal import table

LESS_MORE = {"less": "less CPU", "more": "more CPU"}


def link(results: dict) -> str:
    """A sentence about the link, and from when it is full."""
    found = results["link"]
    if found is None:
        return "Nothing was played."
    through = f" through {found['interface']}, MTU {found['mtu']}" if found["interface"] else ""
    if found["mbit"] is None:
        return (f"How fast the link{through} is nobody says: name its speed with --link-mbit. Nothing is said of a "
                "full link.")
    return (f"The link{through}: {found['mbit']:,.0f} Mbit/s, as {found['said_by']} says; it is full from 90 % on, "
            "the headers of TCP and IP counted.")


def found(cell: dict) -> str:
    """Whether the link was full, and who needs less CPU then."""
    shares = [row["link_share"] for row in cell["rows"]]
    if None in shares:
        return f"{cell['title']}: it is not known whether the link was full."
    span = f"{min(shares):.0%} to {max(shares):.0%}"
    lacking = [row["contender"] for row in cell["rows"] if not row["full"]]
    if len(lacking) == len(shares):
        return f"{cell['title']}: the link was not full ({span}): nothing is said of a full link."
    told = f"{cell['title']}: the link was full ({span})"
    told += f", but not with {', '.join(lacking)}, of whom nothing is said." if lacking else "."
    decided = [f"{words} than {cell['floor']}: " + ", ".join(f"{row['contender']} ({row['ratio']:.2f})" for row in rows)
               for says, words in LESS_MORE.items()
               if (rows := [row for row in cell["rows"] if row["says"] == says and not row["floor"]])]
    compared = "; ".join(decided)
    return f"{told} {compared[0].upper()}{compared[1:]}." if decided else told


def says(row: dict) -> str:
    return "the floor" if row["floor"] else LESS_MORE.get(row["says"], row["says"])


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.0%}"


def _cell_table(cell: dict) -> str:
    rows = [[row["contender"], "-" if row["server_us"] is None else f"{row['server_us']:.2f}",
             "1" if row["floor"] else quick_words.span(row), says(row), _share(row["server_share"]),
             f"{'≥' if row['bounded'] else ''}{row['mib_per_s']:,.1f}", _share(row["link_share"]),
             "full" if row["full"] else "not full"] for row in cell["rows"]]
    header = ["contender", "us/message", "server CPU, ratio (95 %)", "", "of a core", "MiB/s", "of the link", ""]
    return f"{cell['title']} ({cell['restarts']} restarts)\n" + table(header, rows, "<><<>>><")


def summary(results: dict) -> str:
    """The tables and the verdict, for a terminal."""
    parts = [_cell_table(cell) for cell in results["cells"]]
    if results["claims"]:
        rows = [[claim["sentence"], quick_words.span(claim), ": ".join(filter(None, (claim["verdict"], claim["why"])))]
                for claim in results["claims"]]
        parts.append(table(["claim", "ratio (95 % interval)", "verdict"], rows, "<<<"))
    lines = [f"{gate['verdict']}: {gate['sentence']} ({cell['title']})" for cell in results["cells"]
             for gate in cell["gates"]]
    lines += [f"Left out: {line}" for line in results["left_out"]]
    lines += [line for line in [quick_words.twins_sentence(results["cells"])] if line]
    lines += [results["two_machines"], link(results), *(found(cell) for cell in results["cells"])]
    parts.append("\n".join([*lines, "Verdict: " + quick_words.headline(results["claims"])[1]]))
    return "\n\n".join(parts)
