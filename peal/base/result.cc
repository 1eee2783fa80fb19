// SPDX-License-Identifier: BSD-3-Clause
// The messages of peal's own errors. Like those of strerror(3) they can follow other text in a line, so they have no
// capital letter and no full stop.
#include <peal/base/result.h>

namespace peal {
namespace {

class TroubleCategory final : public std::error_category {
 public:
  const char* name() const noexcept override { return "peal"; }

  std::string message(int value) const override {
    switch (static_cast<Trouble>(value)) {
      case Trouble::kUnsupportedEngine: return "the engine asked for cannot run on this machine";
      case Trouble::kBadAddress: return "not an address: write HOST:PORT with a numeric host, [HOST]:PORT or unix:PATH";
      case Trouble::kNameNotAddress: return "a name and not an address: resolve it, or write 127.0.0.1 for localhost";
      case Trouble::kNoHost: return "the host is missing: write HOST:PORT, such as 127.0.0.1:8080";
      case Trouble::kNoPort: return "the port is missing: write HOST:PORT";
      case Trouble::kBadPort: return "the port is no number from 0 to 65535";
      case Trouble::kPathTooLong: return "a unix socket path may be at most 107 bytes long";
      case Trouble::kLoopStopped: return "the loop has stopped";
      case Trouble::kBadHistogram: return "the text is not an encoded histogram that peal can hold";
      case Trouble::kHostNotFound: return "no host has this name, or it has no address";
      case Trouble::kNoAnswer: return "no name server answered in time";
      case Trouble::kNameServerFailed: return "the name servers refused or failed to answer";
      case Trouble::kTooManyLookups: return "too many names are being looked up at once";
      case Trouble::kTruncated: return "the peer ended too early: what it sent may be cut short";
      case Trouble::kMessageTooLong: return "the peer's message is longer than the limit";
      case Trouble::kMessageTooShort: return "the peer's message says that it is shorter than any message is";
      case Trouble::kBadMessage: return "the peer's message breaks the protocol";
      case Trouble::kBadChecksum: return "the checksum of the peer's message is wrong";
      case Trouble::kBadMessageName: return "the type name in the peer's message is malformed";
      case Trouble::kUnknownMessageType: return "the peer's message has a type that is not known here";
      case Trouble::kUnreadableMessage: return "the peer's message cannot be parsed as its type";
    }
    return "unknown peal error " + std::to_string(value);
  }
};

}  // namespace

const std::error_category& trouble_category() noexcept {
  static const TroubleCategory category;
  return category;
}

}  // namespace peal
