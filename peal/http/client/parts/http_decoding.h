// SPDX-License-Identifier: BSD-3-Clause
// HttpDecoding: decodes the body of one answer from gzip or zstd. While the application has paused, bytes are kept in
// their coded form, which takes less memory than the decoded one. A decoding belongs to its fetch.
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

// The most coded bytes that are passed to decode() at once. A pause therefore keeps at most so many coded bytes.
inline constexpr size_t kMostCodedBytes = 16 * 1024;

struct HttpDecoding {
  HttpDecoding(ContentCoding coding, const ContentDecoderLimits& limits) : decoder(coding, limits) {}

  // Decodes `bytes` and passes the result piece by piece to show(std::string_view). When show() returns false, the rest
  // of `bytes` is stored in `pending` and `has_pending` becomes true.
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
  std::string pending;       // coded bytes that are not decoded yet
  bool has_pending = false;  // there may be more to show, from `pending` or from the decoder itself
  bool ended = false;        // the whole answer has arrived, and its connection was given back to the pool
  std::string trailers;      // the answer's trailers, kept here after `ended`
};

// Returns the object that decodes an answer. Returns null if the answer is not decoded:
// - it has no body, as the answer to HEAD, 204 and 304;
// - it has only a part of a body (206);
// - its body has no coding, an unknown one, or several.
std::unique_ptr<HttpDecoding> decoding_of(const HttpResponseHead& head, std::string_view method,
                                          const ContentDecoderLimits& limits);
// Returns a copy of the head without Content-Encoding and Content-Length, which do not describe the decoded body.
HttpResponseHead decoded_head(const HttpResponseHead& head);

// Adds an Accept-Encoding field that names the supported codings. Adds none if the fields have an Accept-Encoding or a
// Range, since a range of a coded answer cannot be decoded.
void add_accept_encoding(std::vector<HttpRequestField>& fields);

}  // namespace peal::detail
