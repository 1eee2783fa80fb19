// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/framing/delimiter_framing.h>

#include <peal/base/bad_value.h>

namespace peal {
namespace {

// Searches the first block alone, and joins the blocks only if that block has no delimiter. If the blocks were always
// joined, each message would be copied together with all messages that arrived after it.
template <class Its>
FramePeek peek_blocks(const Its& framing, Buffer& input, size_t trailer_bytes) {
  const FramePeek found = framing.peek(input.front(), input.size());
  if (found.state != FrameState::kMore || input.is_contiguous()) return found;
  const bool over_limit = input.size() > framing.limit_bytes && input.size() - framing.limit_bytes > trailer_bytes;
  const std::string_view joined = input.view(over_limit ? framing.limit_bytes + trailer_bytes : input.size());
  return framing.peek(joined, joined.size());
}

// Returns true if the text of `body` and `delimiter` contains the delimiter at a position before the end of the body. A
// reader would then end the body too early.
bool occurs_early(std::string_view body, std::string_view delimiter) {
  if (body.contains(delimiter)) return true;
  for (size_t inside = 1; inside < delimiter.size(); ++inside) {
    const bool begins_in_body = body.ends_with(delimiter.substr(0, inside));
    if (begins_in_body && delimiter.starts_with(delimiter.substr(inside))) return true;
  }
  return false;
}

void check_body(std::string_view body, std::string_view delimiter, size_t limit_bytes) {
  if (body.size() > limit_bytes) throw_bad_value("a message of {} bytes; the limit is {}", body.size(), limit_bytes);
  if (occurs_early(body, delimiter)) throw_bad_value("a message of {} bytes contains its own delimiter", body.size());
}

void check_delimiter(std::string_view delimiter) {
  if (delimiter.empty()) throw_bad_value("a DelimiterFraming with an empty delimiter");
}

}  // namespace

FramePeek DelimiterFraming::peek(std::string_view first, size_t) const {
  check_delimiter(delimiter);
  const size_t end = first.find(delimiter);
  if (end == first.npos) {
    // An incomplete delimiter may follow a body that is exactly as long as the limit. Such an input is not too long.
    const bool too_long = first.size() >= delimiter.size() && first.size() - delimiter.size() >= limit_bytes;
    return {.state = too_long ? FrameState::kTooLong : FrameState::kMore};
  }
  return {.state = end > limit_bytes ? FrameState::kTooLong : FrameState::kWhole,
          .body_bytes = end,
          .trailer_bytes = delimiter.size()};
}

FramePeek DelimiterFraming::peek(Buffer& input) const { return peek_blocks(*this, input, delimiter.size()); }

void DelimiterFraming::append(Buffer& output, std::string_view body) const {
  check_delimiter(delimiter);
  check_body(body, delimiter, limit_bytes);
  output.append(body);
  output.append(delimiter);
}

FramePeek LineFraming::peek(std::string_view first, size_t) const {
  const size_t newline = first.find('\n');
  if (newline == first.npos) {
    const bool ends_in_cr = first.ends_with('\r');
    return {.state = first.size() - (ends_in_cr ? 1 : 0) > limit_bytes ? FrameState::kTooLong : FrameState::kMore};
  }
  const bool follows_cr = newline > 0 && first[newline - 1] == '\r';
  const size_t end = newline - (follows_cr ? 1 : 0);
  return {.state = end > limit_bytes ? FrameState::kTooLong : FrameState::kWhole,
          .body_bytes = end,
          .trailer_bytes = newline + 1 - end};
}

FramePeek LineFraming::peek(Buffer& input) const { return peek_blocks(*this, input, 2); }

void LineFraming::append(Buffer& output, std::string_view line) const {
  check_body(line, "\n", limit_bytes);
  output.append(line);
  output.append(ends_in_crlf || line.ends_with('\r') ? "\r\n" : "\n");
}

}  // namespace peal
