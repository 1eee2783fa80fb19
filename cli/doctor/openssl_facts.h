// SPDX-License-Identifier: BSD-3-Clause
// Interprets what OpenSSL reports about itself: which CPU instructions it uses, and whether the system has root
// certificates.
#pragma once

#include <string>
#include <string_view>

#include <peal/tls/tls_facts.h>

namespace peal::cli {

// The CPU instructions that OpenSSL can use for AES-GCM.
struct AesInstructions {
  bool aes = false;        // AES-NI with PCLMULQDQ; on ARM the AES and PMULL extensions
  bool wide_aes = false;   // VAES, VPCLMULQDQ and AVX-512: one instruction processes several blocks
  bool wide_used = false;  // true if wide_aes is true and OpenSSL uses it: from version 3.1 on
};

// Returns which AES instructions OpenSSL can use on this CPU. `processor` is the text of TlsFacts::processor. `version`
// is the version of OpenSSL, such as "OpenSSL 3.0.19 ...". Only the field wide_used depends on `version`. If
// `processor` cannot be interpreted, all fields are false.
AesInstructions aes_instructions(std::string_view processor, std::string_view version);

// Returns the path of the system's root certificates. This is facts.roots_file if that file is not empty. Otherwise it
// is facts.roots_folder if that folder contains certificates. Returns an empty text if there are none.
std::string roots_there(const TlsFacts& facts);

}  // namespace peal::cli
