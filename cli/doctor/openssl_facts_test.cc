// SPDX-License-Identifier: BSD-3-Clause
#include <cli/doctor/openssl_facts.h>

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include <tests/support/files/temporary_folder.h>

namespace peal::cli {
namespace {

TEST(OpensslFacts, processor_as_openssl_sees_it) {
  struct Case {
    const char* processor;
    const char* version;
    bool aes, wide_aes, wide_used;
  };
  for (const Case& each : {
           Case{"OPENSSL_ia32cap=0xfffa3203078bffff:0x405fc6f1bf07ab", "OpenSSL 3.0.19 27 Jan 2026", true, true, false},
           Case{"OPENSSL_ia32cap=0xfffa3203078bffff:0x405fc6f1bf07ab", "OpenSSL 3.1.0", true, true, true},
           Case{"OPENSSL_ia32cap=0xfffa3203078bffff:0x405fc6f1bf07ab", "OpenSSL 4.0.0", true, true, true},
           Case{"OPENSSL_ia32cap=0xfffa3203078bffff:0x0", "OpenSSL 3.5.1", true, false, false},
           // VAES and VPCLMULQDQ without AVX-512.
           Case{"OPENSSL_ia32cap=0xfffa3203078bffff:0x405fc631bc07ab", "OpenSSL 3.5.1", true, false, false},
           // OpenSSL reports this text if OPENSSL_ia32cap=~0x200000200000000 switches AES-NI off.
           Case{"OPENSSL_ia32cap=0xfdfa3201078bffff:0x405fc6f1bf07ab env:~0x200000200000000", "OpenSSL 3.1.0", false,
                false, false},
           Case{"OPENSSL_armcap=0x3d", "OpenSSL 3.0.19", true, false, false},
           Case{"OPENSSL_armcap=0x1", "OpenSSL 3.0.19", false, false, false},
           Case{"OPENSSL_ia32cap=0xfffa3203078bffff", "OpenSSL 3.1.0", true, false, false},
           Case{"OPENSSL_ia32cap=0x", "OpenSSL 3.1.0", false, false, false},
           Case{"", "", false, false, false},
       }) {
    SCOPED_TRACE(std::string(each.processor) + " " + each.version);
    const AesInstructions found = aes_instructions(each.processor, each.version);
    EXPECT_EQ(found.aes, each.aes);
    EXPECT_EQ(found.wide_aes, each.wide_aes);
    EXPECT_EQ(found.wide_used, each.wide_used);
  }
}

TEST(OpensslFacts, roots_are_a_file_or_else_a_folder_of_hashed_names) {
  const test::TemporaryFolder folder;
  const TlsFacts facts{.roots_file = folder.path("roots.pem"), .roots_folder = folder.path("roots")};
  EXPECT_EQ(roots_there(facts), "");
  std::filesystem::create_directory(facts.roots_folder);
  std::ofstream(folder.path("roots/README")) << "none";
  EXPECT_EQ(roots_there(facts), "") << "the folder holds no root certificate";
  std::ofstream(folder.path("roots/0a775a30.0")) << "one";
  EXPECT_EQ(roots_there(facts), facts.roots_folder);
  std::ofstream{facts.roots_file};
  EXPECT_EQ(roots_there(facts), facts.roots_folder) << "the file is empty";
  std::ofstream(facts.roots_file) << "some";
  EXPECT_EQ(roots_there(facts), facts.roots_file);
}

}  // namespace
}  // namespace peal::cli
