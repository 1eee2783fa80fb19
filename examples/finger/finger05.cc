// SPDX-License-Identifier: BSD-3-Clause
// Finger, step 5 of 7: reads the user's name and answers that there is no such user.
#include <examples/shared/service.h>

int main(int argc, char** argv) {
  auto on_message = [](peal::Connection& connection, peal::Buffer& input) {
    if (input.view().find("\r\n") == std::string_view::npos) return;
    connection.send("No such user\r\n");
    connection.close();
  };
  return peal::examples::serve(argc, argv, "127.0.0.1:1079", {.on_message = on_message});
}
