# SPDX-License-Identifier: BSD-3-Clause
"""Tests of the bars of the HTTP generator, on made-up runs: what is charged, which runs are refused, and what a verdict
needs."""

import os
from types import SimpleNamespace

import pytest

from versus import fakes, made_up, stats
from versus.bars import http_generator, live_view
from versus.bars.common import CannotMeasure, Context, Marred, at_least, at_most, middle_of, paired

WRK = f"""#!{fakes.PYTHON} -ISE
import sys, time
seconds = int(next(word for word in sys.argv if word.startswith("-d"))[2:-1])
until = time.process_time() + 0.2 * seconds
while time.process_time() < until:
    pass
print("  %d requests in %d.00s, 1MB read" % (1000 * seconds, seconds))
"""


def context(folder, programs, blocks=4) -> Context:
    (folder / "out").mkdir()
    return Context(fakes.make_bin(folder / "bin", programs), folder / "out", 1, blocks, False, [])


def test_the_start_of_a_run_is_not_charged():
    clock = [0.0]

    def run(seconds: int) -> int:
        clock[0] += 7.0 + seconds * 100 * 2e-6  # 7 s for start and end, and 2 us per request
        return seconds * 100

    assert http_generator.marginal(run, lambda: clock[0]) == pytest.approx(2e-6)


def test_a_long_run_with_no_more_requests_than_the_short_one_is_refused():
    with pytest.raises(Marred):
        http_generator.marginal(lambda _seconds: 100, iter([0.0, 1.0, 1.0, 3.0]).__next__)


def test_wrk_is_read_and_its_errors_count():
    text = "  70155 requests in 2.04s, 10.30MB read\nRequests/sec:  34451.75\n"
    assert http_generator.wrk_requests(text) == 70155
    with pytest.raises(Marred, match="Socket errors"):
        http_generator.wrk_requests(text + "  Socket errors: connect 0, read 3, write 0, timeout 0\n")
    with pytest.raises(Marred, match="Non-2xx"):
        http_generator.wrk_requests(text + "  Non-2xx or 3xx responses: 12\n")
    with pytest.raises(CannotMeasure):
        http_generator.wrk_requests("unable to connect")


def test_a_child_that_ended_is_charged_what_it_used(tmp_path):
    wrk = fakes.write_program(tmp_path / "wrk", WRK)
    server = SimpleNamespace(target="127.0.0.1:1")
    per_request = http_generator.marginal(lambda seconds: http_generator._wrk(str(wrk), server, seconds))
    assert 100e-6 < per_request < 400e-6  # it burns 200 us per request; its own start varies


def test_a_wrk_that_fails_is_no_measurement():
    with pytest.raises(CannotMeasure, match="wrk failed"):
        http_generator._wrk("/bin/false", SimpleNamespace(target="127.0.0.1:1"), 1)


def test_a_single_figure_is_judged_by_its_interval():
    few, many = middle_of([40.0, 41.0]), middle_of([40.0, 41.0, 42.0, 43.0, 44.0])
    assert (at_most(few, 50.0), at_most(many, 50.0), at_most(many, 39.0)) == ("cannot tell", "met", "not met")
    assert (at_least(many, 39.0), at_least(many, 42.5), at_least(many, 50.0)) == ("met", "cannot tell", "not met")


def pair(*ratios: float) -> stats.Pair:
    return stats.compare(dict(enumerate(ratios)), dict.fromkeys(range(len(ratios)), 1.0))


def test_the_live_view_may_not_change_figures_more_than_the_twin_differs():
    still = pair(0.99, 1.01, 0.98, 1.02, 1.0, 0.99, 1.01, 1.0)
    slower = pair(*[0.9 + step / 1000 for step in range(8)])
    assert live_view.verdict(still, still) == "met"
    assert live_view.verdict(slower, still) == "not met"
    assert live_view.verdict(slower, pair(1.0)) == "cannot tell"
    assert live_view.verdict(still, slower) == "cannot tell"
    assert live_view.verdict(pair(0.5), still) == "cannot tell"


def test_a_run_with_the_view_on_must_have_written_the_line(tmp_path):
    # The fake generator writes no line. Without this check, the bar would compare "off" with "off" and be met.
    with pytest.raises(CannotMeasure, match="--live on wrote nothing"):
        live_view._once(context(tmp_path, ("http_raw_epoll",)), "on")
    assert live_view._once(Context(tmp_path / "bin", tmp_path, 1, 4, False, []), "off").messages > 0


def test_the_text_of_a_terminal_is_complete_when_its_block_ends():
    with live_view.terminal() as (writer, said):
        os.write(writer, b"a line")
    assert b"".join(said) == b"a line"


def test_the_value_of_a_block_may_be_a_whole_run(tmp_path):
    found = paired(context(tmp_path, ("http_raw_epoll",), blocks=2), "x", {"a": lambda: {"rate": 1}})
    assert found == {"a": {0: {"rate": 1}, 1: {"rate": 1}}}


@pytest.mark.parametrize("figure", ["http_rate", "send_lag"])
def test_a_figure_ends_up_in_the_table_and_in_its_file(figure, tmp_path, capsys):
    fakes.make_bin(tmp_path / "bin", ("http_raw_epoll",))
    verdicts = {row["figure"].split(",")[1].strip(): row["verdict"] for row in made_up.bench_rows(tmp_path, figure)}
    # The fake makes 250,000 requests/s: enough for one at a time, too few for pipelining. Its lag is a microsecond.
    assert verdicts == {"http_rate": {"keep-alive": "met", "pipelined by 16": "not met"},
                        "send_lag": {"000/s": "met"}}[figure]
    assert figure.split("_")[0] in capsys.readouterr().err
