# SPDX-License-Identifier: BSD-3-Clause
"""Remote procedure calls between simulated machines, in several worlds."""
from programs import run_program

SEEDS = [1, 2, 3, 7, 2026]


def test_each_of_10000_calls_ends_once_in_every_world():
    code, printed, errors = run_program("simulated_rpc", *SEEDS)
    assert (code, errors) == (0, "")
    rows = [[int(figure) for figure in line.split()] for line in printed.splitlines()[2:]]
    assert [row[0] for row in rows] == SEEDS
    for _, killed, slow, cut_off, timed_out, lost, not_sent, late in rows:
        assert killed + slow + cut_off + timed_out + lost + not_sent == 10_000
        # Each of these must have happened, otherwise the world has tested nothing.
        assert min(killed, slow, cut_off, timed_out, lost, not_sent) > 50 and late <= timed_out + lost


def test_a_seed_is_one_world():
    assert run_program("simulated_rpc", 9) == run_program("simulated_rpc", 9)
