# SPDX-License-Identifier: BSD-3-Clause
"""docs/figures.md, and the figures that stand in README.md and docs/comparison.md, from the ledger. Pure, except that
the files with marks are read and written."""

import re
from pathlib import Path

from versus.figures import staleness

HEAD = Path(__file__).parent / "figures_head.md"
BEGIN, END = "<!-- figures: {} -->\n", "<!-- end of figures -->"
_STALE = re.compile(r" \*\*Stale\*\*: [^\n|]*?(?:changed since|not in this repository)\.")


class MarksMissing(ValueError):
    """A document lacks the marks between which figures stand."""


def without_marks(text: str) -> str:
    """The text without what says that a figure is stale: that depends on the day."""
    return _STALE.sub("", text)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _measured(entry: dict) -> str:
    return f"Measured on {entry['date']} at commit `{entry['commit']}` by `{entry['command']}`."


def document(ledger: dict) -> str:
    """docs/figures.md."""
    parts = [HEAD.read_text(encoding="utf-8")]
    for name, entry in ledger["bars"].items():
        parts.append(f"\n## {name}\n\n{_measured(entry)}{staleness.words(entry['commit'])}\n\n"
                     "| figure | bar | measured | verdict |\n|---|---|---|---|\n")
        parts += [f"| {_cell(row['figure'])} | {_cell(row['bar'])} | {_cell(row['measured'])} | {row['verdict']} |\n"
                  for row in entry["rows"]]
    return "".join(parts)


def _ratio(row: dict) -> str:
    if row["ratio"] is None:
        return "-"
    if row["low"] is None:
        return f"{row['ratio']:.2f}"
    shown = f"{row['ratio']:.2f} ({row['low']:.2f} to {row['high']:.2f})"
    return shown if row["says"] in ("less", "more") or row["floor"] else f"*{shown}*"


def cell_heading(cell: dict) -> str:
    """Which kind of server the cell loads, and how."""
    return f"{'HTTP' if cell['unit'] == 'request' else 'echo'}, {cell['title']}"


def table(entry: dict) -> str:
    """Contenders by cells. A contender that plays in no cell is left out; HTTP servers stand in rows of their own."""
    names = list(dict.fromkeys(row["contender"] for cell in entry["cells"] for row in cell["rows"] if not row["floor"]))
    columns = [{row["contender"]: row for row in cell["rows"]} for cell in entry["cells"]]
    lines = ["| server | " + " | ".join(_cell(cell_heading(cell)) for cell in entry["cells"]) + " |\n",
             "|---" * (len(columns) + 1) + "|\n"]
    for name in names:
        cells = [_ratio(column[name]) if name in column else "-" for column in columns]
        lines.append(f"| {name} | {' | '.join(cells)} |\n")
    claims = entry["claims"]
    return ("".join(lines) + f"\n{_measured(entry)} The machine: {entry['machine']}. "
            f"{claims['met']} of {claims['declared']} claims that were declared before were met."
            f"{staleness.words(entry['commit'])}\n")


def filled(text: str, name: str, entry: dict) -> str:
    """The document `text` with the table `name` between its marks. Raises MarksMissing."""
    begin = BEGIN.format(name)
    if begin not in text or END not in text.split(begin, 1)[1]:
        raise MarksMissing(f"There is no place for the table '{name}': write {begin.strip()} and {END}.")
    before, rest = text.split(begin, 1)
    after = rest.split(END, 1)[1]
    return f"{before}{begin}\n{table(entry)}\n{END}{after}"
