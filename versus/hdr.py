# SPDX-License-Identifier: BSD-3-Clause
"""HdrHistogram V2: decodes the compressed base64 form, merges histograms, and reads percentiles.

Percentiles of several runs come from the merged histogram, never from averaged percentiles.
"""

import base64
import struct
import zlib
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field
from itertools import accumulate

COMPRESSED_COOKIE = 0x1C849304
PLAIN_COOKIE = 0x1C849303
# A percentile is known if at least this many samples are above it.
SAMPLES_ABOVE = 10


class BadHistogram(ValueError):
    """The text is not a V2 histogram."""


@dataclass
class Histogram:
    """Counts by value. A bucket is represented by the highest value in it."""

    counts: Counter[int] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        return self.counts.total()

    @property
    def mean(self) -> float:
        return sum(v * n for v, n in self.counts.items()) / self.total if self.counts else 0.0

    @property
    def max(self) -> int:
        return max(self.counts, default=0)

    def add(self, other: "Histogram") -> None:
        self.counts.update(other.counts)

    def percentiles(self, wanted: list[float]) -> list[int]:
        """Returns the value at each percentile of `wanted` (0..100), or 0 if nothing was recorded."""
        total = self.total
        if total == 0:
            return [0] * len(wanted)
        values = sorted(self.counts)
        seen = list(accumulate(self.counts[value] for value in values))
        ranks = (max(1, -(-int(round(percentile * total * 1000)) // 100000)) for percentile in wanted)
        return [values[bisect_left(seen, min(rank, total))] for rank in ranks]

    def known(self, percentile: float) -> bool:
        """True if enough samples are above `percentile` for it to be meaningful."""
        return self.total * (100.0 - percentile) / 100.0 >= SAMPLES_ABOVE - 1e-9


def _zigzag_words(data: bytes):
    """Yields the signed words of a ZigZag LEB128-64b9B payload: seven bits per byte, but all eight bits of the ninth
    byte."""
    at, end = 0, len(data)
    while at < end:
        word = shift = 0
        while True:
            if at >= end:
                raise BadHistogram("the counts end inside a word")
            byte = data[at]
            at += 1
            if shift == 56:
                word |= byte << shift
                break
            word |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
        yield (word >> 1) ^ -(word & 1)


def _highest_of(index: int, half_magnitude: int, unit_magnitude: int) -> int:
    """Returns the highest value that is counted in the counter `index`."""
    half = 1 << half_magnitude
    bucket = (index >> half_magnitude) - 1
    sub = (index & (half - 1)) + half
    if bucket < 0:
        sub -= half
        bucket = 0
    width = 1 << (bucket + unit_magnitude)
    return (sub << (bucket + unit_magnitude)) + width - 1


def decode(text: str) -> Histogram:
    """Returns the histogram in `text`, which has the V2 compressed base64 form ("HISTF..."). Raises BadHistogram."""
    try:
        raw = base64.b64decode(text, validate=True)
        cookie, length = struct.unpack_from(">ii", raw)
        if cookie & ~0xF0 != COMPRESSED_COOKIE:
            raise BadHistogram(f"cookie {cookie:#x} is not that of a V2 compressed histogram")
        body = zlib.decompress(raw[8 : 8 + length])
        plain, size, _offset, digits, lowest, _highest, _ratio = struct.unpack_from(">iiiiqqd", body)
    except (ValueError, struct.error, zlib.error) as error:
        raise BadHistogram(str(error)) from error
    if plain & ~0xF0 != PLAIN_COOKIE or not 0 <= digits <= 5 or lowest < 1 or len(body) < 40 + size:
        raise BadHistogram("the header is not that of a V2 histogram")
    # Given by the format: enough sub-buckets to tell 2 * 10^digits single units apart.
    half_magnitude = max((2 * 10**digits - 1).bit_length(), 1) - 1
    unit_magnitude = lowest.bit_length() - 1
    histogram = Histogram()
    index = 0
    for word in _zigzag_words(body[40 : 40 + size]):
        if word < 0:
            index += -word
            continue
        if word:
            histogram.counts[_highest_of(index, half_magnitude, unit_magnitude)] = word
        index += 1
    return histogram


def merged(texts: list[str]) -> Histogram:
    """Returns one histogram of all `texts`. Empty strings are ignored."""
    total = Histogram()
    for text in texts:
        if text:
            total.add(decode(text))
    return total
