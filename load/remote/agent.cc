// SPDX-License-Identifier: BSD-3-Clause
#include <load/remote/agent.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include <load/report/report_text.h>
#include <peal/base/fd.h>
#include <peal/loop/watch.h>

namespace peal::load {
namespace {

constexpr Duration kLastPatience = std::chrono::seconds(5);  // from SIGTERM to SIGKILL, when the agent itself ends

AgentAnswer answer_of(ServerCrew::Trouble trouble) {
  if (trouble) return std::move(*trouble);
  return AgentDone{};
}

// Reads the requests from the input; each line is a request. If the input ends or cannot be read, no further request
// can come, so Requests stops the DuelLoop (the event loop). A stopped DuelLoop no longer waits until servers accept
// connections. So the agent can end soon, even if it is carrying out a request.
class Requests {
 public:
  Requests(DuelLoop& loop, int input)
      : loop_(loop),
        watch_(
            loop.loop(), input, {.readable = true}, [this](Readiness) { read(); },
            [this](std::error_code error) { fail(error.message()); }) {}

  bool has_line() const { return lines_.has_line(); }
  std::optional<SplitLine> next() { return lines_.next(); }
  bool is_over() const { return is_over_; }
  // Returns the reason why the event loop cannot watch the input, for example because the input is a file. Returns an
  // empty text if the loop can watch the input.
  const std::string& trouble() const { return trouble_; }

 private:
  void read() {
    std::array<char, 65536> bytes;
    const ssize_t size = ::read(watch_.fd(), bytes.data(), bytes.size());
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (size > 0) return lines_.add({bytes.data(), static_cast<size_t>(size)});
    watch_.set_interest({});
    is_over_ = true;
    loop_.end_at(TimePoint::min());
  }
  void fail(std::string why) {
    trouble_ = std::move(why);
    is_over_ = true;
    loop_.end_at(TimePoint::min());
  }

  DuelLoop& loop_;
  LineSplitter lines_{kMostAgentLine};
  bool is_over_ = false;
  std::string trouble_;
  Watch watch_;
};

// Ignores SIGPIPE while an object of this class exists. A write to a closed pipe then fails with EPIPE and does not
// kill the process.
class NoBrokenPipes {
 public:
  NoBrokenPipes() : before_(::signal(SIGPIPE, SIG_IGN)) {}
  ~NoBrokenPipes() { ::signal(SIGPIPE, before_); }
  NoBrokenPipes(const NoBrokenPipes&) = delete;
  NoBrokenPipes& operator=(const NoBrokenPipes&) = delete;

 private:
  sighandler_t before_;
};

}  // namespace

Agent::~Agent() { static_cast<void>(end(kLastPatience)); }

std::string Agent::answer(const SplitLine& line) {
  if (line.is_cut) return answer_line(AgentRefusal{fmt::format("the line is longer than {} bytes", kMostAgentLine)});
  const std::expected<AgentRequest, std::string> request = parse_request(line.text);
  if (!request) return answer_line(AgentRefusal{request.error()});
  return answer_line(answer_to(*request));
}

AgentAnswer Agent::answer_to(const AgentRequest& request) {
  if (request.task == AgentTask::kCrew) return make_crew(request);
  if (request.task == AgentTask::kEnd) return end(request.patience);
  if (request.task == AgentTask::kClocks) {
    const std::optional<MachineClocks> clocks = clocks_of_this_machine();
    if (!clocks) return AgentRefusal{"/proc/stat cannot be read here"};
    return *clocks;
  }
  if (!crew_) return AgentRefusal{"there is no crew: send \"crew\" first"};
  if (request.place >= places_)
    return AgentRefusal{fmt::format("there is no place {} in a crew of {}", request.place, places_)};
  switch (request.task) {
    case AgentTask::kStart: return start(request);
    case AgentTask::kAwait: return answer_of(crew_->await_listening(request.patience));
    case AgentTask::kEnded: return answer_of(crew_->who_ended());
    case AgentTask::kLook: return look(request.place);
    case AgentTask::kOrphans: return AgentOrphans{crew_->who_left_orphans()};
    case AgentTask::kCrew:
    case AgentTask::kEnd:
    case AgentTask::kClocks: break;
  }
  return AgentDone{};
}

AgentAnswer Agent::make_crew(const AgentRequest& request) {
  if (crew_) return AgentRefusal{"there is already a crew: send \"end\" first"};
  std::vector<int> others = usable_cpus();
  std::erase_if(others, [&](int cpu) { return std::ranges::find(request.cpus, cpu) != request.cpus.end(); });
  if (!request.cpus.empty() && !others.empty()) pinned_.emplace(others);
  places_ = request.places;
  crew_ = std::make_unique<ServersHere>(
      loop_, CrewOptions{.places = places_, .threads = request.threads, .cpus = request.cpus, .host = request.host});
  return AgentDone{};
}

AgentAnswer Agent::start(const AgentRequest& request) {
  if (crew_->has(request.place)) return AgentRefusal{fmt::format("place {} already has a server", request.place)};
  if (ServerCrew::Trouble trouble = crew_->start(request.place, request.words)) return std::move(*trouble);
  return AgentStarted{crew_->address(request.place)};
}

AgentAnswer Agent::look(size_t place) {
  if (!crew_->is_awaited(place))
    return AgentRefusal{fmt::format("no server at place {} was awaited: send \"await\" first", place)};
  std::expected<ServerLook, ServerFault> look = crew_->look(place);
  if (!look) return std::move(look.error());
  return *look;
}

AgentAnswer Agent::end(Duration patience) {
  if (crew_) crew_->end(patience);
  crew_.reset();
  pinned_.reset();
  return AgentDone{};
}

std::expected<void, std::string> run_agent(int input, int output, Duration silence) {
  Result<std::unique_ptr<DuelLoop>> loop = DuelLoop::make();
  if (!loop) return std::unexpected(fmt::format("the agent's event loop cannot be made: {}", loop.error().message()));
  bool is_hung_up = false;
  const auto hang_up = [&] {
    is_hung_up = true;
    (*loop)->end_at(TimePoint::min());
  };
  if (const auto heard = (*loop)->loop().on_signal(SIGHUP, hang_up); !heard) {
    return std::unexpected(fmt::format("the agent cannot handle SIGHUP: {}", heard.error().message()));
  }
  const NoBrokenPipes no_broken_pipes;
  Requests requests(**loop, input);
  Agent agent(**loop);
  bool is_heard = write_whole(output, greeting_line(facts_of_this_machine()) + "\n");
  while (is_heard && !is_hung_up && !(*loop)->interrupted()) {
    const auto is_asked = [&requests] { return requests.has_line() || requests.is_over(); };
    if (!(*loop)->until((*loop)->now() + silence, is_asked)) {
      if ((*loop)->stopped()) break;
      return std::unexpected(
          fmt::format("no request has arrived for {}: the agent ends, and so do its servers", human_time(silence)));
    }
    const std::optional<SplitLine> line = requests.next();
    if (!line) break;
    is_heard = write_whole(output, agent.answer(*line) + "\n");
  }
  if (requests.trouble().empty()) return {};
  return std::unexpected(
      fmt::format("requests cannot be read: stdin must be a pipe or a socket: {}", requests.trouble()));
}

}  // namespace peal::load
