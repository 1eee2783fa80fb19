// SPDX-License-Identifier: BSD-3-Clause
// Tests the TLS options of `peal serve`, with `peal load` as the client. tests/outside/ has tests with other clients.
#include <cli/serve/serve_tls.h>

#include <stdlib.h>

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <peal/tls/self_signed.h>
#include <tests/support/files/temporary_folder.h>
#include <tests/support/load_call.h>
#include <tests/support/program.h>

namespace peal::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class ServeTls : public testing::Test {
 protected:
  ServeTls() { renew(); }

  // Replaces the certificate and the key by new ones.
  void renew() const {
    const SelfSigned made = make_self_signed({.names = {"localhost", "127.0.0.1"}}).value();
    folder.write("site.key", made.key_pem);
    folder.write("site.pem", made.chain_pem);
  }
  Answer serve(const std::string& service, std::vector<std::string> words) const {
    words.insert(words.begin(), {service, "--listen", "127.0.0.1:0"});
    return call_command("serve", add_serve, std::move(words));
  }
  std::vector<std::string> served(const std::string& service, std::vector<std::string> more = {}) const {
    std::vector<std::string> words{"serve",      service,
                                   "--listen",   "127.0.0.1:0",
                                   "--tls-cert", folder.path("site.pem"),
                                   "--tls-key",  folder.path("site.key")};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  // True if a client that trusts only the certificates in `roots` gets answers. On a busy machine, a short run may end
  // before the first answer. The run is then repeated with a longer time.
  testing::AssertionResult answers(const std::string& kind, const std::string& target, const std::string& roots) const {
    Answer answer;
    for (const std::string duration : {"10ms", "1s", "20s"}) {
      std::vector<std::string> words{kind,     target,     "--tls-ca", folder.path(roots), "--duration",
                                     duration, "--warmup", "10ms",     "--engine",         "epoll"};
      if (kind != "http") words.emplace_back("--tls");
      answer = call_load(std::move(words));
      if (answer.exit_code == kDone) return testing::AssertionSuccess();
      if (answer.out.find("No message came back") == answer.out.npos) break;
    }
    return testing::AssertionFailure() << answer.out << answer.error;
  }
  // Waits until a client that trusts `roots` gets answers. The server notices a changed file only after about a second.
  // Returns false after kProgramPatience.
  bool will_answer(const std::string& target, const std::string& roots) const {
    const TimePoint deadline = monotonic_now() + kProgramPatience;
    while (!answers("pingpong", target, roots)) {
      if (monotonic_now() > deadline) return false;
    }
    return true;
  }

  const test::TemporaryFolder folder;
};

TEST_F(ServeTls, every_service_in_every_shape) {
  for (const std::string kind : {"pingpong", "echo", "http"}) {
    std::vector<std::vector<std::string>> shapes{{}, {"--threads", "2"}, {"--workers", "2"}};
    if (kind != "http") shapes.push_back({"--style", "coroutines"});
    for (const std::vector<std::string>& shape : shapes) {
      SCOPED_TRACE(kind + " " + testing::PrintToString(shape));
      Program server(served(kind, shape));
      const std::string address = server.listening().to_string();
      EXPECT_TRUE(answers(kind, kind == "http" ? "https://" + address + "/" : address, "site.pem"));
      server.signal(SIGTERM);
      EXPECT_EQ(server.exit_code(), kDone) << server.errors();
    }
  }
}

TEST_F(ServeTls, options_that_contradict_each_other) {
  const std::string pem = folder.path("site.pem");
  const std::string key = folder.path("site.key");
  for (const auto& [words, sentence] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--tls-cert", pem}, "each --tls-cert needs its own --tls-key, in the same order: there are 1 and 0"},
           {{"--tls-key", key}, "there are 0 and 1"},
           {{"--tls-cert", pem, "--tls-key", key, "--tls-ocsp", "a", "--tls-ocsp", "b"},
            "2 --tls-ocsp for 1 --tls-cert"},
           {{"--tls-cert", pem, "--tls-key", key, "--tls-client-auth", "wanted"}, "--tls-client-auth needs"},
           {{"--tls-cert", pem, "--tls-key", key, "--tls-client-auth", "perhaps"}, "--tls-client-auth"},
           {{"--tls-client-ca", pem}, "--tls-client-ca needs TLS: give --tls-cert and --tls-key"},
           {{"--tls-ticket-secret", pem}, "--tls-ticket-secret needs TLS"},
           {{"--tls-key-log", pem}, "--tls-key-log needs TLS"},
           {{"--tls-watch"}, "--tls-watch needs TLS"}}) {
    for (const char* service : {"pingpong", "http"}) {
      expect_refused(serve(service, words), kCalledWrongly, sentence);
    }
  }
}

