// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/websocket/parts/websocket_shared.h>

#include <sys/random.h>

#include <algorithm>

#include <peal/base/bad_value.h>
#include <peal/wire/base64.h>

namespace peal::detail {

uint32_t WebSocketKeys::next() {
  if (left_ == 0) {
    // getrandom(2) always fills a request of up to 256 bytes; signals do not interrupt it.
    static_assert(sizeof keys_ <= 256);
    const ssize_t got = ::getrandom(keys_.data(), sizeof keys_, 0);
    PEAL_ASSERT(got == ssize_t{sizeof keys_}, "getrandom() returned {} bytes instead of {}", got, sizeof keys_);
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
  if (deflate.least_bytes == 0)
    throw_bad_value("deflate.least_bytes is 0, but empty messages cannot be compressed: set it to 1 or more");
  if (options.message_limit_bytes == 0 || options.message_limit_bytes > kMostWebSocketMessageBytes) {
    throw_bad_value("message_limit_bytes is {}, which is not 1 to {}", options.message_limit_bytes,
                    kMostWebSocketMessageBytes);
  }
  // The constructor of WebSocketDeflater throws if the window or the level is out of range.
  const WebSocketDeflater checked(deflate.window_bits, false, deflate);
}

WebSocketLoopState& WebSocketCore::loop_state(Loop& loop) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(loop_states_, &loop, [](const auto& entry) { return entry.first; });
  if (found != loop_states_.end()) return *found->second;
  return *loop_states_.emplace_back(&loop, std::make_unique<WebSocketLoopState>()).second;
}

}  // namespace peal::detail
