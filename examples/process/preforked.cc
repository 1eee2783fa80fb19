// SPDX-License-Identifier: BSD-3-Clause
// A service in processes: a master, and workers that send back each line with who answered. `preforked [ADDRESS
// [FILE]]`: the file says how many workers there shall be, and is read again at SIGHUP.
#include <fstream>

#include <examples/shared/service.h>

#include <peal/net/messages.h>
#include <peal/process/master.h>
#include <peal/wire/framing/delimiter_framing.h>

namespace {

using namespace peal;

// 2 where there is no file.
Result<size_t> workers_wanted(const std::string& path) {
  size_t count = 2;
  if (path.empty()) return count;
  std::ifstream file(path);
  if (!(file >> count) || count == 0 || count > 100) return fail(EINVAL);
  return count;
}

// [worker]
int work(Worker& worker) {
  const std::string who = fmt::format("one of {} workers of generation {}: ", worker.count(), worker.generation());
  auto on_line = [&who](Connection& connection, std::string_view line) {
    connection.send(fmt::format("{}{}\n", who, line));
  };
  Loop loop;
  Server server(loop, {.on_message = messages(LineFraming(), on_line)});
  return worker.serve(loop, server);
}
// [worker]

}  // namespace

// [master]
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
// [master]
