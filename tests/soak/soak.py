# SPDX-License-Identifier: BSD-3-Clause
"""Runs many kinds of misbehaving clients together against real programs.

The programs are `peal serve http`, an echo with callbacks, an echo with coroutines and a WebSocket chat. Each of them
runs on epoll and on io_uring, with few fds and little memory. In each round
- well-behaved clients connect;
- misbehaving clients come: they read slowly, reset in any state, half-close, stop in the middle of a message, send
  without reading, flood, send single bytes, or send garbage;
- so many idle connections come that the server runs out of fds;
- meanwhile the well-behaved clients continue, one of them at 64 KiB/s, and compare every byte;
- when the misbehaving clients have gone, a new client must be served.

At the end of each round, the numbers of connections, coroutines, blocks and fds must be as before. Resident memory must
not have grown beyond a limit.

    tests/soak/soak.py [--seconds 600 | --rounds 3] [--seed N] [--only "chat on epoll"] [--keep FOLDER]

If a check fails, the exit code is 1, and the output says which check and where the server's log is.
"""
import argparse
import asyncio
import pathlib
import random
import resource
import sys
import time

import soak_good
import soak_worst
from soak_servers import ENGINES, FEW_FDS, KINDS, PATIENCE_SECONDS, Server, write_files
from soak_wire import CLOSE, Peer, frame

GOOD, WORST, IDLE = 4, 12, FEW_FDS + 20
WORST_SECONDS = 2.5  # the time limit of connecting and of the misbehaviour; then the client is closed
LEAST_EXCHANGES = 3
# How much the resident memory may grow. The pool of a loop keeps up to 5 MiB of large blocks and 2 MiB of small ones.
# malloc keeps some freed memory, too.
MOST_GROWTH_KIB = 8 * 1024
# How much the resident memory may grow over many rounds, when the pools and malloc keep no more than before. A leak of
# 2 KiB for each of the about 100 connections of a round exceeds this limit after ten rounds.
MOST_DRIFT_KIB = 2 * 1024
LEAST_ROUNDS_FOR_DRIFT = 12


class Tally:
    def __init__(self):
        self.exchanges = self.bytes = self.refused = self.worst = self.shed = self.pauses = self.closes = 0


async def patiently(what, doing):
    """Waits for `doing`. Fails after PATIENCE_SECONDS, which is longer than anything here takes."""
    try:
        return await asyncio.wait_for(doing, PATIENCE_SECONDS)
    except asyncio.TimeoutError:
        raise AssertionError(f"{what}: timed out after {PATIENCE_SECONDS} s") from None


async def one_of_the_worst(server, does, rng, tally):
    peer = Peer(narrow=does in soak_worst.NARROW)
    try:
        await asyncio.wait_for(peer.connect(server), WORST_SECONDS)
        tally.worst += 1
        await asyncio.wait_for(does(peer, server.kind, rng), WORST_SECONDS)
    except (OSError, asyncio.TimeoutError):
        pass  # the server has closed the connection, or the time is over
    finally:
        peer.close(reset=does is soak_worst.resets or rng.random() < 0.5)


async def idle_crowd(server, over):
    """Opens more connections than the server has fds."""
    crowd = [Peer() for _ in range(IDLE)]
    try:
        connecting = [asyncio.ensure_future(peer.connect(server)) for peer in crowd]
        await over.wait()
        for each in connecting:
            each.cancel()
        await asyncio.gather(*connecting, return_exceptions=True)
    finally:
        for peer in crowd:
            peer.close()


async def exchange(server, peer, rng, slow, tally):
    size = await patiently(f"{server.name}, a well-behaved client", soak_good.ASK[server.kind](peer, rng, slow))
    tally.bytes += size
    tally.exchanges += 1


async def leave(server, peer, rng):
    """Ends the connection properly, and checks that the server sends nothing more."""
    if server.kind == "chat":
        await peer.send(frame(CLOSE, (1000).to_bytes(2, "big")))
        while (await patiently("the chat's end", peer.heard()))[0] != CLOSE:
            pass
    elif rng.random() < 0.5:
        peer.half_close()
        assert await patiently("an end", peer.some()) == b"", "the server has sent more than was asked for"


class GoodClient:
    def __init__(self, server, rng, slow, tally):
        self.server, self.rng, self.slow, self.tally = server, rng, slow, tally
        self.peer = Peer()

    async def begin(self):
        await patiently("connecting", self.peer.connect(self.server))
        await exchange(self.server, self.peer, self.rng, False, self.tally)

    async def ask(self, slow):
        """Does one exchange. Returns false if the connection has ended."""
        try:
            await exchange(self.server, self.peer, self.rng, slow, self.tally)
        except soak_good.Refused as refused:
            self.tally.refused += 1
            return not refused.ends
        return True

    async def go_on(self, over):
        try:
            done = 0
            while done < LEAST_EXCHANGES or not over.is_set():
                if not await self.ask(self.slow and done == 0):
                    return
                done += 1
            await leave(self.server, self.peer, self.rng)
        finally:
            self.peer.close()


async def seen(server, enough):
    """Waits until `enough` is true for the facts of the inspector, which is the server's status page. Returns the
    facts. The wait may take as long as the timeouts of the server.
    """
    deadline, facts = time.monotonic() + PATIENCE_SECONDS, None
    while time.monotonic() < deadline:
        assert server.process.poll() is None, f"{server.name} has ended with {server.process.returncode}"
        facts = await server.facts() or facts
        if facts and enough(facts):
            return facts
        await asyncio.sleep(0.05)
    raise AssertionError(f"{server.name} did not come to rest: {facts}, fds {server.fds()}")


