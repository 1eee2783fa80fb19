// SPDX-License-Identifier: BSD-3-Clause
// The command `peal serve pingpong|echo|http`: its options, its signals, and how a server starts and ends. The services
// themselves are in echo_services.h and http_service.h.
#include <cerrno>
#include <csignal>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/core.h>

#include <cli/choice.h>
#include <cli/command.h>
#include <cli/number_option.h>
#include <cli/one_of.h>
#include <cli/serve/echo_services.h>
#include <cli/serve/http_service.h>
#include <cli/serve/memory_option.h>
#include <cli/serve/serve_inspection.h>
#include <cli/serve/serve_listen.h>
#include <cli/serve/serve_tls.h>
#include <cli/time_option.h>
#include <peal/base/memory/memory_budget.h>
#include <peal/inspect/inspector.h>
#include <peal/loop/loop_group.h>
#include <peal/net/server.h>
#include <peal/process/master.h>

namespace peal::cli {
namespace {

struct ServeOptions {
  std::string listen = "127.0.0.1:9981";
  std::string engine = "auto";
  std::string spin = "off";
  size_t threads = 1;
  size_t workers = 0;
  AcceptMode accept = AcceptMode::kReusePort;
  std::string drain = "5s";
  std::string idle_timeout = "off";
  size_t max_connections = 0;
  size_t max_per_address = 0;
  std::string style = "callbacks";
  std::string stalls = "off";
  size_t flight_recorder = 0;
  uint64_t memory = 0;  // bytes; 0 means the default of MemoryBudget
  std::string inspect;  // address of the inspector's page; empty if there is none
  ServeTlsArguments tls;
  HttpArguments http;
};

// The options that ServeOptions holds as texts, after they were parsed.
struct Limits {
  Spin spin;
  Duration drain{};
  Duration idle_timeout{};
  Duration stalls{};
};

// The sockets and files that the process opens once, before it starts event loops and threads.
struct Opened {
  std::vector<InheritedSocket> sockets;  // sockets of LISTEN_FDS; empty with --workers, because the master has them
  // The access log, or null if there is none. This file stays open until make_http() has opened the log a second time.
  // Otherwise a FIFO would have no writer for a moment, and its reader would see the end of the file.
  std::shared_ptr<AccessLogFile> access_log;
};

constexpr size_t kMostThreads = 1024;
constexpr size_t kMostWorkerProcesses = 1024;
constexpr size_t kMostFds = 0x7fff'ffff;           // an fd is an int
constexpr size_t kMostRecorded = size_t{1} << 24;  // the most events that a flight recorder can hold

// The two forms of an echo service; --style chooses one. Both are null for HTTP, because an HttpService is used.
struct Service {
  SharedConnectionCallbacks (*callbacks)();
  Task<> (*task)(Stream);
};
constexpr Service kPingPong{ping_pong, ping_pong_task};
constexpr Service kFramedEcho{framed_echo, framed_echo_task};
constexpr Service kHttp{nullptr, nullptr};

// AnyServer holds a server of one of three kinds: with callbacks, with coroutines, or for HTTP.
class AnyServer {
 public:
  template <class LoopOrGroup>
  AnyServer(LoopOrGroup& loops, const Service& service, const std::string& style, const ServerOptions& options,
            std::optional<HttpService>& http) {
    if (http) {
      http_.emplace(loops, std::move(http->router), http->options);
      begin_measuring(*http_, http->measure);
    } else if (style == "coroutines") {
      tasks_.emplace(loops, service.task, options);
    } else {
      callbacks_.emplace(loops, service.callbacks(), options);
    }
  }
  void show_in(Inspector& inspector, const std::string& name) {
    if (http_) return inspector.add(*http_, name);
    if (tasks_) return inspector.add(*tasks_, name);
    inspector.add(*callbacks_, name);
  }
  Server& server() { return http_ ? http_->server() : tasks_ ? tasks_->server() : *callbacks_; }

