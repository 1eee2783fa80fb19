// SPDX-License-Identifier: BSD-3-Clause
#include <peal/protobuf/codec/parts/quiet_protobuf.h>

#include <string>

#include <google/protobuf/stubs/logging.h>

namespace peal::detail {
namespace {

google::protobuf::LogHandler* handler_before = nullptr;

void pass_on_unless_quiet(google::protobuf::LogLevel level, const char* file, int line, const std::string& text) {
  if (QuietProtobuf::is_on() && level != google::protobuf::LOGLEVEL_FATAL) return;
  if (handler_before != nullptr) handler_before(level, file, line, text);
}

}  // namespace

void QuietProtobuf::install() {
  [[maybe_unused]] static const bool installed = [] {
    handler_before = google::protobuf::SetLogHandler(&pass_on_unless_quiet);
    return true;
  }();
}

}  // namespace peal::detail
