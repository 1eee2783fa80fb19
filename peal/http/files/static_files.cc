// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/files/static_files.h>

#include <peal/http/files/parts/file_service.h>

namespace peal {

Result<StaticFiles> StaticFiles::open(const std::string& root, const StaticFilesOptions& options) {
  Result<detail::RootFolder> folder = detail::RootFolder::open(root);
  if (!folder) return std::unexpected(folder.error());
  return StaticFiles(std::make_shared<detail::FileService>(std::move(*folder), options));
}

void StaticFiles::operator()(HttpExchange& exchange) const {
  service_->serve(exchange, exchange.parameter(service_->options().parameter));
}

void StaticFiles::serve(HttpExchange& exchange, std::string_view path) const { service_->serve(exchange, path); }

}  // namespace peal
