# SPDX-License-Identifier: BSD-3-Clause
"""Tests of the whole lab with fake programs: options, runs, results, report and exit code."""

import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from versus import analysis, cli, experiment_results, fakes, made_up, terminal
from versus.experiments import Claim
from versus.page import report, verdict
from versus.run.store import Store, StoreError

SECTIONS = ("claims", "findings", "pingpong", "gates", "environment", "commands", "method")
SHORT = ["--experiments", "pingpong", "--blocks", "4", "--run-seconds", "0.01", "--no-calls"]
ONLY = ["--only", "raw-epoll,libevent,peal-epoll"]


def of_pingpong(campaign):
    return campaign[2]["experiments"][0]


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    """Runs a small comparison of three contenders and the twin. Returns its command line, folder and results."""
    folder = tmp_path_factory.mktemp("campaign")
    bin_dir = fakes.make_bin(folder / "bin")
    out = folder / "out"
    words = ["full", "--bin", str(bin_dir), "--out", str(out), "--seed", "11", *SHORT, *ONLY]
    with made_up.small():
        assert cli.main(words) == cli.DONE
    return words, out, json.loads((out / "results.json").read_text())


def test_every_contender_ran_once_per_block_and_cell(campaign):
    results = of_pingpong(campaign)
    keys = [(run["cell"], run["block"], run["contender"]) for run in results["runs"]
            if run["block"] >= 0 and not run["attempt"]]
    assert len(keys) == len(set(keys)) == 3 * 4 * 4


def test_a_rate_is_half_the_slowest_saturation(campaign):
    cells = {cell["name"]: cell for cell in of_pingpong(campaign)["cells"]}
    assert 90_000 <= cells["64Bx1000"]["rate"] <= 110_000 and cells["64Bx1"]["rate"] == 0.0


def test_a_pairs_ratio_is_that_of_the_made_up_costs(campaign):
    pair = next(p for p in of_pingpong(campaign)["pairs"]
                if (p["cell"], p["metric"], p["rival"]) == ("64Bx1000", "server_cpu", "libevent"))
    assert pair["ratio"] == pytest.approx(3300 / 5000, rel=0.05) and pair["high"] < 1.0
    assert pair["says"] == "less CPU"


def test_claims_about_contenders_that_did_not_run_are_not_measured(campaign):
    verdicts = {(c["subject"], c["rival"]): c["verdict"] for c in of_pingpong(campaign)["claims"]}
    assert verdicts["peal-uring", "raw-uring"] == "not measured"
    assert verdicts["peal-epoll", "raw-epoll"] == "met"


def test_the_claims_of_all_experiments_are_one_family():
    def claim(ratio):
        return {"logs": [math.log(ratio) + step for step in (-0.02, -0.01, 0.0, 0.01, 0.02)], "bar": 1.0,
                "metric": "server_cpu", "obstacle": ""}

    alone, beside = [{"claims": [claim(0.98)]}], [{"claims": [claim(0.98)]}, {"claims": [claim(1.0)] * 3}]
    assert experiment_results.judged(alone)[0]["claims"][0]["verdict"] == "met"
    assert experiment_results.judged(beside)[0]["claims"][0]["verdict"] == "cannot tell"


def test_no_verdict_on_a_speed_that_the_generator_limited(campaign):
    experiment = replace(made_up.PINGPONG, cells=made_up.PINGPONG.cells[:1],
                         claims=(Claim("peal-epoll", "libevent", "64Bx1", metric="speed"),))
    names = ["peal-epoll", "libevent", "peal-epoll-twin"]
    records = json.loads(json.dumps(of_pingpong(campaign)["runs"]))

    def claim():
        claims = analysis.Analysis(experiment, names, records).claims()
        analysis.judge_together(claims)
        return claims[0]

    assert claim()["verdict"] == "met"
    first = next(run for run in records if (run["cell"], run["contender"]) == ("64Bx1", "libevent"))
    first["gates"] = [{"name": "generator", "verdict": "NOISY", "sentence": "x"}]
    assert (claim()["verdict"], claim()["why"]) == ("cannot tell", "the generator was full before libevent")


