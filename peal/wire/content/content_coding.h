// SPDX-License-Identifier: BSD-3-Clause
// Content codings (RFC 9110 8.4.1), and AcceptedCodings, which chooses a coding by the Accept-Encoding fields of a
// request (RFC 9110 12.5.3). No I/O; one thread at a time.
//
//   AcceptedCodings accepted;
//   accepted.take("gzip, zstd");
//   accepted.choose({ContentCoding::kIdentity, ContentCoding::kGzip});  // kGzip
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>

namespace peal {

// The codings, least preferred first. If a client gives several codings the same weight, the server chooses the later
// enumerator: zstd compresses about as tightly as gzip in a fifth of the time.
enum class ContentCoding : uint8_t { kIdentity, kGzip, kZstd };
inline constexpr size_t kContentCodings = 3;

// Returns the name for a Content-Encoding field: "gzip" or "zstd". For kIdentity it returns "identity", which must not
// be sent in that field.
std::string_view to_string(ContentCoding coding);

// Returns the coding with this name, which may be in any case of letters. "x-gzip" means gzip (RFC 9110 8.4.1.3).
// Returns nullopt for any other name.
std::optional<ContentCoding> content_coding_named(std::string_view name);

class AcceptedCodings {
 public:
  // Reads the value of one Accept-Encoding field. If the request has several, call take() with each of them. A
  // malformed element of the list is ignored.
  void take(std::string_view value);

  // Returns the weight that the client gives to the coding, in thousandths. 0 means that the client does not accept the
  // coding. Without an Accept-Encoding field every coding has 1000 (RFC 9110 12.5.3).
  int quality(ContentCoding coding) const;

  // True if the client sent an Accept-Encoding field and accepts gzip or zstd.
  bool any() const { return seen_ && (quality(ContentCoding::kGzip) > 0 || quality(ContentCoding::kZstd) > 0); }

  // Returns the coding of `available` that the client accepts with the highest weight. Among equal weights the later
  // enumerator of ContentCoding wins. List kIdentity too if the body can be sent without a coding. Returns nullopt if
  // the client accepts none of them; the answer is then 406 (RFC 9110 15.5.7).
  //
  // If the client sent no Accept-Encoding field and kIdentity is available, the result is kIdentity, because such a
  // client may not be able to decode anything.
  std::optional<ContentCoding> choose(std::span<const ContentCoding> available) const;
  std::optional<ContentCoding> choose(std::initializer_list<ContentCoding> available) const {
    return choose(std::span(available.begin(), available.size()));
  }

 private:
  static constexpr int kNotNamed = -1;  // the fields do not name the coding
  std::array<int, kContentCodings> named_ = {kNotNamed, kNotNamed, kNotNamed};
  int others_ = kNotNamed;  // the weight of "*"
  bool seen_ = false;       // true after the first take()
};

}  // namespace peal
