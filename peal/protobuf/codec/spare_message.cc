// SPDX-License-Identifier: BSD-3-Clause
#include <peal/protobuf/codec/spare_message.h>

namespace peal {

SpareMessage::~SpareMessage() { delete kept_.load(std::memory_order_acquire); }

SpareMessage::Use::Use(SpareMessage& spare, size_t wire_bytes)
    : spare_(spare), wire_bytes_(wire_bytes), kept_(spare.kept_.exchange(nullptr, std::memory_order_acquire)) {
  if (kept_ == nullptr) {
    kept_ = std::make_unique<Kept>(std::unique_ptr<google::protobuf::Message>(spare.prototype_.New()));
  }
}

SpareMessage::Use::~Use() {
  if (kept_->growth.is_too_large(wire_bytes_, *kept_->message)) return;
  Kept* const kept = kept_.release();
  Kept* expected = nullptr;
  if (!spare_.kept_.compare_exchange_strong(expected, kept, std::memory_order_release, std::memory_order_relaxed)) {
    delete kept;
  }
}

}  // namespace peal
