// SPDX-License-Identifier: BSD-3-Clause
#include <load/remote/agent_wire.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <load/duel/duel_options.h>
#include <load/duel/server_process.h>

namespace peal::load {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::string_view, 8> kTasks = {"crew", "start",   "await", "ended",
                                                    "look", "orphans", "end",   "clocks"};
constexpr size_t kSentenceBytes = 500;  // how many bytes of an agent's sentence are kept
constexpr int kMostCpu = 1023;          // the highest number in a cpu_set_t
constexpr uint64_t kMostAmount = std::numeric_limits<int64_t>::max();

// Returns `json` as one line of text. Replaces bytes that are not UTF-8. A text in `json` may contain such bytes if it
// quotes what a server has written to stderr.
std::string dumped(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// Copies values between variables and the members of a JSON object. An object of this class either reads (from JSON to
// variables) or writes (from variables to JSON). Each type of message has one function list_members(), which serves for
// reading and for writing.
// After reading, call trouble(). If it returns a text that is not empty, a member is missing or malformed, and the
// variables must not be used.
class Members {
 public:
  Members() = default;  // for writing
  explicit Members(const Json& object) : object_(object), reads_(true) {}

  void member(const char* name, uint64_t& value, uint64_t least = 0, uint64_t most = kMostAmount) {
    if (is_written(name, value)) return;
    const Json* const found = find(name, "a number", &Json::is_number_integer);
    if (found == nullptr) return;
    if (found->is_number_unsigned()) value = found->get<uint64_t>();
    if (found->is_number_unsigned() && value >= least && value <= most) return;
    fail(fmt::format("\"{}\" is not from {} to {}", name, least, most));
  }
  void member(const char* name, bool& value) {
    if (is_written(name, value)) return;
    if (const Json* const found = find(name, "true or false", &Json::is_boolean)) value = found->get<bool>();
  }
  void member(const char* name, std::string& value) {
    if (is_written(name, value)) return;
    if (const Json* const found = find(name, "a string", &Json::is_string)) value = found->get<std::string>();
  }
  void member(const char* name, std::vector<std::string>& values) {
    list(name, "strings", values, [](const Json& one) { return one.is_string(); });
  }
  template <class Number>
  void member(const char* name, std::vector<Number>& values, Number most) {
    list(name, "numbers", values, [most](const Json& one) {
      return one.is_number_unsigned() && one.get<uint64_t>() <= static_cast<uint64_t>(most);
    });
  }
  void member(const char* name, Duration& value, Duration most = Duration::max()) {
    auto ns = static_cast<uint64_t>(value.count());
    member(name, ns, 0, static_cast<uint64_t>(most.count()));
    value = Duration(static_cast<int64_t>(ns));
  }
  void member(const char* name, TimePoint& value) {
    Duration since_epoch = value.time_since_epoch();
    member(name, since_epoch);
    value = TimePoint(since_epoch);
  }
  // Reads or writes a sentence that is meant for people. When reading, makes the sentence safe to print, and cuts it
  // after kSentenceBytes bytes.
  void sentence(const char* name, std::string& value) {
    member(name, value);
    if (reads_) value = shown(value, kSentenceBytes);
  }
  void place_or_none(const char* name, std::optional<size_t>& value) {
    if (is_written(name, value ? Json(*value) : Json(nullptr))) return;
    const auto found = object_.find(name);
    if (found == object_.end() || !found->is_null()) member(name, value.emplace(), 0, kMostContenders - 1);
  }
  // Reads or writes an address, which is a text in JSON. `text_of` converts the address to this text, and `parse`
  // converts the text to the address.
  template <class TextOf, class Parse>
  void address(const char* name, const char* what, SocketAddress& value, TextOf text_of, Parse parse) {
    std::string text = reads_ ? std::string() : text_of(value);
    member(name, text);
    if (!reads_) return;
    value = parse(text);
    if (!value.is_ip()) fail(fmt::format("\"{}\" is not {}", name, what));
  }
  const Json& object() const { return object_; }
  const std::string& trouble() const { return trouble_; }

 private:
  template <class Value>
  bool is_written(const char* name, const Value& value) {
    if (!reads_) object_[name] = value;
    return !reads_;
  }
  void fail(std::string why) {
    if (trouble_.empty()) trouble_ = std::move(why);
  }
  const Json* find(const char* name, const char* what, bool (Json::*is)() const noexcept) {
    const auto found = object_.find(name);
    if (found != object_.end() && ((*found).*is)()) return &*found;
    fail(fmt::format("\"{}\" is not {}", name, what));
    return nullptr;
  }
  template <class Value, class Fits>
  void list(const char* name, const char* what, std::vector<Value>& values, Fits fits) {
    if (is_written(name, values)) return;
    const auto found = object_.find(name);
    if (found != object_.end() && found->is_array() && std::ranges::all_of(*found, fits)) {
      values = found->get<std::vector<Value>>();
    } else {
      fail(fmt::format("\"{}\" is not a list of {}", name, what));
    }
  }

  Json object_ = Json::object();
  bool reads_ = false;
  std::string trouble_;
};

void list_members(Members& members, MachineFacts& machine) {
  members.member("address", machine.address);
  members.member("cpus", machine.cpus, kMostCpu);
  members.sentence("kernel", machine.kernel);
  members.sentence("processor", machine.processor);
  members.member("boot", machine.boot);
}

void list_members(Members& members, AgentRequest& request) {
  switch (request.task) {
    case AgentTask::kCrew:
      members.member("places", request.places, 1, kMostContenders);
      members.member("threads", request.threads, 1, kMostThreads);
      members.member("cpus", request.cpus, kMostCpu);
      members.address("host", "an IP address", request.host, host_of, ip_address);
      return;
    case AgentTask::kStart:
      members.member("place", request.place, 0, kMostContenders - 1);
      members.member("words", request.words);
      return;
    case AgentTask::kLook: members.member("place", request.place, 0, kMostContenders - 1); return;
    case AgentTask::kAwait:
    case AgentTask::kEnd: members.member("patience", request.patience, kLongestPatience); return;
    case AgentTask::kEnded:
    case AgentTask::kOrphans:
    case AgentTask::kClocks: return;
  }
}

void list_members(Members& members, ServerLook& look) {
  members.member("at", look.at);
  members.member("cpu", look.cpu);
  members.member("rss_bytes", look.rss_bytes);
  members.member("voluntary_switches", look.voluntary_switches);
  members.member("involuntary_switches", look.involuntary_switches);
  members.member("processes", look.processes);
  members.member("forgets_children", look.forgets_children);
}

void list_members(Members& members, MachineClocks& clocks) {
  members.member("at", clocks.at);
  members.member("busy", clocks.busy);
  members.member("stolen", clocks.stolen);
  members.member("own", clocks.own);
}

void list_members(Members& members, AgentStarted& started) {
  const auto text_of = [](const SocketAddress& address) { return address.to_string(); };
  const auto parse = [](std::string_view text) { return SocketAddress::parse(text).value_or(SocketAddress()); };
  members.address("address", "the address of a server", started.address, text_of, parse);
}

void list_members(Members& members, AgentOrphans& orphans) {
  members.member("places", orphans.places, kMostContenders - 1);
}

void list_members(Members& members, ServerFault& fault) {
  members.place_or_none("place", fault.place);
  members.sentence("sentence", fault.sentence);
}

void list_members(Members& members, AgentRefusal& refusal) { members.sentence("error", refusal.sentence); }

void list_members(Members&, AgentDone&) {}

template <class Said>
Json json_of(Said said) {
  Members members;
  list_members(members, said);
  return members.object();
}

// Parses a JSON object. Returns std::nullopt if the line is not a JSON object.
std::optional<Json> parse_object(std::string_view line) {
  Json json = Json::parse(line, nullptr, false);
  if (json.is_discarded() || !json.is_object()) return std::nullopt;
  return json;
}

// Checks the words of a "start" request, which are the command that starts a server. Returns a text that says what is
// wrong with the words, or an empty text. Call list_members() before this function. In a "start" request,
// list_members() checks everything except the content of the words. Requests of other kinds are checked completely by
// list_members().
std::string request_trouble(const AgentRequest& request) {
  if (request.task != AgentTask::kStart) return {};
  if (!tells_where(request.words)) return "\"words\" contain neither {listen} nor {port}";
  const auto is_cut = [](const std::string& word) { return word.contains('\0'); };
  if (request.words.front().empty() || std::ranges::any_of(request.words, is_cut)) {
    return "\"words\" must begin with a program and must not contain NUL";
  }
  return {};
}

// Returns an empty answer to a request for `task`. The type of the answer depends on the task. The caller fills the
// answer with values from JSON.
AgentAnswer empty_answer(AgentTask task) {
  switch (task) {
    case AgentTask::kStart: return AgentStarted{};
    case AgentTask::kLook: return ServerLook{};
    case AgentTask::kOrphans: return AgentOrphans{};
    case AgentTask::kClocks: return MachineClocks{};
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
  return dumped({{"agent", kAgentVersion}, {"machine", json_of(machine)}});
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
  list_members(members, greeting.machine);
  greeting.trouble = members.trouble();
  return greeting;
}

std::string request_line(const AgentRequest& request) {
  Json json = json_of(request);
  json["do"] = kTasks[static_cast<size_t>(request.task)];
  return dumped(json);
}

std::expected<AgentRequest, std::string> parse_request(std::string_view line) {
  const std::optional<Json> json = parse_object(line);
  if (!json) return std::unexpected(fmt::format("'{}' is not an object of JSON", shown(line)));
  Members members(*json);
  std::string task;
  members.member("do", task);
  const auto found = std::ranges::find(kTasks, std::string_view(task));
  if (!members.trouble().empty()) return std::unexpected(members.trouble());
  if (found == kTasks.end()) {
    return std::unexpected(
        fmt::format("there is no task '{}'; the tasks are {}", shown(task), fmt::join(kTasks, ", ")));
  }
  AgentRequest request{.task = static_cast<AgentTask>(found - kTasks.begin())};
  list_members(members, request);
  const std::string trouble = members.trouble().empty() ? request_trouble(request) : members.trouble();
  if (!trouble.empty()) return std::unexpected(fmt::format("{}: {}", task, trouble));
  return request;
}

std::string answer_line(const AgentAnswer& answer) {
  Json json = std::visit([](const auto& said) { return json_of(said); }, answer);
  if (std::holds_alternative<AgentRefusal>(answer)) return dumped(json);
  return dumped({{std::holds_alternative<ServerFault>(answer) ? "fault" : "ok", std::move(json)}});
}

std::expected<AgentAnswer, std::string> parse_answer(std::string_view line, AgentTask task) {
  const auto no_answer = [line](std::string_view why) {
    return std::unexpected(fmt::format("'{}' is no answer: {}", shown(line), why));
  };
  const std::optional<Json> json = parse_object(line);
  if (!json) return no_answer("it is not an object of JSON");
  const bool is_refusal = json->contains("error");
  const bool is_fault = json->contains("fault");
  const Json inside = is_refusal ? *json : json->value(is_fault ? "fault" : "ok", Json());
  if (!inside.is_object()) return no_answer("it holds neither ok nor fault nor error");
  AgentAnswer answer = is_refusal ? AgentRefusal{} : is_fault ? ServerFault{} : empty_answer(task);
  Members members(inside);
  std::visit([&members](auto& said) { list_members(members, said); }, answer);
  if (!members.trouble().empty()) return no_answer(members.trouble());
  return answer;
}

}  // namespace peal::load
