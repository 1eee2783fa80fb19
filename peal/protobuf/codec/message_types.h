// SPDX-License-Identifier: BSD-3-Clause
// MessageTypes: the types of messages that a program is ready to read, found by name. A peer can have no other type
// made, even if it is linked in.
//
// Any number of threads may look up at once, while nobody adds.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <google/protobuf/message.h>

namespace peal {

class MessageTypes {
 public:
  // Answers the index of the type: 0, 1, 2... in the order of the calls. T is a generated message. A type that is there
  // already throws std::invalid_argument.
  template <class T>
  size_t add() {
    return add(T::default_instance());
  }
  // Adds the type of `prototype`, which is borrowed. It may be a prototype of a DynamicMessageFactory.
  size_t add(const google::protobuf::Message& prototype);

  size_t size() const { return sorted_.size(); }
  // By full name: "package.Message". Allocates nothing.
  std::optional<size_t> find(std::string_view name) const;
  // An empty message of that type; null if the type is not there.
  std::unique_ptr<google::protobuf::Message> make(std::string_view name) const;

 private:
  struct Type {
    std::string_view name;  // the descriptor's
    const google::protobuf::Message* prototype;
    size_t index;
  };
  // Where the name is, or would be.
  std::vector<Type>::const_iterator position_of(std::string_view name) const;

  std::vector<Type> sorted_;  // by size of the name, then by name: most comparisons are of sizes
};

}  // namespace peal
