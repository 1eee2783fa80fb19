// SPDX-License-Identifier: BSD-3-Clause
#include <tests/support/http_script.h>

#include <charconv>

#include <fmt/core.h>
#include <gtest/gtest.h>

namespace peal::test {
namespace {

// Returns the length of the first request in `bytes`, including its body. Returns 0 if the request is not complete.
// `head_end` is the length of the head with its empty line. A chunked body must have no trailers.
size_t request_bytes(std::string_view bytes, size_t head_end) {
  const std::string_view head = bytes.substr(0, head_end);
  if (head.contains("\r\nTransfer-Encoding: chunked\r\n")) {
    constexpr std::string_view kLast = "0\r\n\r\n";
    if (bytes.substr(head_end).starts_with(kLast)) return head_end + kLast.size();
    const size_t end = bytes.find("\r\n0\r\n\r\n", head_end);
    return end == bytes.npos ? 0 : end + kLast.size() + 2;
  }
  constexpr std::string_view kLength = "\r\nContent-Length: ";
  size_t length = 0;
  if (const size_t at = head.find(kLength); at != head.npos) {
    std::from_chars(head.data() + at + kLength.size(), head.data() + head.size(), length);
  }
  return head_end + length <= bytes.size() ? head_end + length : 0;
}

}  // namespace

std::string http_ok(std::string_view body) {
  return fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{}", body.size(), body);
}

HttpScript::HttpScript(Loop& loop, Answer answer, const std::string& address, const ServerOptions& options)
    : answer_(std::move(answer)), server_(loop, callbacks(), options) {
  const Result<SocketAddress> bound = server_.listen(address);
  EXPECT_TRUE(bound.has_value()) << bound.error().message();
  address_ = bound.value_or(SocketAddress());
}

std::string HttpScript::url(std::string_view target) const {
  return "http://" + address_.to_string() + std::string(target);
}

std::vector<std::string> HttpScript::asked() const {
  std::vector<std::string> all;
  for (const Request& request : requests_) all.push_back(request.what());
  return all;
}

void HttpScript::each(const std::function<void(Connection&)>& task) {
  for (const auto& [number, handle] : std::map(handles_)) handle.run(task);
}

ConnectionCallbacks HttpScript::callbacks() {
  ConnectionCallbacks callbacks;
  callbacks.on_open = [this](Connection& connection) {
    connection.emplace_context<Conversation>().connection = ++opened_;
    handles_[opened_] = connection.handle();
  };
  callbacks.on_message = [this](Connection& connection, Buffer& input) {
    if (!on_bytes) return take(connection, input);
    on_bytes(connection, input);
    input.clear();
  };
  callbacks.on_close = [this](Connection& connection, CloseReason) {
    ++closed_;
    handles_.erase(connection.context<Conversation>().connection);
  };
  return callbacks;
}

void HttpScript::take(Connection& connection, Buffer& input) {
  Conversation& conversation = connection.context<Conversation>();
  conversation.bytes += input.to_string();
  input.clear();
  for (;;) {
    std::string& bytes = conversation.bytes;
    const size_t end = bytes.find("\r\n\r\n");
    if (end == bytes.npos) return;
    if (!std::exchange(conversation.head_told, true) && on_head) on_head(connection, bytes.substr(0, end + 4));
    const size_t size = request_bytes(bytes, end + 4);
    if (size == 0) return;
    requests_.push_back({.connection = conversation.connection,
                         .number = ++conversation.requests,
                         .head = bytes.substr(0, end + 4),
                         .body = bytes.substr(end + 4, size - end - 4)});
    bytes.erase(0, size);
    conversation.head_told = false;
    if (answer_) answer_(connection, Request(requests_.back()));
  }
}

}  // namespace peal::test
