// SPDX-License-Identifier: BSD-3-Clause
// Downloads a file: `download [-s] [-r TIMES] [-l BYTES] URL FILE`. If a download was interrupted, the next run with
// the same URL and FILE continues it.
//   -s        returns only after the file is synced to the disk
//   -r TIMES  gives up after TIMES more attempts without progress; the waits between them grow from 1 s to 60 s
//   -l BYTES  fails if the file has more than BYTES bytes
// Uses the proxy that the environment names, for example in http_proxy. Exits with 0 if the file is complete.
#include <getopt.h>

#include <algorithm>
#include <cstdlib>

#include <examples/shared/service.h>

#include <peal/coro/scope.h>
#include <peal/coro/sleep.h>
#include <peal/http/client/http_download.h>
#include <peal/tls/tls_client_context.h>

namespace {

using namespace peal;

struct Order {
  std::string url;
  std::string file;
  uint64_t limit_bytes = HttpDownloadOptions().limit_bytes;
  unsigned tries = 0;
  bool sync = false;
  int exit_code = 1;
};

bool read_arguments(int argc, char** argv, Order& order) {
  for (int option = 0; (option = ::getopt(argc, argv, "sr:l:")) != -1;) {
    switch (option) {
      case 's': order.sync = true; break;
      case 'r': order.tries = static_cast<unsigned>(std::atoi(optarg)); break;
      case 'l': order.limit_bytes = std::strtoull(optarg, nullptr, 10); break;
      default: return false;
    }
  }
  if (optind + 2 != argc) return false;
  order.url = argv[optind];
  order.file = argv[optind + 1];
  return true;
}

void show(uint64_t bytes, std::optional<uint64_t> total) {
  if (total) {
    fmt::print(stderr, "\r{} of {} bytes ", bytes, *total);
  } else {
    fmt::print(stderr, "\r{} bytes ", bytes);
  }
}

Task<> fetch_all(HttpClient& client, Order& order) {
  constexpr auto kFirstWait = std::chrono::seconds(1);
  constexpr auto kLongestWait = std::chrono::seconds(60);
  uint64_t furthest = 0;
  Duration wait = kFirstWait;
  for (unsigned tries = 0;; ++tries) {
    uint64_t came = 0;
    // Quoted in docs: [download]
    HttpDownloadOptions options;
    options.sync = order.sync;
    options.limit_bytes = order.limit_bytes;
    options.on_progress = [&came](uint64_t bytes, std::optional<uint64_t> total) { show(came = bytes, total); };
    const HttpClientRequest request(order.url);
    const Result<HttpDownloaded> done = co_await download(client, request, order.file, std::move(options));
    // End of quote: [download]
    if (done) {
      fmt::print(stderr, "\n");
      fmt::print("{}: {} bytes, {} of them from earlier attempts\n", order.file, done->bytes, done->resumed_bytes);
      order.exit_code = 0;
      break;
    }
    fmt::print(stderr, "\n");
    examples::failed(order.url, done.error());
    // Another attempt is made only after an error of HttpTrouble, for example a lost connection or a timeout. Errors of
    // writing to the disk and of connecting are not in the category of HttpTrouble, so the program gives up after them.
    // A connect timeout is an exception, because HttpTrouble has a value for it. The program also gives up if the
    // server has refused the file by a status other than 200 and 206, because another attempt would probably fail too.
    const bool may_help = done.error().category() == http_trouble_category() && status_of_server(done.error()) == 0;
    if (std::exchange(furthest, std::max(furthest, came)) < came) {
      tries = 0;
      wait = kFirstWait;
    }
    if (tries >= order.tries || !may_help) break;
    const Result<void> slept = co_await sleep(wait);
    if (!slept) break;
    wait = std::min<Duration>(wait * 2, kLongestWait);
  }
  client.loop().stop();
}

}  // namespace

int main(int argc, char** argv) {
  Order order;
  if (!read_arguments(argc, argv, order)) {
    fmt::print(stderr, "usage: download [-s] [-r TIMES] [-l BYTES] URL FILE\n");
    return 2;
  }
  const Result<HttpProxies> proxies = HttpProxies::from_environment();
  if (!proxies) return examples::failed("cannot read the proxy variables", proxies.error());
  const auto tls = TlsClientContext::make({.applications = {"http/1.1"}});
  if (!tls) {
    fmt::print(stderr, "{}\n", tls.error());
    return 1;
  }
  HttpClientOptions options;
  options.layer = tls->get();
  options.proxies = *proxies;
  Loop loop;
  if (!loop.stop_on_signals()) return 1;
  HttpClient client(loop, options);
  Scope scope(loop);
  scope.spawn(fetch_all(client, order));
  if (Result<void> ran = loop.run(); !ran) return examples::failed("cannot run the loop", ran.error());
  return order.exit_code;
}
