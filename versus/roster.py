# SPDX-License-Identifier: BSD-3-Clause
"""The contenders: the table of built-in ones, and others given as NAME=COMMAND on the command line or in a file.

A contender has one kind, which says what it speaks. An experiment takes contenders of its own kind. docs/contenders.md
says what each contender is, how it is tuned, and what is unequal.
"""

import os
import re
import shlex
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

FILES = ("cert", "key", "root")  # files of a server over TLS: certificate, key, a folder of files (tls/)
PLACEHOLDERS = ("listen", "host", "port", "threads", *FILES)
PINGPONG = "pingpong"  # sends back all bytes that arrive
HTTP = "http"  # gives the answer of contenders/common/contender_http.h
MODEL = "model"  # answers frames, each a 4-byte big-endian length and a body, by sending them back
DRUM = "drum"  # plays experiment 2 alone, as drum.py calls it
TLS, HTTPS = "tls", "https"  # PINGPONG and HTTP over TLS
TLS_KINDS = (TLS, HTTPS)
KINDS = (PINGPONG, HTTP, MODEL, DRUM, *TLS_KINDS)
SYSTEM_FOLDERS = ":/usr/sbin:/usr/local/sbin"  # folders of servers that are not in a user's PATH


class BadContender(ValueError):
    """A contender given on the command line is malformed. The text is one sentence that says why."""


@dataclass(frozen=True)
class Contender:
    """A server program. Its `command` contains {listen} {host} {port} {threads}, which each run fills in. The command
    of a server over TLS also contains {cert} {key}, which are filled in from `files`."""

    name: str
    command: tuple[str, ...]
    note: str
    shown: bool = True  # false for the A/A twin, which has no row in the tables of contenders
    usual: bool = True  # false for a variant that runs only if it is named
    given: bool = False  # given on the command line: it need not print where it listens
    kind: str = PINGPONG
    needs: str = ""  # another program that it starts
    files: tuple[tuple[str, str], ...] = ()  # the paths of FILES

    def words(self, host: str, port: int, threads: int, more: tuple[str, ...] = ()) -> list[str]:
        values = {"listen": f"{host}:{port}", "host": host, "port": str(port), "threads": str(threads)}
        values |= dict(self.files)
        return [word.format(**values) for word in (*self.command, *more)]

    def for_threads(self, threads: int, *more: str):
        """Returns words() as a function, as process.serving() needs it."""
        return lambda host, port: self.words(host, port, threads, more)

    def for_cell(self, cell):
        """Returns words() as a function for a run of `cell`."""
        return lambda host, port: self.words(host, port, cell.threads, cell.server_words)

    def parallel(self, cell) -> int:
        """Returns how many of its threads can compute at once."""
        return cell.threads

    def serves_at_once(self, cell) -> int:
        """Returns how many of the cell's connections it serves at once, by its design."""
        return cell.connections

    def facts(self) -> dict:
        """Returns facts for a page, in addition to those of every contender."""
        return {}

    def unfit_for(self, cell) -> str:
        """Returns in a few words why it cannot run in `cell`, or ""."""
        return "it cannot do this work" if getattr(cell, "work", "") else ""

    @property
    def program(self) -> str:
        return self.command[0]

    def missing(self, there: frozenset[str] | None = None) -> str:
        """Returns why this contender cannot run here, or "". If `there` is given, these are the programs of the other
        machine where it would run."""
        if there is not None:
            return next((f"{each} is not there" for each in (self.program, self.needs) if each and each not in there),
                        "")
        if not shutil.which(self.program):
            return _why_unbuilt(self.program) or f"{self.program} is not there"
        if self.needs and not shutil.which(self.needs, path=os.environ.get("PATH", os.defpath) + SYSTEM_FOLDERS):
            return f"{self.needs} is not installed"
        return ""


