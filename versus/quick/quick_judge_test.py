# SPDX-License-Identifier: BSD-3-Clause
"""The rules of the quick page, on duels that are made up; and that what is worked out here is what the program says."""

import json
import math
import os
import subprocess
from pathlib import Path

import pytest

from versus.quick import duel_runner, quick_fakes, quick_judge, quick_words
from versus.quick.quick_judge import AT_THE_BAR, CANNOT_TELL, MET, NOT_MEASURED, NOT_MET
from versus.quick.quick_plan import CELLS, CLAIMS, CPU, PUBLISHED, DuelClaim, cell_named, chosen
from versus.roster import Contender

BIN_DIR = Path(os.environ.get("PEAL_BIN_DIR", "build/release/bin"))
CLAIM = DuelClaim("a", "b", "64Bx1000", 1.05)


def row(ratio, half):
    return {"ratio": ratio, "low": ratio / (1 + half), "high": ratio * (1 + half)}


@pytest.mark.parametrize("ratio, half, p, verdict", [
    (1.00, 0.03, 0.01, MET),
    (1.15, 0.03, 0.01, NOT_MET),
    (1.04, 0.015, 0.40, AT_THE_BAR),
    (1.033, 0.015, 0.08, AT_THE_BAR),
    (1.04, 0.03, 0.40, CANNOT_TELL),
    (1.00, 0.015, 0.06, CANNOT_TELL),
])
def test_a_claim_against_its_bar(ratio, half, p, verdict):
    assert quick_judge.verdict_of(row(ratio, half), CLAIM, p, "")[0] == verdict


def test_why_a_claim_cannot_be_told():
    assert quick_judge.verdict_of(row(1.04, 0.03), CLAIM, 0.4, "")[1] == "the interval holds 1.05"
    assert quick_judge.verdict_of(row(1.00, 0.03), CLAIM, 0.06, "")[1] == "p is 0.06"
    assert quick_judge.verdict_of(row(1.00, 0.03), CLAIM, 0.0, "the same program differs from itself") == (
        CANNOT_TELL, "the same program differs from itself")
    assert quick_judge.verdict_of({"ratio": 1.0, "low": None, "high": None}, CLAIM, 1.0, "")[1] == "too few restarts"


def test_the_claims_are_one_family_for_the_whole_page():
    duels = [quick_fakes.duel(cell) for cell in CELLS]
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


def test_a_claim_about_who_did_not_play_is_not_measured():
    cell = cell_named("64Bx1000")
    rows = quick_judge.claims([quick_fakes.duel(cell, ("raw-epoll", "peal-epoll", "libuv"))], CLAIMS)
    verdicts = {(claim["subject"], claim["rival"], claim["cell"]): claim["verdict"] for claim in rows}
    assert verdicts["peal-epoll", "raw-epoll", "64Bx1000"] == MET
    assert verdicts["peal-uring", "raw-uring", "64Bx1000"] == NOT_MEASURED
    assert verdicts["http-peal-epoll", "http-nginx", "keep100"] == NOT_MEASURED


def test_where_the_twin_differs_or_a_gate_speaks_nothing_is_claimed():
    cell = cell_named("64Bx1000")
    duel = quick_fakes.duel(cell)
    duel.found["twins"][0]["verdict"] = "more"
    rows = [claim for claim in quick_judge.claims([duel], CLAIMS) if claim["cell"] == cell.name]
    assert {claim["verdict"] for claim in rows} == {CANNOT_TELL}
    duel = quick_fakes.duel(cell)
    duel.found["gates"] = [{"verdict": "INVALID", "sentence": "libuv: 3 failures nobody asked for"},
                           {"verdict": "NOISY", "sentence": "libevent: something"}]
    rows = {claim["rival"]: claim for claim in quick_judge.claims([duel], CLAIMS) if claim["cell"] == cell.name}
    assert rows["libuv"]["verdict"] == CANNOT_TELL and rows["libuv"]["why"].startswith("libuv: 3 failures")
    assert rows["libevent"]["verdict"] == MET


