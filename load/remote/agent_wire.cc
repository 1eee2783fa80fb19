// SPDX-License-Identifier: BSD-3-Clause
#include <load/remote/agent_wire.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <load/duel/duel_options.h>
#include <load/duel/server_process.h>
#include <peal/base/assert.h>

namespace peal::load {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::string_view, 8> kTasks = {"crew", "start",   "await", "ended",
                                                    "look", "orphans", "end",   "clocks"};
constexpr size_t kSentenceBytes = 500;  // that an agent may say
constexpr int kMostCpu = 1023;          // of a cpu_set_t

// What is no UTF-8 in it is made so: a server may complain in any bytes.
std::string dumped(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// The beginning of a line, fit for a sentence.
// Reads the members of one object; after the first that is not there, or not what it must be, none counts.
class Members {
 public:
  explicit Members(const Json& object) : object_(object) {}

  int64_t number(const char* name, int64_t least, int64_t most) {
    const Json* const found = member(name, "a number", &Json::is_number_integer);
    if (found == nullptr) return least;
    // Beyond int64_t a number wraps; those that are unsigned and too large are told apart.
    const bool fits = !found->is_number_unsigned() ||
                      found->get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    const int64_t value = fits ? found->get<int64_t>() : -1;
    if (fits && value >= least && value <= most) return value;
    fail(fmt::format("\"{}\" is not from {} to {}", name, least, most));
    return least;
  }
  size_t count(const char* name, size_t least, size_t most) {
    return static_cast<size_t>(number(name, static_cast<int64_t>(least), static_cast<int64_t>(most)));
  }
  uint64_t amount(const char* name) {
    return static_cast<uint64_t>(number(name, 0, std::numeric_limits<int64_t>::max()));
  }
  Duration time(const char* name, Duration most = Duration::max()) { return Duration(number(name, 0, most.count())); }
  bool flag(const char* name) {
    const Json* const found = member(name, "true or false", &Json::is_boolean);
    return found != nullptr && found->get<bool>();
  }
  std::string text(const char* name) {
    const Json* const found = member(name, "a text", &Json::is_string);
    return found != nullptr ? found->get<std::string>() : std::string();
  }
  std::vector<std::string> texts(const char* name) {
    std::vector<std::string> values;
    for (const Json& each : list(name, "texts", [](const Json& one) { return one.is_string(); }))
      values.push_back(each.get<std::string>());
    return values;
  }
  template <class Number>
  std::vector<Number> numbers(const char* name, Number most) {
    std::vector<Number> values;
    const auto fits = [most](const Json& one) {
      return one.is_number_unsigned() && one.get<uint64_t>() <= static_cast<uint64_t>(most);
    };
    for (const Json& each : list(name, "numbers", fits)) values.push_back(each.get<Number>());
    return values;
  }
  const std::string& trouble() const { return trouble_; }

 private:
  void fail(std::string why) {
    if (trouble_.empty()) trouble_ = std::move(why);
  }
  const Json* member(const char* name, const char* what, bool (Json::*is)() const noexcept) {
    const auto found = object_.find(name);
    if (found != object_.end() && ((*found).*is)()) return &*found;
    fail(fmt::format("\"{}\" is not {}", name, what));
    return nullptr;
  }
  template <class Fits>
  Json::array_t list(const char* name, const char* what, Fits fits) {
    const auto found = object_.find(name);
    if (found != object_.end() && found->is_array() && std::ranges::all_of(*found, fits)) {
      return found->get<Json::array_t>();
    }
    fail(fmt::format("\"{}\" is not a list of {}", name, what));
    return {};
  }

  const Json& object_;
  std::string trouble_;
};

// An object, or nothing.
std::optional<Json> parse_object(std::string_view line) {
  Json json = Json::parse(line, nullptr, false);
  if (json.is_discarded() || !json.is_object()) return std::nullopt;
  return json;
}

void read_request(Members& members, AgentRequest& request) {
  constexpr size_t kLastPlace = kMostContenders - 1;
  switch (request.task) {
    case AgentTask::kCrew:
      request.places = members.count("places", 1, kMostContenders);
      request.threads = members.count("threads", 1, kMostThreads);
      request.cpus = members.numbers<int>("cpus", kMostCpu);
      request.host = ip_address(members.text("host"));
      return;
    case AgentTask::kStart:
      request.place = members.count("place", 0, kLastPlace);
      request.words = members.texts("words");
      return;
    case AgentTask::kLook: request.place = members.count("place", 0, kLastPlace); return;
    case AgentTask::kAwait:
    case AgentTask::kEnd: request.patience = members.time("patience", kLongestPatience); return;
    case AgentTask::kEnded:
    case AgentTask::kOrphans:
    case AgentTask::kClocks: return;
  }
}

// What the members alone do not show.
std::string request_trouble(const AgentRequest& request) {
  if (request.task == AgentTask::kCrew && !request.host.is_ip()) return "\"host\" is not an IP address";
  if (request.task != AgentTask::kStart) return {};
  if (!tells_where(request.words)) return "\"words\" hold neither {listen} nor {port}";
  const auto is_cut = [](const std::string& word) { return word.contains('\0'); };
  if (request.words.front().empty() || std::ranges::any_of(request.words, is_cut)) {
    return "\"words\" are not those of a program";
  }
  return {};
}

Json json_of(const ServerLook& look) {
  return {{"at", look.at.time_since_epoch().count()},
          {"cpu", look.cpu.count()},
          {"rss_bytes", look.rss_bytes},
          {"voluntary_switches", look.voluntary_switches},
          {"involuntary_switches", look.involuntary_switches},
          {"processes", look.processes},
          {"forgets_children", look.forgets_children}};
}

Json json_of(const MachineClocks& clocks) {
  return {{"at", clocks.at.time_since_epoch().count()},
          {"busy", clocks.busy.count()},
          {"stolen", clocks.stolen.count()},
          {"own", clocks.own.count()}};
}

Json json_of(const AgentStarted& started) { return {{"address", started.address.to_string()}}; }
Json json_of(const AgentOrphans& orphans) { return {{"places", orphans.places}}; }
Json json_of(const AgentDone&) { return Json::object(); }

AgentAnswer read_done(Members& members, AgentTask task) {
  switch (task) {
    case AgentTask::kStart: {
      const Result<SocketAddress> address = SocketAddress::parse(members.text("address"));
      return AgentStarted{address.value_or(SocketAddress())};
    }
    case AgentTask::kLook:
      return ServerLook{.at = TimePoint(members.time("at")),
                        .cpu = members.time("cpu"),
                        .rss_bytes = members.amount("rss_bytes"),
                        .voluntary_switches = members.amount("voluntary_switches"),
                        .involuntary_switches = members.amount("involuntary_switches"),
                        .processes = members.amount("processes"),
                        .forgets_children = members.flag("forgets_children")};
    case AgentTask::kOrphans: return AgentOrphans{members.numbers<size_t>("places", kMostContenders - 1)};
    case AgentTask::kClocks:
      return MachineClocks{.at = TimePoint(members.time("at")),
                           .busy = members.time("busy"),
                           .stolen = members.time("stolen"),
                           .own = members.time("own")};
    case AgentTask::kCrew:
    case AgentTask::kAwait:
    case AgentTask::kEnded:
    case AgentTask::kEnd: break;
  }
  return AgentDone{};
}

}  // namespace

bool is_utf8(std::string_view text) {
  try {
    static_cast<void>(Json(std::string(text)).dump());
    return true;
  } catch (const Json::type_error&) {
    return false;
  }
}

SocketAddress ip_address(std::string_view text) {
  const Result<SocketAddress> address =
      SocketAddress::parse(text.contains(':') ? fmt::format("[{}]:0", text) : fmt::format("{}:0", text));
  return address && address->is_ip() ? *address : SocketAddress();
}

std::string greeting_line(const MachineFacts& machine) {
  return dumped({{"agent", kAgentVersion},
                 {"machine",
                  {{"address", machine.address},
                   {"cpus", machine.cpus},
                   {"kernel", machine.kernel},
                   {"processor", machine.processor},
                   {"boot", machine.boot}}}});
}

std::string shown(std::string_view line, size_t most) {
  std::string text(line.substr(0, most));
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ' || static_cast<unsigned char>(c) >= 127) c = '?';
  }
  return line.size() > most ? text + "..." : text;
}

