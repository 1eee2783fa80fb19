// SPDX-License-Identifier: BSD-3-Clause
// Finger, step 7 of 7: the table of users can be changed while the program serves. A line `NAME STATUS` on a second
// port sets the status of a user: `finger07 [ADDRESS [ADMIN_ADDRESS]]`. Both servers run on one loop, so the table
// needs no lock.
#include <map>

#include <examples/shared/service.h>

#include <peal/net/messages.h>
#include <peal/wire/framing/delimiter_framing.h>

int main(int argc, char** argv) {
  using namespace peal;
  std::map<std::string, std::string, std::less<>> users{{"moshez", "Happy and well"}};
  auto answer = [&](Connection& connection, std::string_view name) {
    const auto user = users.find(name);
    connection.send(user == users.end() ? std::string("No such user\r\n") : user->second + "\r\n");
    connection.close();
  };
  auto change = [&](Connection& connection, std::string_view line) {
    const size_t space = line.find(' ');
    if (space == line.npos) {
      connection.send("give NAME STATUS\r\n");
    } else {
      users[std::string(line.substr(0, space))] = line.substr(space + 1);
      connection.send("done\r\n");
    }
  };
  constexpr LineFraming kLines{.limit_bytes = 1024};
  Loop loop;
  Server finger(loop, {.on_message = messages(kLines, answer)});
  Server admin(loop, {.on_message = messages(kLines, change)});
  if (!examples::listen(finger, examples::argument(argc, argv, 1, "127.0.0.1:1079"))) return 1;
  if (!examples::listen(admin, examples::argument(argc, argv, 2, "127.0.0.1:1080"))) return 1;
  return examples::run(loop);
}
