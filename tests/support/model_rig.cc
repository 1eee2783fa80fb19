// SPDX-License-Identifier: BSD-3-Clause
#include <tests/support/model_rig.h>

#include <algorithm>
#include <ostream>
#include <sstream>
#include <string_view>

#include <peal/engine/engines.h>
#include <tests/support/engine_rig.h>
#include <tests/support/sanitized.h>

namespace peal::test {
namespace {

using models::Tally;

constexpr size_t kMostThreads = kSanitized ? 40 : 300;
constexpr size_t kMostProcesses = kSanitized ? 20 : 100;
constexpr size_t kMostSanitized = 200;  // a sanitizer slows the server down tenfold

// number_before() returns the number directly before `words` in `text`, and number_after() the one directly after them.
// If `text` does not contain `words`, the result is 0.
uint64_t number_before(std::string_view text, std::string_view words) {
  const size_t at = text.find(words);
  if (at == std::string_view::npos) return 0;
  const size_t begin = text.find_last_of(' ', at - 1) + 1;
  return std::stoull(std::string(text.substr(begin, at - begin)));
}
uint64_t number_after(std::string_view text, std::string_view words) {
  const size_t at = text.find(words);
  return at == std::string_view::npos ? 0 : std::stoull(std::string(text.substr(at + words.size())));
}

Tally tally_of(std::string_view text) {
  return Tally{.accepted = number_after(text, "accepted "),
               .ended = number_after(text, "served "),
               .requests = number_after(text, "answered "),
               .too_large = number_before(text, " closed for a frame that was too large"),
               .timed_out = number_before(text, " closed for being too slow"),
               .refused = number_before(text, " refused"),
               .waited = number_before(text, " had to wait for a coroutine"),
               .overflows = number_before(text, " overflows of the signal queue"),
               .respawned = number_before(text, " processes replaced")};
}

// Returns `errors`. In a build with the address sanitizer, leaves out the line with the notice "ASan doesn't fully
// support makecontext/swapcontext". The sanitizer prints this notice for every program that calls swapcontext(3), so
// the notice shows no fault of the model.
std::string complaints_in(const std::string& errors) {
  std::istringstream lines(errors);
  std::string complaints;
  for (std::string line; std::getline(lines, line);) {
    const bool is_notice = line.find("ASan doesn't fully support makecontext/swapcontext") != std::string::npos;
    if (!kAddressSanitized || !is_notice) complaints += line + '\n';
  }
  return complaints;
}

bool may_have_threads(const models::ModelEntry& model) {
  using models::Family;
  using models::Takes;
  if (includes(model.takes, Takes::kWorkers | Takes::kIoThreads)) return true;
  return model.family != Family::kReactor && model.family != Family::kCoroutine && model.family != Family::kIoModel &&
         model.family != Family::kLibio;
}

}  // namespace

std::vector<ModelCase> cases_of(std::span<const models::ModelEntry> table, IsOfKind is) {
  std::vector<ModelCase> cases;
  for (const models::ModelEntry& row : table) {
    if (is(row)) cases.push_back({&row, "", {}});
  }
  return cases;
}

void PrintTo(const ModelCase& each, std::ostream* out) {
  *out << each.model->name;
  for (const std::string& word : each.options) *out << ' ' << word;
}

std::string model_label(const testing::TestParamInfo<ModelCase>& info) {
  std::string label(info.param.model->name);
  if (!info.param.variant.empty()) label += "_" + info.param.variant;
  return label;
}

size_t ModelTest::many(size_t wanted) {
  if (model().name == "blocking_process_per_connection") return std::min(wanted, kMostProcesses);
  if (model().name == "blocking_thread_per_connection") return std::min(wanted, kMostThreads);
  return kSanitized ? std::min(wanted, kMostSanitized) : wanted;
}

Words ModelTest::two_workers() { return takes(models::Takes::kWorkers) ? Words{"--workers", "2"} : Words{}; }
Words ModelTest::one_worker() { return takes(models::Takes::kWorkers) ? Words{"--workers", "1"} : Words{}; }
Words ModelTest::patient() { return takes(models::Takes::kSlowTimeout) ? Words{"--slow-timeout", "off"} : Words{}; }

void ModelTest::SetUp() {
  if (kThreadSanitized && model().processes) {
    GTEST_SKIP() << "the thread sanitizer checks only what threads share, and this model uses processes";
  }
  if (kThreadSanitized && !may_have_threads(model())) {
    GTEST_SKIP() << "the thread sanitizer has nothing to check: this model has one thread";
  }
  const auto engine = std::ranges::find(GetParam().options, "--engine");
  const std::string wanted = engine != GetParam().options.end()     ? *(engine + 1)
                             : model().name.starts_with("io_uring") ? "io_uring"
                                                                    : "";
  if (wanted.empty()) return;
  if (const std::string why = why_unsupported(wanted); !why.empty()) GTEST_SKIP() << why;
}

void ModelTest::TearDown() {
  if (program_ && program_->pid() > 0 && !HasFatalFailure()) stop();
}

void ModelTest::serve(const Words& options, const std::string& listen) {
  Words words = {"model", "run", std::string(model().name), "--listen", listen};
  const auto add = [&](const Words& more) { words.insert(words.end(), more.begin(), more.end()); };
  add(GetParam().options);
  // Adds each option of `options`, except options that the test's parameter already sets.
  for (size_t i = 0; i + 1 < options.size(); i += 2) {
    const bool own = std::ranges::find(GetParam().options, options[i]) != GetParam().options.end();
    if (!own) add({options[i], options[i + 1]});
  }
  program_.emplace(words);
  address_ = program_->listening();
}

Tally ModelTest::ended() {
  EXPECT_EQ(program_->exit_code(), 0);
  if (!may_log_) {
    EXPECT_EQ(complaints_in(program_->errors()), "");
  }
  // In blocking_process_per_connection, one process (the acceptor) forks a child for each connection. The kernel kills
  // the children when the acceptor ends. A child may end later than the model, so the test waits for all children.
  if (model().name == "blocking_process_per_connection") {
    EXPECT_TRUE(program_->others_end());
  }
  EXPECT_EQ(program_->others(), std::vector<pid_t>{}) << "the model left processes behind";
  return tally_of(program_->output());
}

Tally ModelTest::stop(int signal) {
  program_->signal(signal);
  return ended();
}

testing::AssertionResult ModelTest::serves(EchoPeer& peer) {
  peer.ask(frame_of("are you there?"));
  return crowd_.until([&] { return peer.answered(); });
}

testing::AssertionResult ModelTest::leaves(EchoPeer& peer) {
  peer.finish();
  return crowd_.until([&] { return peer.ended(); });
}

}  // namespace peal::test