std::optional<AgentGreeting> parse_greeting(std::string_view line) {
  const std::optional<Json> json = parse_object(line);
  if (!json || !json->contains("agent") || !(*json)["agent"].is_string()) return std::nullopt;
  AgentGreeting greeting{.version = shown((*json)["agent"].get<std::string>()), .machine = {}};
  if (greeting.version != kAgentVersion) return greeting;
  const auto machine = json->find("machine");
  if (machine == json->end() || !machine->is_object()) {
    greeting.trouble = "\"machine\" is missing";
    return greeting;
  }
  Members members(*machine);
  greeting.machine = {.address = members.text("address"),
                      .cpus = members.numbers<int>("cpus", kMostCpu),
                      .kernel = shown(members.text("kernel"), kSentenceBytes),
                      .processor = shown(members.text("processor"), kSentenceBytes),
                      .boot = members.text("boot")};
  greeting.trouble = members.trouble();
  return greeting;
}

std::string request_line(const AgentRequest& request) {
  Json json{{"do", kTasks[static_cast<size_t>(request.task)]}};
  switch (request.task) {
    case AgentTask::kCrew:
      json["places"] = request.places;
      json["threads"] = request.threads;
      json["cpus"] = request.cpus;
      json["host"] = host_of(request.host);
      break;
    case AgentTask::kStart:
      json["place"] = request.place;
      json["words"] = request.words;
      break;
    case AgentTask::kLook: json["place"] = request.place; break;
    case AgentTask::kAwait:
    case AgentTask::kEnd: json["patience"] = request.patience.count(); break;
    case AgentTask::kEnded:
    case AgentTask::kOrphans:
    case AgentTask::kClocks: break;
  }
  return dumped(json);
}

