// SPDX-License-Identifier: BSD-3-Clause
// A box that people put files into for each other: `file_box FOLDER [ADDRESS]`, then open http://127.0.0.1:8083/. Who
// comes says a name (a form, and a cookie that remembers him), leaves a file with a note (a form with a file, of any
// size up to 1 GiB), and fetches what others left. What lies in the folder is named by chance, so no name of a client
// is ever a path; who is there and what is called how is forgotten when the program ends.
#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <vector>

#include <examples/shared/service.h>

#include <peal/http/files/static_files.h>
#include <peal/http/forms/multipart_form.h>
#include <peal/http/forms/read_form.h>
#include <peal/http/server/http_server.h>
#include <peal/wire/content/html_text.h>

namespace {

using namespace peal;

constexpr std::string_view kHtml = "text/html; charset=utf-8";
constexpr int64_t kSessionSeconds = int64_t{7} * 24 * 3600;
constexpr size_t kMostVisitors = 1000;
constexpr uint64_t kMostFileBytes = uint64_t{1} << 30;

struct Entry {
  std::string file;  // in the folder
  std::string name;  // what it was called where it came from
  std::string note;
  std::string owner;
};

struct Box {
  std::string folder;
  Loop* disk = nullptr;                         // its thread waits, so that the server's does not
  std::map<std::string, std::string> visitors;  // names, by session
  std::deque<std::string> sessions;             // the oldest first
  std::vector<Entry> entries;
};

// 128 bits that nobody guesses.
std::string fresh_session() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

const std::string* visitor(const Box& box, const HttpExchange& exchange) {
  const auto found = box.visitors.find(std::string(exchange.cookie("session").value_or("")));
  return found == box.visitors.end() ? nullptr : &found->second;
}

// After a POST, so that a page that is loaded again posts nothing again.
void go_home(HttpExchange& exchange) {
  exchange.set_field("Location", "/");
  exchange.respond(303);
}

void show(const Box& box, HttpExchange& exchange) {
  std::string page = "<!doctype html><title>File box</title><h1>File box</h1>\n";
  exchange.set_field("Cache-Control", "no-store");
  const std::string* name = visitor(box, exchange);
  if (name == nullptr) {
    page +=
        "<form method=post action=/sign-in>Your name <input name=name required maxlength=40> <button>Come in"
        "</button></form>\n";
    return exchange.respond(200, kHtml, page);
  }
  page += fmt::format(
      "<form method=post action=/sign-out>{} <button>Leave</button></form>\n"
      "<form method=post action=/files enctype=multipart/form-data><input name=note placeholder=Note> "
      "<input type=file name=file multiple> <button>Put in</button></form>\n<ul>\n",
      html_escaped(*name));
  for (const Entry& entry : box.entries) {
    page += fmt::format("<li><a href=\"/files/{}\" download=\"{}\">{}</a> from {}: {}\n", entry.file,
                        html_escaped(entry.name), html_escaped(entry.name), html_escaped(entry.owner),
                        html_escaped(entry.note));
  }
  exchange.respond(200, kHtml, page + "</ul>\n");
}

// The session of a new visitor; the one who came first makes room.
std::string admit(Box& box, std::string_view name) {
  std::string session = fresh_session();
  box.visitors.emplace(session, name);
  box.sessions.push_back(session);
  if (box.sessions.size() > kMostVisitors) {
    box.visitors.erase(box.sessions.front());
    box.sessions.pop_front();
  }
  return session;
}

Task<> sign_in(HttpExchange& exchange, Box& box) {
  // [form]
  const Result<HttpForm> form = co_await read_form(exchange);
  if (!form) co_return;  // it has been answered
  const std::string_view name = form->find("name").value_or("");
  if (name.empty() || name.size() > 40) co_return exchange.respond(400);
  // [form]
  // [cookie]
  exchange.set_cookie({.name = "session",
                       .value = admit(box, name),
                       .max_age_seconds = kSessionSeconds,
                       .secure = exchange.is_secure()});
  // [cookie]
  go_home(exchange);
}

void sign_out(HttpExchange& exchange, Box& box) {
  const std::string session(exchange.cookie("session").value_or(""));
  box.visitors.erase(session);
  std::erase(box.sessions, session);
  exchange.delete_cookie("session");
  go_home(exchange);
}

Task<> take_files(HttpExchange& exchange, Box& box) {
  const std::string* owner = visitor(box, exchange);
  if (owner == nullptr) co_return exchange.respond(403);
  Entry entry{.owner = *owner};
  std::vector<std::pair<std::string, SavedFile>> files;  // what it is called; gone unless it is kept
  // [upload]
  const SaveOptions options{.limit_bytes = kMostFileBytes, .disk = box.disk};
  MultipartForm form(exchange, {.parts = 20});
  for (;;) {
    const Result<FormPart*> next = co_await form.next();
    if (!next) co_return;         // it has been answered
    if (*next == nullptr) break;  // that was all of it
    FormPart& part = **next;
    if (part.name == "note") {
      const Result<std::string> note = co_await part.read_all(1000);
      if (!note) co_return;
      entry.note = *note;
    } else if (part.is_file() && !part.file_name->empty()) {
      Result<SavedFile> file = co_await part.save(box.folder, options);
      if (!file) co_return;
      files.emplace_back(safe_file_name(*part.file_name), std::move(*file));
    }
  }
  // [upload]
  for (auto& [name, file] : files) {
    const Result<std::string> path = file.keep();
    if (!path) co_return exchange.respond(500);
    entry.file = path->substr(path->rfind('/') + 1);
    entry.name = name;
    box.entries.push_back(entry);
  }
  go_home(exchange);
}

// Only to be stored: what somebody left here is no page of ours.
void give_file(HttpExchange& exchange, const Box& box, const StaticFiles& files) {
  if (visitor(box, exchange) == nullptr) return exchange.respond(403);
  exchange.set_field("Content-Disposition", "attachment");
  exchange.set_field("Content-Security-Policy", "sandbox");
  files(exchange);
}

}  // namespace

int main(int argc, char** argv) {
  Box box{.folder = examples::argument(argc, argv, 1, ".")};
  const auto files = StaticFiles::open(box.folder, {.parameter = "file", .cache_control = "private"});
  if (!files) return examples::failed("cannot use " + box.folder, files.error());
  Loop loop;
  if (Result<void> done = loop.stop_on_signals(); !done) return examples::failed("cannot handle signals", done.error());
  auto disk = LoopGroup::start(1, {}, "disk");
  if (!disk) return examples::failed("cannot start the disk's thread", disk.error());
  box.disk = &(**disk)[0];
  Router router;
  router.get("/", [&box](HttpExchange& exchange) { show(box, exchange); });
  router.post("/sign-in", [&box](HttpExchange& exchange) { return sign_in(exchange, box); });
  router.post("/sign-out", [&box](HttpExchange& exchange) { sign_out(exchange, box); });
  // [limit]
  router.post("/files", [&box](HttpExchange& exchange) { return take_files(exchange, box); },
              {.body_limit_bytes = kMostFileBytes + 1024 * 1024});
  // [limit]
  router.get("/files/{file}", [&](HttpExchange& exchange) { give_file(exchange, box, *files); });
  HttpServer server(loop, std::move(router));
  if (!examples::listen(server.server(), examples::argument(argc, argv, 2, "127.0.0.1:8083"))) return 1;
  const Result<void> ran = loop.run();
  return ran ? 0 : examples::failed("cannot run the loop", ran.error());
}
