// SPDX-License-Identifier: BSD-3-Clause
#include <tests/support/sealed/sealed_exclusions.h>

#include <algorithm>
#include <array>
#include <span>

#include <gtest/gtest.h>

#include <tests/support/tested_engines.h>

namespace peal::test {
namespace {

// A test that does not run if a layer is above the engine, and the reason. `test` is the beginning of the test's full
// name, so it can also select a whole suite.
struct Exclusion {
  std::string_view test;
  std::string_view why;
};

constexpr std::string_view kCounters = "the test counts the engine's bytes, and a layer adds some";
constexpr std::string_view kDetaches = "a stream of a layer cannot be detached";
constexpr std::string_view kReadsRaw = "the test reads from its socket itself, byte by byte";
constexpr std::string_view kInTheClear = "the peer of the test sends plain bytes";
constexpr std::string_view kMemory = "the test counts memory above the layer, and would take long";
constexpr std::array kExclusions{
    Exclusion{"EngineReceive.echo", kCounters},
    Exclusion{"EngineClose.new_stream_in_an_old_slot_gets_only_its_own_events", kDetaches},
    Exclusion{"EngineRaw.server_speaks_before_the_engine_has_seen_the_connection", kInTheClear},
    Exclusion{"EngineRaw.urgent_byte_disturbs_nothing", kInTheClear},
    Exclusion{"EngineFile.detach_waits_for_the_files", kDetaches},
    Exclusion{"EngineRaw.accepted_and_connected_sockets_are_set_up", kDetaches},
    Exclusion{"ClientTest.retries_until_somebody_listens", "the test's listener accepts nothing, so no handshake ends"},
    Exclusion{"ServerCapsTest.newcomer_is_refused_when_nobody_is_idle", kCounters},
    Exclusion{"ConnectionFlowTest.frames_split_at_every_byte", kCounters},
    Exclusion{"ConnectionDeadlineTest.peer_that_reads_slowly_but_steadily_is_not", kReadsRaw},
    Exclusion{"ConnectionEndTest.slow_reader_is_not_cut_off_while_it_reads", kReadsRaw},
    Exclusion{"MemoryOfMessages.", kMemory},
    Exclusion{"MemoryOfReadBodies.", kMemory},
};

// Tests that run with the sealing layer, but not over TLS.
constexpr std::string_view kLastWords = "the last record of the handshake is counted as queued output";
constexpr std::string_view kOtherHost = "the tests' certificate is not for the host of this test";
constexpr std::array kTlsExclusions{
    Exclusion{"ConnectionTest.bytes_are_counted", kLastWords},
    Exclusion{"ConnectionFlowTest.output_above_its_limit_closes", kLastWords},
    Exclusion{"DestructionTest.loop_before_server_and_client_that_were",
              "the loop ends in the middle of the handshake"},
    Exclusion{"ConnectionEndTest.close_with_output_queued_and_input_unread",
              "the test sends much before the handshake is over"},
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
