// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/parts/websocket_core.h>

#include <sys/random.h>

#include <algorithm>

#include <peal/base/base64.h>

namespace peal::detail {

uint32_t WebSocketKeys::next() {
  if (left_ == 0) {
    // Never short nor interrupted for up to 256 bytes (getrandom(2)).
    static_assert(sizeof keys_ <= 256);
    const ssize_t got = ::getrandom(keys_.data(), sizeof keys_, 0);
    PEAL_ASSERT(got == ssize_t{sizeof keys_}, "{} random bytes", got);
    left_ = keys_.size();
  }
  return keys_[--left_];
}

std::string WebSocketKeys::handshake_key() {
  std::array<uint32_t, 4> words;
  for (uint32_t& word : words) word = next();
  return base64_encode({reinterpret_cast<const char*>(words.data()), sizeof words});
}

WebSocketCore::WebSocketCore(WebSocketCallbacks its_callbacks, const WebSocketOptions& its_options)
    : callbacks(std::move(its_callbacks)), options(its_options) {
  const WebSocketDeflateOptions& deflate = options.deflate;
  PEAL_ASSERT(deflate.window_bits >= 9 && deflate.window_bits <= 15, "a window of {} bits", deflate.window_bits);
  PEAL_ASSERT(deflate.least_bytes > 0, "messages of {} bytes are compressed", deflate.least_bytes);
}

WebSocketTools& WebSocketCore::tools(Loop& loop) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(tools_, &loop, [](const auto& entry) { return entry.first; });
  if (found != tools_.end()) return *found->second;
  return *tools_.emplace_back(&loop, std::make_unique<WebSocketTools>()).second;
}

}  // namespace peal::detail
