// SPDX-License-Identifier: BSD-3-Clause
// SealedPeer: a RawPeer that seals and unseals by hand, so that it knows the records, and where the layer begins.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tests/support/raw_peer.h>
#include <tests/support/sealed/sealing.h>

namespace peal::test {

struct SealedPeer {
  explicit SealedPeer(RawPeer connected) : raw(std::move(connected)) { raw.send(kSealHello); }
  void send(std::string_view bytes) {
    std::string sealed;
    seal(bytes, sealed);
    raw.send(sealed);
  }
  // What each record held; nothing: the end mark.
  std::vector<std::string> records() {
    raw.pump();
    std::vector<std::string> found;
    std::string_view left = std::string_view(raw.received()).substr(clear_bytes);
    if (left.starts_with(kSealHello)) left.remove_prefix(kSealHello.size());
    while (left.size() >= 4) {
      size_t size = 0;
      for (size_t i = 0; i < 4; ++i) size = size << 8 | static_cast<uint8_t>(left[i]);
      if (left.size() - 4 < size) break;
      std::string record(left.substr(4, size));
      for (char& byte : record) byte = static_cast<char>(~byte);
      found.push_back(std::move(record));
      left.remove_prefix(4 + size);
    }
    return found;
  }
  bool ended() {
    raw.pump();
    return raw.ended();
  }

  RawPeer raw;
  size_t clear_bytes = 0;  // received before the layer began
};

}  // namespace peal::test
