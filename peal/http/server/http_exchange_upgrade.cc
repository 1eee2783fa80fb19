// SPDX-License-Identifier: BSD-3-Clause
// What an exchange may say before its answer, or instead of it, and how it is answered from elsewhere.
#include <peal/base/assert.h>
#include <peal/base/bad_value.h>
#include <peal/http/server/http_exchange.h>
#include <peal/http/server/parts/http_core.h>
#include <peal/http/server/parts/server_session.h>
#include <peal/wire/http/http_response_writer.h>

namespace peal {

using detail::HttpSession;

namespace {

constexpr std::string_view kSwitchLine = "Connection: Upgrade\r\n";

}  // namespace

void HttpExchange::inform(int status) {
  if (!may_answer()) return;
  PEAL_ASSERT(!begun(), "exchange {} has its answer before an interim one of {}", serial_, status);
  if (status <= 100 || status >= 200 || status == 101) throw_bad_value("{} is no interim answer", status);
  if (head_.minor_version() >= 1) {
    Buffer& output = session_->output();
    HttpResponseWriter head(output.prepare(HttpResponseWriter::kStatusBytes + field_lines_.size() + 2));
    head.status(status);
    head.lines(field_lines_);
    output.commit(head.end());
    session_->put_done();
  }
  field_lines_.clear();
}

void HttpExchange::upgrade(std::string_view protocol, std::unique_ptr<UpgradeHandler> handler) {
  if (!may_answer()) return;
  PEAL_ASSERT(!begun(), "exchange {} is upgraded after its answer began", serial_);
  PEAL_ASSERT(handler != nullptr, "exchange {} is upgraded to nothing", serial_);
  if (!is_sendable({"Upgrade", protocol})) throw_bad_value("'{}' is no protocol to upgrade to", protocol);
  if (!request_read_) return close_after(), respond_error(400);  // what follows may be its body, or the other protocol
  status_ = protocol.empty() ? 200 : 101;
  const std::string_view common = shard_->common_lines();
  Buffer& output = session_->output();
  HttpResponseWriter head(output.prepare(HttpResponseWriter::kStatusBytes + common.size() + field_lines_.size() +
                                         kSwitchLine.size() + HttpResponseWriter::field_bytes("Upgrade", protocol) +
                                         HttpResponseWriter::kEndBytes));
  head.status(status_);
  head.lines(common);
  head.lines(field_lines_);
  if (!protocol.empty()) {
    head.lines(kSwitchLine);
    PEAL_ASSERT(head.field("Upgrade", protocol), "'{}' is no protocol to upgrade to", protocol);
  }
  output.commit(head.end());
  answer_ = Answer::kBegun;
  session_->upgrade(std::move(handler));
  finish();
}

bool HttpExchangeHandle::run(HttpCallback task) const {
  PEAL_ASSERT(task, "exchange {} is to run nothing", serial_);
  return connection_.run_or_end([serial = serial_, task = std::move(task)](Connection& connection) mutable {
    HttpSession& session = connection.context<HttpSession>();
    HttpExchange* exchange = session.exchange();
    if (exchange == nullptr || exchange->serial_ != serial || exchange->complete()) return;
    HttpSession::call(*exchange, [&] { task(*exchange); });
    session.settle();
  });
}

bool HttpExchangeHandle::respond(int status, std::string content_type, std::string body) const {
  return run([status, type = std::move(content_type), text = std::move(body)](HttpExchange& exchange) {
    if (!exchange.begun()) exchange.respond(status, type, text);
  });
}

}  // namespace peal
