// SPDX-License-Identifier: BSD-3-Clause
#include <load/remote/agent.h>

#include <sys/wait.h>

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <load/duel/spawned_child.h>
#include <tests/support/duel/told_agent.h>

namespace peal::load {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using testing::HasSubstr;

constexpr Duration kLong = std::chrono::seconds(30);

bool accepts(const SocketAddress& address) {
  const Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return ::connect(socket.get(), address.data(), address.size()) == 0;
}

AgentRequest crew_of(size_t places) {
  return {.task = AgentTask::kCrew, .places = places, .threads = 1, .cpus = {}, .host = loopback_host()};
}

AgentRequest start_of(size_t place, std::vector<std::string> words) {
  return {.task = AgentTask::kStart, .place = place, .words = std::move(words)};
}

std::vector<std::string> script(const std::string& text) { return {"/bin/sh", "-c", text, "sh", "{port}"}; }

class AgentTest : public testing::Test {
 protected:
  std::string said(const std::string& line) { return agent_.answer({.text = line}); }
  AgentAnswer ask(const AgentRequest& request) {
    return parse_answer(said(request_line(request)), request.task).value();
  }
  template <class Kind>
  Kind answered(const AgentRequest& request) {
    const AgentAnswer answer = ask(request);
    EXPECT_TRUE(std::holds_alternative<Kind>(answer)) << answer_line(answer);
    return std::holds_alternative<Kind>(answer) ? std::get<Kind>(answer) : Kind{};
  }
  std::string refusal(const AgentRequest& request) { return answered<AgentRefusal>(request).sentence; }

