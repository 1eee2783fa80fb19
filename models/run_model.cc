// SPDX-License-Identifier: BSD-3-Clause
#include <models/run_model.h>

#include <unistd.h>

#include <string>
#include <utility>

#include <fmt/format.h>

#include <models/common/plain_sockets.h>
#include <peal/engine/engines.h>

namespace peal::models {
namespace {

std::string listen_trouble(const SocketAddress& address, std::error_code error) {
  return fmt::format("cannot listen on {}: {}", address.to_string(), error.message());
}

std::string run_trouble(const ModelEntry& model, const std::string& why) {
  return fmt::format("{} cannot run: {}", model.name, why);
}

constexpr const char* kUntold = "the address that the model listens at could not be reported";

// The destructor deletes the file of a unix socket. A forked worker process has a copy of this object. In the worker,
// the destructor deletes nothing, because the parent process still needs the file.
class SocketFile {
 public:
  explicit SocketFile(const SocketAddress& address) : path_(address.unix_path()), owner_(::getpid()) {}
  ~SocketFile() {
    if (!path_.empty() && ::getpid() == owner_) ::unlink(path_.c_str());
  }
  SocketFile(const SocketFile&) = delete;
  SocketFile& operator=(const SocketFile&) = delete;

 private:
  const std::string path_;
  const pid_t owner_;
};

using Done = std::expected<void, std::string>;

// Opens a listener at options.listen and runs the model with it. If the port in options.listen is 0, the kernel chooses
// a port. This function then stores that port in options.listen.
Done listen_and_run(const ModelEntry& model, ModelOptions& options, const OnListening& on_listening, const Stop& stop,
                    Statistics& statistics) {
  const Blocking blocking = model.blocking_listener ? Blocking::kYes : Blocking::kNo;
  if (model.own_listeners) {
    // This model has several listeners with the same address (SO_REUSEPORT). If another program also listened at this
    // address with SO_REUSEPORT, the kernel would share the connections between the two programs. Therefore this block
    // first opens a listener without SO_REUSEPORT. If another program listens at the address, opening this listener
    // fails with EADDRINUSE. The end of the block closes the listener again.
    Result<Fd> alone = listen_at(options.listen, blocking);
    if (!alone) return std::unexpected(listen_trouble(options.listen, alone.error()));
  }
  Result<Fd> listener = listen_at(options.listen, blocking, model.own_listeners ? Shared::kYes : Shared::kNo);
  if (!listener) return std::unexpected(listen_trouble(options.listen, listener.error()));
  const SocketFile file(options.listen);
  Result<SocketAddress> bound = address_of_socket(listener->get());
  if (!bound) return std::unexpected(listen_trouble(options.listen, bound.error()));
  options.listen = *bound;
  if (!on_listening(*bound)) return std::unexpected(kUntold);
  ModelRun run{options, std::move(*listener), stop, statistics};
  if (Result<void> done = model.run(run); !done) return std::unexpected(run_trouble(model, done.error().message()));
  return {};
}

// Runs a model that opens its own listener. The model calls on_listening as soon as its listener is open. If the model
// fails before this call, the returned error begins with "cannot listen on", even if the opening of the listener was
// not the step that failed.
Done run_listener(const ModelEntry& model, ModelOptions& options, const OnListening& on_listening, const Stop& stop,
                  Statistics& statistics) {
  bool listens = false;
  bool told = false;
  ModelRun run{options, {}, stop, statistics, [&](const SocketAddress& address) {
                 listens = true;
                 told = on_listening(address);
                 return told;
               }};
  const Result<void> done = model.run(run);
  if (!done && !listens) return std::unexpected(listen_trouble(options.listen, done.error()));
  if (!done) return std::unexpected(run_trouble(model, done.error().message()));
  if (!told) return std::unexpected(kUntold);
  return {};
}

}  // namespace

std::expected<std::string, std::string> run_model(const ModelEntry& model, ModelOptions options,
                                                  const OnListening& on_listening) {
  if (model.own_listeners && !options.listen.is_ip()) {
    return std::unexpected(
        fmt::format("{} needs an IP address, because each of its workers has its own listener", model.name));
  }
  if (model.io_uring) {
    if (const std::string why = why_unsupported("io_uring"); !why.empty()) {
      return std::unexpected(run_trouble(model, why));
    }
  }
  Result<Statistics> statistics = Statistics::make();
  if (!statistics)
    return std::unexpected(
        fmt::format("cannot allocate the memory of the statistics: {}", statistics.error().message()));
  Result<Stop> stop = Stop::make();
  if (!stop) return std::unexpected(fmt::format("cannot wait for signals: {}", stop.error().message()));
  const auto run = model.listens_itself ? run_listener : listen_and_run;
  if (Done done = run(model, options, on_listening, *stop, *statistics); !done) {
    return std::unexpected(done.error());
  }
  return statistics->to_string();
}

}  // namespace peal::models
