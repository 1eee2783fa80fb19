# SPDX-License-Identifier: BSD-3-Clause
"""`versus figures` and `versus bench --record`: take figures over, and write what shows them."""

import json
from pathlib import Path

from versus.figures import figures_document, ledger
from versus.run import environment

# Which document shows which table.
TABLES = {"quick": "README.md", "rivals": "docs/comparison.md"}
PICTURES = {theme: f"docs/images/quick-{theme}.svg" for theme in ("light", "dark")}


def documents(known: dict) -> dict[str, str]:
    """The texts of the documents that show figures, by their paths. `known` is the ledger."""
    texts = {"docs/figures.md": figures_document.document(known)}
    for name, path in TABLES.items():
        if name in known["tables"]:
            text = (ledger.ROOT / path).read_text(encoding="utf-8")
            texts[path] = figures_document.filled(text, name, known["tables"][name])
    return texts


def record_bars(by_figure: dict[str, list[dict]]) -> None:
    known = ledger.read()
    for figure, rows in by_figure.items():
        ledger.record_bars(known, figure, rows, environment.commit())
    ledger.write(known)
    _write_all(known)


def write(taken: list[str]) -> None:
    """`taken`: "TABLE=RESULTS" of the command line. Raises BadLedger, MarksMissing."""
    known = ledger.read()
    for text in taken:
        name, _, path = text.partition("=")
        if name not in TABLES or not path:
            raise ledger.BadLedger(f"--take takes {' or '.join(f'{table}=RESULTS' for table in TABLES)}, not '{text}'.")
        file = Path(path) / "results.json" if Path(path).is_dir() else Path(path)
        ledger.record_table(known, name, json.loads(file.read_text(encoding="utf-8")))
    ledger.write(known)
    _write_all(known)


def _write_all(known: dict) -> None:
    for path, text in documents(known).items():
        (ledger.ROOT / path).write_text(text, encoding="utf-8")
        print(path)
    if "quick" not in known["tables"]:
        return
    from versus.figures import front_picture  # matplotlib takes a second to load

    for theme, path in PICTURES.items():
        (ledger.ROOT / path).parent.mkdir(exist_ok=True)
        (ledger.ROOT / path).write_text(front_picture.draw(known["tables"]["quick"], theme), encoding="utf-8")
        print(path)
