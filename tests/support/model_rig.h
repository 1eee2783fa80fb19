// SPDX-License-Identifier: BSD-3-Clause
// ModelTest: a fixture for tests that every concurrency model must pass. The test starts the model as a program, ends
// it by a signal, and reads the model's counters from its output. The parameter is a row of the table of models, with
// or without options.
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
  std::string variant;  // stands for the options in the test's name; "" without options
  Words options;
};

// cases_of() returns one test case, without options, for each row of `table` for which `is` returns true. The default
// `is` returns true for every row.
using IsOfKind = bool (*)(const models::ModelEntry&);
std::vector<ModelCase> cases_of(
    std::span<const models::ModelEntry> table, IsOfKind is = [](const models::ModelEntry&) { return true; });
void PrintTo(const ModelCase& each, std::ostream* out);
std::string model_label(const testing::TestParamInfo<ModelCase>& info);

class ModelTest : public testing::TestWithParam<ModelCase> {
 protected:
  static const models::ModelEntry& model() { return *GetParam().model; }
  static bool takes(models::Takes option) { return includes(model().takes, option); }
  // True if the model serves many clients at the same time. Other models serve only one client at a time, or one for
  // each worker.
  static bool serves_many() { return model().serves == models::Serves::kMany; }
  // Returns how many clients a test shall use. The result is `wanted`, except that a limit applies in two cases. One
  // limit applies to a model in which each client costs a thread or a process. The other limit applies to all models in
  // a build with a sanitizer, because a sanitizer slows the model down.
  static size_t many(size_t wanted);
  // These functions return the options that start the model with two workers, or with one worker. They return no
  // options if the model has no workers.
  static Words two_workers();
  static Words one_worker();
  // Returns the options that switch off the timeout for slow clients. Returns no options if the model has no such
  // timeout.
  static Words patient();

  // Skips the test if this machine does not support the engine of the option --engine, or io_uring if the model needs
  // io_uring. In a build with the thread sanitizer, also skips models with several processes and models with only one
  // thread. The thread sanitizer finds nothing in these models, because it checks only memory that threads share.
  void SetUp() override;
  // Ends the model by stop(), except in two cases. If the test has already ended the model, nothing is left to do. If
  // the test has failed fatally, stop() could fail again, so the destructor of Program kills the model.
  void TearDown() override;

  // Starts the model with the options of the test's parameter and with `options`. The model listens at `listen`. By
  // default, this is a free port of 127.0.0.1.
  void serve(const Words& options = {}, const std::string& listen = "127.0.0.1:0");
  // Allows the model to log. Otherwise a line on its stderr fails the test.
  void may_log() { may_log_ = true; }
  const SocketAddress& address() const { return address_; }
  Program& program() { return *program_; }
  // Sends `signal` to the model, waits until the model has ended, and returns the counters that the model has printed.
  // Checks that the exit code is 0 and that the model has left no process behind. Also checks that the model has
  // printed no errors, unless may_log() was called.
  models::Tally stop(int signal = SIGTERM);
  // Waits until the model has ended, after the test has sent it a signal. Does the checks of stop() and returns the
  // model's counters.
  models::Tally ended();

  EchoCrowd& crowd() { return crowd_; }
  // Adds a client that is connected to the model.
  EchoPeer& join(int receive_buffer_bytes = 0) { return crowd_.join(address_, receive_buffer_bytes); }
  std::vector<EchoPeer*> join_many(size_t count) { return crowd_.join_many(address_, count); }
  // Sends one frame from `peer`, and waits until the model has sent it back.
  testing::AssertionResult serves(EchoPeer& peer);
  // Sends FIN from `peer`, and waits until the model has ended the connection.
  testing::AssertionResult leaves(EchoPeer& peer);

 private:
  std::optional<Program> program_;
  bool may_log_ = false;
  SocketAddress address_;
  EchoCrowd crowd_;
};

}  // namespace peal::test
