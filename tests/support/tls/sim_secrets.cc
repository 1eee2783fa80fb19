// SPDX-License-Identifier: BSD-3-Clause
#include <tests/support/tls/sim_secrets.h>

#include <algorithm>
#include <mutex>
#include <random>

#include <openssl/rand.h>

#include <peal/base/assert.h>

namespace peal::test {
namespace {

std::mutex mutex;
std::mt19937_64 generator;  // guarded by the mutex
const SimWorld* world_of_clock = nullptr;

int draw(unsigned char* bytes, int count) {
  const std::lock_guard lock(mutex);
  std::generate_n(bytes, count, [] { return static_cast<unsigned char>(generator()); });
  return 1;
}
int seed_nothing(const void*, int) { return 1; }
int add_nothing(const void*, int, double) { return 1; }
int is_ready() { return 1; }

// Replaces OpenSSL's source of random bytes, for the whole process. RAND_set_rand_method() is deprecated. This file
// uses it because its replacement in OpenSSL 3, a provider with a random generator, needs much more code.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
void set_method(const RAND_METHOD* method) { RAND_set_rand_method(method); }
#pragma GCC diagnostic pop

const RAND_METHOD kSeeded{.seed = seed_nothing,
                          .bytes = draw,
                          .cleanup = nullptr,
                          .add = add_nothing,
                          .pseudorand = draw,
                          .status = is_ready};

}  // namespace

SeededRandomness::SeededRandomness(uint64_t seed) {
  const std::lock_guard lock(mutex);
  generator.seed(seed);
  set_method(&kSeeded);
}
SeededRandomness::~SeededRandomness() { set_method(nullptr); }

SimClock::SimClock(const SimWorld& world) {
  PEAL_ASSERT(world_of_clock == nullptr, "another SimClock exists");
  world_of_clock = &world;
}
SimClock::~SimClock() { world_of_clock = nullptr; }

std::chrono::sys_seconds sim_clock() {
  using std::chrono::sys_days, std::chrono::year, std::chrono::January;
  const Duration passed = world_of_clock == nullptr ? Duration() : world_of_clock->now().time_since_epoch();
  return sys_days(year(2030) / January / 1) + std::chrono::floor<std::chrono::seconds>(passed);
}

const std::string_view kSimCertificate =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBkTCCATigAwIBAgIUKJbFhsFhT/W1kSlnr73x3l6B584wCgYIKoZIzj0EAwIw\n"
    "EzERMA8GA1UEAwwIc2ltLnRlc3QwIBcNMjYxMTI1MDQ1ODM2WhgPMjEyNjExMDEw\n"
    "NDU4MzZaMBMxETAPBgNVBAMMCHNpbS50ZXN0MFkwEwYHKoZIzj0CAQYIKoZIzj0D\n"
    "AQcDQgAEAC/sj/nuyVQEGyy3DkfI2LzwDLUmFm1V1eoW78quCWY2cSpQXEDFqu4O\n"
    "WhLeTD2wSd04vd4zF/Oj7APe1Q78yKNoMGYwHQYDVR0OBBYEFKsEDWETyG81e+FV\n"
    "URUK6Hn5z1a1MB8GA1UdIwQYMBaAFKsEDWETyG81e+FVURUK6Hn5z1a1MA8GA1Ud\n"
    "EwEB/wQFMAMBAf8wEwYDVR0RBAwwCoIIc2ltLnRlc3QwCgYIKoZIzj0EAwIDRwAw\n"
    "RAIgLIsnq51BZjm1fm98zcTxD1Z3l/pFI0gbu4VNz+R0Ge4CIFxV1kMr3HDcc6Ap\n"
    "KrXkC68tXrLMrama+J9dE5y13kwv\n"
    "-----END CERTIFICATE-----\n";
const std::string_view kSimKey =
    "-----BEGIN PRIVATE KEY-----\n"
    "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgH6H5XMS/MDkwplPN\n"
    "rMu4FdllwelOojkL0FT2USAd1F+hRANCAAQAL+yP+e7JVAQbLLcOR8jYvPAMtSYW\n"
    "bVXV6hbvyq4JZjZxKlBcQMWq7g5aEt5MPbBJ3Ti93jMX86PsA97VDvzI\n"
    "-----END PRIVATE KEY-----\n";

}  // namespace peal::test
