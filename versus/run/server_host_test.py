# SPDX-License-Identifier: BSD-3-Clause
"""Tests of the other machine: the options that name it, what a shell there is asked, and labs whose servers run there.
The programs are fakes. The shell is real, but runs on this machine."""

import argparse
from pathlib import Path

import pytest

from versus import cli, fakes, made_up
from versus.duel import duel_runner
from versus.duel.duel_runner import DuelLoad, Player
from versus.quick.quick_plan import CELLS
from versus.run import server_host
from versus.run.server_host import BadHost, ServerHost, Unreachable

LOCAL = "sh -c 'exec sh -c \"$2\"' sh"  # replaces ssh: ignores HOST and runs the command here
NAMES = (*fakes.NAMES, "http_raw_epoll", "http_libevent")
FOUND = {"name": "box2", "address": "10.0.0.2", "is_here": False, "elapsed_s": 9.6, "stolen_s": 0.1, "foreign_s": 0.25}


def options(**given):
    usual = {"server_host": "box2", "server_address": "", "server_bin": None, "remote_shell": "",
             "agent": "", "bin": Path("build/bin")}
    return argparse.Namespace(**usual | given)


def test_no_host_is_this_machine():
    assert ServerHost.of(options(server_host="")) is None


def test_options_of_the_machine_have_defaults():
    host = ServerHost.of(options())
    assert host.bin_dir == Path.cwd() / "build/bin" and host.shell == "ssh -o BatchMode=yes"
    assert host.agent_command == f"{Path.cwd()}/build/bin/peal load agent"
    there = ServerHost.of(options(server_bin=Path("/opt/my peal"), agent="sudo peal load agent"))
    assert there.bin_dir == Path("/opt/my peal") and there.agent_command == "sudo peal load agent"
    assert ServerHost("box2", Path("/opt/my peal")).agent_command == "'/opt/my peal/peal' load agent"


@pytest.mark.parametrize("wrong, why", [
    ({"server_host": "", "server_address": "10.0.0.2"}, "--server-address is about the machine"),
    ({"server_host": "", "server_bin": Path("/opt")}, "--server-bin is about the machine"),
    ({"server_host": "", "agent": "x"}, "--agent is about the machine"),
    ({"server_host": "", "remote_shell": "ssh"}, "--remote-shell is about the machine"),
    ({"server_host": "-oProxyCommand=x"}, "'-oProxyCommand=x' is not the name of a machine"),
    ({"server_host": "a b"}, "'a b' is not the name of a machine"),
    ({"remote_shell": "'"}, "--remote-shell takes a program"),
    ({"remote_shell": " "}, "--remote-shell takes a program")])
def test_wrong_options_are_refused_with_one_sentence(wrong, why):
    with pytest.raises(BadHost) as raised:
        ServerHost.of(options(**wrong))
    assert str(raised.value).startswith(why) and "\n" not in str(raised.value)


@pytest.mark.parametrize("words", [["--server-host", ""], ["--server-host", "a", "--remote-shell", ""],
                                   ["--server-host", "a", "--server-address", "lol"], ["--remote-shell", "ssh"]])
def test_a_refused_command_line_leaves_no_folder(tmp_path, monkeypatch, capsys, words):
    monkeypatch.chdir(tmp_path)
    try:
        code = cli.main(["quick", "--bin", str(fakes.make_bin(tmp_path / "bin", NAMES)), *words])
    except SystemExit as ended:  # argparse refuses in this way
        code = ended.code
    assert code == cli.CALLED_WRONGLY and capsys.readouterr().err
    assert not (tmp_path / "build").exists()


def test_a_shell_there_reports_its_programs_and_the_machine(tmp_path):
    fakes.write_program(tmp_path / "it's here", "#!/bin/sh\n")
    host = ServerHost("box2", tmp_path, shell=LOCAL)
    known = host.known(["/bin/sh", str(tmp_path / "it's here"), str(tmp_path / "not here"), "sh", "no-such-program"])
    assert known.programs == {"/bin/sh", str(tmp_path / "it's here"), "sh"}
    assert known.facts["Kernel"].startswith("Linux ") and int(known.facts["CPUs usable"]) >= 1


def test_lines_of_a_login_script_are_ignored():
    known = server_host.parse_known("Welcome\nfound /bin/a\nfact Kernel=Linux = new\nfact Secret=x\nfact Processor=\n")
    assert known.programs == {"/bin/a"} and known.facts == {"Kernel": "Linux = new"}


def test_an_error_says_why_a_machine_cannot_be_reached():
    host = ServerHost("box2", Path("/opt"), shell="sh -c 'echo Connection refused >&2; exit 255'")
    with pytest.raises(Unreachable, match="cannot ask box2 which programs it has: Connection refused"):
        host.known(["/bin/sh"])
    with pytest.raises(Unreachable, match="/nowhere/ssh: No such file"):
        ServerHost("box2", Path("/opt"), shell="/nowhere/ssh").known([])


