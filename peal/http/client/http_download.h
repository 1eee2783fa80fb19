// SPDX-License-Identifier: BSD-3-Clause
// HttpDownload: stores the content of a URL in a file, and continues where an earlier attempt broke off.
//
//   auto done = co_await peal::download(client, request, "/srv/big.iso");    // Result<HttpDownloaded>
//   auto download = peal::HttpDownload::start(client, request, path, std::move(options), [](auto done) { ... });
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

// The struct has a constructor because g++ 12 destroys an aggregate twice that is created inside `co_await
// download(...)`.
struct HttpDownloadOptions {
  HttpDownloadOptions() = default;

  // True if the download continues the ".part" file that an earlier attempt has left. If false, that file is emptied.
  bool resume = true;

  // True if the file's bytes and its name are on the disk (fsync) before the download reports its end.
  bool sync = false;

  // The largest file, 1 TiB by default; a download of a larger one fails with HttpTrouble::kAnswerTooLarge. If the
  // answer's head names a length above the limit, the download fails before it writes a byte.
  uint64_t limit_bytes = uint64_t{1} << 40;

  // Called with the number of bytes that the file has so far, including bytes of earlier attempts. The second argument
  // is the length of the whole file, if known. Called when the answer begins, when the file is complete, and in between
  // at most once in each `progress_interval`. The callback may destroy the download.
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
  // stored as they arrive, without decoding. If `request` has no Accept-Encoding, the client asks for "identity". While
  // the download is in progress, its bytes are in `path` + ".part". When the download is complete, that file replaces a
  // file at `path`.
  //
  // If start() itself fails, `on_done` is never called. start() fails with:
  // - HttpTrouble::kBadRequest if the request has a method other than GET, a body, Range, If-Range or may_upgrade;
  // - the errors of HttpClient::start();
  // - the errno of opening the ".part" file, or EBUSY if another process downloads to `path`.
  //
  // `on_done` is called once, from the loop. The download fails with:
  // - the errors of an HttpFetch;
  // - server_refusal() if the status is neither 200 nor 206;
  // - HttpTrouble::kBadPart if the server sends bytes that were not asked for, or a length that differs from its head;
  // - HttpTrouble::kAnswerTooLarge if the file would exceed `limit_bytes`;
  // - the errno of writing, such as ENOSPC.
  // After a failure the ".part" file stays on the disk, and the next attempt continues it if that is possible.
  static Result<std::unique_ptr<HttpDownload>> start(HttpClient& client, HttpClientRequest request,
                                                     const std::string& path, HttpDownloadOptions options,
                                                     Done on_done);
  // Ends the download; no callback is called after that. The download may be destroyed inside one of its own callbacks.
  ~HttpDownload();
  HttpDownload(const HttpDownload&) = delete;
  HttpDownload& operator=(const HttpDownload&) = delete;

 private:
  class Run;
  explicit HttpDownload(std::shared_ptr<Run> run) : run_(std::move(run)) {}

  const std::shared_ptr<Run> run_;
};

// Awaits a download; co_await returns Result<HttpDownloaded>. Fails with the errors of HttpDownload::start() and of its
// `on_done`, with ECANCELED if the await is cancelled, and with ETIMEDOUT if the await's own deadline passes.
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

// Returns the awaitable that downloads `request` to the file at `path`, for a coroutine on the client's loop.
inline HttpDownloadAwait download(HttpClient& client, HttpClientRequest request, std::string path,
                                  HttpDownloadOptions options = {}) {
  return {client, std::move(request), std::move(path), std::move(options)};
}

}  // namespace peal
