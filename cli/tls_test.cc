// SPDX-License-Identifier: BSD-3-Clause
// Tests which files `peal tls self-signed` writes, and which files it does not overwrite. The tests in tests/outside/
// test that other programs accept the files.
#include <sys/stat.h>

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tests/support/files/temporary_folder.h>
#include <tests/support/load_call.h>

namespace peal::cli {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class TlsCommand : public testing::Test {
 protected:
  Answer self_signed(std::vector<std::string> words) {
    words.insert(words.begin(), "self-signed");
    words.insert(words.end(), {"--out-cert", folder.path("site.pem"), "--out-key", folder.path("site.key")});
    return call_command("tls", add_tls, std::move(words));
  }
  mode_t mode(const std::string& name) const {
    struct stat found{};
    EXPECT_EQ(::stat(folder.path(name).c_str(), &found), 0) << name;
    return found.st_mode & 0777;
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path(""))) {
      names.push_back(entry.path().filename());
    }
    std::ranges::sort(names);
    return names;
  }

  const test::TemporaryFolder folder;
};

TEST_F(TlsCommand, certificate_and_key_are_written_and_named_on_stdout) {
  for (const char* key : {"ecdsa", "rsa"}) {
    SCOPED_TRACE(key);
    const Answer answer =
        self_signed({"--name", "example.org", "--name", "127.0.0.1", "--key", key, "--days", "7", "--force"});
    EXPECT_EQ(answer.exit_code, kDone) << answer.error;
    EXPECT_THAT(answer.error, IsEmpty());
    EXPECT_THAT(answer.out, StartsWith(folder.path("site.pem") + ": a certificate for example.org, 127.0.0.1, valid "));
    EXPECT_THAT(answer.out, HasSubstr("peal serve http --tls-cert " + folder.path("site.pem")));
    EXPECT_THAT(answer.out, HasSubstr("--tls-ca " + folder.path("site.pem") + " --tls-name example.org"));
    EXPECT_THAT(folder.read("site.pem"), StartsWith("-----BEGIN CERTIFICATE-----\n"));
    EXPECT_THAT(folder.read("site.key"), StartsWith("-----BEGIN PRIVATE KEY-----\n"));
    EXPECT_EQ(mode("site.key"), 0600U) << "only the owner may read it";
    EXPECT_EQ(mode("site.pem"), 0644U);
    EXPECT_EQ(files(), (std::vector<std::string>{"site.key", "site.pem"})) << "no temporary file is left";
  }
}

TEST_F(TlsCommand, a_file_that_exists_is_overwritten_only_with_force) {
  std::ofstream(folder.path("site.key")) << "precious";
  Answer answer = self_signed({"--name", "a"});
  EXPECT_EQ(answer.exit_code, kFailed);
  EXPECT_EQ(answer.error, "peal: " + folder.path("site.key") + " exists already: give --force to overwrite it\n");
  EXPECT_EQ(folder.read("site.key"), "precious");
  EXPECT_EQ(files(), (std::vector<std::string>{"site.key"}));
  answer = self_signed({"--name", "a", "--force"});
  EXPECT_EQ(answer.exit_code, kDone) << answer.error;
  EXPECT_EQ(mode("site.key"), 0600U) << "the old file had another mode";
}

TEST_F(TlsCommand, dangling_link_counts_as_a_file) {
  std::filesystem::create_symlink(folder.path("nowhere"), folder.path("site.pem"));
  EXPECT_EQ(self_signed({"--name", "a"}).exit_code, kFailed);
  EXPECT_EQ(files(), (std::vector<std::string>{"site.pem"})) << "no key is written without its certificate";
}

TEST_F(TlsCommand, texts_that_are_no_host_names_are_refused) {
  for (const char* name : {"a b", "a/b", "*", "*.", "*.*", "*.*.org", "a*.org", "*..org"}) {
    const Answer answer = self_signed({"--name", name});
    EXPECT_EQ(answer.exit_code, kCalledWrongly) << name;
    EXPECT_THAT(answer.error, HasSubstr("is neither a host name nor an address")) << name;
  }
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(TlsCommand, a_folder_that_does_not_exist) {
  const Answer answer = call_command(
      "tls", add_tls,
      {"self-signed", "--name", "a", "--out-cert", "/nowhere/at/all/a.pem", "--out-key", folder.path("a.key")});
  EXPECT_EQ(answer.exit_code, kFailed);
  EXPECT_EQ(answer.error, "peal: /nowhere/at/all/a.pem cannot be written: No such file or directory\n");
  EXPECT_THAT(files(), IsEmpty()) << "no key is written without its certificate";
}

TEST_F(TlsCommand, with_force_it_replaces_both_files_or_none) {
  ASSERT_EQ(self_signed({"--name", "a"}).exit_code, kDone);
  const std::string key = folder.read("site.key");
  std::filesystem::remove(folder.path("site.pem"));
  std::filesystem::create_directory(folder.path("site.pem"));
  const Answer answer = self_signed({"--name", "a", "--force"});
  EXPECT_EQ(answer.exit_code, kFailed);
  EXPECT_EQ(answer.error, "peal: " + folder.path("site.pem") + " cannot be written: it is a folder\n");
  EXPECT_EQ(folder.read("site.key"), key);
  EXPECT_EQ(files(), (std::vector<std::string>{"site.key", "site.pem"})) << "no temporary file is left";
}

TEST_F(TlsCommand, wrong_command_lines) {
  EXPECT_EQ(self_signed({}).exit_code, kCalledWrongly) << "no name";
  EXPECT_EQ(self_signed({"--name", "a", "--days", "0"}).exit_code, kCalledWrongly);
  EXPECT_EQ(self_signed({"--name", "a", "--key", "dsa"}).exit_code, kCalledWrongly);
  const Answer answer = call_command(
      "tls", add_tls, {"self-signed", "--name", "a", "--out-cert", folder.path("x"), "--out-key", folder.path("x")});
  EXPECT_EQ(answer.exit_code, kCalledWrongly);
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(TlsCommand, files_are_named_after_the_first_name) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path(""));
  const Answer answer = call_command("tls", add_tls, {"self-signed", "--name", "*.example.org", "--name", "::1"});
  std::filesystem::current_path(before);
  EXPECT_EQ(answer.exit_code, kDone) << answer.error;
  EXPECT_EQ(files(), (std::vector<std::string>{"_.example.org.key", "_.example.org.pem"}));
}

}  // namespace
}  // namespace peal::cli
