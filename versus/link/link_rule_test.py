# SPDX-License-Identifier: BSD-3-Clause
"""When a link is full, worked out by hand; and what an interface says."""

import pytest

from versus.link import link_rule
from versus.link.link_rule import Link, is_full, link_to, wire_bytes

GIGABIT = Link("eth0", 1500, 1000.0, "--link-mbit")


def test_a_message_and_the_headers_of_its_segments():
    assert wire_bytes(1448, 1500) == 1500 and wire_bytes(1449, 1500) == 1449 + 2 * 52
    assert wire_bytes(16384, 1500) == 16384 + 12 * 52 and wire_bytes(4096, 1500) == 4096 + 3 * 52
    assert wire_bytes(16384, 9000) == 16384 + 2 * 52
    assert wire_bytes(1428, 1500, 6) == 1500


def test_a_full_ethernet_shows_97_percent():
    frame = 1500 + 38  # its header, checksum, preamble and gap
    messages = 1e9 / 8 / frame  # of one segment each
    assert GIGABIT.share(messages, 1448) == pytest.approx(0.975, abs=0.001)


def test_from_90_percent_on_a_link_is_full():
    messages = 0.9 * 1e9 / 8 / wire_bytes(16384, 1500)
    assert is_full(GIGABIT.share(messages * 1.001, 16384)) and not is_full(GIGABIT.share(messages * 0.999, 16384))


def test_of_a_link_whose_speed_nobody_says_nothing_is_said():
    link = Link("", 1500, None, "")
    assert link.share(1e9, 64) is None and not is_full(None)


def test_what_the_interface_says(tmp_path):
    def said(speed, mtu="9000\n"):
        (tmp_path / "lo").mkdir(exist_ok=True)
        (tmp_path / "lo" / "speed").write_text(speed)
        (tmp_path / "lo" / "mtu").write_text(mtu)
        return link_to("127.0.0.1", folder=tmp_path)

    assert said("1000\n") == Link("lo", 9000, 1000.0, "the interface lo")
    assert said("-1\n").mbit is None and said("").mbit is None and said("fast\n", "").mtu == 1500
    assert link_to("127.0.0.1", 250.0, tmp_path) == Link("lo", 1500, 250.0, "--link-mbit")


def test_an_interface_that_says_nothing():
    link = link_to("127.0.0.1")
    assert link.interface == "lo" and link.mbit is None and link.mtu > 1500


def test_an_address_that_no_interface_leads_to():
    assert link_rule.interface_to("no address") == ""
