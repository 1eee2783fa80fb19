// SPDX-License-Identifier: BSD-3-Clause
// TlsReloader: reads a server's certificates again when reload() is called, or when the files have changed. It has a
// thread of its own, because reading blocks. It logs the result of each reload. If a file is wrong, the old
// certificates stay in use.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <peal/base/callback.h>
#include <peal/base/clock.h>
#include <peal/base/result.h>
#include <peal/base/thread/blocking_queue.h>
#include <peal/base/thread/thread.h>
#include <peal/tls/tls_server_context.h>

namespace peal::cli {

// The two functions of a TlsServerContext that a TlsReloader calls to read the files again.
struct TlsFiles {
  std::function<TlsResult<void>()> reload;
  std::function<TlsResult<bool>()> reload_if_changed;
};

TlsFiles files_of(TlsServerContext& context);
// Reads the certificates again on the calling thread, and logs whether that succeeded.
TlsResult<void> reload_and_tell(const TlsFiles& files);

class TlsReloader {
 public:
  // Called on the reloader's thread after a reload. `done` is the result of the reload.
  using Done = Callback<void(const TlsResult<void>& done)>;

  // Starts a reloader with a thread of its own. The thread checks every `look_every` whether a file has changed. If so,
  // the thread reads the files again. If `look_every` is kOnlyWhenAsked, the thread checks nothing, and reads the files
  // only when reload() is called. The TlsServerContext that `files` belongs to must outlive the reloader. Fails if the
  // thread cannot be started.
  static Result<std::unique_ptr<TlsReloader>> start(TlsFiles files, Duration look_every);
  // If a reload is in progress, waits until the reload and its `done` have ended. Reloads that were requested but have
  // not begun may be dropped. The `done` of a dropped reload is never called.
  ~TlsReloader();
  TlsReloader(const TlsReloader&) = delete;
  TlsReloader& operator=(const TlsReloader&) = delete;

  static constexpr Duration kOnlyWhenAsked = Duration::max();

  // Requests a reload and returns immediately. `done` is called after the reload, whether the reload succeeded or
  // failed. If the reloader is destroyed before the reload begins, `done` may never be called. May be called on any
  // thread.
  void reload(Done done) { asked_.put(std::move(done)); }

 private:
  TlsReloader(TlsFiles files, Duration look_every) : files_(std::move(files)), look_every_(look_every) {}
  void run(const std::stop_token& stop);
  void look();

  const TlsFiles files_;
  const Duration look_every_;
  std::string last_trouble_;  // the last error that was logged; the same error is not logged again
  BlockingQueue<Done> asked_;
  Thread thread_;
};

}  // namespace peal::cli
