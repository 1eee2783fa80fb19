# SPDX-License-Identifier: BSD-3-Clause
"""The other machine, on which the servers of a comparison run: how it is reached, and what it has.

During a duel, the duel's own agent talks to that machine. This module asks it once, before anything is measured: which
programs it has, and what kind of machine it is.
"""

import shlex
from dataclasses import dataclass, field
from pathlib import Path

from versus.roster import SYSTEM_FOLDERS
from versus.run import process

SHELL = "ssh -o BatchMode=yes"
ASK_LIMIT_S = 30.0
FOUND, FACT = "found ", "fact "  # prefixes of the answers, because a login script may print lines too
FACTS = {  # each is a shell command there that prints one line
    "Kernel": "uname -srm",
    "Processor": "sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1",
    "CPUs usable": "nproc",
    "Frequency governor": "cat /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
    "Load average": "cut -d' ' -f1-3 /proc/loadavg",
    "Listen backlog limit": "cat /proc/sys/net/core/somaxconn",
}


class BadHost(ValueError):
    """The options that name the machine are wrong. The text is one sentence that says why."""


class Unreachable(RuntimeError):
    """The machine could not be asked. The text is one sentence that says why."""


@dataclass(frozen=True)
class Known:
    """The programs and the facts that were found there."""

    programs: frozenset[str] = frozenset()
    facts: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ServerHost:
    """A machine for servers. It is reached with the words of `shell`, then `name`, then the command as one word."""

    name: str
    bin_dir: Path  # the folder of the programs there
    address: str = ""  # where servers listen there; "": what the machine itself reports
    shell: str = SHELL
    agent: str = ""  # the agent's command there; "": the agent of bin_dir

    @staticmethod
    def of(options) -> "ServerHost | None":
        """Makes it from the command line; returns None if no host is given. Raises BadHost."""
        if not options.server_host:
            useless = [word for word, value in (("--server-address", options.server_address),
                                                ("--server-bin", options.server_bin), ("--agent", options.agent),
                                                ("--remote-shell", options.remote_shell))
                       if value]
            if useless:
                raise BadHost(f"{useless[0]} is about the machine that --server-host names: add --server-host.")
            return None
        if options.server_host.startswith("-") or options.server_host.split() != [options.server_host]:
            raise BadHost(f"'{options.server_host}' is not the name of a machine.")
        shell = options.remote_shell or SHELL
        try:
            if not shlex.split(shell):
                raise ValueError("it is empty")
        except ValueError as error:
            raise BadHost(f"--remote-shell takes a program and its words, not '{shell}': "
                          f"{str(error).lower()}.") from error
        bin_dir = options.server_bin or options.bin
        return ServerHost(options.server_host, bin_dir if bin_dir.is_absolute() else Path.cwd() / bin_dir,
                          options.server_address or "", shell, options.agent or "")

    @property
    def agent_command(self) -> str:
        return self.agent or shlex.join([str(self.bin_dir / "peal"), "load", "agent"])

    def known(self, programs: list[str]) -> Known:
        """Asks, in one call of the shell, which of the programs exist there and what kind of machine it is. Raises
        Unreachable."""
        outcome = process.run([*shlex.split(self.shell), self.name, script_for(programs)], limit_s=ASK_LIMIT_S)
        if outcome.code != 0:
            why = outcome.complaint or ("it did not answer in time" if outcome.code is None
                                        else f"exit code {outcome.code}")
            raise Unreachable(f"cannot ask {self.name} which programs it has: {why}")
        return parse_known(outcome.out)


def script_for(programs: list[str]) -> str:
    """Returns the script that known() runs there. It ends with 0 even if everything is missing."""
    lines = [f"PATH=$PATH{SYSTEM_FOLDERS}"]
    lines += [f"command -v {shlex.quote(each)} > /dev/null && printf '%s\\n' {shlex.quote(FOUND + each)}"
              for each in programs]
    lines += [f'value=$({asked} 2> /dev/null) && printf \'%s\\n\' "{FACT}{name}=$value"'
              for name, asked in FACTS.items()]
    return "\n".join([*lines, "true"])


def parse_known(text: str) -> Known:
    lines = text.splitlines()
    facts = dict(line.removeprefix(FACT).partition("=")[::2] for line in lines if line.startswith(FACT))
    return Known(frozenset(line.removeprefix(FOUND) for line in lines if line.startswith(FOUND)),
                 {name: value for name, value in facts.items() if name in FACTS and value})


def where(host: ServerHost, found: dict | None) -> str:
    """Returns a sentence about the two machines. `found` is what a duel reported about the server's machine, or None if
    no duel ran."""
    if found is None:
        return f"Servers should have run on {host.name}, and the generator on this machine; no duel ran."
    if found["is_here"]:
        return (f"Servers ran on {found['name']} ({found['address']}), which is this same machine under another "
                "address: its CPUs are shared with the generator.")
    return f"Server and generator ran on two machines: the servers on {found['name']} ({found['address']})."


def machines(host: ServerHost | None, known: Known, described: dict[str, str],
             duel: dict | None) -> tuple[dict[str, str], str]:
    """Returns `described`, the facts of this machine, with those of the server's machine if that is another one, and a
    sentence that says so. `duel` is the JSON of the last duel, or None."""
    if host is None:
        return described, ""
    found = duel["server_host"] if duel else None
    told = where(host, found)
    return described | {"Placement": placement(duel) if duel else told} | rows(host, known, found), told


def rows(host: ServerHost, known: Known, found: dict | None) -> dict[str, str]:
    """Returns the rows of the environment section that are about the server's machine."""
    told = {f"{name} of {host.name}": value for name, value in known.facts.items()}
    if found is not None:
        told[f"CPU time of {host.name}"] = (f"{found['foreign_s']:.1f} s used by others and {found['stolen_s']:.1f} s "
                                            f"stolen in the {found['elapsed_s']:.0f} s of the last duel")
    return {"Machines": where(host, found)} | told


def placement(duel: dict) -> str:
    """Returns which CPUs server and client had, from a duel's JSON."""
    def on(cpus: list[int]) -> str:
        return f"on CPU {','.join(map(str, cpus))}" if cpus else "not pinned"

    return f"server there, {on(duel['server_cpus'])}; client here, {on(duel['client_cpus'])}"
