// SPDX-License-Identifier: BSD-3-Clause
// Serves a page about another process: its CPU time, memory and threads over the last minutes.
//   process_monitor PID [ADDRESS [PERIOD_MS]]
// The server draws the charts, so the page needs no script. The browser reloads the page every second. /samples has the
// same figures as text. After the process has ended, the server still runs, and the page says that the process has
// ended.
#include <deque>
#include <iterator>

#include <examples/shared/service.h>

#include <peal/http/server/http_server.h>
#include <peal/inspect/process_facts.h>
#include <peal/wire/content/html_text.h>
#include <peal/wire/parse_text.h>

namespace {

using namespace peal;

constexpr size_t kMostSamples = 300;  // five minutes, with one sample each second

struct Sample {
  double cpu_share = 0;  // 1 if one processor is fully used
  double resident_mib = 0;
  double threads = 0;
};

class Monitor {
 public:
  explicit Monitor(ProcessFacts first) : name_(first.name), last_(std::move(first)) {}

  // Adds a sample. `passed` is the time since the previous sample. If the process has ended, sets `ended_` and adds
  // nothing. The process has ended if its facts cannot be read, if it is a zombie, or if its start time has changed.
  // The start time changes if the process has ended and the kernel has given its pid to a new process.
  void sample(Duration passed) {
    if (ended_) return;
    const Result<ProcessFacts> facts = read_process_facts(last_.pid);
    ended_ = !facts || facts->state == "zombie" || facts->started != last_.started;
    if (ended_) return;
    const Duration cpu = facts->user_cpu + facts->system_cpu - last_.user_cpu - last_.system_cpu;
    samples_.push_back({.cpu_share = in_seconds(cpu) / in_seconds(passed),
                        .resident_mib = static_cast<double>(facts->resident_bytes) / (1024 * 1024),
                        .threads = static_cast<double>(facts->threads)});
    if (samples_.size() > kMostSamples) samples_.pop_front();
    last_ = *facts;
  }

  std::string text() const {
    std::string text = "cpu_share resident_mib threads\n";
    for (const Sample& each : samples_) {
      fmt::format_to(std::back_inserter(text), "{:.3f} {:.2f} {}\n", each.cpu_share, each.resident_mib, each.threads);
    }
    return text;
  }

  std::string page() const {
    std::string html = fmt::format(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"1\">"
        "<link rel=\"icon\" href=\"data:,\"><title>{0} {1}</title>"
        "<style>:root{{color-scheme:light dark}}body{{font:15px system-ui;margin:1.5rem}}"
        "svg{{display:block;border:1px solid gray}}polyline{{fill:none;stroke:#2f81f7;stroke-width:1.5}}</style>"
        "<h1>{0} ({1}){2}</h1>",
        html_escaped(name_), last_.pid, ended_ ? " has ended" : "");
    html += chart("CPU, share of one processor", &Sample::cpu_share, 1);
    html += chart("Memory in RAM, MiB", &Sample::resident_mib, 1);
    html += chart("Threads", &Sample::threads, 1);
    return html + "</html>";
  }

 private:
  std::string chart(std::string_view title, double Sample::* figure, double least_top) const {
    constexpr double kWidth = 600;
    constexpr double kHeight = 120;
    double top = least_top;
    for (const Sample& each : samples_) top = std::max(top, each.*figure);
    std::string points;
    for (size_t i = 0; i < samples_.size(); ++i) {
      fmt::format_to(std::back_inserter(points), "{:.1f},{:.1f} ", static_cast<double>(i) * kWidth / (kMostSamples - 1),
                     kHeight - samples_[i].*figure / top * (kHeight - 4) - 2);
    }
    const double now = samples_.empty() ? 0 : samples_.back().*figure;
    return fmt::format(
        "<h2>{}: {:.2f}</h2><svg width=\"{}\" height=\"{}\"><title>0 to {:.2f}</title>"
        "<polyline points=\"{}\"/></svg>",
        title, now, kWidth, kHeight, top, points);
  }

  const std::string name_;
  ProcessFacts last_;
  std::deque<Sample> samples_;
  bool ended_ = false;
};

// Returns `word` as a number, or 0 if it is not a positive number.
int positive(const std::string& word) { return std::max(0, parse_text<int>(word).value_or(0)); }

}  // namespace

int main(int argc, char** argv) {
  using namespace peal::examples;
  const int pid = positive(argument(argc, argv, 1, ""));
  const int period_ms = positive(argument(argc, argv, 3, "1000"));
  if (pid == 0 || period_ms == 0) {
    fmt::print(stderr, "usage: process_monitor PID [ADDRESS [PERIOD_MS]]\n");
    return 2;
  }
  Result<ProcessFacts> first = read_process_facts(pid);
  if (!first) return failed(fmt::format("process {}", pid), first.error());
  Monitor monitor(std::move(*first));

  Loop loop;
  Router router;
  router.get("/", [&](HttpExchange& exchange) { exchange.respond(200, "text/html; charset=utf-8", monitor.page()); });
  router.get("/samples", [&](HttpExchange& exchange) { exchange.respond(200, "text/plain", monitor.text()); });
  HttpServer server(loop, std::move(router));
  TimePoint last = loop.now();
  loop.every(std::chrono::milliseconds(period_ms),
             [&] { monitor.sample(loop.now() - std::exchange(last, loop.now())); });
  return listen(server.server(), argument(argc, argv, 2, "127.0.0.1:8081")) ? run(loop) : 1;
}
