// SPDX-License-Identifier: BSD-3-Clause
#include <cli/load/load_find_max.h>

#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cli/load/load_live.h>
#include <load/load_run.h>
#include <load/plan/arrival_text.h>
#include <load/plan/rate_search.h>
#include <load/report/report_json.h>
#include <load/report/report_text.h>

namespace peal::cli {
namespace {

using Json = nlohmann::ordered_json;

class MaxFinder {
 public:
  MaxFinder(LoadJob& job, const LoadArguments& words, OutputFile& file)
      : job_(job), words_(words), file_(file), search_({.start = job.rate}) {}

  int find();

 private:
  // Measures the server once at `rate` messages a second. The error is one sentence.
  std::expected<load::RunRecord, std::string> run(double rate);
  void tell(double rate, const std::string& why_not, const load::RunRecord& record);
  std::string answer() const;
  int finish();

  LoadJob& job_;
  const LoadArguments& words_;
  OutputFile& file_;
  load::RateSearch search_;
  Json trials_ = Json::array();
  bool interrupted_ = false;
};

std::expected<load::RunRecord, std::string> MaxFinder::run(double rate) {
  std::expected<load::ArrivalPlan, std::string> plan = load::parse_arrivals(job_.arrivals, rate, job_.options.duration);
  if (!plan) return std::unexpected(plan.error());
  job_.options.arrivals = std::move(*plan);
  LiveLine live(job_.options, words_.live);
  std::expected<load::Outcome, std::string> outcome =
      load::run_load(job_.options, *job_.protocol,
                     [&live](const load::Interval& interval, const load::Outcome&) { live.show(interval); });
  if (!outcome) return std::unexpected(outcome.error());
  return load::make_record(std::string(job_.protocol->name()), job_.request, schedule_text(job_.arrivals, rate),
                           job_.options, std::move(*outcome));
}

void MaxFinder::tell(double rate, const std::string& why_not, const load::RunRecord& record) {
  const Histogram& latency = record.outcome.total.latency;
  const auto time = [&latency](double percent) {
    return load::human_time(static_cast<double>(latency.value_at_percentile(percent)));
  };
  say(file_.report_place(),
      fmt::format("trial {:<3}{:>14}/s  achieved {:>14}/s  p50 {:>8}  p99 {:>8}  {}\n", search_.trials() + 1,
                  load::human_rate(rate), load::human_rate(record.outcome.messages_per_s()), time(50), time(99),
                  why_not.empty() ? "holds" : "does not hold: " + why_not));
  trials_.push_back({{"rate", rate},
                     {"held", why_not.empty()},
                     {"why_not", why_not},
                     {"report", Json::parse(load::report_json(record))}});
}

std::string MaxFinder::answer() const {
  const std::string asked = words_.slos.empty() ? "every message that is due is answered"
                                                : fmt::format("{} holds", fmt::join(words_.slos, " and "));
  if (!search_.answer()) return fmt::format("No rate was found at which {}.", asked);
  const std::string rate = load::human_rate(*search_.answer());
  if (search_.confirmed()) {
    return fmt::format("{}/s is the highest rate at which {}, found in {} trials{}.", rate, asked, search_.trials(),
                       search_.at_the_top() ? "; no higher rate can be tried" : "");
  }
  return fmt::format("{}/s held once, but was not confirmed: {} ({} trials).", rate,
                     interrupted_ ? "the search was interrupted" : "the trials ran out", search_.trials());
}

int MaxFinder::finish() {
  const std::string sentence = answer();
  Json json{{"schema", 1},
            {"tool", "peal load --find-max"},
            {"experiment", job_.protocol->name()},
            {"target", job_.options.target_text},
            {"objectives", words_.slos},
            {"rate", nullptr},
            {"confirmed", search_.confirmed()},
            {"sentence", sentence}};
  if (search_.answer()) json["rate"] = *search_.answer();
  json["trials"] = std::move(trials_);
  const std::string trouble =
      file_.report("the answer", sentence + "\n", json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  if (!trouble.empty()) return complain(kFailed, trouble);
  if (interrupted_) return kInterrupted;
  return search_.confirmed() ? kDone : kFailed;
}

int MaxFinder::find() {
  while (const std::optional<double> rate = search_.next()) {
    const std::expected<load::RunRecord, std::string> record = run(*rate);
    if (!record && record.error() != load::kInterruptedEarly) return complain(kFailed, record.error());
    if (!record || record->outcome.interrupted) {
      interrupted_ = true;
      break;
    }
    const std::string why_not = load::why_not_held(job_.objectives, *record);
    tell(*rate, why_not, *record);
    search_.tell(why_not.empty());
  }
  return finish();
}

}  // namespace

int find_max(LoadJob& job, const LoadArguments& words, OutputFile& json) { return MaxFinder(job, words, json).find(); }

}  // namespace peal::cli
