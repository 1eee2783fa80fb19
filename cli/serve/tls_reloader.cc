// SPDX-License-Identifier: BSD-3-Clause
#include <cli/serve/tls_reloader.h>

#include <optional>
#include <utility>

#include <peal/base/log.h>

namespace peal::cli {

TlsFiles files_of(TlsServerContext& context) {
  return {.reload = [&context] { return context.reload(); },
          .reload_if_changed = [&context] { return context.reload_if_changed(); }};
}

TlsResult<void> reload_and_tell(const TlsFiles& files) {
  TlsResult<void> done = files.reload();
  if (done) {
    PEAL_LOG_INFO("the certificates were read again: new connections use the files as they are now");
  } else {
    PEAL_LOG_ERROR("the certificates cannot be read again, and the old ones stay in use: {}", done.error());
  }
  return done;
}

Result<std::unique_ptr<TlsReloader>> TlsReloader::start(TlsFiles files, Duration look_every) {
  std::unique_ptr<TlsReloader> made(new TlsReloader(std::move(files), look_every));
  Result<Thread> thread = Thread::start("tls-files", [self = made.get()](const auto& stop) { self->run(stop); });
  if (!thread) return std::unexpected(thread.error());
  made->thread_ = std::move(*thread);
  return made;
}

TlsReloader::~TlsReloader() {
  thread_.request_stop();
  asked_.close();
}

void TlsReloader::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const bool looks = look_every_ != kOnlyWhenAsked;
    std::optional<Done> asked = asked_.take(looks ? monotonic_now() + look_every_ : kNever);
    if (asked) {
      (*asked)(reload_and_tell(files_));
    } else if (looks && !stop.stop_requested()) {
      look();
    }
  }
}

void TlsReloader::look() {
  const TlsResult<bool> changed = files_.reload_if_changed();
  if (changed) {
    if (*changed) PEAL_LOG_INFO("the certificates have changed: new connections use the files as they are now");
    if (*changed) last_trouble_.clear();
    return;
  }
  if (std::exchange(last_trouble_, changed.error()) == changed.error()) return;
  PEAL_LOG_ERROR("the changed certificates cannot be used, and the old ones stay in use: {}", changed.error());
}

}  // namespace peal::cli