std::expected<AgentRequest, std::string> parse_request(std::string_view line) {
  const std::optional<Json> json = parse_object(line);
  if (!json) return std::unexpected(fmt::format("'{}' is not an object of JSON", shown(line)));
  Members members(*json);
  const std::string task = members.text("do");
  const auto found = std::ranges::find(kTasks, std::string_view(task));
  if (!members.trouble().empty()) return std::unexpected(members.trouble());
  if (found == kTasks.end()) {
    return std::unexpected(
        fmt::format("there is nothing to do called '{}'; there are {}", shown(task), fmt::join(kTasks, ", ")));
  }
  AgentRequest request{.task = static_cast<AgentTask>(found - kTasks.begin())};
  read_request(members, request);
  const std::string trouble = members.trouble().empty() ? request_trouble(request) : members.trouble();
  if (!trouble.empty()) return std::unexpected(fmt::format("{}: {}", task, trouble));
  return request;
}

std::string answer_line(const AgentAnswer& answer) {
  if (const auto* refusal = std::get_if<AgentRefusal>(&answer)) return dumped({{"error", refusal->sentence}});
  if (const auto* fault = std::get_if<ServerFault>(&answer)) {
    return dumped(
        {{"fault", {{"place", fault->place ? Json(*fault->place) : Json(nullptr)}, {"sentence", fault->sentence}}}});
  }
  return std::visit(
      [](const auto& done) -> std::string {
        using Done = std::decay_t<decltype(done)>;
        if constexpr (std::is_same_v<Done, ServerFault> || std::is_same_v<Done, AgentRefusal>) {
          PEAL_ASSERT(false, "said already");
          return {};
        } else {
          return dumped({{"ok", json_of(done)}});
        }
      },
      answer);
}

std::expected<AgentAnswer, std::string> parse_answer(std::string_view line, AgentTask task) {
  const auto no_answer = [line](std::string_view why) {
    return std::unexpected(fmt::format("'{}' is no answer: {}", shown(line), why));
  };
  const std::optional<Json> json = parse_object(line);
  if (!json) return no_answer("it is not an object of JSON");
  if (json->contains("error")) {
    Members members(*json);
    AgentRefusal refusal{shown(members.text("error"), kSentenceBytes)};
    if (!members.trouble().empty()) return no_answer(members.trouble());
    return refusal;
  }
  const bool is_fault = json->contains("fault");
  const auto inside = json->find(is_fault ? "fault" : "ok");
  if (inside == json->end() || !inside->is_object()) return no_answer("it holds neither ok nor fault nor error");
  Members members(*inside);
  AgentAnswer answer;
  if (is_fault) {
    ServerFault fault{.place = std::nullopt, .sentence = shown(members.text("sentence"), kSentenceBytes)};
    const auto place = inside->find("place");
    if (place == inside->end() || !place->is_null()) fault.place = members.count("place", 0, kMostContenders - 1);
    answer = std::move(fault);
  } else {
    answer = read_done(members, task);
  }
  if (!members.trouble().empty()) return no_answer(members.trouble());
  if (const auto* started = std::get_if<AgentStarted>(&answer); started && !started->address.is_ip()) {
    return no_answer("\"address\" is not that of a server");
  }
  return answer;
}

}  // namespace peal::load
