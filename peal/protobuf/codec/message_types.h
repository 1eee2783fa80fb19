// SPDX-License-Identifier: BSD-3-Clause
// MessageTypes is a table of the message types that a program accepts from a peer. Types are found by name. A peer
// cannot make the program create a message of any other type, even if that type is linked into the program.
//
// Any number of threads may call find() and make() at once. No thread may call add() meanwhile.
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
  // Adds the generated message type T and returns the type's index. The first type has index 0, the next one index 1.
  // Throws std::invalid_argument if the type was added before.
  template <class T>
  size_t add() {
    return add(T::default_instance());
  }
  // Adds the type of `prototype` and returns its index, as add<T>() does. Throws std::invalid_argument if the type was
  // added before. `prototype` is borrowed, must outlive the table, and may come from a DynamicMessageFactory.
  size_t add(const google::protobuf::Message& prototype);

  size_t size() const { return sorted_.size(); }
  // Returns the index of the type with this full name ("package.Message"), or nullopt if the table lacks the type.
  // Allocates no memory.
  std::optional<size_t> find(std::string_view name) const;
  // Returns an empty message of the type with this full name, or null if the table lacks the type.
  std::unique_ptr<google::protobuf::Message> make(std::string_view name) const;

 private:
  struct Type {
    std::string_view name;  // owned by the type's descriptor
    const google::protobuf::Message* prototype;
    size_t index;
  };
  // Returns the position in sorted_ of the type with this name. If the type is missing, returns the position at which
  // it would have to be inserted.
  std::vector<Type>::const_iterator position_of(std::string_view name) const;

  // The types, sorted by the length of the name, then by the name. Most comparisons thus compare only two lengths.
  std::vector<Type> sorted_;
};

}  // namespace peal
