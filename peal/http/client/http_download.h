// SPDX-License-Identifier: BSD-3-Clause
// HttpDownload: stores the content of a URL in a file, and continues where an earlier attempt broke off.
//
//   auto done = co_await peal::download(client, request, "/srv/big.iso");    // Result<HttpDownloaded>
//   auto download = peal::HttpDownload::start(client, request, path, options, [](peal::Result<...> done) { ... });
//
// Two files exist while a download is incomplete:
//
//   big.iso.part ──► the bytes so far                                 complete ──► renamed to big.iso
//   big.iso.part.meta ──► their URL, and its ETag or Last-Modified             ──► removed
//
// A later attempt asks only for the bytes after the part (Range), on condition that the content is still the same
// (If-Range, RFC 9110 13.1.5). This needs a strong ETag, or a Last-Modified at least a second before Date. If the
// server answers 200 with the whole content, that replaces the part. If the server answers 416, or sends another part,
// version or length than was asked for, the whole content is requested, once. Bytes are never appended to a part that
// may belong to another version.
//
// Writing blocks the loop, mostly for no longer than a copy to the page cache takes. With `sync`, the loop is blocked
// until the disk has the bytes. If the loop serves others too, give downloads a loop of their own. Only one process at
// a time can download to a path (flock on the part); a second one fails with EBUSY. After a power failure, bytes that
// were not synced may be missing or zero: remove the part then.
//
// A download is used on the client's loop. After its client is destroyed, a download calls no callback any more.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <peal/base/callback.h>
#include <peal/coro/await.h>
#include <peal/http/client/http_client.h>

namespace peal {

// This is no aggregate, because g++ 12 destroys aggregates inside `co_await download(...)` twice.
struct HttpDownloadOptions {
  HttpDownloadOptions() = default;

  // True if a download continues the ".part" file that an earlier attempt has left; if false, that file is emptied.
  bool resume = true;

  // True if the file's bytes and its name are on the disk (fsync) before the download reports its end.
  bool sync = false;

  // The largest file, 1 TiB by default; a larger one fails with HttpTrouble::kAnswerTooLarge. If the server says the
  // length, the download fails before a byte is written.
  uint64_t limit_bytes = uint64_t{1} << 40;

  // Called with the bytes of the file so far, those of earlier attempts included, and with the length of the whole file
  // if that is known. Called when the answer begins, when the file is complete, and in between at most once in each
  // `progress_interval`. The callback may destroy the download.
  Callback<void(uint64_t bytes, std::optional<uint64_t> total_bytes)> on_progress = nullptr;
  Duration progress_interval = std::chrono::milliseconds(200);
};

struct HttpDownloaded {
  uint64_t bytes = 0;          // the file's length
  uint64_t resumed_bytes = 0;  // how many of these bytes an earlier attempt had received
  std::string url;             // the URL that sent the bytes, after all redirects
};

class HttpDownload {
 public:
  using Done = Callback<void(Result<HttpDownloaded> done)>;

  // Begins a download with a GET request that has the fields, deadlines and connect_to of `request`. The bytes are
  // stored as they arrive, without decoding. Unless the request has an Accept-Encoding, it asks for "identity". When
  // the download is complete, a file at `path` is replaced.
  //
  // If start() itself fails, `on_done` is never called. Its errors:
  // - HttpTrouble::kBadRequest if the request has a method other than GET, a body, Range, If-Range or may_upgrade;
  // - the errors of HttpClient::start();
  // - the errno of opening the part, EBUSY if another process downloads to `path`.
  //
  // `on_done` is called once, from the loop. Its errors:
  // - the errors of an HttpFetch;
  // - server_refusal() for any status except 200 and 206;
  // - HttpTrouble::kBadPart if the server sends a part that was not asked for, or another length than it said;
  // - HttpTrouble::kAnswerTooLarge beyond `limit_bytes`;
  // - the errno of writing, such as ENOSPC.
  // After a failure the part stays on the disk, and the next attempt continues it if that is possible.
  static Result<std::unique_ptr<HttpDownload>> start(HttpClient& client, HttpClientRequest request,
                                                     const std::string& path, HttpDownloadOptions options,
                                                     Done on_done);
  // Ends the download; no callback begins any more. This may happen inside a callback of the download.
  ~HttpDownload();
  HttpDownload(const HttpDownload&) = delete;
  HttpDownload& operator=(const HttpDownload&) = delete;

 private:
  class Run;
  explicit HttpDownload(std::shared_ptr<Run> run) : run_(std::move(run)) {}

  const std::shared_ptr<Run> run_;
};

// Awaits a download: Result<HttpDownloaded>. The errors are those of start() and of its `on_done`, ECANCELED and
// ETIMEDOUT.
class [[nodiscard]] HttpDownloadAwait final : public detail::Awaitable<HttpDownloadAwait> {
 public:
  HttpDownloadAwait(HttpClient& client, HttpClientRequest request, std::string path, HttpDownloadOptions options)
      : client_(client), request_(std::move(request)), path_(std::move(path)), options_(std::move(options)) {}
  static bool await_ready() { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> handle) {
    return begin(handle) && start();
  }
  Result<HttpDownloaded> await_resume();
  void cancel(detail::Why why) noexcept override;

 private:
  bool start();

  HttpClient& client_;
  HttpClientRequest request_;
  std::string path_;
  HttpDownloadOptions options_;
  std::unique_ptr<HttpDownload> download_;
  std::optional<Result<HttpDownloaded>> done_;
};

// Downloads `request` to the file at `path`, for a coroutine on the client's loop.
inline HttpDownloadAwait download(HttpClient& client, HttpClientRequest request, std::string path,
                                  HttpDownloadOptions options = {}) {
  return {client, std::move(request), std::move(path), std::move(options)};
}

}  // namespace peal
