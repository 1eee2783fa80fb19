// SPDX-License-Identifier: BSD-3-Clause
// The commands `peal model list` and `peal model run`. All models are the same echo service; each one is written in
// another form of concurrency. A model accepts only the options that its row of models/model_table.h names.
#include <memory>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cli/choice.h>
#include <cli/command.h>
#include <cli/number_option.h>
#include <cli/time_option.h>
#include <models/run_model.h>

namespace peal::cli {
namespace {

using models::ModelEntry;
using models::ModelOptions;
using models::Takes;

constexpr Duration kLongestWork = std::chrono::milliseconds(500);  // so that a model ends within 1 s after a signal
constexpr size_t kMostWorkers = 1024;
constexpr size_t kMostQueued = 1'000'000;
constexpr size_t kMostServed = 1'000'000'000;

// The values of a model's options. The text members are parsed into `options` before the model runs.
struct ModelArguments {
  ModelOptions options;
  std::string listen = "127.0.0.1:9981";
  std::string max_frame = "1MiB";
  std::string work = "off";
  std::string slow_timeout = "10s";
};

std::string_view serves_words(models::Serves serves) {
  switch (serves) {
    case models::Serves::kOne: return "one";
    case models::Serves::kWorkers: return "one a worker";
    case models::Serves::kMany: return "many";
  }
  return "";
}

struct OptionName {
  Takes takes;
  const char* name;
};
constexpr OptionName kOptionNames[] = {
    {Takes::kLoopAccept, "--loop-accept"},
    {Takes::kReadUntilEmpty, "--read-until-eagain"},
    {Takes::kWriteOrder, "--write"},
    {Takes::kDynamicTimeout, "--dynamic-timeout"},
    {Takes::kEventsPerWait, "--events"},
    {Takes::kWorkers, "--workers"},
    {Takes::kIoThreads, "--io-threads"},
    {Takes::kQueueBound, "--queue-bound"},
    {Takes::kReplyBy, "--reply-by"},
    {Takes::kWaitForReadable, "--wait-for-readable"},
    {Takes::kContexts, "--contexts"},
    {Takes::kCoroutines, "--coroutines"},
    {Takes::kServedPerLifetime, "--served-per-lifetime"},
    {Takes::kPoller, "--poller"},
    {Takes::kQueues, "--queues"},
    {Takes::kOnHandOver, "--on-hand-over"},
    {Takes::kConnections, "--connections"},
    {Takes::kEngine, "--engine"},
    {Takes::kSlowTimeout, "--slow-timeout"},
};

nlohmann::ordered_json row_json(const ModelEntry& model) {
  nlohmann::ordered_json options = nlohmann::ordered_json::array();
  for (const OptionName& option : kOptionNames) {
    if (includes(model.takes, option.takes)) options.push_back(option.name);
  }
  return {{"name", model.name},
          {"historic", model.historic},
          {"family", models::to_string(model.family)},
          {"line", model.line},
          {"serves", serves_words(model.serves)},
          {"processes", model.processes},
          {"own_listeners", model.own_listeners},
          {"times_out", model.times_out()},
          {"options", std::move(options)}};
}

int list_models(bool as_json) {
  std::string text;
  if (as_json) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const ModelEntry& model : models::model_table()) rows.push_back(row_json(model));
    text = rows.dump(2) + '\n';
  } else {
    models::Family family = models::model_table().front().family;
    for (const ModelEntry& model : models::model_table()) {
      if (std::exchange(family, model.family) != model.family) text += '\n';
      text += fmt::format("{:36} {:38} {}\n", model.name, model.historic, model.line);
    }
  }
  return say(stdout, text) ? kDone : complain(kFailed, "the list could not be written to stdout");
}

// Parses the text members of `words` and stores the values in words.options. Returns a sentence about the first wrong
// text, or an empty text if all are right.
std::string read_words(ModelArguments& words) {
  ModelOptions& options = words.options;
  Result<SocketAddress> address = SocketAddress::parse(words.listen);
  if (!address) return address_trouble(words.listen, address.error());
  options.listen = *address;
  const std::optional<size_t> most = load::parse_size(words.max_frame);
  if (!most) return fmt::format("--max-frame takes a size such as 64KiB, at most 16MiB, not '{}'", words.max_frame);
  options.max_body_bytes = *most;
  constexpr TimeOption kWork{
      .name = "--work", .takes = "a time up to 500ms such as 50us", .or_off = true, .most = kLongestWork};
  constexpr TimeOption kSlow{
      .name = "--slow-timeout", .takes = "a time such as 10s", .or_off = true, .least = kAnyTime};
  std::string trouble = kWork.read(words.work, options.work.time);
  return trouble.empty() ? kSlow.read(words.slow_timeout, options.slow_timeout) : trouble;
}

