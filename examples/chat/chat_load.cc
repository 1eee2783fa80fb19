// SPDX-License-Identifier: BSD-3-Clause
// A load test of a chat room: `chat_load ADDRESS [CONNECTIONS [MESSAGES]]`. CONNECTIONS clients join the room, and one
// of them sends MESSAGES messages. It sends each message only after all clients have received the previous one. Prints
// how long a message takes to reach all clients.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

#include <examples/chat/chat_codec.h>
#include <examples/shared/service.h>

#include <peal/net/client.h>
#include <peal/net/messages.h>

namespace {

using namespace peal;

class ChatLoad {
 public:
  ChatLoad(Loop& loop, size_t connections, size_t messages) : loop_(loop), messages_(messages) {
    for (size_t i = 0; i < connections; ++i) {
      auto on_text = [this, i](Connection&, std::string_view text) { heard(text, i); };
      clients_.push_back(std::make_unique<Client>(
          loop_,
          ConnectionCallbacks{
              .on_open = [this, i](Connection& connection) { opened(connection, i); },
              .on_message = peal::messages(examples::kChatFraming, on_text),
              .on_close = [this](Connection&, CloseReason) { lost("a connection was closed"); },
          },
          ClientOptions{}, [this](std::error_code error, Duration) { lost(error.message()); }));
    }
  }
  Result<void> start(const SocketAddress& address) {
    for (auto& client : clients_) {
      if (auto started = client->connect(address); !started) return started;
    }
    return {};
  }
  bool done() const { return times_.size() == messages_; }
  void print() {
    std::ranges::sort(times_);
    auto milliseconds = [](Duration time) { return std::chrono::duration<double, std::milli>(time).count(); };
    fmt::print("{} clients, {} messages to everybody: median {:.3f} ms, p99 {:.3f} ms, longest {:.3f} ms\n",
               clients_.size(), messages_, milliseconds(times_[messages_ / 2]),
               milliseconds(times_[messages_ * 99 / 100]), milliseconds(times_.back()));
  }

 private:
  static constexpr std::string_view kWords = "the time is now";

  // Sends the number of the client as a chat message. The server sends each message to all members of the room, and so
  // also to the sender. A client that receives its own number therefore knows that it has joined the room. Client 0
  // will send the messages of the test.
  void opened(Connection& connection, size_t number) {
    if (number == 0) speaker_ = connection.handle();
    connection.send(examples::chat_message(fmt::format("{}", number)));
  }
  void say() {
    heard_ = 0;
    said_at_ = loop_.engine().now();
    speaker_.send(examples::chat_message(kWords));
  }
  void heard(std::string_view text, size_t number) {
    if (text != kWords) {
      if (text == fmt::format("{}", number) && ++joined_ == clients_.size()) say();
      return;
    }
    if (++heard_ < clients_.size()) return;
    times_.push_back(loop_.engine().now() - said_at_);
    if (done()) return loop_.stop();
    say();
  }
  void lost(const std::string& why) {
    if (done()) return;
    fmt::print(stderr, "chat_load: {}\n", why);
    loop_.stop();
  }

  Loop& loop_;
  const size_t messages_;
  std::vector<std::unique_ptr<Client>> clients_;
  ConnectionHandle speaker_;
  size_t joined_ = 0;
  size_t heard_ = 0;
  TimePoint said_at_;
  std::vector<Duration> times_;
};

}  // namespace

int main(int argc, char** argv) {
  const int connections = std::atoi(examples::argument(argc, argv, 2, "100").c_str());
  const int messages = std::atoi(examples::argument(argc, argv, 3, "1000").c_str());
  if (argc < 2 || connections < 1 || messages < 1) {
    fmt::print(stderr, "usage: chat_load ADDRESS [CONNECTIONS [MESSAGES]]\n");
    return 2;
  }
  auto address = SocketAddress::parse(argv[1]);
  if (!address) return examples::failed(argv[1], address.error());
  Loop loop;
  ChatLoad load(loop, static_cast<size_t>(connections), static_cast<size_t>(messages));
  if (auto started = load.start(*address); !started) return examples::failed(argv[1], started.error());
  const int ran = examples::run(loop);
  if (ran != 0 || !load.done()) return 1;
  load.print();
}
