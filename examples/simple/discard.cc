// SPDX-License-Identifier: BSD-3-Clause
// Discard (RFC 863): reads everything and sends nothing. `discard [ADDRESS]`
#include <examples/shared/service.h>
#include <examples/simple/services.h>

int main(int argc, char** argv) {
  return peal::examples::serve(argc, argv, "127.0.0.1:2009", peal::examples::discard_service());
}
