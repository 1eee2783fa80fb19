// SPDX-License-Identifier: BSD-3-Clause
// Facts about the OpenSSL library that this process uses, as plain values. Programs that report on a machine show them,
// `peal doctor` for example.
#pragma once

#include <string>
#include <vector>

namespace peal {

struct TlsFacts {
  std::string version;                 // Version of the loaded library: "OpenSSL 3.0.19 27 Jan 2026".
  std::vector<std::string> providers;  // Names of the loaded providers: "default", "fips".
  bool tls13 = false;  // True if OpenSSL's configuration and security level leave at least one cipher of TLS 1.3.
  // The features of the processor that OpenSSL has detected: "OPENSSL_ia32cap=0xfffa3203078bffff:0x405fc6f1bf07ab".
  std::string processor;
  // roots_file and roots_folder are the paths where OpenSSL looks for trusted roots by default. The file holds many
  // certificates. Each file in the folder holds one certificate, and its name is a hash.
  std::string roots_file, roots_folder;
};

// Reads OpenSSL's configuration and returns the facts. May be called on any thread.
TlsFacts tls_facts();

}  // namespace peal
