// SPDX-License-Identifier: BSD-3-Clause
#include <models/common/echo/echo_frame.h>

#include <algorithm>
#include <utility>

#include <peal/base/bad_value.h>

namespace peal {

void append_echo_frame(Buffer& output, std::string_view body) {
  if (body.size() > UINT32_MAX) throw_bad_value("an echo frame of {} bytes", body.size());
  output.append(echo_header(static_cast<uint32_t>(body.size())));
  output.append(body);
}

EchoFramePeek EchoFrameDecoder::peek(Buffer& input) const {
  const size_t available = input.size();
  const std::string_view header = input.view(std::min(available, kEchoHeaderBytes));
  return peek_frame(std::as_bytes(std::span(header)), available, max_body_bytes_);
}

EchoFrameState EchoFrameDecoder::next(Buffer& input, Buffer& body) const {
  const EchoFramePeek found = peek(input);
  if (found.state == EchoFrameState::kWhole) {
    input.consume(kEchoHeaderBytes);
    body = found.body_bytes == input.size() ? std::move(input) : input.take(found.body_bytes);
  }
  return found.state;
}

EchoFrameState EchoFrameDecoder::next_frame(Buffer& input, Buffer& frame) const {
  const EchoFramePeek found = peek(input);
  if (found.state == EchoFrameState::kWhole) {
    frame = found.frame_bytes() == input.size() ? std::move(input) : input.take(found.frame_bytes());
  }
  return found.state;
}

}  // namespace peal
