# SPDX-License-Identifier: BSD-3-Clause
"""The page of the experiment at a full link: a picture and a table a cell, the claims, both machines. One HTML file
that opens offline, from results.json alone."""

from pathlib import Path

from markupsafe import Markup

from versus.link import link_words
from versus.page import quick_figures
from versus.page.templates import template
from versus.quick import quick_words

TEMPLATE = "link.html.j2"


def _number(value: float | None, digits: int = 2) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.0%}"


def render(results: dict) -> str:
    """The page. `results` is what results.json holds."""
    tone, sentence = quick_words.headline(results["claims"])
    names = [row["contender"] for cell in results["cells"] for row in cell["rows"]]
    cells = [cell | {"plot": Markup(quick_figures.costs(cell, names)), "found": link_words.found(cell)}
             for cell in results["cells"]]
    return template(TEMPLATE, number=_number, span=quick_words.span, percent=_percent, says=link_words.says).render(
        r=results, tone=tone, sentence=sentence, cells=cells, link=link_words.link(results),
        twins_sentence=quick_words.twins_sentence(results["cells"]),
        gates=[gate | {"cell": cell["title"]} for cell in results["cells"] for gate in cell["gates"]])


def write(results: dict, path: Path) -> None:
    path.write_text(render(results), encoding="utf-8")
