// SPDX-License-Identifier: BSD-3-Clause
// ResolverTest: a Resolver that asks a DnsScript, and a journal of its answers.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include <peal/net/resolver.h>
#include <tests/support/dns/dns_script.h>
#include <tests/support/net_rig.h>

namespace peal::test {

class ResolverTest : public NetTest {
 protected:
  void SetUp() override {
    NetTest::SetUp();
    if (IsSkipped()) return;
    dns.emplace();
    resolver.emplace(loop(), from_script());
  }
  void TearDown() override {
    resolver.reset();
    dns.reset();
    NetTest::TearDown();
  }

  ResolverOptions from_script() const { return {.servers = dns->server(), .try_timeout = std::chrono::seconds(30)}; }
  // Returns a callback that adds one line to the journal: `name`, and its addresses or the error.
  Resolver::Answer noting(std::string name) {
    return [this, name = std::move(name)](Result<Resolver::Addresses> addresses) {
      std::string line = name + ":";
      if (!addresses) line += " " + addresses.error().message();
      for (const SocketAddress& address : addresses.value_or(Resolver::Addresses{})) line += " " + address.to_string();
      journal.add(line);
    };
  }
  Result<ResolveId> start(const std::string& name, Duration timeout = std::chrono::seconds(30)) {
    return ask([&] { return resolver->resolve(name, 80, {.timeout = timeout}, noting(name)); });
  }
  // Waits until `done` returns true. Meanwhile the test's name server answers questions.
  testing::AssertionResult answer_until(std::function<bool()> done) {
    return wait_until([this, done = std::move(done)] {
      dns->pump();
      return done();
    });
  }
  testing::AssertionResult told(size_t lines = 1) {
    return answer_until([this, lines] { return journal.lines().size() >= lines; });
  }
  // Waits until exactly `questions` questions have arrived over UDP.
  testing::AssertionResult asked(size_t questions) {
    return answer_until([this, questions] { return dns->questions() == questions; });
  }
  // Resolves `name` and returns the addresses, or the error, as text.
  std::string look_up(const std::string& name, Duration timeout = std::chrono::seconds(30)) {
    const size_t before = journal.lines().size();
    const Result<ResolveId> id = start(name, timeout);
    if (!id) return id.error().message();
    if (!told(before + 1)) return "no answer";
    return journal.lines().back().substr(name.size() + 2);
  }
  ResolverStats stats() {
    return ask([&] { return resolver->stats(); });
  }

  std::optional<DnsScript> dns;
  std::optional<Resolver> resolver;
};

inline std::string sentence(Trouble trouble) { return make_error_code(trouble).message(); }

}  // namespace peal::test