def test_a_published_figure_stands_beside_what_is_so_now():
    rows = {row["sentence"]: row for row in quick_judge.then_and_now([quick_fakes.duel(cell) for cell in CELLS])}
    assert len(rows) == len(PUBLISHED)
    level = next(row for sentence, row in rows.items() if sentence.startswith("nginx and libevent"))
    # The made-up rates follow from the costs: nginx is 8000 / 4400 times as fast.
    assert level["ratio"] == pytest.approx(8000 / 4400, rel=0.03) and level["verdict"] == quick_judge.NO_LONGER
    duel = quick_fakes.duel(cell_named("keep100"))
    next(each for each in duel.found["contenders"] if each["name"] == "http-nginx")["bounded"] = True
    row = quick_judge.then_and_now([duel])[0]
    assert row["verdict"] == CANNOT_TELL and "the generator was full before http-nginx" in row["why"]


def test_fewer_than_four_restarts_have_no_interval():
    assert quick_judge.estimate([0.1, 0.2, 0.3])["low"] is None
    assert quick_judge.estimate([]) == {"ratio": None, "low": None, "high": None, "restarts": 0}
    found = quick_judge.estimate([0.0, 0.02, -0.02, 0.04])
    assert found["ratio"] == pytest.approx(math.exp(0.01)) and found["low"] < 1 < found["high"]


def test_rounds_without_a_figure_are_left_out():
    found = quick_fakes.document(["raw-epoll", "libuv"], restarts=4)
    whole = quick_judge.restart_logs(found, CPU, "libuv", "raw-epoll")
    found["slices"][0][4] = 0  # no message came back
    found["slices"][4][6] = None  # its CPU is not known
    assert len(quick_judge.restart_logs(found, CPU, "libuv", "raw-epoll")) == len(whole) == 4
    found["slices"] = [row for row in found["slices"] if row[0] != 2]
    assert len(quick_judge.restart_logs(found, CPU, "libuv", "raw-epoll")) == 3


def test_the_words_of_the_whole():
    def headline(*verdicts):
        return quick_words.headline([{"verdict": verdict} for verdict in verdicts])

    assert headline() == ("unsure", "No claim was declared for what was played; what it costs stands below.")
    assert headline(MET, MET) == ("good", "All 2 claims declared beforehand are met.")
    assert headline(MET, AT_THE_BAR) == ("good", "Of 2 claims declared beforehand: 1 met, 1 at the bar.")
    assert headline(MET, NOT_MET, CANNOT_TELL)[0] == "bad" and headline(MET, CANNOT_TELL)[0] == "unsure"


def test_what_plays_where():
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


def test_the_command_of_a_duel(tmp_path):
    cell = cell_named("short100")
    mine = Contender("mine", ("./my server", "--listen", "{listen}"), "")
    words = duel_runner.command("peal", cell, [mine], [CLAIMS[-2]], 12.0, 3, tmp_path / "x.json")
    assert words[:4] == ["peal", "load", "duel", "http"] and words[5] == "mine='./my server' --listen '{listen}'"
    assert words[words.index("--claim") + 1] == "cpu: http-peal-epoll/http-nginx <= 1.05"
    assert words[words.index("--requests-per-connection") + 1] == "1" and "--size" not in words
    assert words[words.index("--budget") + 1] == "12.0s" and words[words.index("--seed") + 1] == "3"


def test_it_reads_what_the_program_writes_and_finds_the_same(tmp_path):
    """A short duel of the real program: the ratios worked out here from its slices are its own."""
    if not (BIN_DIR / "peal").exists():
        pytest.skip("the program is not built")
    out = tmp_path / "duel.json"
    command = f"{BIN_DIR}/peal serve pingpong --listen {{listen}}"
    words = [str(BIN_DIR / "peal"), "load", "duel", "--run", f"a={command}", "--run", f"b={command} --engine poll",
             "--connections", "4", "--slice", "5ms", "--rounds", "3", "--restarts", "5", "--budget", "60s",
             "--claim", "cpu: b/a <= 1.05", "--json", str(out)]
    subprocess.run(words, check=True, capture_output=True, timeout=120)
    found = json.loads(out.read_text())
    for pair in [*found["pairs"], *found["twins"], found["claims"][0]]:
        mine = quick_judge.estimate(quick_judge.restart_logs(found, pair["metric"], pair["subject"], pair["rival"]))
        for key in ("ratio", "low", "high"):
            assert mine[key] == pytest.approx(pair[key], rel=1e-6)
        assert mine["restarts"] == pair["restarts"] == 5
    assert found["claims"][0]["text"] == "cpu: b/a <= 1.05" and len(found["slices"]) == 5 * 3 * 3
