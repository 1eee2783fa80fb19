// SPDX-License-Identifier: BSD-3-Clause
// Finger, step 6 of 7: answers from a table of users. Closes the connection if the name has more than 1,024 bytes.
#include <map>

#include <examples/shared/service.h>

#include <peal/net/messages.h>
#include <peal/wire/framing/delimiter_framing.h>

int main(int argc, char** argv) {
  const std::map<std::string, std::string, std::less<>> users{{"toms", "Tom is at his desk"},
                                                              {"moshez", "Happy and well"}};
  auto on_name = [&](peal::Connection& connection, std::string_view name) {
    const auto user = users.find(name);
    connection.send(user == users.end() ? std::string("No such user\r\n") : user->second + "\r\n");
    connection.close();
  };
  const peal::LineFraming names{.limit_bytes = 1024};
  return peal::examples::serve(argc, argv, "127.0.0.1:1079", {.on_message = peal::messages(names, on_name)});
}
