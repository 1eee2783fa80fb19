// SPDX-License-Identifier: BSD-3-Clause
// A store of texts under keys that several loops share without a lock:
// `shared_key_value [ADDRESS [THREADS [REQUESTS_PER_SECOND]]]`, then
//   curl -X PUT -d hello 'http://127.0.0.1:8085/keys/greeting?ttl=60'
//   curl http://127.0.0.1:8085/keys/greeting                              -> hello
//   curl http://127.0.0.1:8085/stats                                      -> how many keys each loop has
// The requests are those of one client's address, on all loops together.
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
  // Before other threads start, so that they inherit what is blocked.
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
