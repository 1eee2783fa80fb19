// SPDX-License-Identifier: BSD-3-Clause
// ModelTest: a fixture for tests that every concurrency model must pass, each as a program of its own: started, told
// by signal to end, and asked what it counted. Its parameter is a row of the table, with options or without.
#pragma once

#include <csignal>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <models/model_table.h>
#include <tests/support/echo_crowd.h>
#include <tests/support/program.h>

namespace peal::test {

using Words = std::vector<std::string>;

struct ModelCase {
  const models::ModelEntry* model;
  std::string variant;  // what its options are called in the test's name; "" without any
  Words options;
};

// The rows of the table as they are; those of a kind.
using IsOfKind = bool (*)(const models::ModelEntry&);
std::vector<ModelCase> cases_of(
    std::span<const models::ModelEntry> table, IsOfKind is = [](const models::ModelEntry&) { return true; });
void PrintTo(const ModelCase& each, std::ostream* out);
std::string model_label(const testing::TestParamInfo<ModelCase>& info);

class ModelTest : public testing::TestWithParam<ModelCase> {
 protected:
  static const models::ModelEntry& model() { return *GetParam().model; }
  static bool takes(models::Takes option) { return includes(model().takes, option); }
  // Clients it serves at the same time when it is started with these helpers: 1, two_workers(), or many.
  static bool serves_many() { return model().serves == models::Serves::kMany; }
  // So many, or fewer where each costs a thread or a process, or a sanitizer makes everything cost more.
  static size_t many(size_t wanted);
  // Two workers where there are workers.
  static Words two_workers();
  static Words one_worker();
  // Nobody is too slow.
  static Words patient();

  // Skips what cannot run here.
  void SetUp() override;
  // The server ends by SIGTERM, if the test did not end it; no fd is left.
  void TearDown() override;

  // Starts the model, with these options besides its own; at a free port unless told otherwise.
  void serve(const Words& options = {}, const std::string& listen = "127.0.0.1:0");
  // It may log what happens to it; otherwise it is to say nothing.
  void may_log() { may_log_ = true; }
  const SocketAddress& address() const { return address_; }
  Program& program() { return *program_; }
  // Ends it by a signal: its exit code is 0, it complains of nothing, and nothing of it is left. What it counted.
  models::Tally stop(int signal = SIGTERM);
  // The same of one that has been signalled.
  models::Tally ended();

  EchoCrowd& crowd() { return crowd_; }
  // Clients of this server.
  EchoPeer& join(int receive_buffer_bytes = 0) { return crowd_.join(address_, receive_buffer_bytes); }
  std::vector<EchoPeer*> join_many(size_t count) { return crowd_.join_many(address_, count); }
  // It has an answer to one more frame.
  testing::AssertionResult serves(EchoPeer& peer);
  // It says goodbye, and the server does.
  testing::AssertionResult leaves(EchoPeer& peer);

 private:
  std::optional<Program> program_;
  bool may_log_ = false;
  SocketAddress address_;
  EchoCrowd crowd_;
};

}  // namespace peal::test