async def play_round(server, rng, tally):
    good = [GoodClient(server, rng, number == 0, tally) for number in range(GOOD)]
    for client in good:
        await client.begin()
    over, crowd_over = asyncio.Event(), asyncio.Event()
    going = [asyncio.ensure_future(client.go_on(over)) for client in good]
    # Only four clients never read. Together they hold more memory than the soft mark of the memory budget, but less
    # than the hard mark.
    kinds = [soak_worst.never_reads] * 4 + rng.choices(soak_worst.OTHERS, k=WORST - 4)
    worst = [asyncio.ensure_future(one_of_the_worst(server, does, rng, tally)) for does in kinds]
    crowd = asyncio.ensure_future(idle_crowd(server, crowd_over))
    try:
        await asyncio.gather(*worst)
        crowd_over.set()
        await crowd
        # The server has fds again, so a new client must be served.
        await seen(server, lambda facts: facts["connections"] <= GOOD)
        late = GoodClient(server, rng, False, tally)
        await late.begin()
        over.set()
        await asyncio.gather(*going, late.go_on(over))
    finally:
        for task in (*going, *worst, crowd):
            task.cancel()


def at_rest(facts):
    return facts["connections"] + facts.get("tasks", 0) + facts["blocks_in_use"] == 0


class Watched:
    """A server, and its fds and memory after each round."""

    def __init__(self, server, rng):
        self.server, self.rng, self.tally = server, rng, Tally()
        self.fds_before, self.resident = None, []

    async def fds_at_rest(self):
        """Waits until the server has as many fds as before.

        The inspector's own connections may take a moment to end.
        """
        deadline = time.monotonic() + PATIENCE_SECONDS
        while (fds := self.server.fds()) and self.fds_before and len(fds) != len(self.fds_before):
            assert time.monotonic() < deadline, f"{self.server.name}: fds were {self.fds_before}, now they are {fds}"
            await asyncio.sleep(0.05)
        return fds

    async def round(self, warm):
        await play_round(self.server, self.rng, self.tally)
        facts = await seen(self.server, at_rest)
        self.tally.shed = facts["shed"]
        self.tally.pauses, self.tally.closes = facts["memory_pauses"], facts["memory_closes"]
        fds = await self.fds_at_rest()
        if not warm:
            return
        if self.fds_before is None:
            await asyncio.sleep(0.2)
            self.fds_before = self.server.fds()
        self.resident.append(self.server.resident_kib())
        grown = self.resident[-1] - self.resident[0]
        assert grown <= MOST_GROWTH_KIB, f"{self.server.name}: resident KiB {self.resident}, {len(fds)} fds"

    def check_drift(self):
        if len(self.resident) < LEAST_ROUNDS_FOR_DRIFT:
            return
        part = len(self.resident) // 3
        first, last = sorted(self.resident[:part])[part // 2], sorted(self.resident[-part:])[part // 2]
        assert last - first <= MOST_DRIFT_KIB, f"{self.server.name}: resident KiB keep growing: {self.resident}"

    def line(self):
        tally = self.tally
        return (f"{self.server.name:24} {tally.worst:6} worst, {tally.shed:6} shed; memory: {tally.pauses} paused, "
                f"{tally.closes} closed; {tally.exchanges:6} exchanges, "
                f"{tally.bytes >> 20:5} MiB compared, {tally.refused} refused; resident KiB "
                f"{self.resident[0]} -> {self.resident[-1]}, {len(self.fds_before)} fds, 0 blocks")


async def soak_one(watched, go_on):
    """Plays the rounds of one server. The first round only warms up: pools and tables grow to their sizes."""
    await watched.round(False)
    rounds = 0
    while rounds == 0 or go_on(rounds):
        await watched.round(True)
        rounds += 1
    watched.check_drift()


def tell(watched, trouble):
    log = watched.server.log
    tail = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
    print(f"FAILED, {watched.server.name}: {trouble or type(trouble).__name__}\nthe log {log} ends with\n{tail}",
          flush=True)


def soak(folder, seed, go_on, only=None):
    """Returns whether all servers have passed. `go_on(rounds)` returns whether another round follows after `rounds`
    rounds.
    """
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    (folder / "files").mkdir(parents=True, exist_ok=True)
    write_files(folder / "files")
    servers, well = [], True
    try:
        for kind in KINDS:
            servers += [Server(kind, engine, folder) for engine in ENGINES if only in (None, f"{kind} on {engine}")]
        all_watched = [Watched(server, random.Random(f"{seed} {server.name}")) for server in servers]

        async def play():
            return await asyncio.gather(*(soak_one(watched, go_on) for watched in all_watched), return_exceptions=True)

        for watched, ended in zip(all_watched, asyncio.run(play())):
            if ended is None and watched.server.end() != 0:
                ended = AssertionError(f"the server ended with exit code {watched.server.process.returncode}")
            if ended is not None:
                well = False
                tell(watched, ended)
            else:
                print(watched.line(), flush=True)
    finally:
        for server in servers:
            server.kill()
    return well


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--seconds", type=float, default=600, help="play rounds for this time")
    parser.add_argument("--rounds", type=int, help="play this number of rounds instead")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000, help="seed of the clients' choices")
    parser.add_argument("--only", help='play with one server only, such as "chat on epoll"')
    parser.add_argument("--keep", type=pathlib.Path, default=pathlib.Path("build/soak"), help="folder of the logs")
    words = parser.parse_args()
    began = time.monotonic()
    print(f"seed {words.seed}", flush=True)
    go_on = (lambda rounds: rounds < words.rounds) if words.rounds else \
        (lambda rounds: time.monotonic() < began + words.seconds)
    well = soak(words.keep.resolve(), words.seed, go_on, words.only)
    print(f"soak: {'all well' if well else 'FAILED'}, {time.monotonic() - began:.0f} s")
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
