// SPDX-License-Identifier: BSD-3-Clause
// metrics_peal KIND COUNT does one thing COUNT times. The kinds:
// - nothing: an empty loop, whose cost is subtracted from that of the others.
// - counter: Counter::add().
// - gauge: Gauge::set().
// - gauge_add: Gauge::add().
// - times: TimeHistogram::record(), with times from 1 us to 1 ms.
#include <cstdlib>
#include <string_view>

#include <peal/observe/metrics.h>

using namespace peal;

namespace {

Counter counter("orders_total", "Orders accepted.");
Gauge gauge("waiting_orders", "Orders that wait.");
TimeHistogram times("order_seconds", "Time from an order to its answer.");

// Keeps the compiler from moving anything out of the loop.
void keep_here() { asm volatile("" ::: "memory"); }

template <class Act>
int repeat(long count, Act act) {
  for (long i = 0; i < count; ++i) {
    act(i);
    keep_here();
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string_view kind = argv[1];
  const long count = std::atol(argv[2]);
  if (kind == "nothing") return repeat(count, [](long) {});
  if (kind == "counter") return repeat(count, [](long) { counter.add(); });
  if (kind == "gauge") return repeat(count, [](long) { gauge.set(12); });
  if (kind == "gauge_add") return repeat(count, [](long) { gauge.add(1); });
  if (kind == "times") return repeat(count, [](long i) { times.record(Duration(1'000 + (i & 0xFFFFF))); });
  return 2;
}
