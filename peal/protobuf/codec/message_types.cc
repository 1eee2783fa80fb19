// SPDX-License-Identifier: BSD-3-Clause
#include <peal/protobuf/codec/message_types.h>

#include <algorithm>

#include <google/protobuf/descriptor.h>

#include <peal/base/bad_value.h>

namespace peal {

std::vector<MessageTypes::Type>::const_iterator MessageTypes::position_of(std::string_view name) const {
  return std::ranges::lower_bound(
      sorted_, name,
      [](std::string_view left, std::string_view right) {
        return left.size() != right.size() ? left.size() < right.size() : left < right;
      },
      &Type::name);
}

size_t MessageTypes::add(const google::protobuf::Message& prototype) {
  const std::string_view name = prototype.GetDescriptor()->full_name();
  const auto place = position_of(name);
  if (place != sorted_.end() && place->name == name)
    throw_bad_value("MessageTypes::add(): the type {} was added before", name);
  const size_t index = sorted_.size();
  sorted_.insert(place, {name, &prototype, index});
  return index;
}

std::optional<size_t> MessageTypes::find(std::string_view name) const {
  const auto place = position_of(name);
  if (place == sorted_.end() || place->name != name) return std::nullopt;
  return place->index;
}

std::unique_ptr<google::protobuf::Message> MessageTypes::make(std::string_view name) const {
  const auto place = position_of(name);
  if (place == sorted_.end() || place->name != name) return nullptr;
  return std::unique_ptr<google::protobuf::Message>(place->prototype->New());
}

}  // namespace peal
