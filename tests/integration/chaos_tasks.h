// SPDX-License-Identifier: BSD-3-Clause
// The ends of connections in chaos_test.cc that use coroutines (tasks). One task reads the stream and one writes to it.
// They use every kind of read and write, wait, time out, get cancelled and leave the stream early. All run on the
// test's thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <peal/coro/co_server.h>
#include <peal/coro/connect.h>
#include <peal/coro/scope.h>
#include <peal/coro/sleep.h>
#include <peal/sync/select.h>
#include <tests/integration/chaos_hosts.h>

namespace peal::test {

// One end of a connection. Two tasks use its stream: one reads and one writes.
class ChaosTask {
 public:
  ChaosTask(ChaosWorld& world, bool is_server, Stream stream)
      : world_(world), record_(world.add_record()), ear_(world, record_), stream_(std::move(stream)) {
    record_.is_server = is_server;
    record_.is_task = true;
    record_.stream = &stream_;
    record_.paused = true;
    writes_left_ = 1 + static_cast<int>(world.pick(25));
    reads_left_ = 1 + static_cast<int>(world.pick(40));
    tame_ = world.one_in(2);
  }
  ~ChaosTask() {
    record_.reason = stream_.close_reason();
    record_.unsure = record_.unsure || !record_.reason;
    if (!record_.fin_came) record_.received = ear_.heard();
    record_.stream = nullptr;
    record_.owner_gone = record_.unsure;
  }
  ChaosTask(const ChaosTask&) = delete;
  ChaosTask& operator=(const ChaosTask&) = delete;

  static Task<> run(ChaosWorld& world, bool is_server, Stream stream) {
    ChaosTask task(world, is_server, std::move(stream));
    Loop& loop = is_server ? world.here() : world.there();
    Scope scope(loop);
    scope.spawn(task.write_all());
    scope.spawn(task.read_all(scope));
    if (world.one_in(5)) {
      const Doing doing(world);
      const Duration time = world.span(300);
      static_cast<void>(co_await sleep(time));
      scope.cancel();
    }
    static_cast<void>(co_await scope.join());
    if (is_server && world.violent && world.one_in(6)) throw 0;
  }

 private:
  // Adds 1 to acts_under_way while the object exists. A task has such an object while the task sleeps, because the task
  // will act again after the sleep. The test waits until acts_under_way is 0, so the test does not end before these
  // acts.
  struct Doing {
    explicit Doing(ChaosWorld& its_world) : world(its_world) { ++world.acts_under_way; }
    ~Doing() { --world.acts_under_way; }
    Doing(const Doing&) = delete;
    Doing& operator=(const Doing&) = delete;
    ChaosWorld& world;
  };
  // Sets `flag` to `its_value`. The destructor restores the old value. During a read, ChaosRecord::paused is false.
  // During a write or a flush, ChaosRecord::waits_for_writable is true. The test reads both flags to know what each end
  // waits for (unrest() in chaos_test.cc).
  struct Waiting {
    Waiting(bool& its_flag, bool its_value) : flag(its_flag), before(std::exchange(its_flag, its_value)) {}
    ~Waiting() { flag = before; }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
    bool& flag;
    const bool before;
  };

