// SPDX-License-Identifier: BSD-3-Clause
// Tests that every model ends after SIGTERM or SIGINT, whatever it is doing, and leaves no process and no socket file
// behind. A model with several processes also has to replace those that die.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <tests/support/engine_rig.h>
#include <tests/support/model_rig.h>

namespace peal::models {
namespace {

using test::model_label;
using testing::HasSubstr;

using ModelEnds = test::ModelTest;

TEST_P(ModelEnds, in_the_middle_of_frames_and_answers_by_either_signal) {
  const std::string frame = frame_of(pattern(1'000'000));
  std::string answers_nobody_reads;
  for (int i = 0; i < 10; ++i) answers_nobody_reads += frame;
  for (const int signal : {SIGTERM, SIGINT}) {
    serve(two_workers());
    EchoPeer& served = join();
    ASSERT_TRUE(serves(served));
    std::vector<EchoPeer*> peers = join_many(4);
    for (size_t i = 0; i < peers.size(); ++i) peers[i]->say(frame_of("not the whole").substr(0, 3 * i));
    for (int i = 0; i < 2; ++i) {
      EchoPeer& deaf = *peers.emplace_back(&join(32 * 1024));
      deaf.read(false);
      deaf.say(answers_nobody_reads);
    }
    served.say(frame_of("stops here").substr(0, 7));
    ASSERT_TRUE(crowd().until([&] { return served.unsent_bytes() == 0; }));
    EXPECT_TRUE(crowd().never([&] { return served.ended(); }));
    EXPECT_EQ(stop(signal).timed_out, 0u);
    for (EchoPeer* peer : peers) peer->close();
  }
}

TEST_P(ModelEnds, under_load) {
  serve();
  const std::vector<EchoPeer*> peers = join_many(many(50));
  size_t answers = 0;
  const auto go_on = [&] {
    for (EchoPeer* peer : peers) {
      if (!peer->answered() || peer->ended()) continue;
      peer->ask(frame_of("again") + frame_of(""));
      ++answers;
    }
  };
  ASSERT_TRUE(crowd().until([&] {
    go_on();
    return answers > 500;
  }));
  program().signal(SIGTERM);
  // The server has to end now, but the clients continue to send requests. Expected: the server closes all connections,
  // even those that it has not accepted.
  ASSERT_TRUE(crowd().until([&] {
    go_on();
    return all_ended(peers);
  }));
  const Tally counted = ended();
  EXPECT_LE(counted.accepted, peers.size());
}

TEST_P(ModelEnds, with_its_socket_file) {
  const std::string path =
      (std::filesystem::path(testing::TempDir()) / fmt::format("peal-model-{}", ::getpid())).string();
  if (model().own_listeners) {
    Program refused({"model", "run", std::string(model().name), "--listen", "unix:" + path});
    EXPECT_EQ(refused.exit_code(), 1);
    expect_one_sentence(refused.errors());
    EXPECT_THAT(refused.errors(), HasSubstr("needs an IP address"));
  } else {
    serve({}, "unix:" + path);
    EchoPeer& peer = join();
    EXPECT_TRUE(serves(peer));
    EXPECT_TRUE(std::filesystem::exists(path));
    stop();
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_P(ModelEnds, at_once_when_its_port_is_taken) {
  serve(two_workers());
  Program second({"model", "run", std::string(model().name), "--listen", address().to_string()});
  EXPECT_EQ(second.exit_code(), 1);
  EXPECT_EQ(second.output(), "");
  expect_one_sentence(second.errors());
  EXPECT_THAT(second.errors(), HasSubstr(address().to_string()));
  EXPECT_EQ(second.others(), std::vector<pid_t>{});
  EchoPeer& peer = join();
  EXPECT_TRUE(serves(peer));
}

INSTANTIATE_TEST_SUITE_P(Models, ModelEnds, testing::ValuesIn(test::cases_of(model_table())), model_label);

class ModelsOfProcesses : public test::ModelTest {
 protected:
  // Waits until are_right(pids) returns true. `pids` are the program's processes, except the one that the test started.
  // They are listed again every millisecond, because no event reports that a process was started.
  testing::AssertionResult until_others(const std::function<bool(const std::vector<pid_t>&)>& are_right) {
    const TimePoint give_up = monotonic_now() + kProgramPatience;
    while (!are_right(program().others())) {
      if (monotonic_now() > give_up) {
        return testing::AssertionFailure() << "its processes are " << testing::PrintToString(program().others());
      }
      ::poll(nullptr, 0, 1);
    }
    return testing::AssertionSuccess();
  }
  // True if a new client connects and gets an answer. If connecting fails, or if the connection ends without an answer,
  // another client tries until kProgramPatience has passed.
  testing::AssertionResult serves_somebody() {
    const TimePoint give_up = monotonic_now() + kProgramPatience;
    while (monotonic_now() < give_up) {
      RawPeer peer;
      const bool connected = ::connect(peer.fd(), address().data(), address().size()) == 0;
      if (!connected || ::fcntl(peer.fd(), F_SETFL, O_NONBLOCK) != 0) {
        ::poll(nullptr, 0, 1);
        continue;
      }
      peer.send(frame_of("anybody?"));
      while (peer.received().size() < frame_of("anybody?").size() && readable(peer.fd()) && peer.pump()) {
      }
      if (peer.received() == frame_of("anybody?")) return testing::AssertionSuccess();
    }
    return testing::AssertionFailure() << "no new client was served";
  }
};

TEST_P(ModelsOfProcesses, leave_no_process_when_the_master_is_killed) {
  serve(two_workers());
  const std::vector<EchoPeer*> peers = join_many(4);
  for (EchoPeer* peer : peers) peer->ask(frame_of("serve me"));
  ASSERT_TRUE(crowd().until([&] { return std::ranges::any_of(peers, &EchoPeer::answered); }));
  EXPECT_FALSE(program().others().empty());
  program().signal(SIGKILL);
  EXPECT_EQ(program().exit_code(), -SIGKILL);
  EXPECT_TRUE(program().others_end());
  ASSERT_TRUE(crowd().until([&] { return all_ended(peers); }));
}

TEST_P(ModelsOfProcesses, keep_serving_when_one_worker_and_when_all_workers_are_killed) {
  serve(two_workers());
  may_log();
  const size_t at_rest = model().name == "main_sub_processes" ? 3 : takes(Takes::kWorkers) ? 2 : 1;
  ASSERT_TRUE(until_others([&](const std::vector<pid_t>& now) { return now.size() == at_rest; }));
  for (const size_t killed : {size_t{1}, at_rest}) {
    const std::vector<pid_t> before = program().others();
    // `before` may contain a process and its children. If the process is killed, the kernel kills its children too. For
    // such a child, kill() may then fail with ESRCH.
    for (size_t i = 0; i < killed; ++i) EXPECT_TRUE(::kill(before[i], SIGKILL) == 0 || errno == ESRCH);
    ASSERT_TRUE(until_others([&](const std::vector<pid_t>& now) {
      const auto is_new = [&](pid_t pid) { return !std::ranges::count(before, pid); };
      return now.size() == at_rest && static_cast<size_t>(std::ranges::count_if(now, is_new)) >= killed;
    }));
    EXPECT_TRUE(serves_somebody());
  }
  EXPECT_EQ(stop().respawned, 1 + at_rest);
}

INSTANTIATE_TEST_SUITE_P(Models, ModelsOfProcesses,
                         testing::ValuesIn(test::cases_of(model_table(),
                                                          [](const ModelEntry& row) { return row.processes; })),
                         model_label);

}  // namespace
}  // namespace peal::models
