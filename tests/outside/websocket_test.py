# SPDX-License-Identifier: BSD-3-Clause
"""Other people's WebSocket: Python's `websockets` as a client of peal's server and as the server of peal's client.

Messages are compressed and sent in fragments. The chat room is tested, too, with its page in Chromium, plain and over
TLS.
"""
import asyncio
import http
import os
import random
import ssl

import pytest
import websockets

from programs import PATIENCE_SECONDS, Program, joined
from tls_parties import believed, self_signed
from versus.page import browser

TEXT = "ding dong, ring a peal \u20ac \U0001f514 " * 200


def run(play):
    """Runs a coroutine, which fails after PATIENCE_SECONDS."""
    return asyncio.run(asyncio.wait_for(play, PATIENCE_SECONDS))


@pytest.fixture(name="echo_url")
def fixture_echo_url():
    with Program("websocket_echo", "127.0.0.1:0") as server:
        yield f"ws://{joined(server.address())}/"
        assert server.end()[0] == 0


@pytest.mark.parametrize("compression", ["deflate", None])
def test_messages_of_every_size_come_back(echo_url, compression):
    async def play():
        noise = random.Random(1)
        async with websockets.connect(echo_url, compression=compression, max_size=None) as socket:
            assert bool(socket.extensions) == (compression is not None)
            for size in (0, 1, 125, 126, 127, 65535, 65536, 300_000):
                for message in (TEXT[:size], noise.randbytes(size)):
                    await socket.send(message)
                    assert await socket.recv() == message
    run(play())


@pytest.mark.parametrize("options", [
    {"server_no_context_takeover": True}, {"client_no_context_takeover": True}, {"server_max_window_bits": 9},
    {"client_max_window_bits": 9}, {"server_max_window_bits": 12, "client_max_window_bits": 12}])
def test_terms_of_compression(echo_url, options):
    async def play():
        offer = websockets.extensions.permessage_deflate.ClientPerMessageDeflateFactory(**options)
        async with websockets.connect(echo_url, compression=None, extensions=[offer]) as socket:
            assert socket.extensions
            for message in (TEXT, TEXT[::-1], TEXT):
                await socket.send(message)
                assert await socket.recv() == message
    run(play())


def test_fragments_pings_and_the_close_code(echo_url):
    async def play():
        async with websockets.connect(echo_url, subprotocols=["other", "echo"]) as socket:
            assert socket.subprotocol == "echo"
            await socket.send(TEXT[at:at + 100] for at in range(0, len(TEXT), 100))
            assert await socket.recv() == TEXT
            await (await socket.ping(b"there?"))
            await socket.close(4321, "done")
            assert socket.close_code == 4321
    run(play())


def test_many_clients_at_once(echo_url):
    async def one(number):
        async with websockets.connect(echo_url) as socket:
            for turn in range(20):
                await socket.send(f"{number} {turn} {TEXT}")
                assert await socket.recv() == f"{number} {turn} {TEXT}"

    async def play():
        await asyncio.gather(*(one(number) for number in range(30)))
    run(play())


def test_a_message_beyond_the_limit():
    async def play(url):
        async with websockets.connect(url) as socket:
            await socket.send("x" * 1001)
            with pytest.raises(websockets.ConnectionClosedError):
                await socket.recv()
            assert socket.close_code == 1009
    with Program("websocket_echo", "127.0.0.1:0", 1000) as server:
        run(play(f"ws://{joined(server.address())}/"))


