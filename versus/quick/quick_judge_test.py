# SPDX-License-Identifier: BSD-3-Clause
"""Tests of the quick page's rules, on made-up duels."""

import math

import pytest
from scipy import stats as scipy_stats

from versus.duel import duel_fakes
from versus.duel.duel_runner import Duel
from versus.quick import quick_judge, quick_words
from versus.quick.quick_plan import CELLS, CLAIMS, PUBLISHED, cell_named, chosen
from versus.stats import AT_THE_BAR, CANNOT_TELL, MET, NOT_MEASURED, NOT_MET


def played(cell, names=()) -> Duel:
    """Returns a duel of all contenders of the cell, or of `names`, with the claims about them."""
    return duel_fakes.duel(cell.load, names or cell.contenders, tuple(c for c in CLAIMS if c.cell == cell.name))


def test_the_claims_are_one_family_for_the_whole_page():
    duels = [played(cell) for cell in CELLS]
    rows = quick_judge.claims(duels, CLAIMS)
    assert len(rows) == len(CLAIMS)
    smallest = min(found["p"] for duel in duels for found in duel.found["claims"])
    assert min(claim["p_adjusted"] for claim in rows) == pytest.approx(len(CLAIMS) * smallest)
    assert [claim["verdict"] for claim in rows].count(MET) >= 8
    cell = cell_named("64Bx1000")
    alone = quick_judge.claims(duels, tuple(claim for claim in CLAIMS if claim.cell == cell.name))
    beside = [claim for claim in rows if claim["cell"] == cell.name]
    assert len(alone) == len(beside) == 5
    assert all(mine["p_adjusted"] <= theirs["p_adjusted"] for mine, theirs in zip(alone, beside))


def test_a_claim_about_a_contender_that_did_not_play_is_not_measured():
    cell = cell_named("64Bx1000")
    rows = quick_judge.claims([played(cell, ("raw-epoll", "peal-epoll", "libuv"))], CLAIMS)
    verdicts = {(claim["subject"], claim["rival"], claim["cell"]): claim["verdict"] for claim in rows}
    assert verdicts["peal-epoll", "raw-epoll", "64Bx1000"] == MET
    assert verdicts["peal-uring", "raw-uring", "64Bx1000"] == NOT_MEASURED
    assert verdicts["http-peal-epoll", "http-nginx", "keep100"] == NOT_MEASURED


def test_no_verdict_if_the_twin_differs_or_a_gate_is_invalid():
    cell = cell_named("64Bx1000")
    duel = played(cell)
    duel.found["twins"][0]["verdict"] = "more"
    rows = [claim for claim in quick_judge.claims([duel], CLAIMS) if claim["cell"] == cell.name]
    assert {claim["verdict"] for claim in rows} == {CANNOT_TELL}
    duel = played(cell)
    duel.found["gates"] = [{"verdict": "INVALID", "sentence": "libuv: 3 failures nobody asked for"},
                           {"verdict": "NOISY", "sentence": "libevent: something"}]
    rows = {claim["rival"]: claim for claim in quick_judge.claims([duel], CLAIMS) if claim["cell"] == cell.name}
    assert rows["libuv"]["verdict"] == CANNOT_TELL and rows["libuv"]["why"].startswith("libuv: 3 failures")
    assert rows["libevent"]["verdict"] == MET


def logs_of_p(p: float, restarts: int = 16) -> list[float]:
    """Returns log ratios of a ratio below 1 that have this p."""
    scatter = 0.03 * math.sqrt(restarts - 1) / scipy_stats.t.isf(p / 2, restarts - 1)
    return [-0.03 + sign * scatter for sign in (-1, 1) * (restarts // 2)]


@pytest.mark.parametrize("p, differs", [(0.005, False), (0.001, True)])
def test_twins_are_one_family_for_the_whole_page(p, differs):
    duels = [played(cell) for cell in CELLS]
    for duel in duels:
        duel.found["twins"][0] |= {"logs": logs_of_p(0.5), "verdict": "level"}
    found = duels[1].found
    found["twins"][0] |= {"logs": logs_of_p(p), "verdict": "less"}
    for pair in found["pairs"]:
        pair["verdict"] = CANNOT_TELL  # as the duel itself says
    quick_judge.judge_twins(duels)
    assert (found["twins"][0]["verdict"] == "less") == differs
    rows = {row["contender"]: row["says"] for row in quick_judge.costs(duels[1])}
    assert rows["libevent"] == (CANNOT_TELL if differs else "more")
    told = {claim["verdict"] for claim in quick_judge.claims(duels, CLAIMS) if claim["cell"] == duels[1].load.name}
    assert (told == {CANNOT_TELL}) == differs


def test_published_figures_are_compared_with_those_of_today():
    rows = {row["sentence"]: row for row in quick_judge.then_and_now([played(cell) for cell in CELLS])}
    assert len(rows) == len(PUBLISHED)
    level = next(row for sentence, row in rows.items() if sentence.startswith("nginx and libevent"))
    # The made-up rates follow from the costs: nginx is 8000 / 4400 times as fast as libevent.
    assert level["ratio"] == pytest.approx(8000 / 4400, rel=0.03) and level["verdict"] == quick_judge.NO_LONGER
    duel = played(cell_named("keep100"))
    next(each for each in duel.found["contenders"] if each["name"] == "http-nginx")["bounded"] = True
    row = quick_judge.then_and_now([duel])[0]
    assert row["verdict"] == CANNOT_TELL and "the generator was full before http-nginx" in row["why"]
    duel.found["gates"] = [{"verdict": "INVALID", "sentence": "http-nginx: 3 failures nobody asked for"}]
    assert quick_judge.then_and_now([duel])[0]["why"] == "http-nginx: 3 failures nobody asked for"


def test_a_published_program_is_judged_itself_if_it_plays():
    past = next(each for each in PUBLISHED if each.stands_for == "muduo")
    assert past.played_by({"muduo", "libuv"}).subject == "muduo"
    assert past.played_by({"muduo"}).sentence == past.sentence
    assert past.played_by({"libuv"}).subject == "peal-epoll"
    assert past.played_by({"libuv"}).sentence == f"{past.sentence} (here: peal instead)"


def test_the_headline():
    def headline(*verdicts):
        return quick_words.headline([{"verdict": verdict} for verdict in verdicts])

    assert headline() == ("unsure", "No claim was declared for the cells that were played. The costs are below.")
    assert headline(MET, MET) == ("good", "All 2 claims declared beforehand are met.")
    assert headline(MET, AT_THE_BAR) == ("good", "Of 2 claims declared beforehand: 1 met, 1 at the bar.")
    assert headline(MET, NOT_MET, CANNOT_TELL)[0] == "bad" and headline(MET, CANNOT_TELL)[0] == "unsure"


def test_which_contenders_play_in_which_cell():
    everybody = chosen([], {}, [])
    assert [cell.name for cell, _ in everybody] == [cell.name for cell in CELLS]
    assert sum(cell.share for cell in CELLS) == pytest.approx(1.0)
    assert chosen(["keep100"], {}, ["peal-epoll"]) == []
    mine = chosen(["keep100", "64Bx1"], {"http": ["mine"]}, [])
    assert mine[1][1][-1] == "mine" and "mine" not in mine[0][1]
    for claim in CLAIMS:
        assert {claim.subject, claim.rival} <= set(cell_named(claim.cell).contenders)
    for published in PUBLISHED:
        assert {published.subject, published.rival} <= set(cell_named(published.cell).contenders)
