// SPDX-License-Identifier: BSD-3-Clause
// Gives long URLs short names: `url_shortener [ADDRESS [FILE [MOST]]]`, then
//   curl -d https://example.org/a/very/long/path http://127.0.0.1:8082/links     -> 201, http://127.0.0.1:8082/1
//   curl -L http://127.0.0.1:8082/1                                              -> 302 there
// All links are in memory. Each new link is also written to FILE before the client gets its answer. At the start, the
// program reads FILE. If a crash has cut off the last line, that line is dropped. One loop uses the links, so they need
// no lock.
// The program holds at most MOST links (100000 by default) of up to 2 KiB each, and never deletes one. If it is full,
// or the disk is full, it answers 507 (Insufficient Storage), not 429 (Too Many Requests): waiting does not help.
// There is no authentication: each client can fill the memory. Before you listen on a public address, put bearer_auth
// or basic_auth before POST /links, as key_value.cc does. Give access only to people whose links you would pass on.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <unordered_map>

#include <examples/shared/service.h>

#include <peal/http/server/http_server.h>
#include <peal/wire/uri/http_url.h>

namespace {

using namespace peal;

// The digits of a short name. 0, O, I and l are missing, because they are easily confused.
constexpr std::string_view kDigits = "123456789abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ";

std::string short_name(uint64_t number) {
  std::string name;
  do {
    name += kDigits[number % kDigits.size()];
  } while ((number /= kDigits.size()) > 0);
  std::ranges::reverse(name);
  return name;
}

class Links {
 public:
  explicit Links(size_t most) : most_(most) {}

  // Opens the file and reads its links. Creates the file if it does not exist.
  Result<void> open(const std::string& path) {
    file_.reset(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    if (!file_) return fail(errno);
    std::string text;
    char part[65536];
    ssize_t size = 0;
    while ((size = ::read(file_.get(), part, sizeof part)) > 0) text.append(part, static_cast<size_t>(size));
    if (size < 0) return fail(errno);
    const size_t whole = text.rfind('\n') + 1;
    if (whole < text.size() && ::ftruncate(file_.get(), static_cast<off_t>(whole)) != 0) return fail(errno);
    for (size_t at = 0; at < whole;) {
      const size_t end = text.find('\n', at);
      remember(text.substr(at, end - at));
      at = end + 1;
    }
    return {};
  }

  // Returns the short name of a URL. If the URL is new, gives it a name and writes it to the file. Fails with ENOSPC if
  // there is no room for another link.
  Result<std::string> add(const std::string& url) {
    if (const auto known = names_.find(url); known != names_.end()) return known->second;
    if (urls_.size() >= most_) return fail(ENOSPC);
    const std::string line = url + "\n";
    const off_t before = ::lseek(file_.get(), 0, SEEK_END);
    const ssize_t written = ::write(file_.get(), line.data(), line.size());
    if (written != static_cast<ssize_t>(line.size())) {
      const int why = written < 0 ? errno : ENOSPC;
      if (::ftruncate(file_.get(), before) != 0) return fail(errno);  // removes the incomplete line
      return fail(why);
    }
    return remember(url);
  }

  const std::string* find(std::string_view name) const {
    const auto found = urls_.find(std::string(name));
    return found == urls_.end() ? nullptr : &found->second;
  }
  size_t size() const { return urls_.size(); }

 private:
  std::string remember(const std::string& url) {
    std::string name = short_name(urls_.size());
    names_.emplace(url, name);
    urls_.emplace(name, url);
    return name;
  }

  const size_t most_;
  Fd file_;
  std::unordered_map<std::string, std::string> urls_;   // URLs by short name
  std::unordered_map<std::string, std::string> names_;  // short names by URL
};

void add_link(Links& links, HttpExchange& exchange, std::string_view body) {
  while (body.ends_with('\n') || body.ends_with('\r')) body.remove_suffix(1);
  const auto url = HttpUrl::parse(body);
  if (!url) return exchange.respond(400, "text/plain; charset=utf-8", url.error() + "\n");
  const auto name = links.add(std::string(body));
  if (!name) return exchange.respond(507);
  const std::string place = fmt::format("http://{}/{}", exchange.request().authority(), *name);
  exchange.set_field("Location", place);
  exchange.respond(201, "text/plain; charset=utf-8", place + "\n");
}

void follow(const Links& links, HttpExchange& exchange) {
  const std::string* url = links.find(exchange.parameter("name"));
  if (url == nullptr) return exchange.respond(404);
  exchange.set_field("Location", *url);
  exchange.set_field("Cache-Control", "no-store");
  exchange.respond(302, "text/plain; charset=utf-8", *url + "\n");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string path = examples::argument(argc, argv, 2, "links.txt");
  Links links(std::strtoull(examples::argument(argc, argv, 3, "100000").c_str(), nullptr, 10));
  if (Result<void> opened = links.open(path); !opened) return examples::failed("cannot use " + path, opened.error());
  constexpr size_t kLongest = 2048;
  Router router;
  router.post("/links",
              [&links](HttpExchange& exchange) {
                exchange.read_body([&links](HttpExchange& its, std::string&& body) { add_link(links, its, body); });
              },
              {.body_limit_bytes = kLongest});
  router.get("/links", [&links](HttpExchange& exchange) {
    exchange.respond(200, "application/json", fmt::format("{{\"links\": {}}}\n", links.size()));
  });
  router.get("/{name}", [&links](HttpExchange& exchange) { follow(links, exchange); });
  Loop loop;
  HttpServer server(loop, std::move(router));
  if (!examples::listen(server.server(), examples::argument(argc, argv, 1, "127.0.0.1:8082"))) return 1;
  return examples::run(loop);
}
