// SPDX-License-Identifier: BSD-3-Clause
// What went wrong and where: an exception with the stack of whoever threw it, the log, a callback that outlives its
// object.
#include <functional>
#include <memory>

#include <fmt/core.h>

#include <peal/base/exception.h>
#include <peal/base/log.h>

namespace {

// [exception]
void open_the_vault(int tries) {
  if (tries > 2) throw peal::Exception("the vault stays shut");
}

void try_the_vault() {
  try {
    open_the_vault(3);
  } catch (const peal::Exception& error) {
    PEAL_LOG_WARN("{}\n{}", error.what(), peal::LogLines{error.stack_trace()});
  }
}
// [exception]

// [weak]
// Does nothing once the object is gone.
std::function<void()> when_saved(const std::shared_ptr<int>& document) {
  return [weak = std::weak_ptr(document)] {
    if (const auto alive = weak.lock()) ++*alive;
  };
}
// [weak]

}  // namespace

int main(int argc, char** argv) {
  // [log]
  if (argc > 1) {
    // Again on SIGHUP, after logrotate has moved the file away.
    if (auto opened = peal::set_log_file(argv[1]); !opened) {
      PEAL_LOG_ERROR("cannot log to {}: {}", argv[1], opened.error().message());
    }
  }
  peal::set_log_level(peal::LogLevel::kDebug);
  PEAL_LOG_DEBUG("{} arguments", argc);
  // [log]
  try_the_vault();
  auto document = std::make_shared<int>(0);
  const auto callback = when_saved(document);
  document.reset();
  callback();
}
