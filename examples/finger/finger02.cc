// SPDX-License-Identifier: BSD-3-Clause
// Finger, step 2 of 7: accepts connections and does nothing with them. `finger02 [ADDRESS]`
#include <examples/shared/service.h>

int main(int argc, char** argv) { return peal::examples::serve(argc, argv, "127.0.0.1:1079", {}); }
