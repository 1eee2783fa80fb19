// SPDX-License-Identifier: BSD-3-Clause
// Finger, step 4 of 7: reads the user's name and closes the connection. The name is a line that ends in CRLF
// (RFC 1288).
#include <examples/shared/service.h>

#include <peal/net/messages.h>
#include <peal/wire/framing/delimiter_framing.h>

int main(int argc, char** argv) {
  auto on_line = [](peal::Connection& connection, std::string_view) { connection.close(); };
  return peal::examples::serve(argc, argv, "127.0.0.1:1079",
                               {.on_message = peal::messages(peal::LineFraming(), on_line)});
}
