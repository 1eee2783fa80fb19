// SPDX-License-Identifier: BSD-3-Clause
// A load test of a sudoku server: `sudoku_load ADDRESS [CONNECTIONS [IN_FLIGHT [SECONDS]]]`. It keeps IN_FLIGHT
// requests in progress on each connection (a closed loop). It checks every solution, and prints the rate and the
// latencies.
#include <charconv>
#include <cstdlib>
#include <memory>
#include <unordered_map>
#include <vector>

#include <examples/sudoku/sudoku_service.h>

#include <peal/net/client.h>
#include <peal/observe/histogram.h>

namespace {

using namespace peal;
using namespace peal::examples;

constexpr std::string_view kPuzzle =
    "000000010400000000020000000000050407008000300001090000300400200050100000000806000";
constexpr std::string_view kSolution =
    "693784512487512936125963874932651487568247391741398625319475268856129743274836159";

class SudokuLoad {
 public:
  SudokuLoad(Loop& loop, size_t connections, size_t in_flight, Duration duration)
      : loop_(loop), in_flight_(in_flight), duration_(duration), histogram_({.highest = 60'000'000'000}) {
    auto on_line = [this](Connection& connection, std::string_view line) { answered(connection, line); };
    for (size_t i = 0; i < connections; ++i) {
      clients_.push_back(std::make_unique<Client>(
          loop_,
          ConnectionCallbacks{
              .on_open = [this](Connection& connection) { opened(connection); },
              .on_message = messages(kSudokuLines, on_line),
              .on_close = [this](Connection&, CloseReason reason) { end(std::string(to_string(reason))); },
          },
          ClientOptions{}, [this](std::error_code error, Duration) { end(error.message()); }));
    }
  }
  Result<void> start(const SocketAddress& address) {
    begin_ = loop_.engine().now();
    for (auto& client : clients_) {
      if (auto started = client->connect(address); !started) return started;
    }
    loop_.after(duration_, [this] {
      over_ = true;
      loop_.stop();
    });
    return {};
  }
  // Prints the results. Returns true if the test ran for its full time and at least one puzzle was solved. The test
  // ends before its time if an answer is wrong, a connection fails or closes, or SIGINT or SIGTERM arrives.
  bool print() const {
    const double seconds = std::chrono::duration<double>(loop_.engine().now() - begin_).count();
    auto microseconds = [this](double percentile) {
      return static_cast<double>(histogram_.value_at_percentile(percentile)) / 1000;
    };
    fmt::print("{:.0f} requests/s, {} too busy, p50 {:.0f} us, p90 {:.0f} us, p99 {:.0f} us\n",
               static_cast<double>(solved_) / seconds, busy_, microseconds(50), microseconds(90), microseconds(99));
    return over_ && solved_ > 0;
  }

 private:
  using Pending = std::unordered_map<uint64_t, TimePoint>;  // for each request id, when it was sent

  void opened(Connection& connection) {
    connection.emplace_context<Pending>();
    for (size_t i = 0; i < in_flight_; ++i) ask(connection);
  }
  void ask(Connection& connection) {
    connection.context<Pending>()[next_id_] = loop_.engine().now();
    connection.send(fmt::format("{}:{}\r\n", next_id_++, kPuzzle));
  }
  void answered(Connection& connection, std::string_view line) {
    if (line == "ServerTooBusy") {
      // A new request replaces the refused request, so that IN_FLIGHT requests stay in progress. The refused request
      // cannot be repeated or removed from Pending, because the answer does not contain the id of that request. The new
      // request is sent 1 ms later, because the server is too busy now.
      ++busy_;
      loop_.after(std::chrono::milliseconds(1),
                  [this, handle = connection.handle()] { handle.run([this](Connection& open) { ask(open); }); });
      return;
    }
    uint64_t id = 0;
    std::from_chars(line.begin(), line.end(), id);
    auto pending = connection.context<Pending>().extract(id);
    if (pending.empty() || !line.ends_with(kSolution)) return end(fmt::format("a wrong answer: {}", line));
    histogram_.record((loop_.engine().now() - pending.mapped()).count());
    ++solved_;
    ask(connection);
  }
  void end(const std::string& why) {
    if (!over_) fmt::print(stderr, "sudoku_load: {}\n", why);
    loop_.stop();
  }

  Loop& loop_;
  const size_t in_flight_;
  const Duration duration_;
  std::vector<std::unique_ptr<Client>> clients_;
  Histogram histogram_;
  TimePoint begin_;
  uint64_t next_id_ = 1;
  uint64_t solved_ = 0;
  uint64_t busy_ = 0;
  bool over_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  const int connections = std::atoi(argument(argc, argv, 2, "10").c_str());
  const int in_flight = std::atoi(argument(argc, argv, 3, "10").c_str());
  const double seconds = std::atof(argument(argc, argv, 4, "5").c_str());
  if (argc < 2 || connections < 1 || in_flight < 1 || seconds <= 0) {
    fmt::print(stderr, "usage: sudoku_load ADDRESS [CONNECTIONS [IN_FLIGHT [SECONDS]]]\n");
    return 2;
  }
  auto address = SocketAddress::parse(argv[1]);
  if (!address) return failed(argv[1], address.error());
  Loop loop;
  SudokuLoad load(loop, static_cast<size_t>(connections), static_cast<size_t>(in_flight),
                  std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds)));
  if (auto started = load.start(*address); !started) return failed(argv[1], started.error());
  if (const int ran = run(loop); ran != 0) return ran;
  return load.print() ? 0 : 1;
}
