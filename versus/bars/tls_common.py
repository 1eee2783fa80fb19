# SPDX-License-Identifier: BSD-3-Clause
"""What the figures over TLS share: their contenders with a certificate, and the bare client's exact counts.

Counts by callgrind are told apart from the C library's copies: with a threshold that nobody reaches for `rep movsb`,
which callgrind would count byte by byte (GLIBC_TUNABLES).
"""

from versus.bars import common, instructions
from versus.bars.common import CannotMeasure, Context
from versus.roster import Contender
from versus.run import process
from versus.tls import certificate

TUNABLES = "GLIBC_TUNABLES=glibc.cpu.x86_rep_movsb_threshold=1000000000"
LIMIT_S = 600.0  # for the bare client against a server under callgrind


def contenders(context: Context, kind: str, names: tuple[str, ...]) -> list[Contender]:
    """Those of `names` that can run, in that order; everybody of the kind where everyone was asked for. Raises
    CannotMeasure."""
    ready = context.of_kind(kind, names)
    try:
        files = certificate.made_in(context.out / "tls", context.bin_dir / "peal")
    except certificate.NoCertificate as error:
        raise CannotMeasure(str(error)) from error
    ready.sort(key=lambda each: names.index(each.name) if each.name in names else len(names))
    return files.given_to(ready)


def client_words(context: Context, program: str, target: str, options: dict[str, int]) -> list[str]:
    """The command of a bare client."""
    words = [context.tool(f"contenders/{program}"), target]
    return words + [word for name, value in options.items() for word in (f"--{name}", str(value))]


def drive(context: Context, program: str, server: process.Server, options: dict[str, int]) -> dict:
    """What a bare client counted. Raises CannotMeasure."""
    return common.json_of(client_words(context, program, server.target, options), (), LIMIT_S)


def slope(context: Context, contender: Contender, program: str, few: dict[str, int], many: dict[str, int]) -> float:
    """Instructions of one more of what the two differ in: a message, or a handshake. Raises CannotMeasure."""
    instructions.need_valgrind()
    key = next(name for name in many if few[name] != many[name])

    def count(options: dict[str, int]) -> int:
        return instructions.executed(contender, lambda server: drive(context, program, server, options),
                                     ("env", TUNABLES))

    return (count(many) - count(few)) / (many[key] - few[key])
