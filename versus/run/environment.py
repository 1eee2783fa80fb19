# SPDX-License-Identifier: BSD-3-Clause
"""Describes where a comparison was made: the machine, its settings, the libraries and the compiler."""

import os
import platform
import re
import resource
import subprocess
from pathlib import Path

GOVERNOR = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"
PACKAGES = ("libevent-dev", "libuv1-dev", "libasio-dev", "libboost-dev", "liburing-dev", "libev-dev", "libace-dev",
            "libpoco-dev", "nginx-light", "strace", "valgrind")


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _said(words: list[str]) -> str:
    try:
        return subprocess.run(words, capture_output=True, text=True, timeout=30, check=False).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""


def _processor() -> str:
    found = re.search(r"^model name\s*:\s*(.+)$", _text("/proc/cpuinfo"), re.M)
    virtual = " (virtual machine)" if re.search(r"^flags\s*:.*\bhypervisor\b", _text("/proc/cpuinfo"), re.M) else ""
    return (found.group(1) if found else platform.machine()) + virtual


def _mitigations() -> str:
    folder = Path("/sys/devices/system/cpu/vulnerabilities")
    rows = []
    for entry in sorted(folder.glob("*")) if folder.is_dir() else []:
        state = _text(str(entry))
        if state and not state.startswith("Not affected"):
            rows.append(f"{entry.name}: {state}")
    return "; ".join(rows) or "none reported"


def _build(bin_dir: Path) -> dict[str, str]:
    """Returns compiler and flags from the cache of the build folder."""
    cache = _text(str(bin_dir.parent / "CMakeCache.txt"))
    entries = dict(re.findall(r"^([A-Za-z_]+):[A-Z]+=(.*)$", cache, re.M))
    rows = {}
    for name, key in (("C++ compiler", "CMAKE_CXX_COMPILER"), ("C compiler", "CMAKE_C_COMPILER")):
        if entries.get(key):
            rows[name] = (_said([entries[key], "--version"]).splitlines() or [entries[key]])[0]
    kind = entries.get("CMAKE_BUILD_TYPE", "")
    for language in ("CXX", "C"):
        names = (f"CMAKE_{language}_FLAGS", f"CMAKE_{language}_FLAGS_{kind.upper()}")
        flags = " ".join(entries.get(name, "") for name in names)
        if flags.strip():
            rows[f"{language.replace('X', '+')} flags"] = flags.strip() + (f" ({kind})" if kind else "")
    return rows


def _packages() -> str:
    lines = _said(["dpkg-query", "-W", "-f", "${Package} ${Version} ${db:Status-Status}\n", *PACKAGES]).splitlines()
    return ", ".join(" ".join(line.split()[:2]) for line in lines if line.endswith(" installed"))


def describe(bin_dir: Path, pins: str) -> dict[str, str]:
    """Returns the names and values that a reader needs to judge the figures."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    rows = {
        "Kernel": f"{platform.system()} {platform.release()} {platform.machine()}",
        "Processor": _processor(),
        "CPUs usable": str(len(os.sched_getaffinity(0))),
        "Placement": pins,
        "Frequency governor": _text(GOVERNOR) or "not reported by this machine",
        "Mitigations": _mitigations(),
        "Load average": " ".join(_text("/proc/loadavg").split()[:3]),
        "Open files": f"{soft:,} (hard limit {hard:,})",
        "Ephemeral ports": "-".join(_text("/proc/sys/net/ipv4/ip_local_port_range").split()),
        "Listen backlog limit": _text("/proc/sys/net/core/somaxconn"),
        "Packages": _packages() or "not known (no dpkg)",
    }
    rows |= _build(bin_dir)
    if known := commit():
        rows["Commit"] = known
    return rows


def commit() -> str:
    """The commit that is checked out; empty outside of a clone. "with changes" if files other than documents differ."""
    found = _said(["git", "rev-parse", "--short=12", "HEAD"])
    changed = found and _said(["git", "--no-optional-locks", "status", "--porcelain", "-uno", "--", ":/",
                               ":(top,exclude)docs", ":(top,exclude)*.md"])
    return found + (" with changes" if changed else "")