  Task<> rest(size_t most_milliseconds) {
    const Doing doing(world_);
    const Duration time = world_.span(most_milliseconds);
    static_cast<void>(co_await sleep(time));
  }
  Task<> read_all(Scope& scope) {
    bool goes_on = true;
    while (goes_on) {
      goes_on = co_await read_some();
      if (reads_left_ > 0 && world_.one_in(6)) co_await rest(100);
      if (reads_left_ > 0 && world_.one_in(60)) break;
      --reads_left_;
    }
    if (world_.one_in(3)) co_return;
    scope.cancel();
  }
  // Makes one read of a random kind, for example read_until() or a read with a timeout. Returns false if nothing more
  // can be read.
  Task<bool> read_some() {
    const Waiting waiting(record_.paused, false);
    switch (reads_left_ > 0 ? world_.pick(8) : 0) {
      case 1: {
        const Duration time = world_.span(50);
        Result<Buffer> read = co_await stream_.read().within(time);
        co_return take(std::move(read));
      }
      case 2:
      case 3: {
        const size_t bytes = 1 + world_.pick(5'000);
        Result<Buffer> read = co_await stream_.read_exactly(bytes);
        co_return take(std::move(read));
      }
      case 4: {
        const size_t most = 1 + world_.pick(4'000);
        Result<Buffer> read = co_await stream_.read_until("\n", most);
        co_return take(std::move(read));
      }
      case 5: {
        const Duration time = world_.span(30);
        auto chosen = co_await select(stream_.read(), sleep(time));
        if (!chosen) co_return false;
        if (auto* read = std::get_if<0>(&*chosen)) co_return take(std::move(*read));
        co_return true;
      }
      case 6: {
        const size_t bytes = 1 + world_.pick(20'000);
        const Duration time = world_.span(30);
        auto chosen = co_await select(stream_.read_exactly(bytes), sleep(time));
        if (!chosen) co_return false;
        if (auto* read = std::get_if<0>(&*chosen)) co_return take(std::move(*read));
        co_return true;
      }
      default: {
        Result<Buffer> read = co_await stream_.read();
        co_return take(std::move(read));
      }
    }
  }
  bool take(Result<Buffer> read) {
    // A read may fail although the stream has more input. take() then returns true, so that the task reads again.
    // take() does so after three errors:
    // - ETIMEDOUT: the read has taken too long, but the connection is still open.
    // - EMSGSIZE: the line is longer than the limit, and the connection is still open.
    // - ENODATA: the input has ended inside a message. The incomplete message can still be read.
    if (!read) {
      const std::error_code error = read.error();
      const bool may_go_on = error == errno_code(ETIMEDOUT) || error == errno_code(EMSGSIZE);
      return (may_go_on && stream_.connection() != nullptr) || error == errno_code(ENODATA);
    }
    if (read->empty()) {
      world_.check(!record_.fin_came || record_.received == ear_.heard(), record_,
                   "bytes arrived after the peer's FIN");
      record_.fin_came = true;
      record_.received = ear_.heard();
      return false;
    }
    world_.check(!record_.fin_came, record_, "bytes arrived after the peer's FIN");
    ear_.hear(read->view());
    return true;
  }
  // g++ 12 compiles some co_await expressions wrongly. To avoid this bug, co_await is never inside a condition, and all
  // arguments of an awaited call are variables or constants.
  Task<> write_all() {
    bool goes_on = co_await write(ChaosRecord::kHeadBytes, 0);
    for (; goes_on && writes_left_ > 0; --writes_left_) {
      const size_t most_milliseconds = world_.one_in(8) ? 400 : 12;
      if (world_.one_in(3)) co_await rest(most_milliseconds);
      goes_on = co_await write_something();
    }
  }
  // Performs one random action on the output, for example a write. Returns false if nothing more can be written.
  Task<bool> write_something() {
    const size_t what = world_.pick(tame_ ? 30 : 33);
    if (what < 24) {
      const size_t size = 1 + world_.pick(world_.one_in(4) ? 60'000 : 2'000);
      const size_t how = world_.pick(3);
      co_return co_await write(size, how);
    }
    if (what < 29) {
      const Waiting waiting(record_.waits_for_writable, true);
      const Result<void> flushed = co_await stream_.flush();
      co_return flushed.has_value();
    }
    if (what == 29) co_return co_await turn();
    if (what == 30) stream_.shutdown_send();
    if (what == 31) stream_.close();
    if (what == 32) stream_.abort();
    co_return false;
  }
  Task<bool> write(size_t size, size_t how) {
    if (stream_.connection() == nullptr || record_.is_mute) co_return stream_.connection() != nullptr;
    const std::string bytes = record_.own(record_.sent, size);
    const uint64_t before = record_.sent;
    world_.check(stream_.connection()->sent_bytes() == before, record_,
                 "sent_bytes() is not the number of bytes written");
    record_.sent += size;
    Result<void> done;
    {
      const Waiting waiting(record_.waits_for_writable, true);
      if (how == 0) done = co_await stream_.write(bytes);
      Buffer buffer(bytes);
      if (how == 1) done = co_await stream_.write(std::move(buffer));
      const FileRange range{
          .file = ChaosBytes::get().file(), .offset = ChaosBytes::place_of(record_.id, before), .bytes = size};
      if (how == 2) done = co_await stream_.send_file(range);
    }
    Connection* const connection = stream_.connection();
    if (connection == nullptr) {
      record_.unsure = true;
      co_return false;
    }
    record_.sent = connection->sent_bytes();
    const uint64_t accepted = record_.sent - before;
    world_.check(
        accepted == size || (!done && accepted == 0), record_,
        fmt::format("write() accepted {} of {} bytes: {}", accepted, size, done ? "ok" : done.error().message()));
    co_return done.has_value();
  }
  // Starts TLS and waits until the handshake has ended. Returns false if sending or the handshake fails. If one of
  // these conditions is not met, does nothing and returns true:
  // - The test has ChaosLayer::kLater.
  // - This end is the server's, has not started TLS yet and can still send.
  // - The client uses callbacks, not tasks. Only such a client starts TLS when the server has started it.
  // - The client's id and all bytes that the client has sent have arrived.
  //
  // Before TLS starts, this end sends 1 to 50 more bytes. Meanwhile, and until its TLS handshake has ended, the client
  // sends no data. Data without TLS would make the server's handshake fail.
  Task<bool> turn() {
    if (world_.layer != ChaosLayer::kLater || record_.layer_at || stream_.connection() == nullptr) co_return true;
    ChaosRecord* const peer = record_.peer != nullptr ? &world_.records[record_.peer->id] : nullptr;
    if (!record_.is_server || peer == nullptr || peer->sent != ear_.heard() || peer->is_task) co_return true;
    if (!stream_.connection()->can_send()) co_return true;
    peer->is_mute = true;
    const size_t size = 1 + world_.pick(50);
    const bool written = co_await write(size, 0);
    if (!written || stream_.connection() == nullptr) co_return false;
    record_.layer_at = record_.sent;
    const Result<void> secured = co_await stream_.start_layer();
    record_.secured = secured.has_value();
    co_return record_.secured;
  }

  ChaosWorld& world_;
  ChaosRecord& record_;
  ChaosEar ear_;
  Stream stream_;
  int writes_left_ = 0;
  int reads_left_ = 0;
  bool tame_ = false;
};

// A server, and several clients that use their connections with coroutine tasks instead of callbacks.
class ChaosTasks {
 public:
  explicit ChaosTasks(ChaosWorld& world) : world_(world), clients_(std::in_place, world.there()) { make(); }
  ~ChaosTasks() {
    server_.reset();
    clients_->cancel();
    if (clients_->size() > 0) world_.end_loops();
  }
  ChaosTasks(const ChaosTasks&) = delete;
  ChaosTasks& operator=(const ChaosTasks&) = delete;

  const SocketAddress& address() const { return address_; }
  size_t connections() const { return server_->server().connections() + server_->tasks() + clients_->size(); }
  void call(const SocketAddress& address) { clients_->spawn(talk(address)); }
  void check_end() {
    const NetStats stats = server_->stats();
    world_.check(stats.opened == stats.closed, "the server of tasks counts more connections opened than closed");
  }

 private:
  void make() {
    ServerOptions options;
    options.connection = chaos_limits(world_);
    if (world_.layer != ChaosLayer::kPlain) options.connection.layer = &world_.layers->server();
    if (world_.one_in(6)) options.max_connections = 1 + world_.pick(8);
    server_ = std::make_unique<CoServer>(
        world_.here(), [this](Stream stream) { return ChaosTask::run(world_, true, std::move(stream)); }, options);
    const SimOptions faults = world_.sim ? std::exchange(world_.sim->options(), {}) : SimOptions();
    const Result<SocketAddress> bound = server_->listen(world_.address());
    if (world_.sim) world_.sim->options() = faults;
    world_.check(bound.has_value(), "a server of tasks cannot listen");
    if (bound) address_ = *bound;
    if (!world_.violent || !world_.one_in(2)) return;
    ++world_.acts_under_way;
    world_.here().after(world_.span(600), [this, &world = world_] {
      --world.acts_under_way;
      if (world.over) return;
      if (world_.one_in(2)) return server_->server().drain(world_.span(300), [](const DrainReport&) {});
      server_.reset();
      make();
    });
  }
  Task<> talk(SocketAddress address) {
    ClientOptions options;
    options.connection = chaos_limits(world_);
    if (world_.layer != ChaosLayer::kPlain) options.connection.layer = &world_.layers->client();
    if (world_.layers) options.connect.host = world_.layers->host();
    options.connect_timeout = seconds(1);
    options.retry = {.attempts = 2, .first_delay = milliseconds(1), .seed = world_.seed};
    const std::string text = address.to_string();
    auto stream = co_await connect(text, options);
    if (stream) co_await ChaosTask::run(world_, false, std::move(*stream));
  }

  ChaosWorld& world_;
  std::unique_ptr<CoServer> server_;
  SocketAddress address_;
  std::optional<Scope> clients_;
};

}  // namespace peal::test
