// SPDX-License-Identifier: BSD-3-Clause
#include <load/remote/agent_wire.h>

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace peal::load {
namespace {

using std::chrono_literals::operator""s;
using testing::HasSubstr;

AgentRequest crew() {
  return {.task = AgentTask::kCrew, .places = 3, .threads = 2, .cpus = {0, 5}, .host = ip_address("10.0.0.2")};
}

std::string trouble_of(std::string_view line) {
  const std::expected<AgentRequest, std::string> request = parse_request(line);
  return request ? "none" : request.error();
}

std::string trouble_of_answer(std::string_view line, AgentTask task) {
  const std::expected<AgentAnswer, std::string> answer = parse_answer(line, task);
  return answer ? "none" : answer.error();
}

TEST(AgentWire, every_request_is_read_as_it_was_written) {
  AgentRequest v6 = crew();
  v6.host = ip_address("fd00::2");
  for (const AgentRequest& request :
       {crew(), v6,
        AgentRequest{
            .task = AgentTask::kStart, .place = 2, .words = {"./a b", "--listen={listen}", "", "\"'\\\n\t", "é"}},
        AgentRequest{.task = AgentTask::kAwait, .patience = 10s}, AgentRequest{.task = AgentTask::kEnded},
        AgentRequest{.task = AgentTask::kLook, .place = 31}, AgentRequest{.task = AgentTask::kOrphans},
        AgentRequest{.task = AgentTask::kEnd, .patience = 5s}, AgentRequest{.task = AgentTask::kClocks}}) {
    const std::string line = request_line(request);
    EXPECT_EQ(line.find('\n'), std::string::npos) << "one line each";
    const std::expected<AgentRequest, std::string> read = parse_request(line);
    ASSERT_TRUE(read.has_value()) << read.error();
    EXPECT_EQ(*read, request) << line;
  }
}

TEST(AgentWire, every_answer_is_read_as_it_was_written) {
  const ServerLook look{.at = TimePoint(7s),
                        .cpu = Duration(123'456'789'012'345),
                        .rss_bytes = 1 << 30,
                        .voluntary_switches = 4,
                        .involuntary_switches = 5,
                        .processes = 6,
                        .forgets_children = true};
  const AgentAnswer read_look = parse_answer(answer_line(look), AgentTask::kLook).value();
  EXPECT_EQ(answer_line(read_look), answer_line(look));
  EXPECT_EQ(std::get<ServerLook>(read_look).cpu, look.cpu);
  const MachineClocks clocks{.at = TimePoint(1s), .busy = 2s, .stolen = 3s, .own = 4s};
  EXPECT_EQ(std::get<MachineClocks>(parse_answer(answer_line(clocks), AgentTask::kClocks).value()), clocks);
  const AgentStarted started{SocketAddress::parse("[fd00::2]:20000").value()};
  EXPECT_EQ(std::get<AgentStarted>(parse_answer(answer_line(started), AgentTask::kStart).value()).address,
            started.address);
  EXPECT_THAT(
      std::get<AgentOrphans>(parse_answer(answer_line(AgentOrphans{{0, 2}}), AgentTask::kOrphans).value()).places,
      testing::ElementsAre(0, 2));
  for (const ServerFault& fault : {ServerFault{3, "it went"}, ServerFault{std::nullopt, "the machine is full"}}) {
    EXPECT_EQ(std::get<ServerFault>(parse_answer(answer_line(fault), AgentTask::kLook).value()), fault);
  }
  const AgentAnswer refused = parse_answer(answer_line(AgentRefusal{"not now"}), AgentTask::kEnd).value();
  EXPECT_EQ(std::get<AgentRefusal>(refused).sentence, "not now");
  EXPECT_TRUE(std::holds_alternative<AgentDone>(parse_answer(answer_line(AgentDone{}), AgentTask::kAwait).value()));
}

TEST(AgentWire, a_greeting_names_its_version_and_its_machine) {
  const MachineFacts machine{.address = "10.0.0.2", .cpus = {0, 1}, .kernel = "Linux", .processor = "", .boot = "b"};
  const std::optional<AgentGreeting> greeting = parse_greeting(greeting_line(machine));
  ASSERT_TRUE(greeting.has_value());
  EXPECT_EQ(greeting->version, kAgentVersion);
  EXPECT_EQ(greeting->machine, machine);
}

TEST(AgentWire, only_the_version_is_read_if_it_is_another_one) {
  EXPECT_EQ(parse_greeting(R"({"agent": "peal-agent/2", "machine": 7})")->version, "peal-agent/2");
}

TEST(AgentWire, output_of_a_login_script_is_no_greeting) {
  for (const char* line : {"", "Welcome to box2", "[1]", "{}", R"({"agent": 1})"}) {
    EXPECT_FALSE(parse_greeting(line)) << line;
  }
}

TEST(AgentWire, a_greeting_with_malformed_facts_says_what_is_wrong) {
  EXPECT_THAT(parse_greeting(R"({"agent": "peal-agent/1"})")->trouble, HasSubstr("machine"));
  EXPECT_THAT(parse_greeting(R"({"agent": "peal-agent/1", "machine": {"address": "10.0.0.2"}})")->trouble,
              HasSubstr("cpus"));
  EXPECT_EQ(parse_greeting(greeting_line({.address = "10.0.0.2", .cpus = {0}, .boot = "b"}))->trouble, "");
}

TEST(AgentWire, texts_of_an_agent_are_short_and_have_no_control_characters) {
  const std::string evil = "a\n\x1b[31mb" + std::string(100'000, 'c');
  const std::optional<AgentGreeting> greeting =
      parse_greeting(greeting_line({.address = "10.0.0.2", .cpus = {0}, .kernel = evil, .boot = "b"}));
  const AgentAnswer refused = parse_answer(answer_line(AgentRefusal{evil}), AgentTask::kEnd).value();
  const AgentAnswer fault = parse_answer(answer_line(ServerFault{0, evil}), AgentTask::kLook).value();
  const std::string version = parse_greeting(R"({"agent": "x\n\u001b[31m"})")->version;
  for (const std::string& told : {greeting->machine.kernel, std::get<AgentRefusal>(refused).sentence,
                                  std::get<ServerFault>(fault).sentence, version}) {
    EXPECT_LT(told.size(), 1000U);
    EXPECT_TRUE(std::ranges::none_of(told, [](unsigned char c) { return c < ' ' || c == 127; })) << told;
  }
}

TEST(AgentWire, an_invalid_request_is_explained_in_a_sentence) {
  EXPECT_EQ(trouble_of(""), "'' is not an object of JSON");
  EXPECT_EQ(trouble_of("start"), "'start' is not an object of JSON");
  EXPECT_EQ(trouble_of("[1, 2]"), "'[1, 2]' is not an object of JSON");
  EXPECT_EQ(trouble_of("{}"), "\"do\" is not a string");
  EXPECT_THAT(trouble_of(R"({"do": "dance"})"), HasSubstr("there is no task 'dance'; the tasks are crew, start"));
  EXPECT_EQ(trouble_of(R"({"do": "look"})"), "look: \"place\" is not a number");
  EXPECT_EQ(trouble_of(R"({"do": "look", "place": -1})"), "look: \"place\" is not from 0 to 127");
  EXPECT_EQ(trouble_of(R"({"do": "look", "place": 18446744073709551615})"), "look: \"place\" is not from 0 to 127");
  EXPECT_EQ(trouble_of(R"({"do": "look", "place": 1.5})"), "look: \"place\" is not a number");
  EXPECT_EQ(trouble_of(R"({"do": "end", "patience": 9000000000000})"),
            "end: \"patience\" is not from 0 to 3600000000000");
  EXPECT_EQ(trouble_of(R"({"do": "start", "place": 0, "words": "a {port}"})"),
            "start: \"words\" is not a list of strings");
  EXPECT_EQ(trouble_of(R"({"do": "start", "place": 0, "words": []})"),
            "start: \"words\" contain neither {listen} nor {port}");
  EXPECT_EQ(trouble_of(R"({"do": "start", "place": 0, "words": ["", "{port}"]})"),
            "start: \"words\" must begin with a program and must not contain NUL");
  EXPECT_EQ(trouble_of(R"({"do": "start", "place": 0, "words": ["a\u0000b", "{port}"]})"),
            "start: \"words\" must begin with a program and must not contain NUL");
  EXPECT_EQ(trouble_of(R"({"do": "crew", "places": 1, "threads": 1, "cpus": [-1], "host": "127.0.0.1"})"),
            "crew: \"cpus\" is not a list of numbers");
  EXPECT_EQ(trouble_of(R"({"do": "crew", "places": 1, "threads": 1, "cpus": [1024], "host": "127.0.0.1"})"),
            "crew: \"cpus\" is not a list of numbers");
  EXPECT_EQ(trouble_of(R"({"do": "crew", "places": 1, "threads": 1, "cpus": [], "host": "box2"})"),
            "crew: \"host\" is not an IP address");
}

TEST(AgentWire, an_error_quotes_only_the_beginning_of_a_long_line) {
  EXPECT_LT(trouble_of(std::string(1'000'000, 'x')).size(), 120u);
}

TEST(AgentWire, half_a_million_brackets_are_no_object) {
  EXPECT_THAT(trouble_of(std::string(kMostAgentLine, '[')), HasSubstr("not an object"));
  EXPECT_THAT(trouble_of(std::string(500'000, '[') + std::string(500'000, ']')), HasSubstr("not an object"));
}

TEST(AgentWire, an_invalid_answer_is_explained_in_a_sentence) {
  EXPECT_THAT(trouble_of_answer("bash: no job control", AgentTask::kEnd),
              HasSubstr("'bash: no job control' is no answer"));
  EXPECT_THAT(trouble_of_answer("{}", AgentTask::kEnd), HasSubstr("neither ok nor fault nor error"));
  EXPECT_THAT(trouble_of_answer(R"({"ok": 1})", AgentTask::kEnd), HasSubstr("neither ok nor fault nor error"));
  EXPECT_THAT(trouble_of_answer(R"({"ok": {}})", AgentTask::kLook), HasSubstr("\"at\" is not a number"));
  EXPECT_THAT(trouble_of_answer(R"({"ok": {"address": "nowhere"}})", AgentTask::kStart), HasSubstr("\"address\""));
  EXPECT_THAT(trouble_of_answer(R"({"ok": {"places": [128]}})", AgentTask::kOrphans), HasSubstr("\"places\""));
  EXPECT_THAT(trouble_of_answer(R"({"fault": {"place": 199, "sentence": ""}})", AgentTask::kEnd),
              HasSubstr("\"place\""));
  EXPECT_THAT(trouble_of_answer(R"({"fault": {"place": 0}})", AgentTask::kEnd), HasSubstr("\"sentence\""));
  EXPECT_THAT(trouble_of_answer(R"({"error": null})", AgentTask::kEnd), HasSubstr("\"error\""));
}

TEST(AgentWire, any_bytes_give_a_request_or_a_sentence) {
  std::mt19937 random(1);
  const std::string whole = request_line(crew());
  for (int i = 0; i < 20'000; ++i) {
    std::string line = whole.substr(0, random() % (whole.size() + 1));
    for (size_t changes = random() % 4; changes > 0 && !line.empty(); --changes) {
      line[random() % line.size()] = static_cast<char>(random());
    }
    const std::expected<AgentRequest, std::string> request = parse_request(line);
    if (!request) {
      EXPECT_TRUE(is_utf8(request.error()));
      EXPECT_EQ(request.error().find('\n'), std::string::npos);
    }
    static_cast<void>(parse_answer(line, AgentTask::kLook));
    static_cast<void>(parse_greeting(line));
  }
}

TEST(AgentWire, output_of_a_server_that_is_not_utf8_still_gives_an_answer) {
  const std::string line = answer_line(ServerFault{0, "exit code 1 (\xff\xfe)"});
  EXPECT_TRUE(is_utf8(line));
  EXPECT_FALSE(is_utf8("\xff\xfe"));
  EXPECT_THAT(std::get<ServerFault>(parse_answer(line, AgentTask::kLook).value()).sentence, HasSubstr("exit code 1"));
}

TEST(AgentWire, addresses_of_either_family) {
  EXPECT_EQ(ip_address("10.0.0.2").to_string(), "10.0.0.2:0");
  EXPECT_EQ(ip_address("fd00::2").to_string(), "[fd00::2]:0");
  for (const char* text : {"", "box2", "10.0.0.2:80", "[fd00::2]", "unix:/tmp/x", "10.0.0.2/24"}) {
    EXPECT_FALSE(ip_address(text).is_set()) << text;
  }
}

}  // namespace
}  // namespace peal::load