 private:
  std::optional<Server> callbacks_;
  std::optional<CoServer> tasks_;
  std::optional<HttpServer> http_;
};

std::string drain_report(const DrainReport& report) {
  return fmt::format("drained: {} finished, {} cut off, {} bytes lost here, {} in the kernel\n", report.finished,
                     report.forced, report.lost_bytes, report.lost_in_kernel_bytes);
}

// Stopper ends the server when a signal arrives. The first SIGTERM drains the server: connections may finish. SIGINT,
// or a second SIGTERM, stops the server at once. In a worker process, the master ends the server by a signal (Leave).
class Stopper {
 public:
  Stopper(Loop& loop, Duration deadline, const ServiceManager& manager)
      : loop_(loop), deadline_(deadline), manager_(manager) {}
  Result<void> listen_for_signals(Worker* worker) {
    if (worker != nullptr) {
      return worker->when_to_leave(loop_, [this, worker](Leave how) { worker->leave(how, loop_, *server_); });
    }
    Result<SignalId> terminate = loop_.on_signal(SIGTERM, [this] { drain(); });
    Result<SignalId> interrupt = loop_.on_signal(SIGINT, [this] { loop_.stop(); });
    if (terminate && interrupt) return {};
    return std::unexpected((terminate ? interrupt : terminate).error());
  }
  void serves(Server& server) { server_ = &server; }
  // Returns the function with which the inspector drains the server. In a worker process, the function ends the worker,
  // and the master starts a new one. Otherwise the function is empty, because the inspector drains the server itself.
  std::function<void(Server&)> drain_hook(Worker* worker) {
    if (worker == nullptr) return {};
    return [this, worker](Server&) { loop_.post([this, worker] { worker->leave(Leave::kDrain, loop_, *server_); }); };
  }

 private:
  void drain() {
    if (server_ == nullptr || std::exchange(draining_, true)) return loop_.stop();
    manager_.stopping();
    server_->drain(deadline_, [this](const DrainReport& report) {
      say(stdout, drain_report(report));
      loop_.stop();
    });
  }

