// SPDX-License-Identifier: BSD-3-Clause
#include <load/session/http_protocol.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <load/session/http_session.h>
#include <peal/base/assert.h>
#include <peal/wire/http/http_request_text.h>
#include <peal/wire/uri/http_url.h>

namespace peal::load {

std::expected<std::unique_ptr<HttpProtocol>, std::string> HttpProtocol::make(HttpLoad load, size_t pipeline) {
  PEAL_ASSERT(pipeline > 0 && pipeline <= kMostPipelined, "a pipeline of {} requests is out of range", pipeline);
  const std::expected<HttpUrl, std::string> url = HttpUrl::parse(load.url);
  if (!url) return std::unexpected(url.error());
  HttpRequest request{
      .method = load.method, .target = url->target, .host = url->authority(), .fields = {}, .body = load.body};
  for (const auto& [name, value] : load.headers) request.fields.push_back({name, value});
  const std::expected<std::string, std::string> text = compose_http_request(request);
  if (!text) return std::unexpected(text.error());
  request.fields.push_back({"Connection", "close"});
  const std::expected<std::string, std::string> last = compose_http_request(request);
  if (!last) return std::unexpected(last.error());

  std::unique_ptr<HttpProtocol> protocol(new HttpProtocol);
  protocol->load_ = std::move(load);
  protocol->request_bytes_ = text->size();
  protocol->side_by_side_ = std::clamp<size_t>(kComposedBytes / text->size(), 1, pipeline);
  protocol->many_.reserve(text->size() * protocol->side_by_side_);
  for (size_t i = 0; i < protocol->side_by_side_; ++i) protocol->many_ += *text;
  protocol->last_ = *last;
  return protocol;
}

std::unique_ptr<Session> HttpProtocol::make_session(Lane& lane) const {
  return std::make_unique<HttpSession>(lane, *this);
}

}  // namespace peal::load
