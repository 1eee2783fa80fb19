// SPDX-License-Identifier: BSD-3-Clause
#include <load/remote/agent_link.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include <fmt/format.h>

#include <load/report/report_text.h>

namespace peal::load {
namespace {

// How long an AgentLink waits for the exit status of the remote shell. The wait begins when the shell has closed its
// output, or when SIGTERM was sent to the shell.
constexpr Duration kForItsStatus = std::chrono::seconds(1);
// How long an AgentLink waits for the end of the agent. The agent itself waits up to 5 s for the end of its servers. So
// this limit must be longer.
constexpr Duration kForItsEnd = std::chrono::seconds(8);

constexpr size_t kMostSaid = 500;  // how much of a shell's output an error quotes

// Returns the last line of `text`. If a shell or ssh fails, its last line says why.
std::string_view last_line(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  return text.substr(text.rfind('\n') + 1);
}

}  // namespace

std::expected<std::unique_ptr<AgentLink>, std::string> AgentLink::open(DuelLoop& loop, const RemoteHost& host) {
  std::vector<std::string> words = host.shell;
  words.push_back(host.name);
  words.push_back(host.agent);
  std::expected<SpawnedChild, std::string> child = spawn({.words = std::move(words), .is_spoken_to = true});
  if (!child) return std::unexpected(fmt::format("{}: {}", host.name, child.error()));
  std::unique_ptr<AgentLink> link(new AgentLink(loop, host, std::move(*child)));
  if (const std::expected<void, std::string> greeted = link->await_greeting(); !greeted) {
    return std::unexpected(link->broken(greeted.error()).sentence);
  }
  return link;
}

AgentLink::AgentLink(DuelLoop& loop, const RemoteHost& host, SpawnedChild child)
    : loop_(loop),
      host_(host),
      pid_(child.pid),
      input_(std::move(child.input)),
      output_(loop.loop(), std::move(child.output), {.readable = true}, [this](Readiness) { read(); }),
      complaints_(loop.loop(), std::move(child.complaints)) {
  ::fcntl(output_.fd(), F_SETFL, O_NONBLOCK);
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(host_.answer).count();
  const timeval limit{.tv_sec = seconds, .tv_usec = 0};
  static_cast<void>(::setsockopt(input_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit));
}

AgentLink::~AgentLink() {
  input_ = Fd();
  if (!trouble_) wait_for_end(kForItsEnd);
  if (has_ended()) return;
  ::kill(-pid_, SIGTERM);
  wait_for_end(kForItsStatus);
  if (has_ended()) return;
  ::kill(-pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void AgentLink::wait_for_end(Duration patience) {
  const TimePoint limit = loop_.now() + patience;
  const TimerId look = loop_.loop().every(std::chrono::milliseconds(2), [] {});
  while (!has_ended() && loop_.now() < limit) loop_.loop().step();
  loop_.loop().cancel(look);
}

bool AgentLink::has_ended() {
  int status = 0;
  if (!status_ && ::waitpid(pid_, &status, WNOHANG) == pid_) status_ = status;
  return status_.has_value();
}

void AgentLink::read() {
  std::array<char, 65536> bytes;
  const ssize_t size = ::read(output_.fd(), bytes.data(), bytes.size());
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size > 0) return lines_.add({bytes.data(), static_cast<size_t>(size)});
  is_over_ = true;
  output_.set_interest({});
}

// Returns a text that says how the remote shell has ended, or that it still runs. Adds the last line that the shell has
// printed, if there is one. Waits up to 1 s for the shell to end.
std::string AgentLink::how_it_went() {
  wait_for_end(kForItsStatus);
  std::string how = !status_                ? std::string("its shell still runs")
                    : WIFSIGNALED(*status_) ? fmt::format("signal {}", WTERMSIG(*status_))
                                            : fmt::format("exit code {}", WEXITSTATUS(*status_));
  const std::string_view said = last_line(complaints_.text());
  if (!said.empty()) return fmt::format("{} ({})", how, shown(said, kMostSaid));
  const std::string_view strange = last_line(strange_.empty() ? lines_.rest() : strange_);
  return strange.empty() ? how : fmt::format("{} ({})", how, shown(strange, kMostSaid));
}

std::optional<std::string> AgentLink::next_line(TimePoint limit, std::string& why) {
  const TimerId timer = loop_.loop().at(limit, [] {});
  while (!lines_.has_line() && !is_over_ && loop_.now() < limit) loop_.loop().step();
  loop_.loop().cancel(timer);
  if (std::optional<SplitLine> line = lines_.next()) return std::move(line->text);
  why = is_over_ ? how_it_went() : std::string();
  return std::nullopt;
}

std::expected<void, std::string> AgentLink::await_greeting() {
  const TimePoint limit = loop_.now() + host_.until_it_speaks;
  std::string why;
  while (const std::optional<std::string> line = next_line(limit, why)) {
    const std::optional<AgentGreeting> greeting = parse_greeting(*line);
    if (!greeting) {
      if (strange_.empty()) strange_ = *line;
      continue;
    }
    if (greeting->version != kAgentVersion) {
      return std::unexpected(
          fmt::format("the agent there speaks {}, but this program speaks {}: install the same version there",
                      greeting->version, kAgentVersion));
    }
    if (!greeting->trouble.empty()) {
      return std::unexpected(
          fmt::format("the agent there describes its machine in an unknown form: {}", greeting->trouble));
    }
    machine_ = greeting->machine;
    strange_.clear();
    return {};
  }
  if (!why.empty()) return std::unexpected(fmt::format("no agent could be started there: {}", why));
  return std::unexpected(fmt::format("no agent has sent a greeting within {}", human_time(host_.until_it_speaks)));
}

ServerFault AgentLink::broken(std::string why) {
  trouble_ = fmt::format("{}: {}", host_.name, why);
  input_ = Fd();
  return {.place = std::nullopt, .sentence = *trouble_};
}

std::expected<AgentAnswer, ServerFault> AgentLink::ask(const AgentRequest& request) {
  if (trouble_) return std::unexpected(ServerFault{std::nullopt, *trouble_});
  const std::string line = request_line(request) + "\n";
  if (line.size() > kMostAgentLine) {
    return std::unexpected(ServerFault{request.place, "its command is too long to be sent to another machine"});
  }
  if (::send(input_.get(), line.data(), line.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(line.size())) {
    return std::unexpected(broken(fmt::format("the agent, or the way to it, is gone: {}", how_it_went())));
  }
  std::string why;
  const Duration patience = host_.answer + request.patience;
  const std::optional<std::string> said = next_line(loop_.now() + patience, why);
  if (!said && !why.empty())
    return std::unexpected(broken(fmt::format("the agent, or the way to it, is gone: {}", why)));
  if (!said) {
    return std::unexpected(broken(fmt::format("the agent has not answered within {}", human_time(patience))));
  }
  std::expected<AgentAnswer, std::string> answer = parse_answer(*said, request.task);
  if (!answer) return std::unexpected(broken(answer.error()));
  if (const auto* refusal = std::get_if<AgentRefusal>(&*answer)) {
    return std::unexpected(broken(fmt::format("the agent refused: {}", refusal->sentence)));
  }
  if (auto* fault = std::get_if<ServerFault>(&*answer)) return std::unexpected(std::move(*fault));
  return std::move(*answer);
}

}  // namespace peal::load
