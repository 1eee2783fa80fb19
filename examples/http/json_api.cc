// SPDX-License-Identifier: BSD-3-Clause
// A small JSON API for notes: they can be listed, added, read and deleted. `json_api [ADDRESS [MOST]]`, then
//   curl --json '{"text":"buy bread"}' http://127.0.0.1:8080/notes
// The server holds at most MOST notes (1000 by default) of up to 4 KiB each. If it is full, it answers 507
// (Insufficient Storage). It does not answer 429 (Too Many Requests), because waiting does not help: a client must
// delete a note first.
// There is no authentication: each client can read, add and delete. Before you listen on a public address, put
// bearer_auth or basic_auth before the routes, as key_value.cc does.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include <peal/http/server/http_json.h>
#include <peal/http/server/http_server.h>
#include <peal/wire/parse_text.h>

namespace {

using nlohmann::json;
using peal::HttpExchange;
using peal::respond_json;

// The notes are used by one loop, so they need no lock.
class Notes {
 public:
  explicit Notes(size_t most) : most_(most) {}

  void add_routes(peal::Router& router) {
    router.get("/notes", [this](HttpExchange& exchange) { list(exchange); });
    // If the body is not JSON or is too long, read_json() itself answers with an error.
    const auto add_note = [this](HttpExchange& exchange, const json& note) { add(exchange, note); };
    router.post("/notes", [=](HttpExchange& exchange) { peal::read_json(exchange, add_note); },
                {.body_limit_bytes = 4096});
    router.get("/notes/{id}", [this](HttpExchange& exchange) {
      const auto note = find(exchange);
      if (note == notes_.end()) return respond_json(exchange, 404, {{"error", "no such note"}});
      respond_json(exchange, 200, {{"id", note->first}, {"text", note->second}});
    });
    router.del("/notes/{id}", [this](HttpExchange& exchange) {
      const auto note = find(exchange);
      if (note == notes_.end()) return respond_json(exchange, 404, {{"error", "no such note"}});
      notes_.erase(note);
      exchange.respond(204);
    });
  }

 private:
  using Map = std::map<uint64_t, std::string>;

  void list(HttpExchange& exchange) {
    json all = json::array();
    for (const auto& [id, text] : notes_) all.push_back({{"id", id}, {"text", text}});
    respond_json(exchange, 200, all);
  }
  void add(HttpExchange& exchange, const json& note) {
    if (!note.is_object() || !note.contains("text") || !note["text"].is_string()) {
      return respond_json(exchange, 400, {{"error", "wanted: {\"text\": \"...\"}"}});
    }
    if (notes_.size() >= most_) return respond_json(exchange, 507, {{"error", "no more notes: delete one"}});
    const uint64_t id = ++last_id_;
    notes_.emplace(id, note["text"]);
    exchange.set_field("Location", "/notes/" + std::to_string(id));
    respond_json(exchange, 201, {{"id", id}});
  }
  Map::iterator find(const HttpExchange& exchange) {
    const auto id = peal::parse_text<uint64_t>(exchange.parameter("id"));
    return id ? notes_.find(*id) : notes_.end();
  }

  const size_t most_;
  Map notes_;
  uint64_t last_id_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  constexpr size_t kMostNotes = 1000;
  Notes notes(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : kMostNotes);
  peal::Router router;
  notes.add_routes(router);
  peal::Loop loop;
  peal::HttpServer server(loop, std::move(router));
  const char* address = argc > 1 ? argv[1] : "127.0.0.1:8080";
  auto bound = server.listen(address);
  if (!bound) {
    std::fprintf(stderr, "cannot listen on %s: %s\n", address, bound.error().message().c_str());
    return 1;
  }
  std::printf("listening on %s\n", bound->to_string().c_str());
  std::fflush(stdout);
  if (!loop.stop_on_signals()) return 1;
  return loop.run() ? 0 : 1;
}
