// SPDX-License-Identifier: BSD-3-Clause
// What the OpenSSL of this process offers, as plain values: for who looks at a machine, `peal doctor` say.
#pragma once

#include <string>
#include <vector>

namespace peal {

struct TlsFacts {
  std::string version;                 // of the library that runs: "OpenSSL 3.0.19 27 Jan 2026"
  std::vector<std::string> providers;  // loaded: "default", "fips"
  bool tls13 = false;                  // with a cipher, as its configuration and level of security leave it
  std::string processor;               // what OpenSSL sees of it: "OPENSSL_ia32cap=0xfffa3203078bffff:0x405fc6f1bf07ab"
  // Where it looks for roots unless it is told others: a file of many, and a folder of one each, named by a hash.
  std::string roots_file, roots_folder;
};

// Any thread; reads OpenSSL's configuration.
TlsFacts tls_facts();

}  // namespace peal
