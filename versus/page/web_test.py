# SPDX-License-Identifier: BSD-3-Clause
"""Tests of experiments 3 and 4 as a whole, with fake programs; and of peal's variants, without running cmake."""

import json
import os
import shlex
import subprocess

import pytest

from versus import fakes, lockstep, made_up, roster, traces, variants
from versus.duel import duel_campaign, duel_fakes
from versus.findings.judging import experiment_of
from versus.run import counters, generator, process
from versus.experiments import CLOSED, Duels, HttpCell

ONLY = "http-peal-epoll,http-raw-epoll,http-libevent,http-beast-locked,mine"


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    folder = tmp_path_factory.mktemp("web")
    bin_dir = fakes.make_bin(folder / "bin", fakes.HTTP_NAMES)
    mine = f"http:mine={bin_dir}/contenders/http_libevent --listen {{listen}}"
    with made_up.small():
        return folder / "out", made_up.played(folder, "full", "--seed", "3", "--blocks", "6", "--budget", "40",
                                              "--experiments", "rest,pages", "--contender", mine, "--only", ONLY)


def test_both_experiments_ran_all_http_contenders_and_the_twin(campaign):
    rest, pages = experiment_of(campaign[1], "rest"), experiment_of(campaign[1], "pages")
    names = {"http-peal-epoll", "http-raw-epoll", "http-libevent", "http-beast-locked", "mine", "http-peal-epoll-twin"}
    for experiment in (rest, pages):
        assert {contender["name"] for contender in experiment["contenders"]} == names
    assert {(run["cell"], run["mode"]) for run in rest["runs"]} == {("keep100", "rate"), ("keep100", "closed")}
    assert {run["cell"] for run in pages["runs"]} == {"keep100", "short100"}
    assert len({run["key"] for run in rest["runs"] + pages["runs"]}) == len(rest["runs"]) + len(pages["runs"])


def test_a_fixed_rate_is_half_of_the_slowest(campaign):
    slowest = 1e9 / duel_fakes.COSTS_NS["http-beast-locked"]
    assert experiment_of(campaign[1], "rest")["cells"][0]["rate"] == pytest.approx(slowest / 2, rel=0.06)


def test_a_cell_with_short_connections_has_a_latency_of_connects(campaign):
    pages = experiment_of(campaign[1], "pages")
    short = next(run for run in pages["runs"] if run["cell"] == "short100")
    words = shlex.split(short["commands"][0])
    assert words[2:4] == ["duel", "http"] and "--requests-per-connection" in words
    assert {row["of"] for row in pages["latency"] if row["cell"] == "short100"} == {"latency", "connect"}
    assert {row["of"] for row in pages["latency"] if row["cell"] == "keep100"} == {"latency"}


def test_the_findings_follow_from_the_runs(campaign):
    rows = {row["sentence"]: row["verdict"] for row in campaign[1]["findings"]}
    assert rows["asio answers less than half of libevent's requests (published: 0.17)"] == "confirmed"
    assert next(v for s, v in rows.items() if s.startswith("Keep-alive") and s.endswith("libevent")) == "confirmed"
    assert next(v for s, v in rows.items() if s.startswith("nginx and libevent")) == "not measurable here"


def test_the_page_has_both_sections_and_the_published_rows(campaign):
    text = (campaign[0] / "report.html").read_text()
    assert 'id="rest"' in text and 'id="pages"' in text and 'id="pingpong"' not in text
    assert "muduo, published" in text and "3,396,090" in text and "286,586" in text
    assert "http-peal-epoll has more pages/s than http-nginx" in text


def test_the_command_line_of_a_cell():
    load = duel_campaign.load_of("pages", HttpCell(1000, 4, short=True, client_threads=2), Duels(), CLOSED)
    words = list(load.words)
    assert load.kind == "http" and words[words.index("--path") + 1] == "/collect?v=1" and "--size" not in words
    assert words[words.index("--threads") + 1] == "2" and words[words.index("--requests-per-connection") + 1] == "1"


def test_shares_are_of_the_generators_threads():
    # 40,000 messages in one second, with 20 us of the server's CPU and 0.9 us of the generator's per message.
    found = generator.parse(json.dumps({"seconds": 1.0, "messages": 40000, "threads": 4, "server": {"cpu_ns": 8e8},
                                        "client": {"cpu_ns": 3.6e7, "spin_ns": 0}}))
    assert found.server_share == pytest.approx(0.2) and found.client_share == pytest.approx(0.009)
    assert found.messages_per_s == 40000


