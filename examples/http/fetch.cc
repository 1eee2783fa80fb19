// SPDX-License-Identifier: BSD-3-Clause
// A small curl, written as a coroutine: `fetch [OPTION...] URL` prints the body of the answer as it arrives.
//   -X METHOD          sets the method; the default is POST with -d, PUT with -T, and otherwise GET
//   -H 'Name: value'   sends one more header field
//   -d TEXT            sends TEXT as the body
//   -T FILE            sends FILE as the body, in chunks; "-" is standard input
//   -i                 also prints the head of the answer
//   -r                 prints a redirect instead of following it
//   -m SECONDS         fails if the whole exchange takes longer than SECONDS
//   --compressed       asks for gzip or zstd, and decompresses the answer
//   --retry TIMES      tries again up to TIMES times if that may help
//   --proxy URL        http://[name:password@]host:port; the default comes from http_proxy and similar variables
//   --cookies FILE     reads cookies from FILE and writes them back, in curl's format
// Exits with 0 after a complete answer of any status, with 1 if there is none, and with 2 if the arguments are wrong.
#include <getopt.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>

#include <examples/shared/service.h>

#include <peal/coro/scope.h>
#include <peal/http/client/http_client.h>
#include <peal/http/client/http_cookie_jar.h>
#include <peal/tls/tls_client_context.h>

namespace {

using namespace peal;

struct Order {
  HttpClientRequest request;
  HttpClientOptions options;
  std::string cookies_file;
  std::unique_ptr<FILE, int (*)(FILE*)> upload{nullptr, &std::fclose};
  bool prints_head = false;
};

bool add_field(HttpClientRequest& request, std::string_view line) {
  const size_t colon = line.find(':');
  if (colon == line.npos) return false;
  std::string_view value = line.substr(colon + 1);
  while (value.starts_with(' ')) value.remove_prefix(1);
  request.add(std::string(line.substr(0, colon)), std::string(value));
  return true;
}

// Reads the arguments into `order`. Returns false if they are wrong.
bool read_arguments(int argc, char** argv, Order& order) {
  constexpr option kLong[] = {{"compressed", no_argument, nullptr, 'z'},
                              {"retry", required_argument, nullptr, 'R'},
                              {"proxy", required_argument, nullptr, 'p'},
                              {"cookies", required_argument, nullptr, 'c'},
                              {}};
  HttpClientRequest& request = order.request;
  std::string method;
  for (int option = 0; (option = ::getopt_long(argc, argv, "X:H:d:T:irm:", kLong, nullptr)) != -1;) {
    switch (option) {
      case 'X': method = optarg; break;
      case 'H':
        if (!add_field(request, optarg)) return false;
        break;
      case 'd':
        request.method = "POST";
        request.body = optarg;
        break;
      case 'T':
        request.method = "PUT";
        request.streamed = true;
        order.upload.reset(std::string_view(optarg) == "-" ? stdin : std::fopen(optarg, "re"));
        if (!order.upload) return false;
        break;
      case 'i': order.prints_head = true; break;
      case 'r': request.most_redirects = 0; break;
      case 'm':
        request.deadlines.emplace().total =
            std::chrono::duration_cast<Duration>(std::chrono::duration<double>(std::atof(optarg)));
        break;
      case 'z': order.options.decode = true; break;
      case 'R': order.options.retry.attempts = 1 + static_cast<unsigned>(std::atoi(optarg)); break;
      case 'p': order.options.proxies = {.http = optarg, .https = optarg}; break;
      case 'c': order.cookies_file = optarg; break;
      default: return false;
    }
  }
  if (!method.empty()) request.method = method;
  if (optind + 1 != argc) return false;
  request.url = argv[optind];
  return true;
}

void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

// Sends the file as the request's body. Reading the file blocks the loop. That is harmless here, because the loop has
// nothing else to do.
Task<> upload(HttpClientStream& stream, FILE* file) {
  std::string part(65536, '\0');
  for (size_t size = 0; (size = std::fread(part.data(), 1, part.size(), file)) > 0;) {
    const Result<void> written = co_await stream.write(std::string_view(part).substr(0, size));
    if (!written) co_return;  // the error is reported when the answer is read
  }
  stream.end_body();
}

Task<> fetch(HttpClient& client, Order& order, int& exit_code) {
  Scope scope(client.loop());
  std::error_code error;
  // Quoted in docs: [stream]
  HttpClientStream stream = client.open(order.request);
  if (order.upload) scope.spawn(upload(stream, order.upload.get()));
  const Result<const HttpResponseHead*> head = co_await stream.head();
  if (head && order.prints_head) print((*head)->text());
  for (;;) {
    Result<Buffer> piece = co_await stream.read();
    if (!piece) error = piece.error();
    if (!piece || piece->empty()) break;
    print(piece->view());
  }
  // End of quote: [stream]
  scope.cancel();
  co_await scope.join();
  std::fflush(stdout);
  if (error) exit_code = examples::failed("no answer from " + order.request.url, error);
  client.loop().stop();
}

}  // namespace

int main(int argc, char** argv) {
  Order order;
  if (!read_arguments(argc, argv, order)) {
    fmt::print(stderr,
               "usage: fetch [-X METHOD] [-H 'Name: value'] [-d TEXT | -T FILE] [-i] [-r] [-m SECONDS] [--compressed]\n"
               "       [--retry TIMES] [--proxy URL] [--cookies FILE] URL\n");
    return 2;
  }
  if (order.options.proxies.http.empty()) {
    const Result<HttpProxies> proxies = HttpProxies::from_environment();
    if (!proxies) return examples::failed("cannot read the proxy variables", proxies.error());
    order.options.proxies = *proxies;
  }
  const auto tls = TlsClientContext::make({.applications = {"http/1.1"}});
  if (!tls) {
    fmt::print(stderr, "{}\n", tls.error());
    return 1;
  }
  // Quoted in docs: [cookies]
  HttpCookieJar jar;
  if (!order.cookies_file.empty()) {
    std::ifstream file(order.cookies_file);
    jar.load(std::string(std::istreambuf_iterator<char>(file), {}));
    order.options.cookies = &jar;
  }
  // End of quote: [cookies]
  order.options.layer = tls->get();
  Loop loop;
  std::optional<HttpClient> made;
  try {
    made.emplace(loop, order.options);
  } catch (const std::invalid_argument& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
  HttpClient& client = *made;
  int exit_code = 0;
  Scope scope(loop);
  scope.spawn(fetch(client, order, exit_code));
  if (Result<void> ran = loop.run(); !ran) return examples::failed("cannot run the loop", ran.error());
  if (!order.cookies_file.empty()) std::ofstream(order.cookies_file) << jar.save();
  return exit_code;
}
