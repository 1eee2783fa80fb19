// SPDX-License-Identifier: BSD-3-Clause
// `peal serve pingpong`: sends back whatever bytes arrive, unframed.
#include <memory>
#include <string>

#include <fmt/core.h>

#include <cli/command.h>
#include <peal/loop/loop_group.h>
#include <peal/net/server.h>

namespace peal::cli {
namespace {

struct ServeOptions {
  std::string listen = "127.0.0.1:9981";
  std::string engine = "auto";
  std::string spin = "off";
  size_t threads = 1;
  std::string accept = "reuseport";
};

constexpr size_t kMostThreads = 1024;

AcceptMode accept_mode(const std::string& name) {
  if (name == "round-robin") return AcceptMode::kRoundRobin;
  return name == "least-loaded" ? AcceptMode::kLeastLoaded : AcceptMode::kReusePort;
}

ConnectionCallbacks ping_pong() {
  return {.on_message = [](Connection& connection, Buffer& input) { connection.send(std::move(input)); }};
}

std::string listen_trouble(const std::string& address, std::error_code error) {
  if (error == std::errc::address_in_use) {
    return fmt::format("{} is taken: another program listens there; choose another port", address);
  }
  if (error == std::errc::permission_denied) {
    return fmt::format("{} may not be listened on by this user: take a port from 1024 up", address);
  }
  if (error == std::errc::address_not_available) {
    return fmt::format("{} is not an address of this machine", address);
  }
  return fmt::format("cannot listen on {}: {}", address, error.message());
}

// Serves until SIGINT or SIGTERM. `signals` runs on this thread; with several threads the group's loops serve.
int serve(const ServeOptions& options, const SocketAddress& address, const Spin& spin) {
  LoopOptions loop_options{.engine = options.engine, .spin = spin};
  Result<std::unique_ptr<Loop>> main_loop =
      Loop::make(options.threads == 1 ? loop_options : LoopOptions{.engine = "epoll"});
  if (!main_loop) return complain(kFailed, main_loop.error().message());
  // Before other threads start, so that they inherit the blocked signals.
  if (Result<void> done = (*main_loop)->stop_on_signals(); !done) return complain(kFailed, done.error().message());
  std::unique_ptr<LoopGroup> group;
  if (options.threads > 1) {
    Result<std::unique_ptr<LoopGroup>> started = LoopGroup::start(options.threads, loop_options);
    if (!started) return complain(kFailed, fmt::format("cannot start the loops: {}", started.error().message()));
    group = std::move(*started);
  }
  ServerOptions server_options{.accept = accept_mode(options.accept)};
  auto server = group ? std::make_unique<Server>(*group, ping_pong(), server_options)
                      : std::make_unique<Server>(**main_loop, ping_pong(), server_options);
  Result<SocketAddress> bound = server->listen(address);
  if (!bound) return complain(kFailed, listen_trouble(options.listen, bound.error()));
  fmt::print("listening on {}\n", bound->to_string());
  std::fflush(stdout);
  Result<void> ran = (*main_loop)->run();
  if (!ran) return complain(kFailed, fmt::format("the loop cannot run: {}", ran.error().message()));
  return kDone;
}

int check_and_serve(const ServeOptions& options) {
  Result<SocketAddress> address = SocketAddress::parse(options.listen);
  if (!address) {
    return complain(kCalledWrongly, fmt::format("'{}' is not an address: give HOST:PORT with a numeric host, "
                                                "[HOST]:PORT for IPv6, or unix:PATH",
                                                options.listen));
  }
  Result<Spin> spin = Spin::parse(options.spin);
  if (!spin) {
    return complain(kCalledWrongly,
                    fmt::format("--spin takes off, auto or a bound such as 50us, not '{}'", options.spin));
  }
  if (EngineTrouble trouble = engine_trouble(options.engine); trouble.code != kDone) {
    return complain(trouble.code, trouble.sentence);
  }
  raise_fd_limit();
  return serve(options, *address, *spin);
}

}  // namespace

void add_serve(CLI::App& app, int& exit_code) {
  CLI::App* serve = app.add_subcommand("serve", "Run a server until SIGINT or SIGTERM");
  serve->require_subcommand(1);
  CLI::App* pingpong = serve->add_subcommand("pingpong", "Send back whatever bytes arrive, unframed");
  auto options = std::make_shared<ServeOptions>();
  pingpong
      ->add_option("--listen", options->listen, "Address: HOST:PORT, [HOST]:PORT or unix:PATH; port 0: any free one")
      ->capture_default_str();
  pingpong->add_option("--engine", options->engine, "auto, epoll or io_uring")->capture_default_str();
  pingpong->add_option("--threads", options->threads, "Loops, each on a thread of its own")
      ->capture_default_str()
      ->check(CLI::Range(size_t{1}, kMostThreads));
  pingpong->add_option("--accept", options->accept, "Who accepts: reuseport, round-robin or least-loaded")
      ->capture_default_str()
      ->check(CLI::IsMember({"reuseport", "round-robin", "least-loaded"}));
  pingpong->add_option("--spin", options->spin, "Look for events before sleeping: off, auto or a bound such as 50us")
      ->capture_default_str();
  pingpong->footer("Example:\n  peal serve pingpong --listen 127.0.0.1:9981 --engine epoll --threads 2");
  pingpong->callback([options, &exit_code] { exit_code = check_and_serve(*options); });
}

}  // namespace peal::cli
