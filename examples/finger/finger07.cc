// SPDX-License-Identifier: BSD-3-Clause
// Finger, step 7 of 7: a table that can be changed while it serves, on a second port, with lines `NAME STATUS`:
// `finger07 [ADDRESS [ADMIN_ADDRESS]]`. One loop, so no lock.
#include <map>

#include <examples/shared/service.h>

namespace {

using namespace peal;

// The first whole line, taken out of `input` without its end; none while it is incomplete.
std::optional<std::string> next_line(Buffer& input) {
  const std::string_view text = input.view();
  const size_t end = text.find('\n');
  if (end == text.npos) return std::nullopt;
  std::string line(text.substr(0, end));
  input.consume(end + 1);
  if (line.ends_with('\r')) line.pop_back();
  return line;
}

}  // namespace

int main(int argc, char** argv) {
  std::map<std::string, std::string> users{{"moshez", "Happy and well"}};
  ServerOptions options;
  options.connection.input_limit_bytes = 1024;
  Loop loop;
  auto answer = [&](Connection& connection, Buffer& input) {
    const auto name = next_line(input);
    if (!name) return;
    const auto user = users.find(*name);
    connection.send(user == users.end() ? std::string("No such user\r\n") : user->second + "\r\n");
    connection.close();
  };
  auto change = [&](Connection& connection, Buffer& input) {
    while (const auto line = next_line(input)) {
      const size_t space = line->find(' ');
      if (space == line->npos) {
        connection.send("give NAME STATUS\r\n");
      } else {
        users[line->substr(0, space)] = line->substr(space + 1);
        connection.send("done\r\n");
      }
    }
  };
  Server finger(loop, {.on_message = answer}, options);
  Server admin(loop, {.on_message = change}, options);
  if (!examples::listen(finger, examples::argument(argc, argv, 1, "127.0.0.1:1079"))) return 1;
  if (!examples::listen(admin, examples::argument(argc, argv, 2, "127.0.0.1:1080"))) return 1;
  return examples::run(loop);
}
