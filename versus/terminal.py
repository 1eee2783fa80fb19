# SPDX-License-Identifier: BSD-3-Clause
"""What the terminal shows: progress while it runs (a live line on a tty, sparse lines otherwise), tables at the end."""

import shutil
import sys
import time

from versus import verdict
from versus.campaign import Outline
from versus.experiments import CLOSED
from versus.roster import TWIN

SPARSE_EVERY_S = 30.0


class Progress:
    """Progress of a campaign on `stream`. The live line is redrawn between runs, never during one."""

    def __init__(self, stream=sys.stderr):
        self._stream = stream
        self._live = stream.isatty()
        self._done = self._total = 0
        self._began = self._last = time.monotonic()
        self._blocks = 0

    def begin(self, outline: Outline) -> None:
        self._total = outline.runs
        self._blocks = outline.experiment.blocks
        self._began = self._last = time.monotonic()
        self.say(f"{outline.experiment.title}: {len(outline.experiment.cells)} cells, {outline.contenders} contenders "
                 f"(the A/A twin among them), {outline.runs} runs")

    def say(self, text: str) -> None:
        print(("\r\x1b[K" if self._live else "") + text, file=self._stream, flush=True)

    def ran(self, record: dict) -> None:
        self._done += 1
        where = f"block {record['block'] + 1}/{self._blocks}" if record["block"] >= 0 else "calibration"
        count = f"[{self._done}/{max(self._total, self._done)}]"
        text = f"{count} {where} {record['cell']} {record['contender']}: {_brief(record)}"
        now = time.monotonic()
        if self._live:
            left = (now - self._began) / self._done * max(0, self._total - self._done)
            line = f"{text}  {int(left) // 60}:{int(left) % 60:02d} left"[: shutil.get_terminal_size().columns - 1]
            print("\r\x1b[K" + line, end="", file=self._stream, flush=True)
        elif now - self._last >= SPARSE_EVERY_S or record["status"] == "INVALID":
            self._last = now
            print(text, file=self._stream, flush=True)

    def end(self) -> None:
        if self._live:
            print("\r\x1b[K", end="", file=self._stream, flush=True)


def _brief(record: dict) -> str:
    if record["status"] == "INVALID":
        return "INVALID. " + record["gates"][0]["sentence"]
    figures = record["figures"]
    if record["mode"] == CLOSED:
        return f"{figures['messages_per_s']:,.0f} messages/s"
    return f"{figures['server_cpu_ns'] / 1e3:.2f} us of server CPU per message"


def table(header: list[str], rows: list[list[str]], sides: str = "<") -> str:
    """Columns as wide as their widest entry, each to the side `sides` has for it: "<", or ">" also past its end."""
    sides = sides.ljust(len(header), ">")
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    lines = []
    for row in [header, *rows]:
        lines.append("  ".join(f"{text:{side}{width}}" for text, side, width in zip(row, sides, widths)).rstrip())
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)


def _text(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"


def _cell_table(results: dict, cell: dict) -> str:
    saturation = {row["contender"]: row for row in results["saturation"] if row["cell"] == cell["name"]}
    pairs = {pair["rival"]: pair for pair in results["pairs"]
             if (pair["cell"], pair["metric"], pair["subject"]) == (cell["name"], "server_cpu", "peal-epoll")}
    rows = []
    for row in (row for row in results["costs"] if row["cell"] == cell["name"]):
        name = row["contender"]
        full = saturation.get(name)
        top = "-" if full is None else ("≥" if full["lower_bound"] else "") + f"{full['messages_per_s']:,.0f}"
        pair = pairs.get(name)
        rows.append([name, _text(row["server_us"], 3), _text(row["sum_us"], 3), _text(row["calls"], 2),
                     _text(row["switches"], 3), top, verdict.span(pair) if pair else "", pair["says"] if pair else ""])
    header = ["contender", "server us/msg", "+ client", "calls/msg", "switches/msg", "closed loop msg/s",
              "peal-epoll / it", "peal-epoll has"]
    how = f"at {cell['rate']:,.0f} messages/s" if cell["rate"] else "closed loop"
    return f"{cell['title']} ({how})\n" + table(header, rows)


def summary(results: dict) -> str:
    """The tables and the verdict."""
    parts = [_cell_table(results, cell) for cell in results["experiment"]["cells"]]
    noise = ", ".join(f"{row['cell']} ±{(row['floor'] - 1) * 100:.1f} %" for row in results["noise"]
                      if row["metric"] == "server_cpu" and row["floor"])
    parts.append(f"Noise floor of the A/A twin ({TWIN}): {noise or 'not measured'}")
    if results["claims"]:
        rows = [[claim["sentence"], verdict.span(claim), ": ".join(filter(None, (claim["verdict"], claim["why"])))]
                for claim in results["claims"]]
        parts.append(table(["claim", "ratio (95 % interval)", "verdict"], rows, "<<<"))
    marked = results["flagged"]
    invalid = sum(1 for row in marked if row["status"] == "INVALID")
    parts.append(f"Gates: {len(marked)} of {len(results['runs'])} runs marked, {invalid} of them INVALID.")
    parts += [f"Left out: {line}" for line in results["left_out"]]
    parts.append("\n".join(["Verdict: " + verdict.headline(results["claims"])[1], *verdict.sentences(results)]))
    return "\n\n".join(parts)
