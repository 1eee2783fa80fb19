# SPDX-License-Identifier: BSD-3-Clause
"""The picture of the front page, once for light and once for dark pages: the costs of each cell of the quick lab."""

import re
from pathlib import Path

from versus.figures.figures_document import cell_heading
from versus.page import quick_figures

CSS = Path(quick_figures.__file__).parent / "report.css"
COLUMNS = 2
WIDTH, GAP, TITLE = 400, 16, 26


def colours(theme: str) -> dict[str, str]:
    """The variables of the report's style sheet, `theme` "light" or "dark"."""
    css = CSS.read_text(encoding="utf-8")
    light = dict(re.findall(r"(--[\w-]+):\s*([^;]+);", re.search(r":root\s*{(.*?)}", css, re.S)[1]))
    if theme == "light":
        return light
    dark = re.search(r"prefers-color-scheme: dark\)\s*{(.*?)}\s*}", css, re.S)[1]
    return light | dict(re.findall(r"(--[\w-]+):\s*([^;]+);", dark))


def _panel(svg: str, title: str, x: int, y: int) -> tuple[str, int]:
    """The panel, and how high it is."""
    _, _, width, height = (float(number) for number in re.search(r'viewBox="([^"]+)"', svg)[1].split())
    high = round(WIDTH * height / width)
    inner = svg.replace("<svg", f'<svg x="{x}" y="{y + TITLE}" width="{WIDTH}" height="{high}"', 1)
    return (f'<text x="{x}" y="{y + 17}" font-size="14" font-weight="bold" fill="var(--ink)">{title}</text>{inner}',
            high + TITLE)


def draw(entry: dict, theme: str) -> str:
    """An SVG file that needs no other. `entry` is a table of the ledger."""
    names = [row["contender"] for cell in entry["cells"] for row in cell["rows"]]
    parts, y, row_height = [], GAP, 0
    for number, cell in enumerate(entry["cells"]):
        x = GAP + (number % COLUMNS) * (WIDTH + GAP)
        panel, high = _panel(quick_figures.costs(cell, names), cell_heading(cell), x, y)
        parts.append(panel)
        row_height = max(row_height, high)
        if number % COLUMNS == COLUMNS - 1 or number == len(entry["cells"]) - 1:
            y, row_height = y + row_height + GAP, 0
    width = GAP + COLUMNS * (WIDTH + GAP)
    svg = (f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
           f'viewBox="0 0 {width} {y}" font-family="sans-serif">'
           f'<rect width="{width}" height="{y}" fill="var(--paper)"/>{"".join(parts)}</svg>\n')
    for name, value in colours(theme).items():
        svg = svg.replace(f"var({name})", value.strip())
    return svg
