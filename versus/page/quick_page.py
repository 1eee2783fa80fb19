# SPDX-License-Identifier: BSD-3-Clause
"""The quick lab's page: the costs, the claims, and published figures then and now. The rest is folded away. It is one
HTML file that opens offline, made only from results.json."""

from pathlib import Path

from markupsafe import Markup

from versus.page import drum_figures, quick_figures
from versus.page.templates import template
from versus.quick import quick_words

TEMPLATE = "quick.html.j2"
NOT_TOLD = "not measurable here"


def _floor(cells: list[dict]) -> str:
    """Returns the name of the floor that all are compared with."""
    floors = list(dict.fromkeys(cell["floor"] for cell in cells))
    return "a bare epoll loop in C" if all(name.endswith("raw-epoll") for name in floors) else " or ".join(floors)


def _cells(results: dict) -> list[dict]:
    names = [row["contender"] for cell in results["cells"] for row in cell["rows"]]
    return [cell | {"plot": Markup(quick_figures.costs(cell, names)), "found": quick_words.found(cell)}
            for cell in results["cells"]]


def render(results: dict) -> str:
    """Returns the page. `results` is the content of results.json."""
    tone, sentence = quick_words.headline(results["claims"])
    drummed = results["drum"]
    findings = drummed["findings"] if drummed else []
    return template(TEMPLATE, span=quick_words.span).render(
        r=results, two_machines=results.get("two_machines", ""),
        tone=tone, sentence=sentence, floor=_floor(results["cells"]),
        cells=_cells(results), twins=quick_words.twins(results["cells"]),
        twins_sentence=quick_words.twins_sentence(results["cells"]),
        elsewhere=quick_words.elsewhere(results["elsewhere"]),
        gates=[gate | {"cell": cell["title"]} for cell in results["cells"] for gate in cell["gates"]],
        drum=Markup(drum_figures.section(drummed)) if drummed else "",
        drum_findings=findings, told=sum(1 for finding in findings if finding["verdict"] != NOT_TOLD))


def write(results: dict, path: Path) -> None:
    path.write_text(render(results), encoding="utf-8")
