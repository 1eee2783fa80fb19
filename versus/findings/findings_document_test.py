# SPDX-License-Identifier: BSD-3-Clause
"""The document has every finding once, says what decided it, and docs/findings.md is one that today's rules made."""

import json
import re
from pathlib import Path

import pytest

from versus import cli
from versus.findings import CONFIRMED, NOT_HERE, REFUTED, VERDICTS, findings_document

PAGE = Path(__file__).parents[2] / "docs" / "findings.md"


def results(verdict="", number=0, **more):
    """Results in which one finding is told and the others are not."""
    rows = findings_document.everything()
    if verdict:
        rows[number] = rows[number] | {"verdict": verdict, "figure": f"a figure that says {verdict}"}
    return {"schema": 2, "findings": rows, "started": "2026-01-02 03:04:05 UTC",
            "command": "python3 -m versus findings",
            "environment": {"Processor": "a made-up one", "CPUs usable": "2"}} | more


def rows_of(page):
    """(sentence, verdict, figure) of each row of the page's tables of findings."""
    rows = []
    for line in page.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == 3 and cells[1] in VERDICTS:
            rows.append((cells[0], cells[1], cells[2]))
    return rows


def counted(page):
    """The rows that were published: what peal does in another's place is told beside them."""
    return [row for row in rows_of(page) if not row[0].startswith(findings_document.STAND_IN)]


def counts_of(page):
    return {line.split("|")[1].strip(): [int(cell) for cell in line.split("|")[2:-1]] for line in page.splitlines()
            if re.match(r"\| (\d: |all )", line)}


def test_every_finding_stands_in_it_once():
    page = findings_document.text([results()])
    assert len(rows_of(page)) == len(findings_document.everything())
    assert {verdict for _, verdict, _ in rows_of(page)} == {NOT_HERE}
    assert counts_of(page)["all"][0] == len(counted(page)) < len(rows_of(page))


@pytest.mark.parametrize("runs, expected", [
    ([results(CONFIRMED), results(REFUTED)], REFUTED), ([results(REFUTED), results(CONFIRMED)], CONFIRMED),
    ([results(CONFIRMED), results()], CONFIRMED), ([results(), results()], NOT_HERE)])
def test_the_last_run_that_decides_has_the_word(runs, expected):
    page = findings_document.text(runs)
    sentence, verdict, figure = rows_of(page)[0]
    assert verdict == expected and sentence == findings_document.everything()[0]["sentence"]
    assert ("a figure that says" in figure) == (expected != NOT_HERE)
    assert counts_of(page)["all"] == [len(counted(page)), *(
        sum(told == each for _, told, _ in counted(page)) for each in VERDICTS)]


def test_it_says_when_where_and_by_what():
    page = findings_document.text([results(CONFIRMED)])
    assert "Measured 2026-01-02: `python3 -m versus findings`" in page and "a made-up one" in page


def test_the_command_prints_it(tmp_path, capsys):
    (tmp_path / "results.json").write_text(json.dumps(results(CONFIRMED)), encoding="utf-8")
    assert cli.main(["document", str(tmp_path)]) == cli.DONE
    assert capsys.readouterr().out == findings_document.text([results(CONFIRMED)])


@pytest.mark.parametrize("content", [
    "{}", "not json", "[]", None, "[" * 100_000, json.dumps(results(schema=99)), json.dumps(results(started=None)),
    json.dumps(results(environment=None)), json.dumps(results(findings=[{}])), json.dumps(results(findings=None)),
    json.dumps(results(findings=[{"experiment": 1, "sentence": "s", "figure": "f", "verdict": "5"}]))],
    ids=lambda content: str(content)[:20])
def test_what_holds_no_results_is_refused_in_a_sentence(tmp_path, capsys, content):
    file = tmp_path / "results.json"
    if content is not None:
        file.write_text(content, encoding="utf-8")
    assert cli.main(["document", str(file)]) == cli.FAILED
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_the_page_in_docs_has_the_findings_of_today():
    rows = rows_of(PAGE.read_text(encoding="utf-8"))
    told = [sentence for sentence, _, _ in rows]
    assert told == [row["sentence"] for row in sorted(findings_document.everything(),
                                                      key=lambda row: row["experiment"])]
    judged = counted(PAGE.read_text(encoding="utf-8"))
    counts = counts_of(PAGE.read_text(encoding="utf-8"))["all"]
    assert counts == [len(judged), *(sum(verdict == each for _, verdict, _ in judged) for each in VERDICTS)]
    assert all(figure for _, _, figure in rows)
