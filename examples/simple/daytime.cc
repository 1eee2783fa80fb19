// SPDX-License-Identifier: BSD-3-Clause
// Daytime (RFC 867): sends the date and time as text, then closes. Start `daytime [ADDRESS]`, then `nc 127.0.0.1 2013`.
#include <examples/shared/service.h>
#include <examples/simple/services.h>

int main(int argc, char** argv) {
  return peal::examples::serve(argc, argv, "127.0.0.1:2013", peal::examples::daytime_service());
}