def _why_unbuilt(program: str) -> str:
    """Returns the reason why the build could not build `program`, which it left in a file beside it."""
    try:
        return Path(program + ".missing").read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def built_in(bin_dir: Path) -> list[Contender]:
    """Returns the table of contenders, with the paths at which `make build` puts the programs."""
    folder = bin_dir / "contenders"
    words = ("--listen", "{listen}", "--threads", "{threads}")

    def peer(name: str, note: str, **more) -> Contender:
        return Contender(name, (str(folder / name.replace("-", "_")), *words), note, **more)

    def http(name: str, note: str, **more) -> Contender:
        return peer(name, note, kind=HTTP, **more)

    def peal(name: str, engine: str, note: str) -> Contender:
        return Contender(name, (str(bin_dir / "peal"), "serve", "pingpong", "--engine", engine, *words), note)

    over_tls = ("--tls-cert", "{cert}", "--tls-key", "{key}")

    def tls(contender: Contender, kind: str, **more) -> Contender:
        return replace(contender, command=(*contender.command, *over_tls), kind=kind, **more)

    def peal_http(name: str, engine: str, note: str, *more: str, usual: bool = True) -> Contender:
        serve = (str(bin_dir / "peal"), "serve", "http", "--engine", engine, "--server-name", "bench",
                 "--say-keep-alive")
        return Contender(name, (*serve, *more, *words), note, kind=HTTP, usual=usual)

    return [
        peer("raw-epoll", "a bare epoll loop in C: the floor"),
        peer("raw-uring", "a bare io_uring loop in C"),
        peer("libevent", "libevent's bufferevent"),
        peer("libevent-write-first", "libevent, its output written at once by hand", usual=False),
        peer("asio-shared", "asio, one io_context shared by all threads"),
        peer("asio-per-thread", "asio, one io_context per thread"),
        peer("libuv", "libuv's streams"),
        peer("libev", "libev's watchers, reading and writing by hand"),
        peer("ace", "ACE's event handlers on ACE_Dev_Poll_Reactor, one per thread"),
        peer("poco", "POCO's SocketReactor, one per thread behind a ParallelSocketAcceptor"),
        peal("peal-epoll", "epoll", "peal on epoll"),
        peal("peal-uring", "io_uring", "peal on io_uring"),
        peal_http("http-peal-epoll", "epoll", "peal's HTTP server on epoll"),
        peal_http("http-peal-uring", "io_uring", "peal's HTTP server on io_uring"),
        peal_http("http-peal-epoll-unpooled", "epoll", "http-peal-epoll without pooled objects", "--unpooled"),
        peal_http("http-peal-middleware", "epoll", "peal's HTTP server behind 3 functions", "--middleware", "3",
                  usual=False),
        peal_http("http-peal-guarded", "epoll", "peal's HTTP server behind a rate limit, CORS, request ids",
                  "--rate-limit", "1000000000", "--cors", "*", "--request-ids", usual=False),
        http("http-raw-epoll", "a bare epoll loop in C that answers HTTP: the floor"),
        http("http-raw-uring", "a bare io_uring loop in C that answers HTTP"),
        http("http-nginx", "nginx, which answers from its configuration; a worker per thread", needs="nginx"),
        http("http-libevent", "libevent's evhttp, one per thread"),
        http("http-beast", "Boost.Beast on asio, one io_context per thread, its locks off"),
        http("http-beast-locked", "the same with the locks on, as they are by default"),
        http("http-beast-shared", "Boost.Beast on asio, one io_context shared by all threads"),
        http("http-go", "Go's net/http on as many processors as threads"),
        http("http-hyper", "Rust's hyper on tokio, one runtime per thread"),
        http("http-python", "Python's http.server; a thread per connection, --threads is ignored"),
        tls(peer("raw-tls", "OpenSSL on a bare epoll loop in C, record by record: the floor of TLS"), TLS),
        tls(peer("raw-tls-gather", "raw-tls, but with one write for records that came together"), TLS, usual=False),
        tls(peer("libevent-tls", "libevent's bufferevent over OpenSSL"), TLS),
        tls(peer("asio-tls", "asio's ssl::stream, one io_context per thread"), TLS),
        tls(peer("go-tls", "Go's crypto/tls on as many processors as threads"), TLS),
        tls(peal("peal-tls-epoll", "epoll", "peal over TLS on epoll"), TLS),
        tls(peal("peal-tls-uring", "io_uring", "peal over TLS on io_uring"), TLS),
        tls(peer("https-raw", "OpenSSL on a bare epoll loop in C that answers HTTP: the floor of HTTPS"), HTTPS),
        tls(http("http-nginx", "nginx over TLS; a worker per thread", needs="nginx"), HTTPS, name="https-nginx"),
        tls(peer("https-beast", "Boost.Beast on asio's ssl::stream, one io_context per thread"), HTTPS),
        tls(http("http-go", "Go's net/http over crypto/tls"), HTTPS, name="https-go"),
        tls(http("http-hyper", "Rust's hyper over rustls, one runtime per thread"), HTTPS, name="https-hyper"),
        tls(peal_http("https-peal-epoll", "epoll", "peal's HTTP server over TLS on epoll"), HTTPS),
        tls(peal_http("https-peal-uring", "io_uring", "peal's HTTP server over TLS on io_uring"), HTTPS),
    ]


