// SPDX-License-Identifier: BSD-3-Clause
#include <peal/inspect/parts/warnings.h>

#include <fmt/format.h>

#include <peal/inspect/parts/forms/human_values.h>

namespace peal::detail {
namespace {

void add_loops(std::vector<Warning>& found, const Snapshot& snapshot) {
  for (const LoopSnapshot& loop : snapshot.loops) {
    if (loop.answered || loop.ended) continue;
    found.push_back({.what = fmt::format("loop {} ({}) has not answered for {}", loop.number, loop.thread,
                                         human_seconds(in_seconds(loop.silent))),
                     .link = "/loops"});
  }
}

void add_certificates(std::vector<Warning>& found, const Snapshot& snapshot) {
  constexpr auto kSoon = std::chrono::days(14);
  for (const ServerSnapshot& server : snapshot.servers) {
    if (!server.layer) continue;
    const auto left = certificate_left(*server.layer, snapshot.taken);
    if (!left || *left >= kSoon) continue;
    const bool over = left->count() < 0;
    const std::string time = human_seconds(static_cast<double>(over ? -left->count() : left->count()));
    found.push_back(
        {.what = over ? fmt::format("a certificate of server {} ({}) expired {} ago", server.number, server.name, time)
                      : fmt::format("a certificate of server {} ({}) expires in {}", server.number, server.name, time),
         .link = fmt::format("/server/{}", server.number)});
  }
}

void add_memory(std::vector<Warning>& found, const Snapshot& snapshot) {
  const auto add = [&](std::string_view mark, std::string_view what_happens) {
    found.push_back({.what = fmt::format("the process holds more memory than the {} mark: {}", mark, what_happens),
                     .link = "/memory"});
  };
  const MemoryMarks& marks = snapshot.marks;
  if (marks.hard_bytes > 0 && snapshot.held_bytes > marks.hard_bytes) {
    add("hard", "connections that need more are closed");
  } else if (marks.soft_bytes > 0 && snapshot.held_bytes > marks.soft_bytes) {
    add("soft", "reading pauses, and the largest connections are closed");
  }
}

void add_files(std::vector<Warning>& found, const Snapshot& snapshot) {
  const ProcessFacts& process = snapshot.process;
  if (!process.open_fds || !process.most_fds || *process.open_fds * 10ULL <= *process.most_fds * 9) return;
  found.push_back(
      {.what = fmt::format("{} of at most {} file descriptors are open", *process.open_fds, *process.most_fds),
       .link = "/proc/limits"});
}

void add_stalls(std::vector<Warning>& found, const Snapshot& snapshot) {
  constexpr Duration kRecent = std::chrono::minutes(10);
  size_t recent = 0;
  Duration longest{};
  for (const Stall& stall : snapshot.stalls) {
    if (snapshot.now - stall.found > kRecent) continue;
    ++recent;
    longest = std::max(longest, stall.lasting);
  }
  if (recent == 0) return;
  found.push_back({.what = fmt::format("{} of the last ten minutes held a loop for {} or longer",
                                       recent == 1 ? "a stall" : fmt::format("{} stalls", recent),
                                       human_seconds(in_seconds(longest))),
                   .link = "/stalls"});
}

void add_metrics(std::vector<Warning>& found, const Snapshot& snapshot) {
  if (snapshot.metrics.hidden == 0) return;
  found.push_back(
      {.what = fmt::format("the program has more than {} metrics, so {} of its objects are not shown: are "
                           "labels made of what users send?",
                           human_number(kMostMetrics), human_number(static_cast<int64_t>(snapshot.metrics.hidden))),
       .link = "/program"});
}

}  // namespace

std::vector<Warning> warnings_of(const Snapshot& snapshot) {
  std::vector<Warning> found;
  add_loops(found, snapshot);
  add_certificates(found, snapshot);
  add_memory(found, snapshot);
  add_files(found, snapshot);
  add_stalls(found, snapshot);
  add_metrics(found, snapshot);
  return found;
}

}  // namespace peal::detail