@pytest.mark.parametrize("compression", ["deflate", None])
def test_our_client_talks_to_their_server(compression):
    heard = []

    async def serve(socket):
        await socket.send("welcome")
        await socket.send(TEXT[at:at + 7] for at in range(0, 700, 7))
        await socket.send([b"\0" * 1000, b"\1" * 1000])
        await socket.send(os.urandom(100_000))
        await (await socket.ping(b"there?"))
        for _ in range(2):
            heard.append(await socket.recv())
        await socket.close(4000, "that was all")

    async def play():
        async with websockets.serve(serve, "127.0.0.1", 0, compression=compression) as server:
            port = server.sockets[0].getsockname()[1]
            loop = asyncio.get_running_loop()
            with Program("websocket_talk", f"ws://127.0.0.1:{port}/") as client:
                client.type(f"hello\n{TEXT}\n".encode())
                printed = [await loop.run_in_executor(None, client.line) for _ in range(5)]
                assert client.process.wait(PATIENCE_SECONDS) == 0
        assert printed == ["welcome", TEXT[:700], "2000 bytes", "100000 bytes", "closed: 4000 that was all"]
        assert heard == ["hello", TEXT]
    run(play())


def test_our_client_says_why_it_was_refused():
    async def refuse(_path, _headers):
        return http.HTTPStatus.NOT_FOUND, [], b"nothing here"

    async def play():
        async with websockets.serve(lambda socket: None, "127.0.0.1", 0, process_request=refuse) as server:
            port = server.sockets[0].getsockname()[1]
            loop = asyncio.get_running_loop()
            with Program("websocket_talk", f"ws://127.0.0.1:{port}/") as client:
                code, _, errors = await loop.run_in_executor(None, client.wait)
            assert (code, errors) == (1, "no WebSocket: the server answered 404\n")
    run(play())


@pytest.fixture(name="room", params=[False, True], ids=["ws", "wss"])
def fixture_room(request, tmp_path):
    """Runs a chat room.

    Yields the end of its URLs, the arguments that `websockets` needs to connect, and the options of a browser.
    """
    certificate, key = self_signed(tmp_path) if request.param else (None, None)
    words = ("auto", "-", certificate, key) if request.param else ()
    with Program("websocket_chat", "127.0.0.1:0", *words) as room:
        place, known = joined(room.address()), {}
        if request.param:
            known["ssl"] = ssl.create_default_context(cafile=certificate)
        yield f"{'s' if request.param else ''}://{place}", known, [believed(certificate)] if request.param else []
        assert room.end()[0] == 0


def test_the_room_is_one_for_all_who_are_in_it(room):
    place, known, _ = room

    async def play():
        chat = f"ws{place}/chat"
        async with websockets.connect(chat, **known) as one, websockets.connect(chat, **known) as two:
            assert [await one.recv(), await one.recv(), await two.recv()] == ["* 1 here", "* 2 here", "* 2 here"]
            for text in ("one: hello", "one: " + TEXT[:1000], "x" * 4000):
                await one.send(text)
                assert [await one.recv(), await two.recv()] == [text, text]
            await two.close(1000, "done")
            assert two.close_code == 1000
            assert await one.recv() == "* 1 here"
            await one.send("x" * 5000)
            with pytest.raises(websockets.ConnectionClosedError):
                await one.recv()
            assert one.close_code == 1009
    run(play())


@pytest.mark.skipif(browser.program() is None, reason="chromium is not installed")
def test_the_page_in_a_browser(room):
    place, known, options = room
    shown = "[...document.querySelectorAll('#said li')].map(line => line.textContent)"
    with browser.opened(*options) as page:
        page.visit(f"http{place}/")
        page.until("document.getElementById('state').textContent === 'connected, compressed'")
        assert page.value("socket.url") == f"ws{place}/chat"

        async def play():
            async with websockets.connect(f"ws{place}/chat", **known) as peer:
                assert await peer.recv() == "* 2 here"
                page.value("""document.getElementById('text').value = 'hi <b>all</b> \\u20ac';
                              document.getElementById('form').requestSubmit()""")
                assert await peer.recv() == "somebody: hi <b>all</b> \u20ac"
                await peer.send("peer: " + TEXT[:600])
                page.until(f"{shown}.length === 4")
        run(play())
        assert page.value(shown)[1:4] == ["* 2 here", "somebody: hi <b>all</b> \u20ac", "peer: " + TEXT[:600]]
        assert not page.complaints
