// SPDX-License-Identifier: BSD-3-Clause
// Writes and reads histograms in the V2 encoding of HdrHistogram. There are two forms:
// - The payload is a header of 40 bytes and then the counts as ZigZag LEB128 numbers of at most 9 bytes. A negative
//   number -n stands for n counts of 0. The payload is byte for byte the one of the Python package `hdrhistogram`.
// - The compressed form is a header of 8 bytes and then the payload, compressed by zlib. All of it is in base64, so it
//   begins with "HISTF".
// The numbers in both headers are big-endian.
#pragma once

#include <string>
#include <string_view>

#include <peal/base/result.h>
#include <peal/observe/histogram.h>

namespace peal {

// Returns the histogram as text: encoded in the V2 format of HdrHistogram, compressed by zlib, and written in base64.
std::string encode_histogram(const Histogram& histogram);
// Decodes the text that encode_histogram() returns. The text may come from an untrusted source. Fails with
// Trouble::kBadHistogram in these cases:
// - The text is not a histogram in the format of encode_histogram().
// - The class Histogram cannot hold the data. It supports 2 to 5 significant digits and a total count below 2^63.
// - The counts are shifted in their array, or the values are multiplied by a factor. The V2 format allows both, and the
//   class Histogram supports neither.
// The function limits its use of memory, even for a malicious text. The array of counts takes at most 50 MB. The
// decompressed data is limited to 9 bytes for each element of this array, because an encoded count has at most 9 bytes.
// If the text announces more data, the function fails before it decompresses the data.
Result<Histogram> decode_histogram(std::string_view text);

// encode_histogram_payload() returns the histogram in the V2 format of HdrHistogram, without compression and base64.
// decode_histogram_payload() decodes this format. It fails with Trouble::kBadHistogram if `payload` has another format.
std::string encode_histogram_payload(const Histogram& histogram);
Result<Histogram> decode_histogram_payload(std::string_view payload);

}  // namespace peal
