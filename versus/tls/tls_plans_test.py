# SPDX-License-Identifier: BSD-3-Clause
"""Tests of experiment 6: the options of generator and servers, and the whole way with fake programs."""

import shlex
from pathlib import Path

import pytest

from versus import comparison, fakes, made_up, plans, roster, traces
from versus.built_programs import BIN_DIR
from versus.duel import duel_campaign
from versus.experiments import CLOSED, Duels, Plan
from versus.run.server_host import ServerHost
from versus.tls import certificate, tls_plans
from versus.tls.tls_cells import FULL, RESUMED, HttpsCell, TlsCell

PROGRAMS = ("raw_tls", "libevent_tls", "https_raw", "http_nginx", "https_beast")


def told(cell):
    load = duel_campaign.load_of("tls", cell, Duels(), CLOSED)
    return load.kind, " ".join(load.words)


def test_the_options_of_the_generator_in_a_duel():
    assert told(TlsCell(64, 100)) == ("pingpong", "--connections 100 --threads 1 --size 64 --tls --tls-insecure")
    assert told(TlsCell(64, 100, pipeline=16))[1].endswith("--size 64 --tls --tls-insecure --pipeline 16")
    kind, words = told(HttpsCell(32))
    assert kind == "http" and words.endswith("--path /collect?v=1 --tls --tls-insecure")
    assert told(HttpsCell(32, handshakes=FULL))[1].endswith("--tls-insecure --handshakes")
    assert told(HttpsCell(32, handshakes=RESUMED))[1].endswith("--tls-insecure --handshakes --tls-resume")
    assert "--path /one-mib.bin " in told(HttpsCell(16, downloads=True))[1]


def test_slices_are_longer_if_a_round_trip_takes_longer():
    def slice_ms(cell):
        return duel_campaign.load_of("tls", cell, Duels(), CLOSED).slice_ms

    assert (slice_ms(TlsCell(64, 100)), slice_ms(TlsCell(64, 1000)), slice_ms(HttpsCell(100))) == (20, 100, 20)
    assert slice_ms(HttpsCell(8, handshakes=RESUMED)) == slice_ms(tls_plans.DOWNLOAD) == 100


def test_only_a_cell_with_downloads_gives_the_server_a_folder(tmp_path):
    nginx = next(each for each in certificate.TlsFiles(tmp_path).given_to(roster.built_in(tmp_path))
                 if each.name == "https-nginx")
    assert nginx.for_cell(tls_plans.DOWNLOAD)("h", 1)[-2:] == ["--root", f"{tmp_path}/root"]
    assert "--root" not in nginx.for_cell(HttpsCell(100))("h", 1)


def test_cells_have_different_names_and_titles():
    for experiment in tls_plans.EXPERIMENTS:
        for shown in ("name", "title"):
            assert len({getattr(cell, shown) for cell in experiment.cells}) == len(experiment.cells)
        named = {pair for claim in experiment.claims for pair in (claim.subject, claim.rival)}
        kinds = {each.name: each.kind for each in roster.built_in(Path("bin"))}
        assert {kinds[name] for name in named} == {experiment.kind}


def test_experiments_over_tls_cannot_run_on_another_machine(tmp_path):
    plan, left = comparison.elsewhere(plans.FULL, ServerHost("box2", tmp_path))
    assert not {"tls", "https"} & {each.name for each in plan.experiments}
    assert "Experiment 6: TLS, ping-pong: its certificate is made here" in left


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    bin_dir = fakes.make_bin(folder / "bin", PROGRAMS)
    mine = f"tls:mine={bin_dir}/contenders/raw_tls --listen {{listen}} --pem {{cert}}"
    with made_up.instead(Plan("full", "The lab, full", tls_plans.EXPERIMENTS)):
        return folder / "out", made_up.played(folder, "full", "--seed", "3", "--blocks", "6", "--no-calls",
                                              "--experiments", "tls,https", "--contender", mine)


def test_both_experiments_are_played_by_duel(played):
    tls, https = played[1]["experiments"]
    assert {each["name"] for each in tls["contenders"]} == {
        "raw-tls", "libevent-tls", "peal-tls-epoll", "peal-tls-uring", "mine", "peal-tls-epoll-twin"}
    assert {run["cell"] for run in https["runs"]} == {cell.name for cell in tls_plans.HTTPS_CELLS}
    assert tls["how"].startswith("By duel") and https["how"].startswith("By duel")
    downloads = {run["contender"] for run in https["runs"] if run["cell"] == tls_plans.DOWNLOAD.name}
    assert "https-beast" not in downloads and {"https-raw", "https-nginx"} <= downloads


def test_servers_get_the_certificate_that_was_made(played):
    commands = [words for each in played[1]["experiments"] for run in each["runs"]
                for words in run["commands"] if "https-raw=" in words]
    raw = next(word for word in shlex.split(commands[0]) if word.startswith("https-raw="))
    assert f"--tls-cert {played[0]}/tls/cert.pem --tls-key {played[0]}/tls/key.pem" in raw
    assert (played[0] / "tls" / "cert.pem").read_text().startswith("-----BEGIN CERTIFICATE")
    assert f"--pem {played[0]}/tls/cert.pem" in played[1]["experiments"][0]["runs"][0]["commands"][0]


def test_the_claims_are_judged_and_shown_on_the_page(played):
    claims = {(claim["subject"], claim["rival"], claim["cell"]): claim["verdict"]
              for each in played[1]["experiments"] for claim in each["claims"]}
    assert claims["peal-tls-epoll", "raw-tls", "64Bx100"] == "met"
    assert claims["https-peal-epoll", "https-nginx", "keep100"] == "met"
    assert claims["https-peal-epoll", "https-raw", "download16"] == "not met"
    page = (played[0] / "report.html").read_text()
    for words in ("Experiment 6: TLS, ping-pong", "Experiment 6: TLS, web servers", "libevent-tls",
                  "8 clients, a resumed handshake per request", "16 clients, a download of 1 MiB"):
        assert words in page


@pytest.mark.parametrize("cell, calls", [(TlsCell(64, 10), 1.0), (HttpsCell(10), 1.0),
                                         (HttpsCell(10, handshakes=FULL), None), (TlsCell(64, 10, pipeline=16), None),
                                         (tls_plans.DOWNLOAD, None)])
def test_system_calls_are_counted_over_tls(tmp_path, cell, calls):
    name = "raw-tls" if isinstance(cell, TlsCell) else "https-raw"
    contender = next(each for each in certificate.made_in(tmp_path, BIN_DIR / "peal").given_to(
        roster.built_in(BIN_DIR)) if each.name == name)
    if contender.missing() or not traces.available():
        pytest.skip(contender.missing() or "strace is not installed")
    found = traces.calls_per_message(contender, cell)
    assert (found and round(found["write"], 2)) == calls
