// SPDX-License-Identifier: BSD-3-Clause
#include "service.h"

#include <chrono>
#include <optional>
#include <utility>

#include <peal/net/messages.h>
#include <peal/wire/framing/delimiter_framing.h>

namespace app {
namespace {

using std::chrono::seconds;

// The longest command is "put", a key and a value of the store's largest sizes.
constexpr peal::LineFraming kLines{.limit_bytes = 5 * 1024};

// Every wait has a deadline, and every queue a limit. Options that are not set here keep their defaults.
peal::ServerOptions options(size_t max_connections) {
  peal::ServerOptions options;
  // A new client replaces the one that has been idle for longest. There is no limit for each address, because behind a
  // proxy all clients have one address. If clients connect directly, set max_connections_per_address too.
  options.max_connections = max_connections;
  options.connection.idle_timeout = seconds(300);  // longer than a client pauses between two commands
  // A client that has begun a line must send 64 bytes of it in each 10 s. So nobody holds a connection by half lines.
  options.connection.min_read_bytes = 64;
  options.connection.read_window = seconds(10);
  options.connection.write_window = seconds(20);        // a client that reads nothing for so long is cut off
  options.connection.output_limit_bytes = 1024 * 1024;  // answers that one client has not read
  return options;
}

// Returns the text up to the first blank, and removes it and the blank from `line`.
std::string_view take_word(std::string_view& line) {
  const size_t blank = line.find(' ');
  const std::string_view word = line.substr(0, blank);
  line.remove_prefix(blank == line.npos ? line.size() : blank + 1);
  return word;
}

peal::SharedConnectionCallbacks callbacks(Store& store) {
  auto on_line = [&store](peal::Connection& connection, std::string_view line) {
    if (line == "quit") return connection.close();
    connection.send(answer(store, line) + '\n');
  };
  return {.on_message = peal::messages(kLines, on_line)};
}

}  // namespace

std::string answer(Store& store, std::string_view line) {
  const std::string_view command = take_word(line);
  if (command == "ping") return "pong";
  if (command == "get") {
    const std::optional<std::string> value = store.get(line);
    return value ? "= " + *value : "none";
  }
  if (command == "put") {
    const std::string_view key = take_word(line);
    const PutResult result = store.put(key, line);
    return result == PutResult::kStored ? "ok" : "! " + std::string(to_string(result));
  }
  if (command == "del") return store.remove(line) ? "ok" : "none";
  return "? get KEY, put KEY VALUE, del KEY, ping, quit";
}

Service::Service(peal::LoopGroup& loops, size_t max_connections)
    : server_(loops, callbacks(store_), options(max_connections)) {}

}  // namespace app
