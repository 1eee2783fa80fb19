# SPDX-License-Identifier: BSD-3-Clause
"""Tests of the crowd that does handshakes: with the real bare loop if it is built, and the figure on made-up times."""

from contextlib import contextmanager

import pytest

from versus import fakes
from versus.bars import bench, tls_common, tls_crowd
from versus.bars.common import CannotMeasure, Context, Marred
from versus.built_programs import bars_of
from versus.roster import TLS
from versus.run import process
from versus.tls.tls_plans import FLOOR, OURS, RING


@pytest.fixture(name="built")
def make_built(tmp_path) -> Context:
    """Returns a context that has only the bare loop, as it was built."""
    return bars_of(tmp_path, 2, "raw_tls")


@pytest.fixture(name="pretended")
def make_pretended(tmp_path) -> Context:
    return Context(fakes.make_bin(tmp_path / "bin", ("raw_tls",)), tmp_path / "out", 1, 6, False, [])


def floor_of(context: Context):
    return tls_common.contenders(context, TLS, (FLOOR,))[0]


def test_every_client_of_a_wave_is_answered(built):
    floor = floor_of(built)
    with process.serving(floor.for_threads(1), (), floor.given) as server:
        with tls_crowd.crowd(server, dict(floor.files)["cert"], clients=20) as count:
            pass
    assert len(count) == 1 and count[0] >= 20


def test_if_the_crowd_cannot_connect_there_is_no_figure(built):
    floor = floor_of(built)
    with process.serving(floor.for_threads(1), (), floor.given) as server:
        with pytest.raises(CannotMeasure, match="the crowd did not connect"):
            with tls_crowd.crowd(server, "/nowhere/cert.pem"):
                pass


def test_peal_has_a_bar_and_the_bare_loop_none(pretended, monkeypatch):
    times = {OURS: (200.0, 100.0), RING: (400.0, 100.0), FLOOR: (9000.0, 100.0)}
    monkeypatch.setattr(tls_crowd, "p99_us", lambda _context, contender, crowded: times[contender.name][not crowded])
    rows = {row.figure.rsplit(", ", 1)[1]: row for row in tls_crowd.measure(pretended)}
    assert (rows[OURS].bar, rows[OURS].verdict) == ("<= 3", "met")
    assert (rows[RING].bar, rows[RING].verdict) == ("<= 3", "not met")
    assert (rows[FLOOR].bar, rows[FLOOR].verdict) == ("-", "")
    assert rows[OURS].measured.startswith("2.00") and rows[OURS].measured.endswith("200 / 100 us")


def test_a_run_in_which_few_of_the_crowd_were_answered_does_not_count(built, monkeypatch):
    @contextmanager
    def few(*_):
        yield [tls_crowd.CROWD + 500]

    monkeypatch.setattr(tls_crowd, "crowd", few)
    monkeypatch.setattr(tls_crowd, "_load", lambda *_: 1.0)
    with pytest.raises(Marred, match="only 1500 of the crowd were answered"):
        tls_crowd.p99_us(built, floor_of(built), True)


def test_the_bench_has_the_figure():
    assert "tls_crowd" in bench.names()
