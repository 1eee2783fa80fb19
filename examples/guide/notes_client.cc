// SPDX-License-Identifier: BSD-3-Clause
// Page 5 of the guide: a client for the notes. It repeats a request if that may help. Each wait has a limit.
//   notes_client URL              prints the notes of a server, for example http://127.0.0.1:8000
//   notes_client URL TEXT         adds a note
//   notes_client --trust FILE ... trusts the certificates in FILE instead of the system's
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

// Quoted in docs: [options]
HttpClientOptions options(const TlsClientContext& tls) {
  HttpClientOptions options;
  options.layer = &tls;                         // adds TLS; without it, https URLs are refused
  options.client.connect_timeout = seconds(2);  // for name lookup, connecting and TLS handshake together
  options.deadlines.first_byte = seconds(5);
  options.deadlines.total = seconds(15);  // includes redirects, retries and the waits between them
  options.answer_limit_bytes = 1024 * 1024;
  options.retry.attempts = 3;
  options.retry.attempt_timeout = seconds(5);
  return options;
}
// End of quote: [options]

// Prints the notes in `text`. Returns false if `text` is not a list of notes, because a server may send anything.
bool print_notes(const std::string& text) {
  const json notes = json::parse(text, nullptr, false);
  if (!notes.is_array()) return false;
  for (const json& note : notes) {
    if (!note.is_object() || !note.contains("number") || !note.contains("text")) return false;
    fmt::print("{} {}\n", note["number"].dump(), note["text"].dump());
  }
  return true;
}

// Quoted in docs: [ask]
// Prints the notes, or adds one. Returns the exit code of the program.
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
// End of quote: [ask]

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
  set_log_level(LogLevel::kWarn);  // hides the log lines of lower levels; this program prints failures itself
  if (argc < 2) {
    fmt::print(stderr, "usage: notes_client [--trust FILE] URL [TEXT]\n");
    return 2;
  }
  // Quoted in docs: [main]
  const auto tls = TlsClientContext::make(std::move(trust));
  if (!tls) {
    fmt::print(stderr, "{}\n", tls.error());
    return 1;
  }
  Loop loop;
  HttpClient client(loop, options(**tls));
  Scope scope(loop);
  int exit_code = 1;
  scope.spawn(run(client, argv[1], argc > 2 ? std::optional<std::string>(argv[2]) : std::nullopt, exit_code));
  return loop.run() ? exit_code : 1;
  // End of quote: [main]
}
