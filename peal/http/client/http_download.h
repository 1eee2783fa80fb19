// SPDX-License-Identifier: BSD-3-Clause
// HttpDownload: a URL's content in a file, taken up again where an earlier attempt broke off.
//
//   auto done = co_await peal::download(client, request, "/srv/big.iso");    // Result<HttpDownloaded>
//   auto download = peal::HttpDownload::start(client, request, path, options, [](peal::Result<...> done) { ... });
//
//   big.iso.part ──► what has come            complete ──► renamed to big.iso
//   big.iso.part.meta ──► whose it is (URL, and ETag or Last-Modified)       ──► removed
//
// What an attempt leaves behind is asked for again from there on (Range), if what the server has is still the same
// (If-Range, RFC 9110 13.1.5): only where it has said so by a strong ETag or a Last-Modified that was old enough. A
// server that answers with the whole, says 416, or sends another part, another version or another length than was
// agreed on, is asked for all of it, at most once more. Nothing is ever appended to what may be another version's.
//
// Writing blocks the loop for as long as the disk does, which is mostly as long as a copy to the page cache; `sync`
// blocks it for as long as the disk takes. Whoever has others to serve gives downloads a loop of their own. One process
// at a time downloads to a path (flock on the part): EBUSY. After a power failure what was not synced may be lost or
// zeros: then remove the part.
//
// On the client's loop. One that outlives its client is told nothing more.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <peal/base/callback.h>
#include <peal/coro/await.h>
#include <peal/http/client/http_client.h>

namespace peal {

// With a constructor, because g++ 12 destroys aggregates inside `co_await download(...)` twice.
struct HttpDownloadOptions {
  HttpDownloadOptions() = default;

  bool resume = true;  // off: what an earlier attempt left is dropped
  // The file is on the disk, and its name too, before it is reported.
  bool sync = false;
  uint64_t limit_bytes = uint64_t{1} << 40;  // of the file: HttpTrouble::kAnswerTooLarge, before a byte if it is known
  // Bytes of the file so far, those of earlier attempts included, and how many there will be: when the answer begins,
  // then at most once in an interval, and when all is there. It may destroy the download.
  Callback<void(uint64_t bytes, std::optional<uint64_t> total_bytes)> on_progress = nullptr;
  Duration progress_interval = std::chrono::milliseconds(200);
};

struct HttpDownloaded {
  uint64_t bytes = 0;          // of the file
  uint64_t resumed_bytes = 0;  // of those, an earlier attempt's
  std::string url;             // of the last redirect
};

class HttpDownload {
 public:
  using Done = Callback<void(Result<HttpDownloaded> done)>;

  // GET, with the request's fields, deadlines and way to connect; a request with another method, a body, Range or
  // If-Range is HttpTrouble::kBadRequest. The bytes are kept as they come, whatever their coding, which "identity" is
  // asked for unless the request has an Accept-Encoding. A file at `path` is replaced when the new one is whole.
  // Fails as HttpClient::start() does, and with the errno of opening the part; then `on_done` is not called.
  //
  // `on_done` comes once, from the loop: as HttpClient's, server_refusal() for any status but 200 and 206, kBadPart,
  // and the errno of writing, ENOSPC say. The part stays for the next attempt wherever it can be of use.
  static Result<std::unique_ptr<HttpDownload>> start(HttpClient& client, HttpClientRequest request,
                                                     const std::string& path, HttpDownloadOptions options,
                                                     Done on_done);
  // Ends it, from inside its callbacks too: no callback begins any more.
  ~HttpDownload();
  HttpDownload(const HttpDownload&) = delete;
  HttpDownload& operator=(const HttpDownload&) = delete;

 private:
  class Run;
  explicit HttpDownload(std::shared_ptr<Run> run) : run_(std::move(run)) {}

  const std::shared_ptr<Run> run_;
};

// Result<HttpDownloaded>, with the errors of both, ECANCELED and ETIMEDOUT.
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

inline HttpDownloadAwait download(HttpClient& client, HttpClientRequest request, std::string path,
                                  HttpDownloadOptions options = {}) {
  return {client, std::move(request), std::move(path), std::move(options)};
}

}  // namespace peal
