// SPDX-License-Identifier: BSD-3-Clause
// HttpDecoding: the body of one answer on its way out of gzip or zstd. What came while its user wants nothing is kept
// as it came, so that little stays little. It belongs to its fetch.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include <peal/http/client/http_client_request.h>
#include <peal/http/client/http_trouble.h>
#include <peal/wire/content/content_decoder.h>

namespace peal::detail {

// Of coded bytes given at once, so of those that are kept.
inline constexpr size_t kMostCodedBytes = 16 * 1024;

struct HttpDecoding {
  HttpDecoding(ContentCoding coding, const ContentDecoderLimits& limits) : decoder(coding, limits) {}

  // Shows what `bytes` become, until show(std::string_view) answers false; then the rest is kept, and has_pending().
  template <class Show>
  Result<void> decode(std::string_view bytes, Show&& show) {
    has_pending = false;
    std::array<std::byte, 16 * 1024> room;
    for (;;) {
      const auto made = decoder.decode(bytes, room);
      if (!made) {
        return fail(made.error() == ContentDecodeError::kTooLong ? HttpTrouble::kAnswerTooLarge
                                                                 : HttpTrouble::kUndecodable);
      }
      if (*made == 0) return {};
      if (show(std::string_view(reinterpret_cast<const char*>(room.data()), *made))) continue;
      pending = bytes;
      has_pending = true;
      return {};
    }
  }

  ContentDecoder decoder;
  std::string pending;       // coded bytes
  bool has_pending = false;  // there may be more to show: of `pending`, or of what the decoder has taken
  bool ended = false;        // the answer has all come, and left its connection
  std::string trailers;      // then
};

// What is to be decoded of an answer; null: nothing. Not of HEAD, 204 and 304, which have no body, nor of a part of one
// (206), nor where several codings or unknown ones are named: all that is as the server sent it.
std::unique_ptr<HttpDecoding> decoding_of(const HttpResponseHead& head, std::string_view method,
                                          const ContentDecoderLimits& limits);
// The head of what was decoded: without Content-Encoding and Content-Length, which are true no more.
HttpResponseHead decoded_head(const HttpResponseHead& head);

// Asks for the codings that are known, unless the user has asked already, or asks for a range: of a coded answer, that
// would be a part that nobody can decode.
void add_accept_encoding(std::vector<HttpRequestField>& fields);

}  // namespace peal::detail
