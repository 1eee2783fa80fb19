# SPDX-License-Identifier: BSD-3-Clause
"""Plays a few rounds of soak.py. `make soak` plays rounds for ten minutes."""
import soak


def test_the_worst_clients_leave_nothing_behind_and_starve_nobody(tmp_path, capsys):
    well = soak.soak(tmp_path, 20, lambda rounds: rounds < 2)
    assert well, capsys.readouterr().out
