// SPDX-License-Identifier: BSD-3-Clause
// What OpenSSL says of itself, read: which instructions of the processor it uses, and whether it has roots.
#pragma once

#include <string>
#include <string_view>

#include <peal/tls/tls_facts.h>

namespace peal::cli {

// Instructions of the processor that OpenSSL uses for AES-GCM.
struct AesInstructions {
  bool aes = false;        // AES-NI with PCLMULQDQ; on ARM the AES and PMULL extensions
  bool wide_aes = false;   // VAES with VPCLMULQDQ: several blocks at once
  bool wide_used = false;  // by this version of OpenSSL (3.1 and later)
};

// What TlsFacts::processor says, of a version as "OpenSSL 3.0.19 ...". Nothing where it makes no sense.
AesInstructions aes_instructions(std::string_view processor, std::string_view version);

// The file or the folder of roots that is there, and holds some; empty: neither.
std::string roots_there(const TlsFacts& facts);

}  // namespace peal::cli
