// SPDX-License-Identifier: BSD-3-Clause
// Finger, step 3 of 7: closes each connection as soon as it is accepted. `finger03 [ADDRESS]`
#include <examples/shared/service.h>

int main(int argc, char** argv) {
  auto on_open = [](peal::Connection& connection) { connection.close(); };
  return peal::examples::serve(argc, argv, "127.0.0.1:1079", {.on_open = on_open});
}