int check_and_run(const ModelEntry& model, ModelArguments& words) {
  if (const std::string trouble = read_words(words); !trouble.empty()) return complain(kCalledWrongly, trouble);
  if (includes(model.takes, Takes::kEngine)) {
    const CommandTrouble trouble = engine_trouble(words.options.engine);
    if (!trouble.empty()) return complain(trouble);
  }
  raise_fd_limit();
  auto ended = models::run_model(model, words.options, [](const SocketAddress& address) {
    return say(stdout, fmt::format("listening on {}\n", address.to_string()));
  });
  if (!ended) return complain(kFailed, ended.error());
  return say(stdout, *ended + '\n') ? kDone : complain(kFailed, "the counts could not be written to stdout");
}

void add_common_options(CLI::App& command, ModelArguments& words) {
  command.add_option("--listen", words.listen, kListenHelp)->capture_default_str();
  command
      .add_option(
          "--max-frame", words.max_frame,
          "Longest body of a frame, in bytes or such as 64KiB, at most 16MiB; a longer frame ends its connection")
      ->capture_default_str();
  command
      .add_option("--work", words.work,
                  "Extra time that the server spends on each request, such as 50us, at most 500ms; off: none")
      ->capture_default_str();
  add_choice(command, "--work-kind", words.options.work.kind,
             {{"cpu", models::Work::Kind::kCpu}, {"sleep", models::Work::Kind::kSleep}},
             "How the time of --work is spent; cpu: the thread computes; sleep: the thread sleeps");
}

void add_reactor_options(CLI::App& command, Takes takes, ModelArguments& words) {
  ModelOptions& options = words.options;
  if (includes(takes, Takes::kLoopAccept)) {
    command.add_flag("--loop-accept,!--no-loop-accept", options.loop_accept,
                     "When the listener is ready, accept all waiting connections (default), or only one");
  }
  if (includes(takes, Takes::kReadUntilEmpty)) {
    command.add_flag("--read-until-eagain", options.read_until_empty,
                     "When a connection is ready, read until EAGAIN (default: read once)");
  }
  if (includes(takes, Takes::kWriteOrder)) {
    add_choice(command, "--write", options.write_order,
               {{"first", models::WriteOrder::kFirst}, {"epollout", models::WriteOrder::kWhenWritable}},
               "When an answer is written; first: at once, and the rest when the socket is writable again; epollout: "
               "only after the socket was reported as writable");
  }
  if (includes(takes, Takes::kDynamicTimeout)) {
    command.add_flag("--dynamic-timeout", options.dynamic_timeout,
                     "After a wait that returned events, the next wait does not sleep");
  }
  if (includes(takes, Takes::kEventsPerWait)) {
    add_number(command, "--events", options.events_per_wait, size_t{1}, 65536, "Most events that one wait returns");
  }
  if (includes(takes, Takes::kPoller)) {
    add_choice(command, "--poller", options.poller,
               {{"select", models::PollerKind::kSelect},
                {"poll", models::PollerKind::kPoll},
                {"epoll", models::PollerKind::kEpoll}},
               "System call with which the reactor waits for events");
  }
  if (includes(takes, Takes::kEngine)) {
    command.add_option("--engine", options.engine, kEngineHelp)->type_name(kEngineWords)->capture_default_str();
  }
  if (includes(takes, Takes::kSlowTimeout)) {
    command
        .add_option("--slow-timeout", words.slow_timeout,
                    "Close a connection that stops within a frame, or does not read its answer, for this time, such as "
                    "10s; off: never")
        ->capture_default_str();
  }
}

