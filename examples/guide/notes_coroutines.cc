// SPDX-License-Identifier: BSD-3-Clause
// Page 3 of the guide: the notebook with coroutines, one task for each client. Two more commands show what tasks are
// good for: `follow` sends new notes as they are added, and `remind SECONDS TEXT` sends TEXT later.
// `notes_coroutines [ADDRESS]`
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include <peal/coro/co_server.h>
#include <peal/coro/sleep.h>
#include <peal/sync/async_event.h>
#include <peal/sync/select.h>
#include <peal/wire/framing/delimiter_framing.h>

#include "notebook.h"

namespace {

using namespace peal;
using std::chrono::seconds;

constexpr seconds kPatience(60);
constexpr LineFraming kLines{.limit_bytes = 1024};
constexpr size_t kMostReminders = 10;
constexpr seconds kLongestDelay(3600);

// Quoted in docs: [remind]
// Sends `text` after `delay`. The session of the client runs at the same time. The session waits for this task before
// the session ends, because the session owns `stream` and destroys `stream` at its end.
Task<> remind(Stream& stream, seconds delay, std::string text) {
  const Result<void> slept = co_await sleep(delay);
  if (!slept) co_return;  // the reminder was cancelled
  co_await stream.write(text);
}
// End of quote: [remind]

class Service {
 public:
  explicit Service(Loop& loop) : loop_(loop) {}

  // Quoted in docs: [session]
  Task<> session(Stream stream) {
    Scope reminders(loop_);
    for (;;) {
      // `patience` is the longest time that the session waits for the next line. A client that waits for a reminder
      // gets kLongestDelay instead of kPatience, because the client may have nothing to send until the reminder
      // arrives.
      const seconds patience = reminders.size() > 0 ? kLongestDelay : kPatience;
      Result<std::optional<Buffer>> input = co_await stream.read(kLines).within(patience);
      if (!input) {
        reminders.cancel();
        if (input.error() == std::errc::timed_out) co_await stream.write("! too slow, good-bye\n");
        if (input.error() == Trouble::kMessageTooLong) co_await stream.write("! too long a line\n");
        break;
      }
      if (!*input) break;  // the client has sent FIN; reminders are still sent
      const std::string_view line = (*input)->view();
      Result<void> sent;
      if (line == "quit") {
        reminders.cancel();
        break;
      }
      if (line == "follow") {
        sent = co_await follow(stream);
      } else if (line.starts_with("remind ")) {
        sent = co_await stream.write(add_reminder(reminders, stream, line.substr(7)));
      } else {
        const std::string text = answer(line);
        sent = co_await stream.write(text).within(kPatience);
      }
      if (!sent) reminders.cancel();  // the client has disconnected, or does not read
      if (!sent) break;
    }
    co_await reminders.join();
  }
  // End of quote: [session]

 private:
  std::string_view add_reminder(Scope& reminders, Stream& stream, std::string_view order) {
    int delay = 0;
    const auto [rest, error] = std::from_chars(order.data(), order.data() + order.size(), delay);
    const std::string_view text(rest, order.data() + order.size());
    if (error != std::errc() || delay < 0 || delay > kLongestDelay.count() || !text.starts_with(' '))
      return "? remind SECONDS TEXT\n";
    if (reminders.size() >= kMostReminders) return "! too many reminders\n";
    reminders.spawn(remind(stream, seconds(delay), fmt::format("*{}\n", text)));
    return "ok\n";
  }

  // Quoted in docs: [follow]
  // Sends each note that is added from now on. Returns when the client sends a line, sends FIN or disconnects, when a
  // write() fails or takes longer than kPatience, or when the task is cancelled. That line is dropped, because the line
  // only ends the following. Returns the result of the last write(). Each follower stores only `seen`, the number of
  // the newest note that was sent. A queue of unsent notes is not needed, because the notebook keeps all notes.
  Task<Result<void>> follow(Stream& stream) {
    uint64_t seen = notebook_.notes().empty() ? 0 : notebook_.notes().rbegin()->first;
    Result<void> sent = co_await stream.write("following\n");
    while (sent) {
      const std::string news = news_since(seen);
      if (!news.empty()) {
        sent = co_await stream.write(news).within(kPatience);
        continue;  // other clients may have added notes during write()
      }
      const auto chosen = co_await select(stream.read(kLines), added_.wait());
      if (!chosen || chosen->index() == 0) break;
    }
    co_return sent;
  }

  std::string answer(std::string_view line) {
    std::string text = notebook_.answer(line);
    if (text.starts_with("added ")) {
      added_.set();  // waiting followers run when this task next suspends
      added_.reset();
    }
    return text;
  }
  // End of quote: [follow]

  std::string news_since(uint64_t& seen) const {
    std::string news;
    const auto& notes = notebook_.notes();
    for (auto note = notes.upper_bound(seen); note != notes.end(); ++note) {
      news += fmt::format("+ {}\n", note->second);
      seen = note->first;
    }
    return news;
  }

  Loop& loop_;
  Notebook notebook_;
  AsyncEvent added_;
};

}  // namespace

// Quoted in docs: [main]
int main(int argc, char** argv) {
  Loop loop;
  Service service(loop);
  CoServer server(loop, [&service](Stream stream) { return service.session(std::move(stream)); });
  const char* address = argc > 1 ? argv[1] : "127.0.0.1:7000";
  const Result<SocketAddress> bound = server.listen(address);
  if (!bound) {
    fmt::print(stderr, "cannot listen on {}: {}\n", address, bound.error().message());
    return 1;
  }
  fmt::print("listening on {}\n", bound->to_string());
  std::fflush(stdout);
  return loop.stop_on_signals() && loop.run() ? 0 : 1;
}
// End of quote: [main]
