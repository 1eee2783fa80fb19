// SPDX-License-Identifier: BSD-3-Clause
// Time (RFC 868): sends the seconds since 1900 in four bytes, then closes. `time_server [ADDRESS]`
#include <examples/shared/service.h>
#include <examples/simple/services.h>

int main(int argc, char** argv) {
  return peal::examples::serve(argc, argv, "127.0.0.1:2037", peal::examples::time_service());
}
