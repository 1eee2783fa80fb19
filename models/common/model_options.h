// SPDX-License-Identifier: BSD-3-Clause
// The options of a model. Every model uses the address, the longest body and the work. A model uses another option only
// if its row in the table of models lists that option (ModelEntry::takes). The options are plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <peal/base/clock.h>
#include <peal/base/socket_address.h>

namespace peal::models {

// The artificial work that the server does for each request, in addition to the echo.
struct Work {
  enum class Kind : uint8_t {
    kCpu,    // computes for `time`, measured by the thread's CPU clock
    kSleep,  // blocks the thread for `time` without computing, as a blocking call to a database does
  };
  Duration time{};  // 0: no work
  Kind kind = Kind::kCpu;
};

// A set of command-line options, one bit for each option. Each model has such a set in the table of models
// (model_table.h): the options that the model accepts.
enum class Takes : uint32_t {
  kNothing = 0,
  kLoopAccept = 1 << 0,          // --loop-accept
  kReadUntilEmpty = 1 << 1,      // --read-until-eagain
  kWriteOrder = 1 << 2,          // --write first|epollout
  kDynamicTimeout = 1 << 3,      // --dynamic-timeout
  kEventsPerWait = 1 << 4,       // --events
  kWorkers = 1 << 5,             // --workers
  kIoThreads = 1 << 6,           // --io-threads
  kQueueBound = 1 << 7,          // --queue-bound
  kReplyBy = 1 << 8,             // --reply-by io|worker
  kWaitForReadable = 1 << 9,     // --wait-for-readable
  kContexts = 1 << 10,           // --contexts c|boost
  kCoroutines = 1 << 11,         // --coroutines
  kServedPerLifetime = 1 << 12,  // --served-per-lifetime
  kPoller = 1 << 13,             // --poller select|poll|epoll
  kQueues = 1 << 14,             // --queues one|per-worker
  kEngine = 1 << 15,             // --engine
  kSlowTimeout = 1 << 16,        // --slow-timeout
  kOnHandOver = 1 << 17,         // --on-hand-over register|read
  kConnections = 1 << 18,        // --connections pooled|new
};
constexpr Takes operator|(Takes a, Takes b) {
  return static_cast<Takes>(static_cast<uint32_t>(a) | static_cast<uint32_t>(b));
}
constexpr bool includes(Takes set, Takes option) {
  return (static_cast<uint32_t>(set) & static_cast<uint32_t>(option)) != 0;
}

enum class WriteOrder : uint8_t {
  kFirst,         // writes immediately, and waits until the socket is writable only if a part is left
  kWhenWritable,  // first waits until the socket is writable, then writes
};
enum class ReplyBy : uint8_t { kIoThread, kWorker };
enum class Contexts : uint8_t { kC, kBoost };
enum class PollerKind : uint8_t { kSelect, kPoll, kEpoll };
enum class Queues : uint8_t { kPerWorker, kOne };
// Says what a worker does first with a connection that the accepting thread has passed to it.
enum class OnHandOver : uint8_t {
  kRegister,  // registers the connection for reading, and reads when bytes have arrived
  kRead,      // reads immediately, answers the frames that have arrived, then registers the connection
};
// Says where the object of a new connection comes from. The object contains the connection's buffer.
enum class Connections : uint8_t {
  kPooled,  // from a pool of objects whose connections have ended; the memory of the pool is never freed
  kNew,     // from the allocator; the object is freed when the connection ends
};

struct ModelOptions {
  SocketAddress listen;
  size_t max_body_bytes = 1024 * 1024;  // a frame that announces a longer body ends its connection
  Work work;

  bool loop_accept = true;        // true: accepts until the backlog is empty; false: accepts one per event
  bool read_until_empty = false;  // true: reads until EAGAIN; false: reads once for each event
  WriteOrder write_order = WriteOrder::kFirst;
  bool dynamic_timeout = false;  // true: after a wait that returned events, the next wait does not sleep
  size_t events_per_wait = 256;
  size_t workers = 1;  // threads or processes; the default of the command is one per CPU
  size_t io_threads = 1;
  size_t queue_bound = 1024;  // entries in the queue between I/O threads and workers
  ReplyBy reply_by = ReplyBy::kWorker;
  bool wait_for_readable = false;  // true: a connection is handed over when its first bytes have arrived
  Contexts contexts = Contexts::kC;
  size_t coroutines = 5000;           // connections served at the same time; further ones wait, and are counted
  size_t served_per_lifetime = 3000;  // after this number of connections, a new process accepts; 0: never
  PollerKind poller = PollerKind::kEpoll;
  Queues queues = Queues::kPerWorker;
  OnHandOver on_hand_over = OnHandOver::kRegister;
  Connections connections = Connections::kPooled;
  std::string engine = "auto";
  // Limits how long a connection may stay in the middle of a frame or an answer without progress. After this time, the
  // server closes the connection. For example, the client has sent only a part of a frame, or does not read its answer.
  // 0 means no limit.
  Duration slow_timeout = std::chrono::seconds(10);
};

}  // namespace peal::models
