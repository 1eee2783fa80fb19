# SPDX-License-Identifier: BSD-3-Clause
"""Tests of the evaluation of a duel's JSON. Ratios computed here must equal those of the program."""

import json
import subprocess

import pytest

from versus.built_programs import built
from versus.duel import duel_fakes, duel_figures, duel_runner
from versus.duel.duel_figures import CPU, RATE
from versus.duel.duel_runner import DuelLoad, Player
from versus.quick.quick_plan import CLAIMS, cell_named


def test_the_ratio_is_that_of_the_costs():
    found = duel_fakes.document(["raw-epoll", "libuv"])
    pair = duel_figures.pair_of(found, CPU, "libuv", "raw-epoll")
    assert pair.blocks == 16 and pair.ratio == pytest.approx(3600 / 3400, rel=0.02)
    assert duel_figures.pair_of(found, RATE, "libuv", "raw-epoll").ratio == pytest.approx(3400 / 3600, rel=0.02)


def test_rounds_without_a_figure_are_left_out():
    found = duel_fakes.document(["raw-epoll", "libuv"], restarts=4)
    whole = duel_figures.restart_logs(found, CPU, "libuv", "raw-epoll")
    found["slices"][0][4] = 0  # no message came back
    found["slices"][4][6] = None  # its CPU is not known
    assert len(duel_figures.restart_logs(found, CPU, "libuv", "raw-epoll")) == len(whole) == 4
    found["slices"] = [row for row in found["slices"] if row[0] != 2]
    assert len(duel_figures.restart_logs(found, CPU, "libuv", "raw-epoll")) == 3


def test_an_invalid_gate_or_a_differing_twin_prevents_a_verdict():
    found = duel_fakes.document(["raw-epoll", "libuv", "libevent"])
    assert duel_figures.obstacle(found, CPU, ("libuv", "raw-epoll")) == ""
    found["gates"] = [{"verdict": "INVALID", "sentence": "libuv: 3 failures nobody asked for"},
                      {"verdict": "NOISY", "sentence": "libevent: something"}]
    assert duel_figures.obstacle(found, CPU, ("libuv", "raw-epoll")) == "libuv: 3 failures nobody asked for"
    assert duel_figures.obstacle(found, CPU, ("libevent", "raw-epoll")) == ""
    found["twins"][0]["verdict"] = "less"
    assert duel_figures.obstacle(found, CPU, ("libevent", "raw-epoll")) == "the same program differs from itself"
    assert duel_figures.obstacle(found, RATE, ("libevent", "raw-epoll")) == ""


def test_the_command_of_a_duel(tmp_path):
    load = cell_named("short100").load
    mine = Player("mine", ("./my server", "--listen", "{listen}"))
    words = duel_runner.command("peal", load, [mine], [CLAIMS[-2]], 12.0, 3, tmp_path / "x.json")
    assert words[:4] == ["peal", "load", "duel", "http"] and words[5] == "mine='./my server' --listen '{listen}'"
    assert words[words.index("--claim") + 1] == "cpu: http-peal-epoll/http-nginx <= 1.05"
    assert words[words.index("--requests-per-connection") + 1] == "1" and "--size" not in words
    assert words[words.index("--budget") + 1] == "12.0s" and words[words.index("--seed") + 1] == "3"


def test_a_player_that_cannot_start_is_left_out_and_the_others_play(tmp_path):
    program = tmp_path / "peal"
    program.write_text(duel_fakes.PROGRAM, encoding="utf-8")
    program.chmod(0o755)
    load = DuelLoad("x", "a cell", "pingpong", ("--connections", "1"), restarts=4, rounds=2)
    players = [Player("a", ("a", "{listen}")), Player("broken", ("/bin/false", "{listen}"))]
    duel = duel_runner.play_all(str(program), load, players, [], 10.0, 1, tmp_path / "out")
    assert [each["name"] for each in duel.found["contenders"]] == ["a", "a-twin"]
    assert duel.left_out == ["a cell: broken: the server ended by itself: exit code 1"]
    with pytest.raises(duel_runner.NoDuel, match="no contender could play"):
        duel_runner.play_all(str(program), load, players[1:], [], 10.0, 1, tmp_path / "out")


def test_ratios_computed_here_equal_those_of_the_program(tmp_path):
    """Runs a short duel with the real program."""
    peal = built("peal")
    out = tmp_path / "duel.json"
    command = f"{peal} serve pingpong --listen {{listen}}"
    words = [str(peal), "load", "duel", "--run", f"a={command}", "--run", f"b={command} --engine poll",
             "--connections", "4", "--slice", "5ms", "--rounds", "3", "--restarts", "5", "--budget", "60s",
             "--claim", "cpu: b/a <= 1.05", "--json", str(out)]
    subprocess.run(words, check=True, capture_output=True, timeout=120)
    found = json.loads(out.read_text())
    for pair in [*found["pairs"], *found["twins"], found["claims"][0]]:
        mine = duel_figures.pair_of(found, pair["metric"], pair["subject"], pair["rival"]).as_dict()
        for key in ("ratio", "low", "high"):
            assert mine[key] == pytest.approx(pair[key], rel=1e-6)
        assert mine["blocks"] == pair["restarts"] == 5
    assert found["claims"][0]["text"] == "cpu: b/a <= 1.05" and len(found["slices"]) == 5 * 3 * 3
