// SPDX-License-Identifier: BSD-3-Clause
// Measures the parsing of one request whose head is in one piece. One request is the GET of a load generator with four
// fields, the other the GET of a browser with nine. In `repeated` the fields are those of the last request, as is usual
// on one connection. In `changing` they always differ.
#include <string>
#include <string_view>

#include <benchmark/benchmark.h>

#include <peal/wire/http/http_request_parser.h>
#include <peal/wire/scan_kind.h>

namespace peal {
namespace {

constexpr std::string_view kFourFields =
    "GET /collect?v=1 HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nUser-Agent: bench/1.0\r\nAccept: */*\r\n"
    "Connection: keep-alive\r\n\r\n";
constexpr std::string_view kBrowser =
    "GET /wp-content/uploads/2010/03/hello-kitty-darth-vader-pink.jpg HTTP/1.1\r\nHost: www.kittyhell.com\r\n"
    "User-Agent: Mozilla/5.0 (Macintosh; U; Intel Mac OS X 10.6; ja-JP-mac; rv:1.9.2.3) Gecko/20100401 "
    "Firefox/3.6.3\r\n"
    "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\nAccept-Language: ja,en-us;q=0.7\r\n"
    "Accept-Encoding: gzip,deflate\r\nAccept-Charset: Shift_JIS,utf-8;q=0.7,*;q=0.7\r\nKeep-Alive: 115\r\n"
    "Connection: keep-alive\r\nCookie: wp_ozh_wsa_visits=2; wp_ozh_wsa_visit_lasttime=xxxxxxxxxx; "
    "__utma=xxxxxxxxx.xxxxxxxxxx.xxxxxxxxxx.xxxxxxxxxx.xxxxxxxxxx.x\r\n\r\n";

void http_request_parse(benchmark::State& state, std::string_view request, bool changing, ScanKind kind) {
  if (!has_scan(kind)) return state.SkipWithError("not on this processor");
  const ScanKind best = scan_kind();
  force_scan(kind);
  std::string inputs[2] = {std::string(request), std::string(request)};
  inputs[1][request.find("Accept") + 8] = changing ? 'x' : request[request.find("Accept") + 8];
  const HttpLimits limits;
  HttpRequestParser parser(limits);
  HttpRequestHead head;
  size_t turn = 0;
  for (auto _ : state) {
    const std::string_view input = inputs[turn++ & 1];
    const HttpRequestStep step = parser.next(input, head);
    benchmark::DoNotOptimize(parser.next(input.substr(step.consumed), head));
    benchmark::DoNotOptimize(head);
  }
  if (head.field_count() < 4) state.SkipWithError("the request was not read");
  force_scan(best);
}

BENCHMARK_CAPTURE(http_request_parse, four_fields_repeated, kFourFields, false, scan_kind());
BENCHMARK_CAPTURE(http_request_parse, four_fields_changing, kFourFields, true, scan_kind());
BENCHMARK_CAPTURE(http_request_parse, four_fields_changing_ssse3, kFourFields, true, ScanKind::kSsse3);
BENCHMARK_CAPTURE(http_request_parse, four_fields_changing_portable, kFourFields, true, ScanKind::kPortable);
BENCHMARK_CAPTURE(http_request_parse, browser_changing, kBrowser, true, scan_kind());
BENCHMARK_CAPTURE(http_request_parse, browser_changing_portable, kBrowser, true, ScanKind::kPortable);

}  // namespace
}  // namespace peal
