// SPDX-License-Identifier: BSD-3-Clause
// Content codings (RFC 9110 8.4.1) and the choice among them by Accept-Encoding (12.5.3). Pure; one thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>

namespace peal {

// Where a client likes several equally, the later ones are the better ones: zstd packs about as tightly as gzip in a
// fifth of the time.
enum class ContentCoding : uint8_t { kIdentity, kGzip, kZstd };
inline constexpr size_t kContentCodings = 3;

// As Content-Encoding has it: "identity" (which is never sent), "gzip", "zstd".
std::string_view to_string(ContentCoding coding);
// Which one that name means, in any case of letters, "x-gzip" too (RFC 9110 8.4.1.3); nothing: none of these.
std::optional<ContentCoding> content_coding_named(std::string_view name);

class AcceptedCodings {
 public:
  // The value of one Accept-Encoding field; of several, each. A malformed element is passed over.
  void take(std::string_view value);

  // In thousandths; 0: not acceptable. Without a field everything is acceptable (RFC 9110 12.5.3 1.).
  int quality(ContentCoding coding) const;
  // Whether the client asked for any coding but identity.
  bool any() const { return seen_ && (quality(ContentCoding::kGzip) > 0 || quality(ContentCoding::kZstd) > 0); }
  // The best of those there are, identity among them or not. Nothing: none is acceptable (RFC 9110 15.5.7: 406). A
  // client that sent no field gets identity: it may know of no other.
  std::optional<ContentCoding> choose(std::span<const ContentCoding> available) const;
  std::optional<ContentCoding> choose(std::initializer_list<ContentCoding> available) const {
    return choose(std::span(available.begin(), available.size()));
  }

 private:
  static constexpr int kNotNamed = -1;
  std::array<int, kContentCodings> named_ = {kNotNamed, kNotNamed, kNotNamed};
  int others_ = kNotNamed;  // "*"
  bool seen_ = false;
};

}  // namespace peal
