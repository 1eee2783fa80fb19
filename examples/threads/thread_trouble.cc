// SPDX-License-Identifier: BSD-3-Clause
// Shows how to find errors: an exception with the stack trace of its throw, and the log. Also shows a callback that may
// outlive its object.
#include <functional>
#include <memory>

#include <fmt/core.h>

#include <peal/base/exception.h>
#include <peal/base/log.h>

namespace {

// Quoted in docs: [exception]
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
// End of quote: [exception]

// Quoted in docs: [weak]
// Returns a callback that does nothing after the last owner has released `document`.
std::function<void()> when_saved(const std::shared_ptr<int>& document) {
  return [weak = std::weak_ptr(document)] {
    if (const auto alive = weak.lock()) ++*alive;
  };
}
// End of quote: [weak]

}  // namespace

int main(int argc, char** argv) {
  // Quoted in docs: [log]
  if (argc > 1) {
    // A server must call set_log_file() again after logrotate has renamed the file, because the log would otherwise
    // still go to the renamed file. logrotate can send SIGHUP to announce the renaming.
    if (auto opened = peal::set_log_file(argv[1]); !opened) {
      PEAL_LOG_ERROR("cannot log to {}: {}", argv[1], opened.error().message());
    }
  }
  peal::set_log_level(peal::LogLevel::kDebug);
  PEAL_LOG_DEBUG("{} arguments", argc);
  // End of quote: [log]
  try_the_vault();
  auto document = std::make_shared<int>(0);
  const auto callback = when_saved(document);
  document.reset();
  callback();
}
