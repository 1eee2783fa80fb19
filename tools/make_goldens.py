#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Rebuilds tests/goldens with public Python packages: histogram with `hdrhistogram`, http with `httptools` (llhttp).

The HTTP part is in http_goldens.py. For histograms, it writes for every case of CASES what the package makes of the
data (NAME.txt: options, records, encoding, figures, counts; NAME.hgrm: the percentile text), has the tests write
ours.txt (our encoding of the same records), and asks the package to read each of those back. It ends with 1 and one
line for each case that does not read back equal.

  tools/make_goldens.py --tests build/release/bin/base_tests
  tools/make_goldens.py                                        # checks the ours.txt that is there
"""
import argparse
import math
import os
import random
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GOLDENS = ROOT / "tests" / "goldens" / "histogram"
VENV = ROOT / "build" / "goldens-venv"
PACKAGES = ["hdrhistogram>=0.10,<1", "httptools>=0.6,<1"]
HOUR_NS = 3_600_000_000_000
PERCENTILES = (0, 0.001, 1, 10, 25, 50, 75, 90, 95, 99, 99.9, 99.99, 99.999, 100)


def latencies(seed, how_many, median_ns):
    source = random.Random(seed)
    return [(int(median_ns * math.exp(source.gauss(0, 0.9))), source.randint(1, 400)) for _ in range(how_many)]


def powers():
    return [(value, 1 + value % 7) for bit in range(62) for value in ((1 << bit) - 1, 1 << bit)]


# name: (lowest, highest, significant digits, [(value, count), ...])
CASES = {
    "empty": (1, HOUR_NS, 3, []),
    "one_value": (1, HOUR_NS, 3, [(123_456_789, 1)]),
    "only_zero": (1, HOUR_NS, 3, [(0, 5)]),
    "zero_runs": (1, 100_000, 2, [(value, 1 + value % 3) for value in (0, 1, 3, 4, 6, 9, 255, 256, 300, 99_999)]),
    "latencies": (1, HOUR_NS, 3, latencies(1, 150, 75_000)),
    "four_digits": (1, 60_000_000_000, 4, latencies(2, 80, 1_000_000)),
    "five_digits": (1, 1_000_000_000, 5, latencies(3, 40, 200_000)),
    "coarse_units": (1000, HOUR_NS, 2, [(0, 2), (511, 1), (512, 1)] + latencies(4, 60, 2_000_000)),
    "whole_range": (1, (1 << 63) - 1, 2, powers()),
    "large_counts": (1, HOUR_NS, 3, [(10, 1 << 61), (1000, (1 << 40) + 1), (2000, 127), (3000, 64), (4000, 63)]),
}
SCALED_CASE, SCALE = "latencies", 1e6


def in_venv():
    """Makes the environment if need be and goes on in it."""
    python = VENV / "bin" / "python"
    if Path(sys.prefix) == VENV:
        return
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", VENV], check=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
    os.execv(python, [str(python), str(Path(__file__).resolve()), *sys.argv[1:]])


def build(case):
    from hdrh.histogram import HdrHistogram
    lowest, highest, digits, records = case
    histogram = HdrHistogram(lowest, highest, digits)
    for value, count in records:
        assert histogram.record_value(value, count), value
    return histogram


def buckets(histogram):
    indexed = ((index, histogram.get_count_at_index(index)) for index in range(histogram.counts_len))
    return [(histogram.get_value_from_index(index), count) for index, count in indexed if count]


def golden_text(case, histogram):
    lowest, highest, digits, records = case
    lines = ["# Made by tools/make_goldens.py; values are nanoseconds or plain integers.",
             f"lowest {lowest}", f"highest {highest}", f"digits {digits}"]
    lines += [f"record {value} {count}" for value, count in records]
    lines += [f"base64 {histogram.encode().decode()}",
              f"total {histogram.get_total_count()}",
              f"min {histogram.get_min_value()}",
              f"max {histogram.get_max_value()}",
              f"mean {histogram.get_mean_value()!r}",
              f"deviation {histogram.get_stddev()!r}"]
    lines += [f"percentile {percent} {histogram.get_value_at_percentile(percent)}" for percent in PERCENTILES]
    lines += [f"bucket {value} {count}" for value, count in buckets(histogram)]
    return "\n".join(lines) + "\n"


def write_hgrm(path, histogram, unit):
    with open(path, "wb") as file:
        histogram.output_percentile_distribution(file, unit)
    if unit != 1:
        # The package forgets to divide the deviation; HdrHistogram's other implementations do not.
        digits = histogram.significant_figures
        wrong = f"StdDeviation   = {histogram.get_stddev():12.{digits}f}]"
        right = f"StdDeviation   = {histogram.get_stddev() / unit:12.{digits}f}]"
        text = path.read_text()
        assert wrong in text or right in text
        path.write_text(text.replace(wrong, right))


def check_ours():
    """How many of our encodings the package does not read back equal."""
    from hdrh.histogram import HdrHistogram
    path = GOLDENS / "ours.txt"
    ours = dict(line.split() for line in path.read_text().splitlines()) if path.exists() else {}
    failures = 0
    for name in sorted(CASES.keys() | ours.keys()):
        if name not in ours or name not in CASES:
            print(f"{name}: {'not in ours.txt' if name in CASES else 'is no case'}", file=sys.stderr)
            failures += 1
            continue
        expected, read = build(CASES[name]), HdrHistogram.decode(ours[name])
        same = (read.lowest_trackable_value == expected.lowest_trackable_value
                and read.highest_trackable_value == expected.highest_trackable_value
                and read.significant_figures == expected.significant_figures
                and read.get_total_count() == expected.get_total_count()
                and read.get_min_value() == expected.get_min_value()
                and read.get_max_value() == expected.get_max_value()
                and buckets(read) == buckets(expected))
        if not same:
            print(f"{name}: hdrhistogram does not read our encoding back equal", file=sys.stderr)
            failures += 1
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tests", type=Path, help="the base_tests program, which writes ours.txt")
    arguments = parser.parse_args()
    in_venv()
    import http_goldens
    requests = http_goldens.write(GOLDENS.parent / "http" / "requests.txt")
    GOLDENS.mkdir(parents=True, exist_ok=True)
    for name, case in CASES.items():
        histogram = build(case)
        (GOLDENS / f"{name}.txt").write_text(golden_text(case, histogram))
        if histogram.get_total_count() < 1 << 53:  # beyond, the package's percentile iterator never ends
            write_hgrm(GOLDENS / f"{name}.hgrm", histogram, 1)
    write_hgrm(GOLDENS / f"{SCALED_CASE}.scaled.hgrm", build(CASES[SCALED_CASE]), SCALE)
    if arguments.tests:
        subprocess.run([arguments.tests.resolve(), "--gtest_filter=HistogramGoldens.*", "--gtest_brief=1"],
                       env={**os.environ, "PEAL_WRITE_GOLDENS": "1"}, check=True)
    failures = check_ours()
    print(f"{len(CASES)} goldens in {GOLDENS.relative_to(ROOT)}, {failures} of ours read back differently; "
          f"{requests} requests in {GOLDENS.parent.relative_to(ROOT)}/http")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