void add_worker_options(CLI::App& command, Takes takes, ModelOptions& options) {
  if (includes(takes, Takes::kWorkers)) {
    options.workers = std::clamp(size_t{std::thread::hardware_concurrency()}, size_t{1}, kMostWorkers);
    add_number(command, "--workers", options.workers, size_t{1}, kMostWorkers,
               "Number of workers, which are threads or processes, depending on the model (default: one for each CPU)");
  }
  if (includes(takes, Takes::kIoThreads)) {
    add_number(command, "--io-threads", options.io_threads, size_t{1}, kMostWorkers,
               "Number of threads that only read and write");
  }
  if (includes(takes, Takes::kQueueBound)) {
    add_number(command, "--queue-bound", options.queue_bound, size_t{1}, kMostQueued,
               "Most requests that may wait for a worker");
  }
  if (includes(takes, Takes::kReplyBy)) {
    add_choice(command, "--reply-by", options.reply_by,
               {{"io", models::ReplyBy::kIoThread}, {"worker", models::ReplyBy::kWorker}},
               "Which thread writes the answer; io: the I/O thread; worker: the worker");
  }
  if (includes(takes, Takes::kWaitForReadable)) {
    command.add_flag("--wait-for-readable", options.wait_for_readable,
                     "Hand a new connection over only when its first bytes have arrived (default: at once)");
  }
  if (includes(takes, Takes::kQueues)) {
    add_choice(command, "--queues", options.queues,
               {{"per-worker", models::Queues::kPerWorker}, {"one", models::Queues::kOne}},
               "Queues of new connections; per-worker: one queue for each worker; one: all workers share one queue");
  }
  if (includes(takes, Takes::kOnHandOver)) {
    add_choice(command, "--on-hand-over", options.on_hand_over,
               {{"register", models::OnHandOver::kRegister}, {"read", models::OnHandOver::kRead}},
               "What a worker does with a connection that it takes over; register: it waits until bytes have arrived; "
               "read: it reads at once, then waits");
  }
  if (includes(takes, Takes::kConnections)) {
    add_choice(command, "--connections", options.connections,
               {{"pooled", models::Connections::kPooled}, {"new", models::Connections::kNew}},
               "Where the memory of a connection comes from; pooled: from connections that have ended; new: it is "
               "allocated and freed each time");
  }
}

void add_coroutine_options(CLI::App& command, Takes takes, ModelOptions& options) {
  if (includes(takes, Takes::kContexts)) {
    add_choice(command, "--contexts", options.contexts,
               {{"c", models::Contexts::kC}, {"boost", models::Contexts::kBoost}},
               "What switches the stacks; c: the C library's contexts (ucontext); boost: Boost.Context");
  }
  if (includes(takes, Takes::kCoroutines)) {
    add_number(command, "--coroutines", options.coroutines, size_t{1}, 100'000,
               "Most connections that are served at once; further ones wait");
  }
  if (includes(takes, Takes::kServedPerLifetime)) {
    add_number(command, "--served-per-lifetime", options.served_per_lifetime, size_t{0}, kMostServed,
               "Number of connections after which a process is replaced by a new one; 0: never");
  }
}

void add_model(CLI::App& run, const ModelEntry& model, int& exit_code) {
  CLI::App* command = run.add_subcommand(std::string(model.name), std::string(model.line));
  auto words = std::make_shared<ModelArguments>();
  add_common_options(*command, *words);
  add_reactor_options(*command, model.takes, *words);
  add_worker_options(*command, model.takes, words->options);
  add_coroutine_options(*command, model.takes, words->options);
  command->footer(fmt::format("Example:\n  peal model run {} --listen 127.0.0.1:9981", model.name));
  command->callback([words, &model, &exit_code] { exit_code = check_and_run(model, *words); });
}

}  // namespace

void add_model_commands(CLI::App& app, int& exit_code) {
  CLI::App* model = app.add_subcommand("model", "Run one echo service in any of many concurrency models");
  model->require_subcommand(1);
  CLI::App* list = model->add_subcommand("list", "List the models: name, historic name, description");
  auto as_json = std::make_shared<bool>(false);
  list->add_flag("--json", *as_json, "Print the list as JSON, with the options of each model");
  list->footer("Example:\n  peal model list");
  list->callback([as_json, &exit_code] { exit_code = list_models(*as_json); });
  CLI::App* run = model->add_subcommand("run", "Run a model until SIGINT or SIGTERM");
  run->require_subcommand(1);
  run->footer("Example:\n  peal model run reactor_epoll --listen 127.0.0.1:9981 --work 50us");
  for (const ModelEntry& entry : models::model_table()) add_model(*run, entry, exit_code);
  model->footer("Examples:\n  peal model list\n  peal model run reactor_epoll --listen 127.0.0.1:9981");
}

}  // namespace peal::cli
