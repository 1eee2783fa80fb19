// SPDX-License-Identifier: BSD-3-Clause
// Stores texts under keys on several loops, without a lock:
// `shared_key_value [ADDRESS [THREADS [REQUESTS_PER_SECOND]]]`, then
//   curl -X PUT -d hello 'http://127.0.0.1:8085/keys/greeting?ttl=60'
//   curl http://127.0.0.1:8085/keys/greeting                              -> hello
//   curl http://127.0.0.1:8085/stats                                      -> how many keys each loop has
// REQUESTS_PER_SECOND limits the requests of each client address, on all loops together.
#include <algorithm>
#include <cstdlib>

#include <examples/http/shared_store.h>
#include <examples/shared/service.h>

int main(int argc, char** argv) {
  using namespace peal;
  const auto number = [&](int index, const char* otherwise) {
    return static_cast<uint32_t>(std::max(1, std::atoi(examples::argument(argc, argv, index, otherwise).c_str())));
  };
  Loop signals;
  // From here on, SIGINT and SIGTERM stop the loop `signals` instead of ending the process. A signal that arrives
  // before signals.run() makes signals.run() return at once.
  if (const Result<void> done = signals.stop_on_signals(); !done) {
    return examples::failed("cannot handle signals", done.error());
  }
  const auto loops = LoopGroup::start(number(2, "4"));
  if (!loops) return examples::failed("cannot start the loops", loops.error());
  examples::KeyValueService service(**loops, {.requests = number(3, "1000")});
  if (!examples::listen(service.server(), examples::argument(argc, argv, 1, "127.0.0.1:8085"))) return 1;
  const Result<void> ran = signals.run();
  return ran ? 0 : examples::failed("cannot run the loop", ran.error());
}
