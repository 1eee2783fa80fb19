// SPDX-License-Identifier: BSD-3-Clause
// TlsReloader: reads a server's certificates anew when it is asked to, and when they have changed, on a thread of its
// own, since reading blocks. It says what it did in the log; files that are no good leave what was there in use.
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

// What it has of a TlsServerContext.
struct TlsFiles {
  std::function<TlsResult<void>()> reload;
  std::function<TlsResult<bool>()> reload_if_changed;
};

TlsFiles files_of(TlsServerContext& context);
// The same for who does it himself: reloads, and says in the log what became of it.
TlsResult<void> reload_and_tell(const TlsFiles& files);

class TlsReloader {
 public:
  // Told what became of a reload, on the reloader's thread.
  using Done = Callback<void(const TlsResult<void>& done)>;

  // Looks for changes every so often; kOnlyWhenAsked: it only does what it is asked. What the files use outlives it.
  // Fails as Thread::start().
  static Result<std::unique_ptr<TlsReloader>> start(TlsFiles files, Duration look_every);
  // Waits for what is under way.
  ~TlsReloader();
  TlsReloader(const TlsReloader&) = delete;
  TlsReloader& operator=(const TlsReloader&) = delete;

  static constexpr Duration kOnlyWhenAsked = Duration::max();

  // Any thread.
  void reload(Done done) { asked_.put(std::move(done)); }

 private:
  TlsReloader(TlsFiles files, Duration look_every) : files_(std::move(files)), look_every_(look_every) {}
  void run(const std::stop_token& stop);
  void look();

  const TlsFiles files_;
  const Duration look_every_;
  std::string last_trouble_;  // told already: a file that stays broken is told of once
  BlockingQueue<Done> asked_;
  Thread thread_;
};

}  // namespace peal::cli
