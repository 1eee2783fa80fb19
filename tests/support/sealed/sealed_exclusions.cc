// SPDX-License-Identifier: BSD-3-Clause
#include <tests/support/sealed/sealed_exclusions.h>

#include <algorithm>
#include <array>
#include <span>

#include <gtest/gtest.h>

#include <tests/support/tested_engines.h>

namespace peal::test {
namespace {

// A whole suite, or one test of it: its name as far as it stands here.
struct Exclusion {
  std::string_view test;
  std::string_view why;
};

constexpr std::string_view kCounters = "it counts the engine's bytes, which are sealed ones";
constexpr std::string_view kDetaches = "a stream with a state of its own is not detached";
constexpr std::string_view kReadsRaw = "it reads from its socket by itself, byte by byte";
constexpr std::string_view kInTheClear = "what its peer says is not sealed";
constexpr std::string_view kMemory = "what it counts is above the layer, and takes long to make";
constexpr std::array kExclusions{
    Exclusion{"EngineReceive.echo", kCounters},
    Exclusion{"EngineClose.new_stream_in_an_old_slot_gets_only_its_own_events", kDetaches},
    Exclusion{"EngineRaw.server_speaks_before_the_engine_has_seen_the_connection", kInTheClear},
    Exclusion{"EngineRaw.urgent_byte_disturbs_nothing", kInTheClear},
    Exclusion{"EngineFile.detach_waits_for_the_files", kDetaches},
    Exclusion{"EngineRaw.accepted_and_connected_sockets_are_set_up", kDetaches},
    Exclusion{"ClientTest.retries_until_somebody_listens", "its listener is a socket that nobody accepts from"},
    Exclusion{"ServerCapsTest.newcomer_is_refused_when_nobody_is_idle", kCounters},
    Exclusion{"ConnectionFlowTest.frames_split_at_every_byte", kCounters},
    Exclusion{"ConnectionDeadlineTest.peer_that_reads_slowly_but_steadily_is_not", kReadsRaw},
    Exclusion{"ConnectionEndTest.slow_reader_is_not_cut_off_while_it_reads", kReadsRaw},
    Exclusion{"MemoryOfMessages.", kMemory},
    Exclusion{"MemoryOfReadBodies.", kMemory},
};

// Besides, of those over TLS.
constexpr std::string_view kLastWords = "what the handshake's last record takes is counted as queued";
constexpr std::string_view kOtherHost = "the host it asks for is not that of the tests' certificate";
constexpr std::array kTlsExclusions{
    Exclusion{"ConnectionTest.bytes_are_counted", kLastWords},
    Exclusion{"ConnectionFlowTest.output_above_its_limit_closes", kLastWords},
    Exclusion{"DestructionTest.loop_before_server_and_client_that_were", "the loop ends amid the handshake"},
    Exclusion{"ConnectionEndTest.close_with_output_queued_and_input_unread", "it sends much before hands are shaken"},
    Exclusion{"HttpClientTest.a_server_behind_a_unix_socket", kOtherHost},
    Exclusion{"HttpRedirectTest.a_way_of_its_own_to_connect_is_for_one_origin_only", kOtherHost},
    Exclusion{"HttpRedirectTest.within_the_origin_a_way_of_its_own_to_connect_stays", kOtherHost},
};

std::string why_excluded(std::string_view test, std::span<const Exclusion> exclusions) {
  const auto at = std::ranges::find_if(exclusions, [&](const Exclusion& each) { return test.starts_with(each.test); });
  return at == exclusions.end() ? std::string() : std::string(at->why);
}

}  // namespace

std::string why_not_tested(std::string_view engine_name) {
  if (std::string why = why_unsupported(engine_name); !why.empty() || !is_layered(engine_name)) return why;
  const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
  std::string name = std::string(test.test_suite_name()) + "." + test.name();
  name.erase(0, name.find('/') + 1);
  const std::string why = why_excluded(name, kExclusions);
  return why.empty() && is_over_tls(engine_name) ? why_excluded(name, kTlsExclusions) : why;
}

}  // namespace peal::test