TEST_F(ServeTls, files_that_cannot_be_used_are_refused_at_the_start) {
  const std::string pem = folder.path("site.pem");
  const std::string key = folder.path("site.key");
  folder.write("other.key", make_self_signed({.names = {"a"}}).value().key_pem);
  for (const auto& [certificate, its_key, more, name] :
       std::vector<std::tuple<std::string, std::string, std::vector<std::string>, std::string>>{
           {folder.path("none"), key, {}, folder.path("none")},
           {pem, folder.path("other.key"), {}, folder.path("other.key")},
           {key, key, {}, key},
           {pem, key, {"--tls-client-ca", key}, key},
           {pem, key, {"--tls-ocsp", pem}, pem},
           {pem, key, {"--tls-ticket-secret", folder.path("none")}, folder.path("none")}}) {
    for (const std::string workers : {"0", "2"}) {
      std::vector<std::string> words{"--tls-cert", certificate, "--tls-key", its_key, "--workers", workers};
      words.insert(words.end(), more.begin(), more.end());
      const Answer answer = serve("echo", words);
      EXPECT_EQ(answer.exit_code, kFailed) << answer.error;
      EXPECT_THAT(answer.error, StartsWith("peal: "));
      EXPECT_THAT(answer.error, HasSubstr(name)) << "which file it is";
      EXPECT_EQ(answer.out, "") << "it never listened";
    }
  }
}

TEST_F(ServeTls, sighup_reads_the_files_again_and_a_broken_file_leaves_the_old_ones_in_use) {
  for (const std::string workers : {"0", "1"}) {
    SCOPED_TRACE(workers);
    renew();
    std::filesystem::copy_file(folder.path("site.pem"), folder.path("old.pem"),
                               std::filesystem::copy_options::overwrite_existing);
    Program server(served("pingpong", {"--workers", workers}));
    const std::string address = server.listening().to_string();
    EXPECT_TRUE(answers("pingpong", address, "old.pem"));
    renew();
    EXPECT_TRUE(answers("pingpong", address, "old.pem")) << "there was no SIGHUP yet";
    server.signal(SIGHUP);
    EXPECT_TRUE(will_answer(address, "site.pem"));
    std::filesystem::copy_file(folder.path("site.pem"), folder.path("old.pem"),
                               std::filesystem::copy_options::overwrite_existing);
    folder.write("site.pem", "no certificate");
    server.signal(SIGHUP);
    EXPECT_TRUE(answers("pingpong", address, "old.pem"));
    server.signal(SIGTERM);
    EXPECT_EQ(server.exit_code(), kDone);
    EXPECT_THAT(server.errors(), HasSubstr("the certificates were read again"));
  }
}

TEST_F(ServeTls, watched_files_are_read_again_when_they_change) {
  for (const std::string workers : {"0", "1"}) {
    SCOPED_TRACE(workers);
    Program server(served("pingpong", {"--tls-watch", "--workers", workers}));
    const std::string address = server.listening().to_string();
    EXPECT_TRUE(answers("pingpong", address, "site.pem"));
    renew();
    EXPECT_TRUE(will_answer(address, "site.pem"));
    server.signal(SIGTERM);
    EXPECT_EQ(server.exit_code(), kDone);
    EXPECT_THAT(server.errors(),
                HasSubstr("the certificates have changed: new connections use the files as they are now"));
  }
}

// The server writes the TLS secrets of its connections only if the option --tls-key-log or the variable SSLKEYLOGFILE
// names a file.
TEST_F(ServeTls, secrets_are_logged_only_if_a_file_is_named) {
  ::unsetenv("SSLKEYLOGFILE");
  for (const std::string how : {"not", "option", "environment"}) {
    const std::string file = folder.path(how);
    if (how == "environment") ::setenv("SSLKEYLOGFILE", file.c_str(), 1);
    Program server(served(
        "pingpong", how == "option" ? std::vector<std::string>{"--tls-key-log", file} : std::vector<std::string>()));
    ::unsetenv("SSLKEYLOGFILE");
    EXPECT_TRUE(answers("pingpong", server.listening().to_string(), "site.pem"));
    server.signal(SIGTERM);
    EXPECT_EQ(server.exit_code(), kDone);
    EXPECT_EQ(std::filesystem::exists(file), how != "not") << how;
    if (how == "not") continue;
    EXPECT_THAT(folder.read(how), HasSubstr("CLIENT_TRAFFIC_SECRET_0 "));
    EXPECT_THAT(server.errors(), HasSubstr("the secrets of all connections go to " + file));
  }
}

}  // namespace
}  // namespace peal::cli
