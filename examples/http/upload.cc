// SPDX-License-Identifier: BSD-3-Clause
// Stores uploaded files on the disk, and serves them: `upload FOLDER [ADDRESS [sync]]`. Start it, then type:
//   curl -T big.iso http://127.0.0.1:8081/files/
//   curl http://127.0.0.1:8081/files/big.iso
// A body of up to 1 TiB goes to a temporary file as it arrives. A second thread writes each piece to the disk before
// the next piece is read. A slow disk therefore slows the client down, and an upload needs only 64 KiB of memory. A
// complete file gets its name by a rename, so nobody sees an incomplete file. With `sync`, the file is synced to the
// disk before the client gets its answer.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include <examples/shared/service.h>

#include <peal/coro/run_on.h>
#include <peal/http/files/static_files.h>
#include <peal/http/server/http_server.h>

namespace {

using namespace peal;

struct Place {
  Fd folder;
  bool syncs = false;
  Loop* disk = nullptr;  // a second loop that writes files: the server's loop must not block
  uint64_t uploads = 0;
};

// True if `name` has 1 to 200 bytes, no slash and no byte below 0x20, and does not begin with a dot.
bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() <= 200 && name.front() != '.' &&
         std::ranges::none_of(name, [](char byte) { return byte == '/' || static_cast<unsigned char>(byte) < 0x20; });
}

// A file that is being uploaded. It has a temporary name, and is deleted unless complete() gives it its final name.
class Upload {
 public:
  explicit Upload(Place& place) : place_(place), name_(fmt::format(".upload-{}-{}", ::getpid(), ++place.uploads)) {}
  Upload(const Upload&) = delete;
  Upload& operator=(const Upload&) = delete;
  ~Upload() {
    if (file_) ::unlinkat(place_.folder.get(), name_.c_str(), 0);
  }

  // open(), write() and complete() run on the thread that writes to the disk. They return 0 or an errno.
  Task<int> open() {
    file_.reset(::openat(place_.folder.get(), name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    co_return file_ ? 0 : errno;
  }
  Task<int> write(Buffer piece) {
    while (!piece.empty()) {
      const std::string_view bytes = piece.front();
      const ssize_t written = ::write(file_.get(), bytes.data(), bytes.size());
      if (written < 0 && errno != EINTR) co_return errno;
      if (written > 0) piece.consume(static_cast<size_t>(written));
    }
    co_return 0;
  }
  Task<int> complete(std::string name) {
    if (place_.syncs && ::fsync(file_.get()) != 0) co_return errno;
    if (::renameat(place_.folder.get(), name_.c_str(), place_.folder.get(), name.c_str()) != 0) co_return errno;
    file_.reset();
    // The new name is stored in the folder, so the folder must be synced, too.
    if (place_.syncs && ::fsync(place_.folder.get()) != 0) co_return errno;
    co_return 0;
  }

 private:
  Place& place_;
  const std::string name_;
  Fd file_;
};

int status_of(int error) { return error == ENOSPC || error == EDQUOT ? 507 : 500; }

Task<int> receive(HttpExchange& exchange, Place& place, Upload& upload, std::string name) {
  Result<int> error = co_await run_on(*place.disk, upload.open());
  while (error && *error == 0) {
    Result<Buffer> piece = co_await exchange.read();
    if (!piece) co_return ECONNRESET;
    const bool ended = piece->empty();
    Task<int> step = ended ? upload.complete(name) : upload.write(std::move(*piece));
    error = co_await run_on(*place.disk, std::move(step));
    if (ended) break;
  }
  co_return error ? *error : EIO;
}

Task<> take_upload(HttpExchange& exchange, Place& place) {
  const std::string name(exchange.parameter("name"));
  if (!is_plain_name(name)) {
    exchange.respond(400, "text/plain", "A name has no slash and does not begin with a dot.\n");
    co_return;
  }
  struct stat status{};
  const bool is_new = ::fstatat(place.folder.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0;
  Upload upload(place);
  const int error = co_await receive(exchange, place, upload, name);
  if (error == 0) {
    exchange.respond(is_new ? 201 : 204);
  } else if (!exchange.begun()) {
    exchange.respond(status_of(error));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string folder = examples::argument(argc, argv, 1, ".");
  Place place{.folder = Fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
              .syncs = examples::argument(argc, argv, 3, "") == "sync"};
  const auto files = StaticFiles::open(folder, {.parameter = "name"});
  if (!place.folder || !files) return examples::failed("cannot use " + folder, errno_code(errno));
  Loop loop;
  if (Result<void> done = loop.stop_on_signals(); !done) return examples::failed("cannot handle signals", done.error());
  auto disk = LoopGroup::start(1, {}, "disk");
  if (!disk) return examples::failed("cannot start the disk's thread", disk.error());
  place.disk = &(**disk)[0];
  Router router;
  constexpr uint64_t kMostBytes = uint64_t{1} << 40;
  const auto take = [&place](HttpExchange& exchange) { return take_upload(exchange, place); };
  router.get("/files/{name}", *files);
  router.put("/files/{name}", take, {.body_limit_bytes = kMostBytes});
  router.post("/files/{name}", take, {.body_limit_bytes = kMostBytes});
  HttpServer server(loop, std::move(router));
  if (!examples::listen(server.server(), examples::argument(argc, argv, 2, "127.0.0.1:8081"))) return 1;
  const Result<void> ran = loop.run();
  return ran ? 0 : examples::failed("cannot run the loop", ran.error());
}
