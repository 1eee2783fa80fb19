# SPDX-License-Identifier: BSD-3-Clause
"""The experiment at a full link the whole way, with programs that only pretend: what is said where the link was full,
and what is not where it was not."""

import json
import re

import pytest

from versus import cli, fakes
from versus.duel import duel_fakes
from versus.link import link_lab, link_plan, link_words
from versus.link.link_rule import Link
from versus.page import link_page

LOCAL = "sh -c 'exec sh -c \"$2\"' sh"
# The fake duel has 100,000 messages/s, everybody, through `lo`: of 16 KiB that is 13,149 Mbit/s, of 4 KiB 3,318.
AT_16_KIB = 13_600.0


def words_for(folder, *more):
    bin_dir = fakes.make_bin(folder / "bin")
    return ["link", "--bin", str(bin_dir), "--out", str(folder / "out"), "--seed", "3", "--server-host", "box2",
            "--remote-shell", LOCAL, *more]


def results_of(folder):
    return json.loads((folder / "out" / "results.json").read_text())


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """A link that 16 KiB fill, and 4 KiB do not."""
    folder = tmp_path_factory.mktemp("link")
    assert cli.main(words_for(folder, "--link-mbit", str(AT_16_KIB))) == cli.DONE
    return folder, results_of(folder)


def test_who_needs_less_cpu_is_said_where_the_link_was_full(played):
    cell = next(cell for cell in played[1]["cells"] if cell["name"] == "16KiB")
    rows = {row["contender"]: row for row in cell["rows"]}
    assert cell["full"] and all(row["full"] for row in cell["rows"]) and rows["raw-epoll"]["floor"]
    assert rows["libevent"]["says"] == "more" and rows["libevent"]["ratio"] == pytest.approx(5000 / 3400, rel=0.05)
    assert rows["libevent"]["mib_per_s"] == pytest.approx(100_000 * 16384 / 2**20)
    assert rows["libevent"]["link_share"] == pytest.approx(13_149 / AT_16_KIB, abs=0.001)
    assert rows["libevent"]["server_share"] == 0.9
    met = [claim for claim in played[1]["claims"] if claim["cell"] == "16KiB" and claim["verdict"] == "met"]
    assert {claim["rival"] for claim in met} >= {"libevent", "asio-per-thread"}


def test_where_it_was_not_full_nothing_is_said(played):
    cell = next(cell for cell in played[1]["cells"] if cell["name"] == "4KiB")
    assert not cell["full"]
    assert {row["says"] for row in cell["rows"] if not row["floor"]} == {link_lab.NOT_FULL}
    claims = [claim for claim in played[1]["claims"] if claim["cell"] == "4KiB"]
    assert {claim["verdict"] for claim in claims} == {"cannot tell"}
    assert all(claim["why"].startswith("the link was not full with peal-epoll") for claim in claims)


def test_the_page_and_the_terminal_say_the_same(played):
    folder, results = played
    page, told = (folder / "out" / "report.html").read_text(), link_words.summary(results)
    assert link_page.render(results) == page
    for text in (results["two_machines"], link_words.link(results), "the link was not full (24% to 24%)"):
        assert text in page and text in told, text
    assert "13,600 Mbit/s, as --link-mbit says" in told and "Kernel of box2" in page
    assert not re.search(r"https?://(?!127)|@import|url\((?!#)", page)


def test_a_link_whose_speed_nobody_says(tmp_path):
    assert cli.main(words_for(tmp_path, "--experiments", "16KiB")) == cli.DONE
    results = results_of(tmp_path)
    assert results["link"]["mbit"] is None and results["link"]["interface"] == "lo"
    assert "name its speed with --link-mbit" in link_words.summary(results)
    assert "it is not known whether the link was full" in (tmp_path / "out" / "report.html").read_text()
    assert {claim["verdict"] for claim in results["claims"]} == {"cannot tell"}


def test_a_link_has_two_ends(tmp_path, capsys):
    bin_dir = fakes.make_bin(tmp_path / "bin")
    assert cli.main(["link", "--bin", str(bin_dir), "--out", str(tmp_path / "out")]) == cli.CALLED_WRONGLY
    assert "name the machine of the servers with --server-host" in capsys.readouterr().err


def test_nobody_is_there(tmp_path, capsys):
    words = words_for(tmp_path, "--server-bin", str(tmp_path / "nowhere"))
    assert cli.main(words) == cli.FAILED
    assert "Nobody can play: raw-epoll: " in capsys.readouterr().err


def contenders(*shares):
    return [{"server_share": server, "client_share": client} for server, client in shares]


def test_more_connections_are_tried_where_they_may_help():
    assert link_lab.wants_more(contenders((0.3, 0.3), (0.3, 0.3)), [0.95, 0.5])
    assert not link_lab.wants_more(contenders((0.3, 0.3)), [0.95]), "the link is full"
    assert not link_lab.wants_more(contenders((0.9, 0.3)), [0.5]), "the server's core is"
    assert not link_lab.wants_more(contenders((0.3, 0.9)), [0.5]), "the generator's is"
    assert not link_lab.wants_more(contenders((0.3, 0.3)), [None]), "nobody knows"


class Told(link_lab.LinkLab):
    """Plays what it is told to: the messages a second by connections."""

    def __init__(self, options, rates):
        super().__init__(options, lambda text: None)
        self._rates = rates
        self.tried = []

    def _play(self, cell, restarts, rounds, budget_s, claims):
        self.tried.append(cell.connections)
        self.link = Link("eth0", 1500, 1000.0, "--link-mbit")
        duel = duel_fakes.duel(cell.load(1), ("raw-epoll", "peal-epoll"))
        for each in duel.found["contenders"]:
            each |= {"messages_per_s": self._rates[cell.connections], "server_share": 0.3, "client_share": 0.3}
        return duel


@pytest.mark.parametrize("rates, chosen, tried", [
    ({100: 7300.0}, 100, [100]),  # 16 KiB at 7300/s fill 1 Gbit/s
    ({100: 4000.0, 200: 6000.0, 400: 7300.0}, 400, [100, 200, 400]),
    ({100: 4000.0, 200: 4000.0}, 100, [100, 200]),  # twice as many carried no more
    ({100: 1000.0, 200: 2000.0, 400: 3000.0, 800: 4000.0}, 800, [100, 200, 400, 800])])
def test_as_many_connections_as_fill_the_link(tmp_path, rates, chosen, tried):
    words = words_for(tmp_path)
    lab = Told(cli.parser().parse_args(words), rates)
    assert lab._filling(link_plan.CELLS[0]).connections == chosen and lab.tried == tried


def test_as_many_as_were_asked_for(tmp_path):
    lab = Told(cli.parser().parse_args(words_for(tmp_path, "--connections", "7")), {})
    assert lab._filling(link_plan.CELLS[0]).connections == 7 and not lab.tried
