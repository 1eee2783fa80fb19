// SPDX-License-Identifier: BSD-3-Clause
// A load test of an echo service: `rpc_bench_client ADDRESS [CONNECTIONS [PIPELINED [SECONDS [PAYLOAD_BYTES]]]]`. It
// keeps PIPELINED calls in progress on each connection (a closed loop). It checks every answer, and prints the rate and
// the latencies.
#include <cstdlib>
#include <memory>
#include <vector>

#include <examples/protobuf/rpc_client.h>
#include <examples/protobuf/rpc_echo.pb.h>

#include <peal/observe/histogram.h>

namespace {

using namespace peal;
using namespace peal::examples;

struct Load {
  std::string address;
  size_t connections;
  size_t pipelined;
  Duration duration;
  size_t payload_bytes;
};

class RpcBench {
 public:
  RpcBench(Loop& loop, const Load& load) : loop_(loop), load_(load), latency_({.highest = 60'000'000'000}) {
    request_.set_payload(std::string(load.payload_bytes, 'x'));
    RpcChannelOptions options = one_attempt();
    options.most_calls = load.pipelined;
    for (size_t i = 0; i < load.connections; ++i) channels_.push_back(std::make_unique<RpcChannel>(loop, options));
  }

  Result<void> start() {
    for (auto& channel : channels_) {
      if (Result<void> begun = channel->connect(load_.address); !begun) return begun;
      for (size_t i = 0; i < load_.pipelined; ++i) call(*channel);
    }
    begin_ = loop_.now();
    loop_.after(load_.duration, [this] {
      over_ = true;
      loop_.stop();
    });
    return {};
  }

  // Prints the results. Returns true if the test ran for its full time and at least one call was answered.
  bool print() const {
    const double seconds = std::chrono::duration<double>(loop_.now() - begin_).count();
    const auto microseconds = [this](double percentile) {
      return static_cast<double>(latency_.value_at_percentile(percentile)) / 1000;
    };
    fmt::print("{:.0f} calls/s, p50 {:.0f} us, p90 {:.0f} us, p99 {:.0f} us\n",
               static_cast<double>(answered_) / seconds, microseconds(50), microseconds(90), microseconds(99));
    return over_ && answered_ > 0;
  }

 private:
  void call(RpcChannel& channel) {
    channel.call(&echo::EchoService::Echo, request_,
                 [this, &channel, sent = loop_.now()](Result<echo::EchoResponse> answer) {
                   if (!answer) return end(answer.error().message());
                   if (answer->payload() != request_.payload()) return end("a wrong answer");
                   latency_.record((loop_.now() - sent).count());
                   ++answered_;
                   call(channel);
                 });
  }
  void end(const std::string& why) {
    if (!failed_ && !over_) fmt::print(stderr, "rpc_bench_client: {}\n", why);
    failed_ = true;
    loop_.stop();
  }

  Loop& loop_;
  const Load load_;
  echo::EchoRequest request_;
  Histogram latency_;
  TimePoint begin_;
  uint64_t answered_ = 0;
  bool over_ = false;
  bool failed_ = false;
  std::vector<std::unique_ptr<RpcChannel>> channels_;
};

}  // namespace

int main(int argc, char** argv) {
  const int connections = std::atoi(argument(argc, argv, 2, "10").c_str());
  const int pipelined = std::atoi(argument(argc, argv, 3, "10").c_str());
  const double seconds = std::atof(argument(argc, argv, 4, "5").c_str());
  const int payload_bytes = std::atoi(argument(argc, argv, 5, "6").c_str());
  if (argc < 2 || connections < 1 || pipelined < 1 || seconds <= 0 || payload_bytes < 0) {
    fmt::print(stderr, "usage: rpc_bench_client ADDRESS [CONNECTIONS [PIPELINED [SECONDS [PAYLOAD_BYTES]]]]\n");
    return 2;
  }
  Loop loop;
  RpcBench bench(loop, {.address = argv[1],
                        .connections = static_cast<size_t>(connections),
                        .pipelined = static_cast<size_t>(pipelined),
                        .duration = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds)),
                        .payload_bytes = static_cast<size_t>(payload_bytes)});
  if (Result<void> started = bench.start(); !started) return failed(argv[1], started.error());
  if (const int ran = run(loop); ran != 0) return ran;
  return bench.print() ? 0 : 1;
}
