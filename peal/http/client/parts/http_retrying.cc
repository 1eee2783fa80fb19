// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/client/parts/http_retrying.h>

#include <cerrno>
#include <charconv>
#include <chrono>

#include <peal/base/bad_value.h>
#include <peal/base/result.h>
#include <peal/http/client/http_trouble.h>
#include <peal/wire/content/http_date.h>

namespace peal::detail {
namespace {

constexpr int64_t kMostSeconds = std::chrono::duration_cast<std::chrono::seconds>(kLongest).count();

Duration seconds_of(int64_t seconds) { return std::chrono::seconds(std::clamp<int64_t>(seconds, 0, kMostSeconds)); }

bool took_too_long(std::error_code error) {
  return error == HttpTrouble::kConnectTimeout || error == HttpTrouble::kFirstByteTimeout ||
         error == HttpTrouble::kStalled || error == HttpTrouble::kAttemptTimeout || error == Trouble::kNoAnswer ||
         error == errno_code(ETIMEDOUT);
}

bool was_cut_off(std::error_code error) {
  if (error == HttpTrouble::kClosedEarly || error == Trouble::kTruncated || error == Trouble::kNameServerFailed) {
    return true;
  }
  if (error.category() != std::generic_category()) return false;
  switch (error.value()) {
    case ECONNREFUSED:
    case ECONNRESET:
    case EPIPE:
    case EHOSTUNREACH:
    case ENETUNREACH:
    case EHOSTDOWN:
    case ENETDOWN: return true;
    default: return false;
  }
}

}  // namespace

HttpRetryBudget::HttpRetryBudget(const HttpRetry& policy, uint64_t seed)
    : share_(policy.budget_share), most_(policy.budget), random_(policy.seed != 0 ? policy.seed : seed) {
  if (!(share_ >= 0) || !(most_ >= 0)) {
    throw_bad_value("HttpRetry: budget ({}) and budget_share ({}) must be at least 0", most_, share_);
  }
  if (policy.first_delay < Duration::zero() || policy.longest_delay < policy.first_delay) {
    throw_bad_value("HttpRetry: first_delay ({} ns) must be at least 0 and at most longest_delay ({} ns)",
                    policy.first_delay.count(), policy.longest_delay.count());
  }
}

Duration HttpRetryBudget::draw_delay(const HttpRetry& policy, unsigned next) {
  Duration longest = bounded(policy.first_delay);
  const Duration most = bounded(policy.longest_delay);
  for (unsigned at = 2; at < next && longest > Duration::zero() && longest < most; ++at)
    longest = std::min(most, longest * 2);
  return Duration(std::uniform_int_distribution<Duration::rep>(0, longest.count())(random_));
}

bool may_pass(std::error_code error, const HttpRetry& policy) {
  if (const int status = status_of_proxy(error); status != 0) {
    return std::ranges::find(policy.statuses, status) != policy.statuses.end();
  }
  if (took_too_long(error)) return policy.timeouts;
  return was_cut_off(error);
}

std::optional<Duration> retry_after(const HttpResponseHead& head) {
  const auto value = head.find("Retry-After");
  if (!value || value->empty()) return std::nullopt;
  if (value->find_first_not_of("0123456789") == value->npos) {
    int64_t seconds = 0;
    const auto [end, error] = std::from_chars(value->data(), value->data() + value->size(), seconds);
    return seconds_of(error == std::errc::result_out_of_range ? kMostSeconds : seconds);
  }
  const auto system_now = std::chrono::system_clock::now().time_since_epoch();
  int64_t now = std::chrono::duration_cast<std::chrono::seconds>(system_now).count();
  if (const auto date = head.find("Date")) now = parse_http_date(*date, now).value_or(now);
  const auto then = parse_http_date(*value, now);
  if (!then) return std::nullopt;
  return seconds_of(*then - now);
}

}  // namespace peal::detail