def test_no_verdict_on_pairs_if_a_program_differs_from_itself(campaign):
    experiment = replace(made_up.PINGPONG, cells=made_up.PINGPONG.cells[:1], claims=())
    names = ["peal-epoll", "libevent", "peal-epoll-twin"]
    records = json.loads(json.dumps(of_pingpong(campaign)["runs"]))

    def said():
        analysed = analysis.Analysis(experiment, names, records)
        pairs = {pair["metric"]: pair["says"] for pair in analysed.pairs() if pair["rival"] == "libevent"}
        return pairs, {row["metric"]: row["differs"] for row in analysed.noise()}

    assert said() == ({"server_cpu": "less CPU", "speed": "faster"}, {"server_cpu": False, "speed": False})
    for run in records:
        if run["contender"] == "peal-epoll-twin" and "figures" in run:
            run["figures"]["messages_per_s"] *= 2
    assert said() == ({"server_cpu": "less CPU", "speed": "cannot tell"}, {"server_cpu": False, "speed": True})


def test_a_claim_of_more_mirrors_one_of_less_and_an_obstacle_prevents_both():
    def judged(**more):
        found = {"logs": [0.1, 0.11, 0.09, 0.1], "bar": 1.0, "metric": "speed", "obstacle": ""} | more
        return experiment_results.judged([{"claims": [found]}])[0]["claims"][0]

    assert judged()["verdict"] == "met" and judged(metric="server_cpu")["verdict"] == "not met"
    told = judged(obstacle="the same program differs from itself")
    assert (told["verdict"], told["why"]) == ("cannot tell", "the same program differs from itself")
    assert judged(logs=[])["verdict"] == "not measured"


def keys(line):
    """Returns the keys of a line: of one run, or of all records of a duel."""
    read = json.loads(line)
    return [record["key"] for record in (read if isinstance(read, list) else [read])]


def test_a_lab_resumes_where_it_stopped(campaign, tmp_path):
    words, out, results = campaign
    lines = (out / "runs.ndjson").read_text().splitlines(keepends=True)
    cut = tmp_path / "cut"
    cut.mkdir()
    (cut / "campaign.json").write_text((out / "campaign.json").read_text())
    (cut / "runs.ndjson").write_text("".join(lines[:-2]) + lines[-2][:20])
    again = [str(cut) if word == str(out) else word for word in words]
    with made_up.small():
        assert cli.main(again) == cli.DONE
    kept = (cut / "runs.ndjson").read_text().splitlines(keepends=True)
    assert kept[: len(lines) - 2] == lines[:-2]
    assert list(map(keys, kept)) == list(map(keys, lines))


@pytest.mark.parametrize("more, what", [
    (["--run-seconds", "0.02"], "run_seconds 0.01, not 0.02"),
    (["--contender", "mine=cat {port}", "--only", "mine"], "contenders: raw-epoll, libevent, peal-epoll, mine")])
def test_a_folder_of_other_commands_is_refused(campaign, more, what, capsys):
    words, _, _ = campaign
    with made_up.small():
        assert cli.main([*words, *more]) == cli.CALLED_WRONGLY
    assert what in capsys.readouterr().err


def test_a_lab_does_not_resume_with_a_rebuilt_program(campaign, tmp_path):
    there = json.loads((campaign[1] / "campaign.json").read_text())
    Store(tmp_path, there).close()
    program = next(name for name in there["programs"] if name.endswith("peal"))
    again = there | {"programs": there["programs"] | {program: [1, 2]}}
    with pytest.raises(StoreError, match=f"programs: {program}"):
        Store(tmp_path, again)


def test_a_disturbed_duel_counts_as_all_its_restarts():
    foreign = [{"name": "foreign_load", "verdict": "NOISY", "sentence": "x"}]

    def run(block, cell="a", gates=(), **figures):
        return {"experiment": "pingpong", "cell": cell, "mode": "closed", "block": block, "gates": list(gates),
                "figures": figures}

    def told(*runs):
        return verdict.disturbance({"experiments": [{"runs": list(runs)}], "drum": None})

    duel = [run(block, gates=foreign if block == 0 else (), rounds={}) for block in range(20)]
    assert "20 of 40 runs" in told(*duel, *(run(block, "b", rounds={}) for block in range(20)))[0]
    assert told(*(run(block, gates=foreign if block == 0 else ()) for block in range(20))) == []


def test_another_seed_in_the_same_folder_is_refused(campaign):
    words, out, _ = campaign
    before = (out / "runs.ndjson").read_text()
    with made_up.small():
        assert cli.main([word if word != "11" else "12" for word in words]) == cli.CALLED_WRONGLY
    assert (out / "runs.ndjson").read_text() == before


