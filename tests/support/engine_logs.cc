// SPDX-License-Identifier: BSD-3-Clause
// Implements StreamLog, AcceptLog and WatchLog of EngineRig. The tested engine calls them to report an event. They
// check each report against the rules of engine.h, record it, and then call the function that the test has set.
#include <utility>

#include <fmt/format.h>

#include <tests/support/engine_rig.h>

namespace peal {
namespace {

void call(const std::function<void()>& hook) {
  if (hook) hook();
}

std::string text(std::error_code error) { return error ? error.message() : "no error"; }

}  // namespace

void EngineLog::happened(const std::string& what, bool may_follow_goodbye) {
  rig_.note("    " + name_ + ": " + what);
  EXPECT_TRUE(rig_.dispatching_) << what << " was reported outside wait() and shut()\n" << rig_.story();
  EXPECT_EQ(rig_.calls_down_, 0) << what << " was reported inside a call to the engine\n" << rig_.story();
  EXPECT_TRUE(given_) << what << " was reported before the engine got the sink\n" << rig_.story();
  EXPECT_FALSE(finished_) << what << " was reported after the last completion\n" << rig_.story();
  EXPECT_TRUE(!closed_here_ || may_follow_goodbye) << what << " was reported after close(), stop() or unwatch()\n"
                                                   << rig_.story();
}

void EngineLog::last_happened(const std::string& what) {
  happened(what, true);
  finished_ = true;
}

void StreamLog::receive(bool on) {
  receiving_ = on;
  rig_.down(fmt::format("{} receive({})", name(), on), [&] { rig_.engine().receive(id, on); });
}

size_t StreamLog::send(std::string_view bytes) {
  return rig_.down(fmt::format("{} send {}", name(), bytes.size()), [&] { return rig_.engine().send_copy(id, bytes); });
}

size_t StreamLog::send_blocks(Buffer bytes) {
  return rig_.down(fmt::format("{} send {} in blocks", name(), bytes.size()),
                   [&] { return rig_.engine().send(id, std::move(bytes)); });
}

void StreamLog::report_sent() {
  rig_.down(name() + " report_sent", [&] { rig_.engine().report_sent(id); });
}

size_t StreamLog::queued() const { return rig_.engine().queued_bytes(id); }

void StreamLog::shutdown_send() {
  rig_.down(name() + " shutdown_send", [&] { rig_.engine().shutdown_send(id); });
}

void StreamLog::close(CloseHow how) {
  closed_here_ = true;
  rig_.down(name() + (how == CloseHow::kReset ? " reset" : " close"), [&] { rig_.engine().close(id, how); });
}

void StreamLog::detach() {
  detaching_ = true;
  rig_.down(name() + " detach", [&] { rig_.engine().detach(id); });
}

void StreamLog::on_connected(std::error_code error) {
  happened("connected, " + text(error));
  EXPECT_TRUE(std::exchange(connecting_, false)) << rig_.story();
  connected = true;
  connect_error = error;
  call(when_connected);
}

void StreamLog::on_received(Buffer& bytes) {
  happened(fmt::format("received {}", bytes.size()));
  EXPECT_FALSE(connecting_) << rig_.story();
  EXPECT_FALSE(bytes.empty()) << rig_.story();
  EXPECT_TRUE(receiving_ || detaching_) << "bytes were delivered while receiving was off\n" << rig_.story();
  EXPECT_FALSE(ended) << "bytes were delivered after the end\n" << rig_.story();
  received += bytes.to_string();
  last_held_bytes = bytes.held_bytes();
  ++receive_count;
  call(when_received);
}

void StreamLog::on_receive_end(std::error_code error) {
  happened("receive end, " + text(error));
  EXPECT_TRUE(receiving_ && !detaching_) << "the end was reported while receiving was off\n" << rig_.story();
  EXPECT_FALSE(std::exchange(ended, true)) << "the end was reported twice\n" << rig_.story();
  end_error = error;
  call(when_ended);
}

void StreamLog::on_send_failed(std::error_code error) {
  happened("send failed, " + text(error));
  EXPECT_TRUE(static_cast<bool>(error));
  EXPECT_EQ(++send_failures, 1) << rig_.story();
  EXPECT_EQ(queued(), 0U) << "a failed stream still has output queued\n" << rig_.story();
  send_error = error;
  call(when_send_failed);
}

void StreamLog::on_sent(size_t left_bytes) {
  happened(fmt::format("sent, {} left", left_bytes));
  sent_reports.push_back(left_bytes);
  call(when_sent);
}

void StreamLog::on_closed() {
  last_happened("closed");
  closed = true;
  call(when_closed);
}

void StreamLog::on_detached(LooseStream stream) {
  last_happened("detached");
  loose.emplace(std::move(stream));
}

void AcceptLog::stop() {
  closed_here_ = true;
  rig_.down(name() + " stop", [&] { rig_.engine().stop(id); });
}

void AcceptLog::on_accepted(LooseStream stream) {
  happened("accepted", true);
  accepted.push_back(std::move(stream));
  ++accept_count;
  call(when_accepted);
}

void AcceptLog::on_accept_stopped() {
  last_happened("accept stopped");
  stopped = true;
  call(when_stopped);
}

void WatchLog::unwatch() {
  closed_here_ = true;
  rig_.down(name() + " unwatch", [&] { rig_.engine().unwatch(id); });
}

void WatchLog::on_ready(bool readable, bool writable) {
  happened(fmt::format("ready{}{}", readable ? " to read" : "", writable ? " to write" : ""));
  EXPECT_TRUE(readable || writable) << rig_.story();
  readable_count += readable;
  writable_count += writable;
  call(when_ready);
}

void WatchLog::on_unwatched() {
  last_happened("unwatched");
  unwatched = true;
  call(when_unwatched);
}

}  // namespace peal
