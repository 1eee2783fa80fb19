// SPDX-License-Identifier: BSD-3-Clause
// What a model may be told. A model looks at the fields its row of the table names (ModelEntry::takes) and at those
// everybody has: where, the longest body, the work. Plain values, no I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <peal/base/clock.h>
#include <peal/base/socket_address.h>

namespace peal::models {

// What a request costs besides its echo.
struct Work {
  enum class Kind : uint8_t {
    kCpu,    // computes for so long, on the thread's own clock
    kSleep,  // holds its thread for so long without computing, as a blocking call to a database does
  };
  Duration time{};  // 0: nothing
  Kind kind = Kind::kCpu;
};

// Options a model can have; a row of the table lists its own.
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
  kCoroutines = 1 << 11,         // --coroutines: how many there may be
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
  kFirst,         // write at once; wait for writability only for what did not fit
  kWhenWritable,  // ask for writability first, write when it is reported
};
enum class ReplyBy : uint8_t { kIoThread, kWorker };
enum class Contexts : uint8_t { kC, kBoost };
enum class PollerKind : uint8_t { kSelect, kPoll, kEpoll };
enum class Queues : uint8_t { kPerWorker, kOne };
// What becomes of a connection when whoever will serve it takes it.
enum class OnHandOver : uint8_t {
  kRegister,  // it is registered for reading, and read when something has come
  kRead,      // it is read at once, whatever is there is answered, and then it is registered
};
// Where the object of a connection comes from, its buffer included.
enum class Connections : uint8_t {
  kPooled,  // from a list of those whose connections have ended; memory is never given back
  kNew,     // from the allocator each time, and back to it
};

struct ModelOptions {
  SocketAddress listen;
  size_t max_body_bytes = 1024 * 1024;  // a frame that announces more closes its connection
  Work work;

  bool loop_accept = true;        // accept until nobody waits, not one a readiness
  bool read_until_empty = false;  // read until EAGAIN, not once a readiness
  WriteOrder write_order = WriteOrder::kFirst;
  bool dynamic_timeout = false;  // after a wait that brought something the next one does not sleep
  size_t events_per_wait = 256;
  size_t workers = 1;  // threads or processes; the command fills in one per CPU
  size_t io_threads = 1;
  size_t queue_bound = 1024;  // requests between I/O threads and workers
  ReplyBy reply_by = ReplyBy::kWorker;
  bool wait_for_readable = false;  // the main reactor hands over a connection once its first bytes are there
  Contexts contexts = Contexts::kC;
  size_t coroutines = 5000;           // connections served at a time; more wait, and are counted
  size_t served_per_lifetime = 3000;  // connections after which a process makes room for a fresh one; 0: never
  PollerKind poller = PollerKind::kEpoll;
  Queues queues = Queues::kPerWorker;
  OnHandOver on_hand_over = OnHandOver::kRegister;
  Connections connections = Connections::kPooled;
  std::string engine = "auto";
  // A connection that stopped in the middle of a frame, or does not take its answer, is closed after this; 0: never.
  Duration slow_timeout = std::chrono::seconds(10);
};

}  // namespace peal::models
