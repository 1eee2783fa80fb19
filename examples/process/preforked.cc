// SPDX-License-Identifier: BSD-3-Clause
// A service of several processes: a master starts workers, and the workers serve the clients. A worker sends each line
// back, with its generation in front. `preforked [ADDRESS [FILE]]`: FILE holds the number of workers. At SIGHUP the
// master reads FILE again and replaces the workers by a new generation.
#include <fstream>

#include <examples/shared/service.h>

#include <peal/net/messages.h>
#include <peal/process/master.h>
#include <peal/wire/framing/delimiter_framing.h>

namespace {

using namespace peal;

// Returns the number of workers that the file `path` holds, or 2 if `path` is empty. Fails with EINVAL if the number is
// not 1 to 100, or if no number can be read from the file.
Result<size_t> workers_wanted(const std::string& path) {
  size_t count = 2;
  if (path.empty()) return count;
  std::ifstream file(path);
  if (!(file >> count) || count == 0 || count > 100) return fail(EINVAL);
  return count;
}

// Quoted in docs: [worker]
int work(Worker& worker) {
  const std::string who = fmt::format("one of {} workers of generation {}: ", worker.count(), worker.generation());
  auto on_line = [&who](Connection& connection, std::string_view line) {
    connection.send(fmt::format("{}{}\n", who, line));
  };
  Loop loop;
  Server server(loop, {.on_message = messages(LineFraming(), on_line)});
  return worker.serve(loop, server);
}
// End of quote: [worker]

}  // namespace

// Quoted in docs: [master]
int main(int argc, char** argv) {
  const std::string file = examples::argument(argc, argv, 2, "");
  const Result<size_t> workers = workers_wanted(file);
  if (!workers) return examples::failed(file, workers.error());
  SocketAddress address;
  MasterOptions options;
  options.workers = *workers;
  options.on_reload = [&file] { return workers_wanted(file); };
  options.on_serving = [&address] {
    fmt::print("listening on {}\n", address.to_string());
    return std::fflush(stdout) == 0;
  };
  Master master(std::move(options));
  const std::string asked = examples::argument(argc, argv, 1, "127.0.0.1:2010");
  const Result<SocketAddress> bound = master.listen(asked);
  if (!bound) return examples::failed("cannot listen on " + asked, bound.error());
  address = *bound;
  return master.run(work);
}
// End of quote: [master]