  std::unique_ptr<DuelLoop> loop_ = DuelLoop::make().value();
  Agent agent_{*loop_};
};

TEST_F(AgentTest, a_crew_from_its_beginning_to_its_end) {
  answered<AgentDone>(crew_of(2));
  const SocketAddress address = answered<AgentStarted>(start_of(1, duelist())).address;
  answered<AgentDone>({.task = AgentTask::kAwait, .patience = kLong});
  EXPECT_TRUE(accepts(address));
  const ServerLook look = answered<ServerLook>({.task = AgentTask::kLook, .place = 1});
  EXPECT_EQ(look.processes, 1u);
  EXPECT_GT(look.cpu, Duration::zero());
  EXPECT_GE(answered<ServerLook>({.task = AgentTask::kLook, .place = 1}).cpu, look.cpu);
  answered<AgentDone>({.task = AgentTask::kEnded});
  EXPECT_THAT(answered<AgentOrphans>({.task = AgentTask::kOrphans}).places, testing::IsEmpty());
  answered<AgentDone>({.task = AgentTask::kEnd, .patience = 5s});
  EXPECT_FALSE(accepts(address));
  answered<AgentDone>(crew_of(1));
}

TEST_F(AgentTest, a_request_at_the_wrong_time_is_refused_and_does_nothing) {
  EXPECT_EQ(refusal({.task = AgentTask::kLook}), "there is no crew: send \"crew\" first");
  EXPECT_EQ(refusal(start_of(0, duelist())), "there is no crew: send \"crew\" first");
  answered<AgentDone>(crew_of(2));
  EXPECT_EQ(refusal(crew_of(2)), "there is already a crew: send \"end\" first");
  EXPECT_EQ(refusal(start_of(2, duelist())), "there is no place 2 in a crew of 2");
  EXPECT_EQ(refusal({.task = AgentTask::kLook, .place = 0}), "no server at place 0 was awaited: send \"await\" first");
  answered<AgentStarted>(start_of(0, script("exec sleep 60")));
  EXPECT_EQ(refusal(start_of(0, duelist())), "place 0 already has a server");
  EXPECT_EQ(refusal({.task = AgentTask::kLook, .place = 0}), "no server at place 0 was awaited: send \"await\" first");
}

TEST_F(AgentTest, after_invalid_lines_the_agent_still_answers) {
  EXPECT_THAT(said("GET / HTTP/1.1\r"), HasSubstr("{\"error\":\"'GET / HTTP/1.1?' is not an object of JSON\"}"));
  EXPECT_THAT(said(""), HasSubstr("error"));
  EXPECT_THAT(said(std::string("\0\xff\x80", 3)), HasSubstr("error"));
  EXPECT_THAT(agent_.answer({.text = "{", .is_cut = true}), HasSubstr("the line is longer than 1048576 bytes"));
  EXPECT_GT(answered<MachineClocks>({.task = AgentTask::kClocks}).busy, Duration::zero());
}

TEST_F(AgentTest, a_program_that_does_not_exist) {
  answered<AgentDone>(crew_of(3));
  EXPECT_EQ(answered<ServerFault>(start_of(2, {"/nowhere/at/all", "{port}"})),
            (ServerFault{2, "/nowhere/at/all cannot be run: No such file or directory"}));
}

TEST_F(AgentTest, a_server_that_ends_by_itself) {
  answered<AgentDone>(crew_of(2));
  answered<AgentStarted>(start_of(1, script("echo why >&2; exit 3")));
  EXPECT_EQ(answered<ServerFault>({.task = AgentTask::kAwait, .patience = kLong}),
            (ServerFault{1, "the server ended by itself: exit code 3 (why)"}));
}

TEST_F(AgentTest, a_server_that_never_listens) {
  answered<AgentDone>(crew_of(1));
  answered<AgentStarted>(start_of(0, script("exec sleep 60")));
  EXPECT_EQ(answered<ServerFault>({.task = AgentTask::kAwait, .patience = 20ms}).sentence,
            "it does not listen at its address after 20.0 ms");
}

TEST_F(AgentTest, an_address_of_another_machine) {
  AgentRequest crew = crew_of(1);
  crew.host = ip_address("192.0.2.1");
  answered<AgentDone>(crew);
  EXPECT_EQ(answered<ServerFault>(start_of(0, duelist())).sentence,
            "a server cannot listen at 192.0.2.1 on this machine: Cannot assign requested address");
}

TEST_F(AgentTest, orphans_of_a_server_are_reported_and_ended) {
  answered<AgentDone>(crew_of(2));
  std::vector<std::string> words = script("(setsid sleep 60 & echo) | read gone; exec \"$@\"");
  words.pop_back();
  for (const std::string& word : duelist()) words.push_back(word);
  answered<AgentStarted>(start_of(1, words));
  answered<AgentDone>({.task = AgentTask::kAwait, .patience = kLong});
  EXPECT_TRUE(loop_->until_seen(loop_->now() + kLong, [&] {
    return answered<AgentOrphans>({.task = AgentTask::kOrphans}).places == std::vector<size_t>{1};
  }));
  answered<AgentDone>({.task = AgentTask::kEnd, .patience = 5s});
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "no child is left";
}

TEST(AgentProgram, answers_if_told) { answer_if_told(); }

// Tests an agent that runs as a separate program. SetUp() starts the agent and lets it start one server.
class AgentProgramTest : public testing::Test {
 protected:
  void SetUp() override { start(agent_command()); }
  void start(const std::string& command, bool with_server = true) {
    child_ = spawn({.words = {"/bin/sh", "-c", command}, .is_spoken_to = true}).value();
    if (!with_server) return;
    while (!parse_greeting(line())) {
    }
    tell({crew_of(1), start_of(0, duelist()), {.task = AgentTask::kAwait, .patience = kLong}});
    line();
    server_ = std::get<AgentStarted>(parse_answer(line(), AgentTask::kStart).value()).address;
    line();
    EXPECT_TRUE(accepts(server_));
  }
  void TearDown() override {
    if (child_.pid < 0) return;
    ::kill(-child_.pid, SIGKILL);
    ::waitpid(child_.pid, nullptr, 0);
  }
  void tell(const std::vector<AgentRequest>& requests) {
    std::string text;
    for (const AgentRequest& request : requests) text += request_line(request) + "\n";
    EXPECT_EQ(::send(child_.input.get(), text.data(), text.size(), MSG_NOSIGNAL), text.size());
  }
  std::string line() {
    while (!lines_.has_line()) {
      char bytes[4096];
      const ssize_t size = ::read(child_.output.get(), bytes, sizeof bytes);
      if (size <= 0) {
        ADD_FAILURE() << "the agent's output has ended";
        return greeting_line({});
      }
      lines_.add({bytes, static_cast<size_t>(size)});
    }
    return lines_.next()->text;
  }
  // Waits until the agent ends. Returns its exit code and what it has written to stderr.
  std::string end() {
    int status = 0;
    EXPECT_EQ(::waitpid(std::exchange(child_.pid, -1), &status, 0) > 0, true);
    char bytes[4096];
    const ssize_t size = ::read(child_.complaints.get(), bytes, sizeof bytes);
    const std::string said(bytes, static_cast<size_t>(std::max<ssize_t>(size, 0)));
    return (WIFEXITED(status) ? "exit " + std::to_string(WEXITSTATUS(status)) : "signal") + (said.empty() ? "" : ": ") +
           said;
  }

