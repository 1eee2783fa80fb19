// SPDX-License-Identifier: BSD-3-Clause
// MadeUpDuel: for tests, the record of a duel that was never played. The test sets what each contender costs, and how
// much this cost varies between restarts. Nothing is random. In each round, a contender costs cost * (1 + scatter of
// the restart). So the ratio of each pair and its confidence interval are known.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <load/duel/duel_record.h>

namespace peal::load {

class MadeUpDuel {
 public:
  // A function that may change a slice before the slice is stored in the record. If the function returns false, the
  // slice is not stored.
  using Change = std::function<bool(SliceRecord& slice)>;

  static constexpr uint64_t kMessages = 1000;
  static constexpr Duration kSpan = std::chrono::milliseconds(20);
  static constexpr Duration kServerCpu = std::chrono::milliseconds(10);  // 10 us per message
  static constexpr Duration kClientCpu = std::chrono::milliseconds(8);

  // Makes a duel of `programs` programs, named "a", "b" and so on, and of a twin of "a". `scatter` says how much the
  // cost of a contender varies between restarts. The cost is multiplied by 1 + scatter in the restarts 0, 2, 4 and so
  // on, and by 1 - scatter in the other restarts. The only exception is "a" itself, whose cost is the same in all
  // restarts.
  explicit MadeUpDuel(size_t programs, size_t restarts = 8, double scatter = 0.001) : scatter_(scatter) {
    std::vector<DuelContender> contenders;
    for (size_t i = 0; i < programs; ++i) {
      const std::string name(1, static_cast<char>('a' + i));
      contenders.push_back({.name = name, .command = {name, "{listen}"}, .target_text = {}, .target = {}, .pid = {}});
    }
    record_.options.contenders = with_twin(std::move(contenders));
    record_.options.rounds = 2;
    record_.experiment = "pingpong";
    record_.request = "64 bytes";
    record_.schedule = "closed loop";
    record_.engine = "epoll";
    record_.restarts = restarts;
    record_.sides.resize(record_.options.contenders.size());
  }

  DuelOptions& options() { return record_.options; }
  DuelRecord& record() { return record_; }

  void claim(const std::string& text) {
    options().claims.push_back(parse_claim(text, options().contenders, options().headline()).value());
  }

  // Makes the slices of the duel and returns the record. ratios[i] is the cost of contender i. The server CPU time and
  // the latency of the contender are multiplied by this cost, and its rate is divided by this cost. If `ratios` has
  // fewer numbers than there are contenders, the missing costs are 1. Calls `change` for each slice.
  const DuelRecord& play(std::vector<double> ratios, const Change& change = {}) {
    ratios.resize(options().contenders.size(), 1);
    record_.slices.clear();
    for (DuelSideRecord& side : record_.sides) side.latency_by_restart.assign(record_.restarts, {});
    for (size_t restart = 0; restart < record_.restarts; ++restart) {
      for (size_t round = 0; round < options().rounds; ++round) {
        for (size_t i = 0; i < ratios.size(); ++i) {
          const double cost = ratios[i] * (i == 0 ? 1 : 1 + (restart % 2 == 0 ? scatter_ : -scatter_));
          SliceRecord slice = slice_that_costs(cost);
          slice.restart = restart;
          slice.round = round;
          slice.place = i;
          slice.contender = i;
          if (change && !change(slice)) continue;
          record_.sides[i].latency_by_restart[restart] = {.p50_ns = slice.p50_ns, .p99_ns = slice.p99_ns};
          record_.slices.push_back(slice);
        }
      }
    }
    return record_;
  }

 private:
  static SliceRecord slice_that_costs(double cost) {
    const auto scaled = [cost](Duration time) {
      return Duration(static_cast<int64_t>(cost * static_cast<double>(time.count())));
    };
    return {.messages = kMessages,
            .span = scaled(kSpan),
            .server_cpu = scaled(kServerCpu),
            .client_cpu = kClientCpu,
            .p50_ns = static_cast<int64_t>(cost * 100'000),
            .p99_ns = static_cast<int64_t>(cost * 300'000)};
  }

  const double scatter_;
  DuelRecord record_;
};

}  // namespace peal::load
