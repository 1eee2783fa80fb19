# SPDX-License-Identifier: BSD-3-Clause
"""Publish/subscribe: the programs, and the protocol sent by hand."""
from programs import Program, connect, joined, read_exactly, run_program


def test_what_is_published_reaches_subscribers_and_is_retained_for_later_ones():
    with Program("hub", "127.0.0.1:0") as hub:
        address = hub.address()
        with Program("sub", joined(address), "weather", "news") as early:
            with connect(address) as peer:  # the first publication must come after the subscription
                peer.sendall(b"sub weather\r\n")
                assert run_program("pub", joined(address), "weather", "sunny")[0] == 0
                assert read_exactly(peer, 20) == b"pub weather\r\nsunny\r\n"
            assert early.line() == "weather: sunny"
            with Program("sub", joined(address), "weather") as late:
                assert late.line() == "weather: sunny"
            with Program("pub", joined(address), "news", "-") as publisher:
                publisher.type(b"one\ntwo\n")
                assert publisher.wait()[0] == 0
            assert [early.line(), early.line()] == ["news: one", "news: two"]
        assert hub.end()[0] == 0


def test_unsubscribed_hears_no_more_and_the_clock_ticks():
    with Program("hub", "127.0.0.1:0") as hub, connect(hub.address()) as peer:
        peer.sendall(b"sub a\r\nunsub a\r\npub a\r\nunheard\r\nsub utc_time\r\n")
        assert read_exactly(peer, 14) == b"pub utc_time\r\n"


def test_the_line_behind_a_topic_is_content_whatever_it_says():
    with Program("hub", "127.0.0.1:0") as hub, connect(hub.address()) as peer:
        messages = b"".join(b"pub a\r\n" + content + b"\r\n" for content in (b"unsub a", b"two\nlines", b"", b"pub a"))
        peer.sendall(b"sub a\r\n" + messages)
        assert read_exactly(peer, len(messages)) == messages


def test_nonsense_is_hung_up_on_and_others_are_served():
    with Program("hub", "127.0.0.1:0") as hub:
        address = hub.address()
        with connect(address) as bad, connect(address) as good:
            bad.sendall(b"shout loudly\r\n")
            assert bad.recv(100) == b""
            good.sendall(b"sub x\r\npub x\r\nstill here\r\n")
            assert read_exactly(good, 19) == b"pub x\r\nstill here\r\n"


def test_a_publisher_without_a_hub_fails():
    code, _, errors = run_program("pub", "127.0.0.1:1", "topic", "content")
    assert code == 1 and "cannot connect" in errors
