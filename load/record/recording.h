// SPDX-License-Identifier: BSD-3-Clause
// Recording: what one thread saw and cost between two instants. A lane fills it; at an instant it hands the recording
// over whole and goes on with a fresh one, so nobody reads what somebody else writes. Recordings of a lane's successive
// spans, and of several lanes, add up.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include <peal/base/clock.h>
#include <peal/observe/histogram.h>

namespace peal::load {

// 1 ns to 100 s in 3 digits: 216 KiB. What is longer is clamped, counted, and a gate says so.
inline constexpr HistogramOptions kLatencyRange{.lowest = 1, .highest = 100'000'000'000, .significant_digits = 3};

// Failures by kind: how many, and the first of each as a sentence.
struct Failures {
  struct Kind {
    uint64_t count = 0;
    std::string first;
  };
  std::map<std::string, Kind> kinds;

  void add(const std::string& kind, const std::string& sentence, uint64_t count = 1);
  void add(const Failures& other);
  uint64_t count() const;
  bool empty() const { return kinds.empty(); }
};

// Of a layer, TLS say.
struct Handshakes {
  Histogram times{kLatencyRange};  // of those that were done: a layer open minus TCP open
  uint64_t resumed = 0;            // of them, those that went on with an earlier session
  uint64_t failed = 0;
  std::string agreed;  // what the first has agreed on: "TLSv1.3, TLS_AES_128_GCM_SHA256"; empty: not known

  uint64_t done() const { return times.total_count(); }
  uint64_t full() const { return done() - resumed; }
  void add(const Handshakes& other);
};

// With LoadOptions::expect_queueing: connections whose turn had not come when the run ended.
struct Queued {
  size_t connections = 0;   // on which nothing ever came back, since they were opened (again)
  size_t unopened = 0;      // of them, those that the server's full backlog did not even let open
  uint64_t messages = 0;    // sent on them
  size_t being_served = 0;  // beside them: connections open then on which something has come back
  uint64_t bytes_owed = 0;  // sent on them, of what an echo would bring back

  void add(const Queued& other);
};

struct Counts {
  uint64_t messages = 0;  // came back as they should
  uint64_t wrong = 0;     // whole answers that were not what was asked for (a status, a length); among the failures too
  uint64_t reads = 0;     // chunks they came in
  uint64_t bytes_received = 0;
  uint64_t bytes_sent = 0;     // given to the engine
  uint64_t late_for_want = 0;  // open loop: sent late because every connection was busy when it was due
  uint64_t shed = 0;           // open loop: past the deadline before they could be sent, so never sent
  uint64_t attempts = 0;       // connections tried
  uint64_t connects = 0;       // of them, those that opened
  uint64_t under_way = 0;      // of them, those that the end cut off before it was known: nobody's failure
  uint64_t retired = 0;        // connections closed because they had carried their requests, or the server said so
  uint64_t idle_closes = 0;    // of them, those that the server closed without a word while nothing was asked on them

  void add(const Counts& other);
};

// Their names in JSON, in its order.
struct CountName {
  const char* name;
  uint64_t Counts::* count;
  bool in_all = true;  // no: records of 0.1 have none
};
inline constexpr CountName kCountNames[] = {{"messages", &Counts::messages},
                                            {"wrong", &Counts::wrong},
                                            {"reads", &Counts::reads},
                                            {"bytes_received", &Counts::bytes_received},
                                            {"bytes_sent", &Counts::bytes_sent},
                                            {"late_for_want", &Counts::late_for_want},
                                            {"shed", &Counts::shed},
                                            {"attempts", &Counts::attempts},
                                            {"connects", &Counts::connects},
                                            {"under_way", &Counts::under_way, false},
                                            {"retired", &Counts::retired},
                                            {"idle_closes", &Counts::idle_closes, false}};

// Which histograms a recording has.
struct RecordingParts {
  bool open_loop = false;
  bool first_byte = false;  // answers begin before they end
  bool handshake = false;   // connections run over a layer that shakes hands
};

struct Recording {
  explicit Recording(const RecordingParts& parts);
  // Adds a recording of the next time span, or of another thread. Everything is summed, `span` too. If only one of
  // the two has a histogram, that is the sum.
  void add(const Recording& other);

  Counts counts;
  Duration span{};  // between the two instants
  Duration cpu{};   // of the thread, spinning included
  Duration spin{};  // spent looking at the clock and the sockets because a send was nearly due
  // Latency counts from when a message was due, service from when it was sent. Closed loop: the two are the same, and
  // only `latency` is there.
  Histogram latency{kLatencyRange};
  std::optional<Histogram> service;
  std::optional<Histogram> send_lag;    // sent minus due
  std::optional<Histogram> first_byte;  // of an answer, minus sent
  Histogram connect{kLatencyRange};     // TCP open minus tried
  std::optional<Histogram> handshake;   // a layer open minus TCP open
};

}  // namespace peal::load
