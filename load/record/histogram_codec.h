// SPDX-License-Identifier: BSD-3-Clause
// HdrHistogram's V2 encoding, with the payload that the Python package `hdrhistogram` writes, byte for byte: a 40-byte
// header and the counts as ZigZag LEB128 numbers of at most 9 bytes, a negative one standing for that many zeros. The
// compressed form is zlib's, behind an 8-byte header, in base64: "HISTF...". Numbers of the headers are big-endian.
#pragma once

#include <string>
#include <string_view>

#include <peal/base/result.h>
#include <peal/observe/histogram.h>

namespace peal {

std::string encode_histogram(const Histogram& histogram);
// Any text may be given. Trouble::kBadHistogram: it is no such encoding, or one that peal's Histogram cannot hold
// (other than 2 to 5 digits, a shifted or scaled one, 2^63 counts or more). Never allocates much more than the array of
// counts it describes (HistogramOptions bounds it to 50 MB) and its own size.
Result<Histogram> decode_histogram(std::string_view text);

// The payload alone: V2, neither compressed nor in base64.
std::string encode_histogram_payload(const Histogram& histogram);
Result<Histogram> decode_histogram_payload(std::string_view payload);

}  // namespace peal
