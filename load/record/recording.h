// SPDX-License-Identifier: BSD-3-Clause
// Recording: what one thread of a run has measured in a span of time. At the end of the span, the thread hands over the
// whole Recording and continues with a new one. So no Recording is read while another thread writes it. Recordings of
// successive spans and of several threads can be added up.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <peal/base/clock.h>
#include <peal/observe/histogram.h>

namespace peal::load {

// The range of all histograms of times: 1 ns to 100 s, with 3 significant digits. Each histogram takes 224 KiB. A
// longer time is recorded as 100 s, and is counted as clamped. A run with a clamped time gets the verdict INVALID,
// because the true time is not known. Clamped times of messages in the warm-up do not count, because the warm-up is not
// part of the result.
inline constexpr HistogramOptions kLatencyRange{.lowest = 1, .highest = 100'000'000'000, .significant_digits = 3};

// The kind of the failures whose answer had the wrong HTTP status is this text and the status: "status_404".
inline constexpr std::string_view kStatusKind = "status_";

// The failures of a run, grouped by kind. Each kind has a count, and a sentence about its first failure.
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

// Counts and durations of handshakes. A handshake is made by the protocol layer over TCP, for example by TLS.
struct Handshakes {
  Histogram times{kLatencyRange};  // durations of the finished handshakes; a handshake begins when TCP is open
  uint64_t resumed = 0;            // finished handshakes that resumed an earlier session
  uint64_t failed = 0;
  // The protocol and cipher of the first handshake, e.g. "TLSv1.3, TLS_AES_128_GCM_SHA256". Empty if the protocol and
  // cipher are not known. After add(), those of several first handshakes, joined by " and " if they differ.
  std::string agreed;

  uint64_t done() const { return times.total_count(); }
  uint64_t full() const { return done() - resumed; }
  void add(const Handshakes& other);
};

// Counts of the connections that were still waiting for the server when the run ended. A connection is waiting if
// messages were sent on the connection and no byte has come back. A connection that did not open in time is waiting,
// too. The counts are used only if LoadOptions::expect_queueing is true, because the server is then expected to serve
// only some connections at a time.
struct Queued {
  size_t connections = 0;   // connections on which nothing came back since they were last opened
  size_t unopened = 0;      // of `connections`, those that did not open within --connect-timeout
  uint64_t messages = 0;    // messages that were sent on these connections
  size_t being_served = 0;  // other connections, which were open at the end and had been answered
  uint64_t bytes_owed = 0;  // bytes that an echo server would still send back on `connections`

  void add(const Queued& other);
};

struct Counts {
  uint64_t messages = 0;  // messages that were answered correctly
  // Complete answers whose status, length or body is wrong. Each wrong answer is also counted as a failure.
  uint64_t wrong = 0;
  uint64_t reads = 0;  // chunks of bytes that were received
  uint64_t bytes_received = 0;
  uint64_t bytes_sent = 0;     // bytes given to the engine
  uint64_t late_for_want = 0;  // open loop: messages sent late because no connection was free in time
  uint64_t shed = 0;           // open loop: messages never sent, because their deadline passed first
  uint64_t attempts = 0;       // attempts to open a connection
  uint64_t connects = 0;       // successful attempts to open a connection
  uint64_t under_way = 0;      // attempts that were not finished when the run ended; they are not failures
  uint64_t retired = 0;        // connections closed after their last request, or because the server closed them
  // Connections that the server closed while no request was waiting for an answer. A close that the server has
  // announced, e.g. by "Connection: close", is not counted here. The counter `retired` includes all connections that
  // are counted here.
  uint64_t idle_closes = 0;

  void add(const Counts& other);
};

// Connects a field of Counts with its name in the JSON report. The array kCountNames lists all fields, in the order of
// the report.
struct CountName {
  const char* name;
  uint64_t Counts::* count;
  bool in_all = true;  // false if reports of version 0.1 do not have it
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

// Says which optional histograms a Recording has. The histograms `latency` and `connect` are not optional: each
// Recording has them.
struct RecordingParts {
  bool open_loop = false;
  bool first_byte = false;  // true: the first byte of an answer is timed, too
  bool handshake = false;   // true: connections have a handshake, e.g. of TLS
};

struct Recording {
  explicit Recording(const RecordingParts& parts);
  // Adds all figures of `other`, which is from another thread or from a later time. The lengths `span` are added even
  // if two threads have recorded at the same time. So the sum divided by the number of threads is the mean length.
  // After the call, this Recording has each optional histogram that at least one of the two had.
  void add(const Recording& other);

  Counts counts;
  Duration span{};  // length of the time span that this Recording covers
  Duration cpu{};   // CPU time of the thread, `spin` included
  Duration spin{};  // time spent polling because a message had to be sent soon
  // `latency` and `service` contain times of messages that were answered correctly:
  // - In an open loop, `latency` is the time from the scheduled time of a message to its answer. `service` is the time
  //   from when the message was sent to its answer.
  // - In a closed loop, `latency` is the time from when the message was sent to its answer. `service` is unset, because
  //   a closed loop has no schedule, so that `service` would add nothing to `latency`.
  // If the server closes a connection and the close is no failure, unanswered messages are sent again on a new
  // connection. For these messages, `latency` in a closed loop begins at the first sending, and `service` begins at the
  // last one.
  Histogram latency{kLatencyRange};
  std::optional<Histogram> service;
  std::optional<Histogram> send_lag;    // from the scheduled time of a message to when it was sent
  std::optional<Histogram> first_byte;  // from when a message was sent to the first byte of its answer
  Histogram connect{kLatencyRange};     // from the attempt to connect to the open TCP connection
  std::optional<Histogram> handshake;   // from the open TCP connection to the end of the handshake
};

}  // namespace peal::load
