// SPDX-License-Identifier: BSD-3-Clause
// A page where people leave files for each other: `file_box FOLDER [ADDRESS]`, then open http://127.0.0.1:8083/. A
// visitor enters a name in a form, and a cookie keeps the visitor signed in. Visitors can upload files with a note, up
// to 1 GiB in one form, and download the files of others. The files get random names in the folder, so no name from a
// client is ever used as a path. The list of visitors and files is kept in memory only, and is lost when the program
// ends.
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
  std::string file;  // the random name of the file in the folder
  std::string name;  // the name of the file on the owner's machine
  std::string note;
  std::string owner;
};

struct Box {
  std::string folder;
  Loop* disk = nullptr;                         // a second loop that writes files: the server's loop must not block
  std::map<std::string, std::string> visitors;  // the visitor's name for each session id
  std::deque<std::string> sessions;             // the session ids, the oldest first
  std::vector<Entry> entries;
};

// Returns a new session id: 128 random bits, so that nobody can guess it.
std::string fresh_session() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

// Returns the name of the visitor who sent the request, or null if the cookie names no session.
const std::string* visitor(const Box& box, const HttpExchange& exchange) {
  const auto found = box.visitors.find(std::string(exchange.cookie("session").value_or("")));
  return found == box.visitors.end() ? nullptr : &found->second;
}

// Answers a POST with a redirect to the start page. The status 303 makes the browser load that page with a GET. If the
// visitor reloads the page, the browser therefore repeats the GET, and not the POST.
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

// Adds a visitor and returns the new session id. If the box then has more than kMostVisitors sessions, the oldest
// session ends.
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
  // Quoted in docs: [form]
  const Result<HttpForm> form = co_await read_form(exchange);
  if (!form) co_return;  // read_form() has already answered with an error
  const std::string_view name = form->find("name").value_or("");
  if (name.empty() || name.size() > 40) co_return exchange.respond(400);
  // End of quote: [form]
  // Quoted in docs: [cookie]
  exchange.set_cookie({.name = "session",
                       .value = admit(box, name),
                       .max_age_seconds = kSessionSeconds,
                       .secure = exchange.is_secure()});
  // End of quote: [cookie]
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
  std::vector<std::pair<std::string, SavedFile>> files;  // a file is deleted unless keep() is called
  // Quoted in docs: [upload]
  const SaveOptions options{.limit_bytes = kMostFileBytes, .disk = box.disk};
  MultipartForm form(exchange, {.parts = 20});
  for (;;) {
    const Result<FormPart*> next = co_await form.next();
    if (!next) co_return;         // next() has already answered with an error
    if (*next == nullptr) break;  // there are no more parts
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
  // End of quote: [upload]
  for (auto& [name, file] : files) {
    const Result<std::string> path = file.keep();
    if (!path) co_return exchange.respond(500);
    entry.file = path->substr(path->rfind('/') + 1);
    entry.name = name;
    box.entries.push_back(entry);
  }
  go_home(exchange);
}

// Sends a file as a download, but only to a visitor who has signed in. The file may be an HTML page with scripts,
// because any visitor can upload any file. The field Content-Disposition makes the browser save the file instead of
// showing the file. If a browser shows the file nevertheless, `sandbox` prevents its scripts from running.
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
  // Quoted in docs: [limit]
  router.post("/files", [&box](HttpExchange& exchange) { return take_files(exchange, box); },
              {.body_limit_bytes = kMostFileBytes + 1024 * 1024});
  // End of quote: [limit]
  router.get("/files/{file}", [&](HttpExchange& exchange) { give_file(exchange, box, *files); });
  HttpServer server(loop, std::move(router));
  if (!examples::listen(server.server(), examples::argument(argc, argv, 2, "127.0.0.1:8083"))) return 1;
  const Result<void> ran = loop.run();
  return ran ? 0 : examples::failed("cannot run the loop", ran.error());
}
