# SPDX-License-Identifier: BSD-3-Clause
"""The parts that the figures over TLS share: contenders with a certificate, and the exact counts of the bare client.

callgrind would count an instruction `rep movsb` of the C library byte by byte. So the library gets a threshold that is
never reached (GLIBC_TUNABLES), and does not use that instruction.
"""

from versus.bars import common, instructions
from versus.bars.common import CannotMeasure, Context
from versus.roster import Contender
from versus.run import process
from versus.tls import certificate

TUNABLES = "GLIBC_TUNABLES=glibc.cpu.x86_rep_movsb_threshold=1000000000"
LIMIT_S = 600.0  # for the bare client against a server under callgrind


def contenders(context: Context, kind: str, names: tuple[str, ...]) -> list[Contender]:
    """Returns the contenders of `names` that can run, in that order; with --all, every contender of the kind. Raises
    CannotMeasure."""
    ready = context.of_kind(kind, names)
    try:
        files = certificate.made_in(context.out / "tls", context.bin_dir / "peal")
    except certificate.NoCertificate as error:
        raise CannotMeasure(str(error)) from error
    ready.sort(key=lambda each: names.index(each.name) if each.name in names else len(names))
    return files.given_to(ready)


def client_words(context: Context, program: str, target: str, options: dict[str, int]) -> list[str]:
    """Returns the command of a bare client."""
    words = [context.tool(f"contenders/{program}"), target]
    return words + [word for name, value in options.items() for word in (f"--{name}", str(value))]


def drive(context: Context, program: str, server: process.Server, options: dict[str, int]) -> dict:
    """Runs a bare client and returns its counts. Raises CannotMeasure."""
    return common.json_of(client_words(context, program, server.target, options), (), LIMIT_S)


def slope(context: Context, contender: Contender, program: str, few: dict[str, int], many: dict[str, int]) -> float:
    """Returns the instructions per message or handshake: `few` and `many` differ only in their number. Raises
    CannotMeasure."""
    instructions.need_valgrind()
    key = next(name for name in many if few[name] != many[name])

    def count(options: dict[str, int]) -> int:
        return instructions.executed(contender, lambda server: drive(context, program, server, options),
                                     ("env", TUNABLES))

    return (count(many) - count(few)) / (many[key] - few[key])
