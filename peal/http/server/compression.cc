// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/server/compression.h>

#include <utility>

#include <peal/http/parts/accepted_codings.h>
#include <peal/http/parts/encoder_pool.h>
#include <peal/wire/content/media_type.h>

namespace peal {

using detail::EncoderPool;

namespace {

// True if an answer with this status may carry a compressed body. Answers 204 and 304 have no body, and 206 sends a
// part of a representation, which must not be compressed by itself.
bool has_codable_body(int status) { return status != 204 && status != 206 && status != 304; }

}  // namespace

CompressedAnswer::CompressedAnswer(HttpExchange& exchange, const CompressionOptions& options)
    : exchange_(&exchange), options_(options) {}
void CompressedAnswer::ReturnToPool::operator()(ContentEncoder* encoder) const { EncoderPool::ReturnToPool()(encoder); }

CompressedAnswer::~CompressedAnswer() = default;
CompressedAnswer::CompressedAnswer(CompressedAnswer&&) noexcept = default;
CompressedAnswer& CompressedAnswer::operator=(CompressedAnswer&&) noexcept = default;

// Chooses the coding of the body. Sets Vary for every answer that may be compressed, even if this client gets it
// uncompressed, because another client would get it compressed.
ContentCoding CompressedAnswer::negotiate(int status, std::string_view content_type) {
  using enum ContentCoding;
  if (!has_codable_body(status) || !is_compressible(content_type)) return kIdentity;
  exchange_->set_field("Vary", "Accept-Encoding");
  return detail::accepted_codings(exchange_->request()).choose({kIdentity, kGzip, kZstd}).value_or(kIdentity);
}

void CompressedAnswer::put_fields(ContentCoding coding) {
  const bool coded = coding != ContentCoding::kIdentity;
  if (coded) exchange_->set_field("Content-Encoding", to_string(coding));
  if (entity_tag_.empty()) return;
  exchange_->set_field("ETag", coded && !entity_tag_.starts_with("W/") ? "W/" + entity_tag_ : entity_tag_);
}

void CompressedAnswer::respond(int status, std::string_view content_type, std::string_view body) {
  const bool fits = body.size() >= options_.smallest_bytes && body.size() <= options_.largest_bytes;
  const ContentCoding coding = fits ? negotiate(status, content_type) : ContentCoding::kIdentity;
  Buffer coded;
  if (coding != ContentCoding::kIdentity) {
    const EncoderPool::PooledEncoder encoder = EncoderPool::of_this_thread().take(coding, options_.encoder);
    encoder->begin(body.size());
    encoder->encode(body, ContentEncoder::Then::kEnd, coded);
  }
  if (coded.empty() || coded.size() >= body.size()) {
    put_fields(ContentCoding::kIdentity);
    return exchange_->respond(status, content_type, body);
  }
  put_fields(coding);
  exchange_->respond(status, content_type, std::move(coded));
}

void CompressedAnswer::begin(int status, std::string_view content_type) {
  ContentCoding coding = negotiate(status, content_type);
  EncoderPool& pool = EncoderPool::of_this_thread();
  if (pool.in_use() >= options_.streams) coding = ContentCoding::kIdentity;
  put_fields(coding);
  // The answer to HEAD has no body, so there is nothing to compress.
  if (coding != ContentCoding::kIdentity && exchange_->request().method() != HttpMethod::kHead) {
    encoder_.reset(pool.take(coding, options_.encoder).release());
    encoder_->begin();
  }
  exchange_->begin(status, content_type);
}

bool CompressedAnswer::write(std::string_view bytes) {
  if (!encoder_ || bytes.empty()) return exchange_->write(bytes);
  Buffer coded;
  encoder_->encode(bytes, ContentEncoder::Then::kFlush, coded);
  return exchange_->write(std::move(coded));
}

void CompressedAnswer::end() {
  if (encoder_) {
    Buffer coded;
    encoder_->encode({}, ContentEncoder::Then::kEnd, coded);
    exchange_->write(std::move(coded));
    encoder_.reset();
  }
  exchange_->end();
}

}  // namespace peal
