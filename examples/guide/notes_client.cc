// SPDX-License-Identifier: BSD-3-Clause
// The guide, page 5: asks a server of notes, again where that may help, and never for ever.
//   notes_client URL              prints the notes of http://127.0.0.1:8000, say
//   notes_client URL TEXT         adds one
//   notes_client --trust FILE ... believes the certificates in FILE instead of the system's
#include <cstdio>
#include <cstring>
#include <optional>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <peal/base/log.h>
#include <peal/coro/scope.h>
#include <peal/http/client/http_client.h>
#include <peal/tls/tls_client_context.h>

namespace {

using namespace peal;
using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

// [options]
HttpClientOptions options(const TlsClientContext& tls) {
  HttpClientOptions options;
  options.layer = &tls;                         // https; without it an https URL is refused
  options.client.connect_timeout = seconds(2);  // the name, the race between its addresses, TLS
  options.deadlines.first_byte = seconds(5);
  options.deadlines.total = seconds(15);  // redirects, retries and the waits between them included
  options.answer_limit_bytes = 1024 * 1024;
  options.retry.attempts = 3;
  options.retry.attempt_timeout = seconds(5);
  return options;
}
// [options]

// What a server sends is as untrusted as what a client sends.
bool print_notes(const std::string& text) {
  const json notes = json::parse(text, nullptr, false);
  if (!notes.is_array()) return false;
  for (const json& note : notes) {
    if (!note.is_object() || !note.contains("number") || !note.contains("text")) return false;
    fmt::print("{} {}\n", note["number"].dump(), note["text"].dump());
  }
  return true;
}

// [ask]
// Prints the notes, or adds one. What main() returns.
Task<int> ask(HttpClient& client, std::string url, std::optional<std::string> text) {
  HttpClientRequest request(url + "/notes");
  if (text) {
    request.method = "POST";
    request.body = json{{"text", *text}}.dump(-1, ' ', false, json::error_handler_t::replace);
    request.add("Content-Type", "application/json");
  }
  const Result<HttpResponse> answer = co_await client.fetch(std::move(request));
  if (!answer) {
    fmt::print(stderr, "no answer from {}: {}\n", url, answer.error().message());
    co_return 1;
  }
  if (answer->status() == 201) {
    fmt::print("added as {}\n", answer->find("Location").value_or("?"));
    co_return 0;
  }
  if (answer->status() == 200 && print_notes(answer->body)) co_return 0;
  fmt::print(stderr, "{} answers {}: {}", url, answer->status(), answer->body);
  co_return 1;
}
// [ask]

Task<> run(HttpClient& client, std::string url, std::optional<std::string> text, int& exit_code) {
  exit_code = co_await ask(client, std::move(url), std::move(text));
  const HttpClientStats stats = client.stats();
  if (stats.retried > 0) fmt::print(stderr, "asked {} times\n", 1 + stats.retried);
  client.loop().stop();
}

}  // namespace

int main(int argc, char** argv) {
  TlsClientOptions trust;
  if (argc > 2 && std::strcmp(argv[1], "--trust") == 0) {
    trust.roots.file = argv[2];
    argc -= 2;
    argv += 2;
  }
  set_log_level(LogLevel::kWarn);  // what fails is said once, by this program
  if (argc < 2) return fmt::print(stderr, "usage: notes_client [--trust FILE] URL [TEXT]\n"), 2;
  // [main]
  const auto tls = TlsClientContext::make(std::move(trust));
  if (!tls) return fmt::print(stderr, "{}\n", tls.error()), 1;
  Loop loop;
  HttpClient client(loop, options(**tls));
  Scope scope(loop);
  int exit_code = 1;
  scope.spawn(run(client, argv[1], argc > 2 ? std::optional<std::string>(argv[2]) : std::nullopt, exit_code));
  return loop.run() ? exit_code : 1;
  // [main]
}