  SpawnedChild child_;
  LineSplitter lines_{kMostAgentLine};
  SocketAddress server_;
};

TEST_F(AgentProgramTest, its_servers_end_when_its_stdin_ends) {
  child_.input = Fd();
  EXPECT_EQ(end(), "exit 0");
  EXPECT_FALSE(accepts(server_));
}

TEST_F(AgentProgramTest, its_servers_end_with_it_at_a_signal) {
  for (const int signal : {SIGTERM, SIGHUP, SIGINT}) {
    if (child_.pid < 0) start(agent_command());
    ::kill(child_.pid, signal);
    EXPECT_EQ(end(), "exit 0") << signal;
    EXPECT_FALSE(accepts(server_)) << signal;
  }
}

TEST_F(AgentProgramTest, its_servers_end_even_if_it_is_killed) {
  ::kill(child_.pid, SIGKILL);
  EXPECT_EQ(end(), "signal");
  const std::unique_ptr<DuelLoop> loop = DuelLoop::make().value();
  EXPECT_TRUE(loop->until_seen(loop->now() + kLong, [this] { return !accepts(server_); }));
}

TEST_F(AgentProgramTest, it_stops_waiting_for_a_server_when_its_stdin_ends) {
  tell({{.task = AgentTask::kEnd, .patience = 5s},
        crew_of(1),
        start_of(0, script("exec sleep 600")),
        {.task = AgentTask::kAwait, .patience = kLongestPatience}});
  for (int answers = 0; answers < 3; ++answers) line();
  child_.input = Fd();
  EXPECT_EQ(end(), "exit 0");
}

TEST_F(AgentProgramTest, an_incomplete_request_at_the_end_is_ignored) {
  const std::string_view half = "{\"do\": \"clo";
  EXPECT_EQ(::send(child_.input.get(), half.data(), half.size(), MSG_NOSIGNAL), half.size());
  child_.input = Fd();
  EXPECT_EQ(end(), "exit 0");
}

TEST_F(AgentProgramTest, a_line_that_is_too_long_is_refused_once_it_ends) {
  const std::string piece(1 << 16, 'x');
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(::send(child_.input.get(), piece.data(), piece.size(), MSG_NOSIGNAL), piece.size());
  EXPECT_EQ(::send(child_.input.get(), "\n", 1, MSG_NOSIGNAL), 1);
  EXPECT_THAT(line(), HasSubstr("the line is longer than 1048576 bytes"));
  tell({{.task = AgentTask::kClocks}});
  EXPECT_THAT(line(), HasSubstr("busy"));
}

TEST_F(AgentProgramTest, without_requests_it_ends_by_itself) {
  child_.input = Fd();
  end();
  start(agent_command(1ms), false);
  EXPECT_EQ(end(), "exit 1: no request has arrived for 1.00 ms: the agent ends, and so do its servers\n");
}

TEST_F(AgentProgramTest, it_does_not_read_requests_from_a_file) {
  child_.input = Fd();
  end();
  start(agent_command() + " < /etc/passwd", false);
  EXPECT_EQ(end(), "exit 1: requests cannot be read: stdin must be a pipe or a socket: Operation not permitted\n");
}

}  // namespace
}  // namespace peal::load
