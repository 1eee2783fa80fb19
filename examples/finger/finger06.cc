// SPDX-License-Identifier: BSD-3-Clause
// Finger, step 6 of 7: answers from a table of users, and cuts off who sends a name too long to be one.
#include <map>

#include <examples/shared/service.h>

int main(int argc, char** argv) {
  const std::map<std::string, std::string, std::less<>> users{{"toms", "Tom is at his desk"},
                                                              {"moshez", "Happy and well"}};
  auto on_message = [&](peal::Connection& connection, peal::Buffer& input) {
    const std::string_view text = input.view();
    const size_t end = text.find("\r\n");
    if (end == text.npos) return;
    const auto user = users.find(text.substr(0, end));
    connection.send(user == users.end() ? std::string("No such user\r\n") : user->second + "\r\n");
    connection.close();
  };
  peal::ServerOptions options;
  options.connection.input_limit_bytes = 1024;
  return peal::examples::serve(argc, argv, "127.0.0.1:1079", {.on_message = on_message}, options);
}
