// SPDX-License-Identifier: BSD-3-Clause
// A small curl, in a coroutine: `fetch [OPTION...] URL` prints the body of the answer as it arrives.
//   -X METHOD          instead of GET (with -d, POST; with -T, PUT)
//   -H 'Name: value'   one more field
//   -d TEXT            a body
//   -T FILE            a body, streamed in chunks; "-": what comes in on the standard input
//   -i                 the head of the answer too
//   -r                 a redirect is the answer
//   -m SECONDS         for all of it
// Exits with 0 whatever the status, 1 when there is no whole answer, 2 when it was called wrongly.
#include <getopt.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

#include <examples/shared/service.h>

#include <peal/coro/scope.h>
#include <peal/http/client/http_client.h>

namespace {

using namespace peal;

struct Order {
  HttpClientRequest request;
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

// False: it was called wrongly.
bool read_arguments(int argc, char** argv, Order& order) {
  HttpClientRequest& request = order.request;
  std::string method;
  for (int option = 0; (option = ::getopt(argc, argv, "X:H:d:T:irm:")) != -1;) {
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
      default: return false;
    }
  }
  if (!method.empty()) request.method = method;
  if (optind + 1 != argc) return false;
  request.url = argv[optind];
  return true;
}

void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

// Reading a file blocks the loop, which has nothing else to do here.
Task<> upload(HttpClientStream& stream, FILE* file) {
  std::string part(65536, '\0');
  for (size_t size = 0; (size = std::fread(part.data(), 1, part.size(), file)) > 0;) {
    const Result<void> written = co_await stream.write(std::string_view(part).substr(0, size));
    if (!written) co_return;  // the answer tells why
  }
  stream.end_body();
}

Task<> fetch(HttpClient& client, Order& order, int& exit_code) {
  Scope scope(client.loop());
  std::error_code error;
  // [stream]
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
  // [stream]
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
    fmt::print(stderr, "fetch [-X METHOD] [-H 'Name: value'] [-d TEXT | -T FILE] [-i] [-r] [-m SECONDS] URL\n");
    return 2;
  }
  Loop loop;
  HttpClient client(loop);
  int exit_code = 0;
  Scope scope(loop);
  scope.spawn(fetch(client, order, exit_code));
  if (Result<void> ran = loop.run(); !ran) return examples::failed("cannot run the loop", ran.error());
  return exit_code;
}