def test_the_duel_is_told_where_its_servers_run(tmp_path):
    load = DuelLoad("x", "X", "pingpong", ("--size", "64"))
    host = ServerHost("box2", Path("/opt"), "10.0.0.2", "ssh -p 2222")
    words = duel_runner.command("peal", load, [Player("a", ("/opt/a", "{listen}"))], [], 5.0, 1, tmp_path / "x", host)
    at = words.index("--server-host")
    assert words[at:at + 8] == ["--server-host", "box2", "--remote-shell", "ssh -p 2222", "--agent",
                                "/opt/peal load agent", "--server-address", "10.0.0.2"]
    here = duel_runner.command("peal", load, [Player("a", ("/opt/a", "{listen}"))], [], 5.0, 1, tmp_path / "x")
    assert "--server-host" not in here and "--agent" not in here


def test_sentences_about_the_machines():
    host = ServerHost("box2", Path("/opt"))
    assert server_host.where(host, FOUND) == \
        "Server and generator ran on two machines: the servers on box2 (10.0.0.2)."
    assert "this same machine under another address" in server_host.where(host, FOUND | {"is_here": True})
    assert server_host.where(host, None).startswith("Servers should have run on box2")
    rows = server_host.rows(host, server_host.Known(facts={"Kernel": "Linux 6"}), FOUND)
    assert rows["Kernel of box2"] == "Linux 6" and "0.2 s used by others" in rows["CPU time of box2"]
    assert server_host.placement({"server_cpus": [0, 1], "client_cpus": []}) == \
        "server there, on CPU 0,1; client here, not pinned"


@pytest.fixture(name="bin_dir")
def make_bin(tmp_path):
    return fakes.make_bin(tmp_path / "bin", NAMES)


def there(bin_dir):
    return ["--server-host", "box2", "--remote-shell", LOCAL, "--server-bin", str(bin_dir)]


def test_the_quick_lab_says_that_its_servers_ran_on_another_machine(tmp_path, bin_dir):
    fakes.make_bin(tmp_path / "here" / "bin", ())
    results = made_up.played(tmp_path / "here", "quick", "--seed", "3", *there(bin_dir))
    page = (tmp_path / "here" / "out" / "report.html").read_text()
    assert [cell["name"] for cell in results["cells"]] == [cell.name for cell in CELLS]
    assert results["drum"] is None
    assert any(line.startswith("user instructions") for line in results["left_out"])
    assert any("its programs run on one machine" in line for line in results["left_out"])
    assert results["two_machines"] == "Server and generator ran on two machines: the servers on box2 (127.0.0.1)."
    assert results["two_machines"] in page and "Kernel of box2" in page and results["environment"]["Kernel"]
    assert "server there, on CPU 0; client here, on CPU 1" in page
    assert f"--server-host box2 --remote-shell '{LOCAL.split()[0]}" in results["cells"][0]["command"]


def test_a_contender_that_is_not_on_that_machine_is_left_out_and_named(tmp_path, bin_dir):
    (bin_dir / "contenders" / "libevent").unlink()
    fakes.make_bin(tmp_path / "here" / "bin", NAMES)
    results = made_up.played(tmp_path / "here", "quick", "--seed", "3", "--experiments", "64Bx1", *there(bin_dir))
    assert f"libevent: {bin_dir}/contenders/libevent is not there" in results["left_out"]
    assert "libevent" not in {row["contender"] for row in results["cells"][0]["rows"]}


def test_the_full_lab_names_the_experiments_that_cannot_run_there(tmp_path, bin_dir):
    here, out = tmp_path / "here", tmp_path / "here" / "out"
    fakes.make_bin(here / "bin", ())
    words = ["full", "--seed", "3", "--blocks", "4", "--variants", "--experiments", "pingpong,drum", "--only",
             "raw-epoll,libevent,peal-epoll"]
    with made_up.small():
        results = made_up.played(here, *words, *there(bin_dir))
    page = (out / "report.html").read_text()
    assert [experiment["name"] for experiment in results["experiments"]] == ["pingpong"]
    found = results["experiments"][0]
    assert {c["name"] for c in found["contenders"]} == {"raw-epoll", "libevent", "peal-epoll", "peal-epoll-twin"}
    assert results["drum"] is None
    for missing in ("system calls: ", "Compilers", "its programs run on one machine"):
        assert any(missing in line for line in results["left_out"]), missing
    assert results["two_machines"] in page and "Kernel of box2" in page
    assert "server there, on CPU 0; client here, on CPU 1" in page
    with made_up.small():
        again = made_up.played(here, *words, *there(bin_dir))
        assert again["two_machines"] == results["two_machines"], "a page made from stored runs says it too"
        assert cli.main([*words, "--bin", str(here / "bin"), "--out", str(out)]) == cli.CALLED_WRONGLY


@pytest.mark.parametrize("verb", ["quick", "full"])
def test_if_the_machine_cannot_be_reached_the_lab_ends_with_one_sentence(verb, tmp_path, bin_dir, capsys):
    words = [verb, "--bin", str(bin_dir), "--out", str(tmp_path / "out"), "--server-host", "box2", "--remote-shell",
             "sh -c 'echo Permission denied >&2; exit 255'"]
    assert cli.main(words) == cli.FAILED
    assert capsys.readouterr().err.endswith(
        "versus: cannot ask box2 which programs it has: Permission denied\n")
    assert cli.main([verb, "--bin", str(bin_dir), "--out", str(tmp_path / "out"), "--agent", "x"]) == cli.CALLED_WRONGLY