class Page(HTMLParser):
    """Collects ids, addresses outside the page, and unclosed elements."""

    VOID = {"meta", "br", "hr", "link", "img", "input"}

    def __init__(self, text):
        super().__init__()
        self.ids, self.resources, self.open, self.broken = set(), [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.ids.add(found.get("id"))
        self.resources += [v for k, v in attrs if k in ("src", "href", "xlink:href", "data") and not v.startswith("#")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.broken.append(tag)


def test_the_page_is_complete_and_loads_nothing_from_outside(campaign):
    text = (campaign[1] / "report.html").read_text()
    page = Page(text)
    assert set(SECTIONS) <= page.ids
    assert page.resources == [] and page.open == [] and page.broken == []
    assert not re.search(r"https?://|@import|url\((?!#)", text)


def test_every_plot_has_its_table_and_follows_the_theme(campaign):
    text = (campaign[1] / "report.html").read_text()
    for article in text.split("<article")[1:]:
        for part in re.split(r"<h4", article)[1:]:
            if "<svg" in part:
                assert "<table>" in part, part[:60]
    assert "prefers-color-scheme: dark" in text and "var(--ink)" in text
    assert not re.search(r"(fill|stroke): #", text)


def test_findings_that_this_run_could_not_judge_are_folded_away(campaign):
    text = (campaign[1] / "report.html").read_text()
    section = text.partition('<section id="findings">')[2].partition("</section>")[0]
    shown, _, folded = section.partition("<details><summary>Findings that this run cannot decide, and why: ")
    assert "not measurable here</span>" not in shown and "not measurable here</span>" in folded
    count = sum(row["verdict"] == "not measurable here" for row in campaign[2]["findings"])
    assert folded.startswith(f"{count} of {len(campaign[2]['findings'])}</summary>")


def test_the_summary_names_the_verdict(campaign):
    text = terminal.summary(campaign[2])
    assert "Verdict: " in text and "libevent" in text and "peal-epoll-twin" in text


def test_results_that_came_from_json_render_the_same(campaign):
    assert report.render(campaign[2]) == (campaign[1] / "report.html").read_text()


def test_marked_runs_are_shown_not_dropped(campaign):
    results = json.loads(json.dumps(campaign[2]))
    marred = {"status": "INVALID", "sentences": ["Something <odd> happened."], "cell": "64Bx1", "mode": "closed",
              "block": -1, "contender": "raw-epoll", "attempt": 1, "key": "k"}
    results["experiments"][0]["flagged"] = [marred]
    text = report.render(results)
    assert "Something &lt;odd&gt; happened." in text and "1 INVALID" in text


def test_a_server_that_cannot_start_is_left_out_and_named(tmp_path):
    bin_dir = fakes.make_bin(tmp_path / "bin", ("raw_epoll",))
    words = ["full", "--bin", str(bin_dir), "--out", str(tmp_path / "out"), "--seed", "1", "--blocks", "1",
             "--run-seconds", "0.01", "--no-calls", "--experiments", "pingpong",
             "--contender", "broken=/bin/false {port}", "--only", "raw-epoll,broken"]
    with made_up.small():
        assert cli.main(words) == cli.DONE
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    assert any("broken: the server ended by itself" in line for line in results["left_out"])
    assert all(contender["name"] != "broken" for contender in results["experiments"][0]["contenders"])


@pytest.mark.parametrize("words, code", [
    (["full", "--bin", "/nowhere"], cli.FAILED),
    (["full", "--only", "nobody"], cli.CALLED_WRONGLY),
    (["quick", "--bin", "/nowhere"], cli.FAILED),
    (["quick", "--only", "nobody"], cli.CALLED_WRONGLY),
    (["quick", "--contender", "x"], cli.CALLED_WRONGLY),
    (["bench", "--only", "nothing"], cli.CALLED_WRONGLY),
])
def test_exit_codes(words, code, capsys):
    assert cli.main(words) == code
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


@pytest.mark.parametrize("words", [[], ["full", "--blocks", "0"], ["quick", "--budget", "-1"], ["fast"],
                                   ["quick", "--experiments", "nothing"],
                                   ["full", "--budget", "60", "--run-seconds", "1"]])
def test_a_wrong_command_line_exits_with_2(words):
    with pytest.raises(SystemExit) as raised:
        cli.main(words)
    assert raised.value.code == cli.CALLED_WRONGLY


def test_the_store_refuses_a_folder_of_another_campaign(tmp_path):
    Store(tmp_path, {"seed": 1}).close()
    Store(tmp_path, {"seed": 1}).close()
    with pytest.raises(StoreError, match="another campaign"):
        Store(tmp_path, {"seed": 2})