ANSWERER = fakes.SERVER.replace(
    "peer.sendall(data)", 'peer.sendall(b"HTTP/1.1 STATUS OK\\r\\nContent-Length: 2\\r\\n\\r\\nok")')


@pytest.mark.parametrize("status, fine", [("200", True), ("500", False)])
def test_requests_count_only_if_they_are_answered_with_200(tmp_path, status, fine):
    server = fakes.write_program(tmp_path / "server", ANSWERER.replace("STATUS", status))
    with process.serving(lambda host, port: [str(server), "--listen", f"{host}:{port}"]) as running:
        with lockstep.connected(running.host, running.port, 1) as connections:
            if fine:
                assert lockstep.requests(connections, 3) == 3
            else:
                with pytest.raises(lockstep.EchoDiffers):
                    lockstep.requests(connections, 1)


def test_short_connections_are_not_traced(tmp_path):
    contender = roster.built_in(tmp_path)[0]
    assert traces.calls_per_message(contender, HttpCell(10, short=True)) is None


def test_memory_is_that_of_all_the_servers_processes():
    script = "sleep 60 & echo; wait"
    with subprocess.Popen(["bash", "-c", script], stdout=subprocess.PIPE) as parent:
        try:
            parent.stdout.readline()
            mine = counters.descendants(parent.pid)
            assert len(mine) == 2 and mine[0] == parent.pid
            assert counters.tree_rss_bytes(parent.pid) > counters.process_rss_bytes(parent.pid)
        finally:
            for pid in reversed(mine):
                os.kill(pid, 15)


class Builds:
    """A fake cmake that records what it was asked, and fails for one compiler."""

    def __init__(self, failing=""):
        self.asked, self._failing = [], failing

    def __call__(self, words, cpus, limit_s):
        self.asked.append(words)
        failed = self._failing and any(self._failing in word for word in words)
        return process.Outcome(1 if failed else 0, "", "no such compiler" if failed else "")


def models_of(tmp_path):
    return [c for c in roster.built_in(tmp_path) if c.name in ("peal-epoll", "asio-per-thread")]


def test_variants_differ_only_in_compiler_level_and_standard(tmp_path, monkeypatch):
    monkeypatch.setattr(variants.shutil, "which", lambda name: name)
    models = models_of(tmp_path)
    builds = Builds()
    wanted = tuple(variant.contender for variant in variants.VARIANTS)
    ready, absent = variants.build(models, wanted, lambda text: None, 2, tmp_path, builds)
    assert [contender.name for contender in ready] == list(wanted) and not absent
    assert ready[3].program == f"{tmp_path}/peal-epoll-clang-O3/bin/peal"
    assert ready[3].command[1:] == next(m for m in models if m.name == "peal-epoll").command[1:]
    assert len(builds.asked) == 4 * 2 + 3 * 4 and "-DCMAKE_CXX_FLAGS=-O3 -g1" in builds.asked[6]
    gcc, cxx14 = (next(words for words in builds.asked if words[-2].endswith(f"/bin/{name}"))
                  for name in ("asio-gcc-O2", "asio-gcc-O2-cxx14"))
    assert [(a, b) for a, b in zip(gcc, cxx14) if a != b and "asio-gcc-O2" not in a] == [("-std=c++23", "-std=c++14")]


def test_asios_variants_are_built_from_the_contenders_own_files(tmp_path):
    """Builds it really, with the one compiler that is always installed."""
    wanted = ("asio-gcc-O2-cxx14",)
    ready, absent = variants.build(models_of(tmp_path), wanted, lambda text: None, 1, tmp_path)
    if absent:
        pytest.skip(absent[0])
    with process.serving(ready[0].for_threads(1), (), False) as server:
        assert server.child.poll() is None


def test_a_variant_that_cannot_be_built_is_left_out_and_named(tmp_path, monkeypatch):
    monkeypatch.setattr(variants.shutil, "which", lambda name: name)
    wanted = ("peal-epoll-gcc-O3", "peal-epoll-clang-O3")
    ready, absent = variants.build(models_of(tmp_path), wanted, lambda text: None, 2, tmp_path, Builds("clang++"))
    assert [contender.name for contender in ready] == ["peal-epoll-gcc-O3"]
    assert absent == ["peal-epoll-clang-O3: its build failed: no such compiler"]