  Loop& loop_;
  const Duration deadline_;
  const ServiceManager& manager_;
  Server* server_ = nullptr;
  bool draining_ = false;
};

ServerOptions server_options(const ServeOptions& options, const Limits& limits, const StreamLayer* layer) {
  return {.accept = options.accept,
          .connection = {.idle_timeout = limits.idle_timeout, .layer = layer},
          .max_connections = options.max_connections,
          .max_connections_per_address = options.max_per_address};
}

// Creates the HTTP service. First opens the access log again, because a rotation may have renamed the opened file. If
// opening fails, `log` stays in use; if `log` is null, returns the error. A FIFO without a reader cannot be opened.
CommandTrouble make_http(const HttpArguments& words, const ServerOptions& served, std::shared_ptr<AccessLogFile>& log,
                         std::optional<HttpService>& http) {
  auto anew = open_access_log(words);
  if (!anew && !log) return anew.error();
  if (anew) log = std::move(*anew);
  std::expected<HttpService, CommandTrouble> read = read_http_service(words, served, log);
  if (!read) return read.error();
  http = std::move(*read);
  return {};
}

// Runs the server until SIGINT or SIGTERM, or, in a worker process, until the worker leaves. This thread's loop handles
// the signals. With --threads 1, it also serves the clients. Otherwise the loops of the LoopGroup serve them.
int serve(const Service& service, const ServeOptions& options, const SocketAddress& address, const Limits& limits,
          TlsServerContext* tls, Opened& opened, Worker* worker) {
  LoopOptions loop_options{.engine = options.engine, .spin = limits.spin};
  Result<std::unique_ptr<Loop>> main_loop =
      Loop::make(options.threads == 1 ? loop_options : LoopOptions{.engine = "epoll"});
  if (!main_loop) return complain(kFailed, main_loop.error().message());
  if (const uint64_t soft = options.memory; soft > 0) MemoryBudget::set({.soft_bytes = soft, .hard_bytes = 2 * soft});
  const ServerOptions served = server_options(options, limits, tls);
  std::shared_ptr<AccessLogFile> log = std::move(opened.access_log);
  std::optional<HttpService> http;
  if (service.callbacks == nullptr) {
    if (CommandTrouble trouble = make_http(options.http, served, log, http); !trouble.empty()) return complain(trouble);
  }
  const ServiceManager manager;
  Stopper stopper(**main_loop, limits.drain, manager);
  if (Result<void> done = stopper.listen_for_signals(worker); !done) return complain(kFailed, done.error().message());
  const bool tells = worker == nullptr && tls == nullptr;
  if (auto done = reopen_at_signals(**main_loop, log, tells ? &manager : nullptr); !done) {
    return complain(kFailed, done.error().message());
  }
  std::unique_ptr<TlsReloader> reloader;
  if (tls != nullptr) {
    auto started = follow_certificates(*tls, options.tls.watches, **main_loop, manager, worker != nullptr);
    if (!started) return complain(kFailed, fmt::format("cannot watch the files of TLS: {}", started.error().message()));
    reloader = std::move(*started);
  }
  std::unique_ptr<LoopGroup> group;
  if (options.threads > 1) {
    Result<std::unique_ptr<LoopGroup>> started = LoopGroup::start(options.threads, loop_options);
    if (!started) return complain(kFailed, fmt::format("cannot start the loops: {}", started.error().message()));
    group = std::move(*started);
  }
  auto server = group ? std::make_unique<AnyServer>(*group, service, options.style, served, http)
                      : std::make_unique<AnyServer>(**main_loop, service, options.style, served, http);
  const Listening listening = worker != nullptr
                                  ? listen_as_worker(server->server(), *worker)
                                  : listen_alone(server->server(), std::move(opened.sockets), address, options.listen);
  if (!listening) return complain(kFailed, listening.error());
  stopper.serves(server->server());
  Inspection insight;
  std::vector<Loop*> loops{main_loop->get()};
  for (size_t i = 0; group && i < group->size(); ++i) loops.push_back(&(*group)[i]);
  if (Result<void> done = insight.begin(limits.stalls, options.flight_recorder, loops); !done) {
    return complain(kFailed, fmt::format("cannot watch for stalls: {}", done.error().message()));
  }
  if (!options.inspect.empty()) {
    const auto show_server = [&](Inspector& inspector) { server->show_in(inspector, listening->front().to_string()); };
    if (auto done = insight.show(options.inspect, show_server, loops, stopper.drain_hook(worker)); !done) {
      return complain(kFailed, listen_trouble(options.inspect, done.error()));
    }
  }
  if (worker != nullptr) {
    worker->ready();
  } else if (!say_listening(*listening)) {
    return kFailed;
  } else {
    manager.ready();
    manager.watch(**main_loop);
  }
  Result<void> ran = (*main_loop)->run();
  if (!ran) return complain(kFailed, fmt::format("the loop cannot run: {}", ran.error().message()));
  return kDone;
}

// Runs a master process, which starts options.workers worker processes. Each worker process runs the function `work`.
int serve_by_workers(const ServeOptions& options, Duration drain_time, TlsServerContext* tls, Opened& opened,
                     const Master::Work& work) {
  MasterOptions master_options;
  std::vector<SocketAddress> listening;
  master_options.workers = options.workers;
  master_options.drain_time = drain_time;
  master_options.on_serving = [&listening, &opened] {
    // All workers have opened the access log. The master closes its fd of a file, so that no old file stays open after
    // a rotation. The master keeps the fd of a pipe for new workers, because they cannot open a pipe without a reader.
    if (opened.access_log && !opened.access_log->is_pipe()) opened.access_log.reset();
    return say_listening(listening);
  };
  if (tls != nullptr) {
    master_options.on_reload = [tls, workers = options.workers]() -> Result<size_t> {
      return reload_and_tell(files_of(*tls)) ? Result<size_t>(workers) : fail(EINVAL);
    };
  }
  Master master(std::move(master_options));
  const Listening bound = listen_as_master(master, options.listen);
  if (!bound) return complain(kFailed, bound.error());
  listening = *bound;
  return master.run(work);
}

// Parses the text options into `limits`. Returns a sentence about the first option that is wrong, or an empty text.
std::string read_limits(const ServeOptions& options, Limits& limits) {
  const Result<Spin> spin = load::parse_spin(options.spin);
  if (!spin) return fmt::format("--spin takes off, auto or a bound such as 50us, not '{}'", options.spin);
  limits.spin = *spin;
  constexpr TimeOption kDrain{.name = "--drain", .takes = "a time such as 5s or 500ms"};
  constexpr TimeOption kIdle{.name = "--idle-timeout", .takes = "a time such as 60s", .or_off = true};
  constexpr TimeOption kStalls{.name = "--stalls", .takes = "a time such as 50ms", .or_off = true, .least = kAnyTime};
  for (std::string trouble :
       {kDrain.read(options.drain, limits.drain), kIdle.read(options.idle_timeout, limits.idle_timeout),
        kStalls.read(options.stalls, limits.stalls)}) {
    if (!trouble.empty()) return trouble;
  }
  return {};
}

std::string inspect_trouble(const ServeOptions& options) {
  if (options.inspect.empty()) return {};
  const Result<SocketAddress> page = SocketAddress::parse(options.inspect);
  if (!page) return "--inspect " + address_trouble(options.inspect, page.error());
  if (options.workers == 0 || page->port() == 0) return {};
  return "--inspect of several workers takes port 0: each worker has its own page, and logs the address of the page";
}

int check_and_serve(const Service& service, const ServeOptions& options) {
  Opened opened;
  // Ignores SIGPIPE. Otherwise SIGPIPE would kill the server when the reader of stdout, stderr or a log goes away.
  ::signal(SIGPIPE, SIG_IGN);
  // Takes the sockets of LISTEN_FDS before any file is opened. If LISTEN_FDS counts an fd that is closed, an earlier
  // file could get its number. The file would be taken for a socket, unless the file is close-on-exec.
  if (options.workers == 0) opened.sockets = take_listen_fds();
  Result<SocketAddress> address = SocketAddress::parse(options.listen);
  if (!address) return complain(kCalledWrongly, address_trouble(options.listen, address.error()));
  Limits limits;
  for (const std::string& trouble : {read_limits(options, limits), inspect_trouble(options)}) {
    if (!trouble.empty()) return complain(kCalledWrongly, trouble);
  }
  if (service.callbacks == nullptr) {  // HTTP: a wrong option is reported once here, not by every worker
    if (const auto http = read_http_service(options.http, {}, nullptr); !http) return complain(http.error());
    auto log = open_access_log(options.http);
    if (!log) return complain(log.error());
    opened.access_log = std::move(*log);
  }
  if (const CommandTrouble trouble = engine_trouble(options.engine); !trouble.empty()) return complain(trouble);
  raise_fd_limit();
  std::vector<std::string> applications;
  if (service.callbacks == nullptr) applications = {"http/1.1", "http/1.0"};
  const auto tls = make_server_tls(options.tls, applications);
  if (!tls) return complain(tls.error());
  if (options.workers == 0) return serve(service, options, *address, limits, tls->get(), opened, nullptr);
  return serve_by_workers(options, limits.drain, tls->get(), opened, [&](Worker& worker) {
    return serve(service, options, *address, limits, tls->get(), opened, &worker);
  });
}

void add_echo_options(CLI::App& command, ServeOptions& options) {
  command.add_option("--idle-timeout", options.idle_timeout, "Close connections after a silence such as 60s, or off")
      ->capture_default_str();
  command.add_option("--style", options.style, "How the server is written: with callbacks or with coroutines")
      ->capture_default_str()
      ->check(one_of({"callbacks", "coroutines"}));
}

void add_service(CLI::App& serve, const Service& service, const char* name, const char* what, int& exit_code) {
  CLI::App* command = serve.add_subcommand(name, what);
  auto options = std::make_shared<ServeOptions>();
  command->add_option("--listen", options->listen, kListenHelp)->capture_default_str();
  command->add_option("--engine", options->engine, kEngineHelp)->type_name(kEngineWords)->capture_default_str();
  add_number(*command, "--threads", options->threads, size_t{1}, kMostThreads,
             "Number of event loops in each process, each on a thread of its own");
  add_number(*command, "--workers", options->workers, size_t{0}, kMostWorkerProcesses,
             "Number of worker processes that serve, started by a master process; 0: only this process serves");
  add_choice(*command, "--accept", options->accept,
             {{"reuseport", AcceptMode::kReusePort},
              {"round-robin", AcceptMode::kRoundRobin},
              {"least-loaded", AcceptMode::kLeastLoaded}},
             "Which loop gets a new connection; reuseport: every loop accepts its own (SO_REUSEPORT); round-robin: the "
             "loops get connections in turn; least-loaded: the loop with the fewest connections");
  command->add_option("--spin", options->spin, kSpinHelp)->capture_default_str();
  command
      ->add_option("--drain", options->drain,
                   "How long clients may take to end after SIGTERM, such as 5s; a second SIGTERM ends them at once")
      ->capture_default_str();
  const bool http = service.callbacks == nullptr;
  if (http) {
    add_http_options(*command, options->http);
  } else {
    add_echo_options(*command, *options);
  }
  add_number(*command, "--max-connections", options->max_connections, size_t{0}, kMostFds,
             "Most open connections; at the limit, a new one replaces the one that is idle for longest; 0: no limit");
  add_number(*command, "--max-per-address", options->max_per_address, size_t{0}, kMostFds,
             "Most open connections of one IP address (IPv6: one /64 network), kept in the same way; 0: no limit");
  command->add_option("--stalls", options->stalls, "Log the stack if a callback takes a time such as 50ms; off: never")
      ->capture_default_str();
  add_number(*command, "--flight-recorder", options->flight_recorder, size_t{0}, kMostRecorded,
             "Events that each loop remembers, to log those of a connection that ends with an error; 0: none");
  add_memory(*command, options->memory);
  command->add_option("--inspect", options->inspect,
                      "Address of a page with live figures and metrics; for example 127.0.0.1:9990 (default: none)");
  add_serve_tls_options(*command, options->tls);
  command->footer(fmt::format(
      "Examples:\n"
      "  peal serve {0} --listen 127.0.0.1:9981 --engine epoll --threads 2\n"
      "  peal serve {0} --listen 127.0.0.1:8443 --tls-cert localhost.pem --tls-key localhost.key --tls-watch\n"
      "At SIGHUP, the files of the --tls options are read again. If one of them is wrong, the old contents stay in\n"
      "use, and the log says why. At SIGHUP and SIGUSR1, the access log of http is opened again.",
      name));
  command->callback([options, &service, &exit_code] { exit_code = check_and_serve(service, *options); });
}

}  // namespace

void add_serve(CLI::App& app, int& exit_code) {
  CLI::App* serve = app.add_subcommand("serve", "Run a server until SIGINT or SIGTERM");
  serve->require_subcommand(1)->footer("Example:\n  peal serve http --listen 127.0.0.1:8080 --root .");
  add_service(*serve, kPingPong, "pingpong", "Send back all bytes as they arrive, without frames", exit_code);
  add_service(*serve, kFramedEcho, "echo", "Send back frames (4-byte big-endian length, then the bytes)", exit_code);
  add_service(*serve, kHttp, "http", "Serve a folder over HTTP, or 13 bytes at / and /collect", exit_code);
}

}  // namespace peal::cli