def given(text: str) -> Contender:
    """Returns the contender of NAME=COMMAND or KIND:NAME=COMMAND. Raises BadContender."""
    name, equals, command = text.partition("=")
    kind, colon, rest = name.partition(":")
    if colon:
        name = rest
        if kind not in KINDS:
            raise BadContender(f"'{kind}' is no kind of contender; the kinds are {', '.join(KINDS)}.")
    else:
        kind = PINGPONG
    if not equals or not command.strip():
        raise BadContender(f"'{text}' is not NAME=COMMAND.")
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,39}", name):
        raise BadContender(f"'{name}' cannot be a contender's name: use letters, digits, '-', '_', '.' and '+'.")
    if kind == DRUM:
        return Contender(name, _drum_words(name, command), "given on the command line", given=True, kind=kind)
    try:
        words = tuple(shlex.split(command))
        filled = " ".join(words).format(**{holder: "" for holder in PLACEHOLDERS})
    except (ValueError, KeyError, IndexError) as error:
        raise BadContender(f"cannot parse the command of '{name}': {error}; it may contain {{listen}} {{host}} "
                           "{port} {threads} {cert} {key}.") from error
    if filled == " ".join(words) or not ("{listen}" in command or "{port}" in command):
        raise BadContender(f"The command of '{name}' must contain {{listen}} or {{port}}: the lab chooses the address.")
    return Contender(name, words, "given on the command line", given=True, kind=kind)


def _drum_words(name: str, command: str) -> tuple[str, ...]:
    """Returns the words of a drummer's command. They are taken unchanged, because a drummer does not listen. Raises
    BadContender."""
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise BadContender(f"cannot parse the command of '{name}': {error}.") from error
    held = next((holder for holder in PLACEHOLDERS if f"{{{holder}}}" in command), "")
    if held:
        raise BadContender(f"The command of '{name}' contains {{{held}}}, but a drum listens nowhere.")
    return words


def listed_in(path: Path) -> list[str]:
    """Returns the contenders of a file in the form of `--contender`, one per line. '#' begins a comment line. Raises
    BadContender."""
    try:
        lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        raise BadContender(f"cannot read {path}: {why}.") from error
    found = [line for line in lines if line and not line.startswith("#")]
    for line in found:
        try:
            given(line)
        except BadContender as error:
            raise BadContender(f"{path}: {error}") from error
    return found


def choose(bin_dir: Path, extra: list[str], only: list[str], kind: str = "",
           models: list[Contender] | None = None,
           there: frozenset[str] | None = None) -> tuple[list[Contender], list[str]]:
    """Returns the wanted contenders that can run, and a sentence for each one that cannot.

    `kind` limits them to one kind. `models` are the models that the program itself lists. `there` are the programs of
    another machine, if the contenders run there. Drummers are known here by name, but drum.py chooses them.

    Raises BadContender. Two contenders of different kinds may share a name, because no experiment takes both.
    """
    everybody = built_in(bin_dir) + (models or []) + [given(text) for text in extra]
    table = [c for c in everybody if kind in ("", c.kind)]
    names = [contender.name for contender in table]
    seen = [(contender.kind, contender.name) for contender in table]
    for who in seen:
        if seen.count(who) > 1:
            raise BadContender(f"There are two contenders named '{who[1]}'.")
    for name in only:
        if name not in names:
            raise BadContender(f"There is no contender '{name}'; known are {', '.join(names)}.")
    wanted = [contender for contender in table
              if contender.kind != DRUM and (contender.name in only or (not only and contender.usual))]
    absent = [f"{contender.name}: {contender.missing(there)}" for contender in wanted if contender.missing(there)]
    return [contender for contender in wanted if not contender.missing(there)], absent


def programs_of(contenders: list[Contender]) -> list[str]:
    """Returns the programs that the contenders start, each once."""
    return list(dict.fromkeys(each for c in contenders for each in (c.program, c.needs) if each))
