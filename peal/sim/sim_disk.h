// SPDX-License-Identifier: BSD-3-Clause
// SimDisk: the disk of a SimMachine: whole files by name, and what a crash leaves of them. The world's thread; owned by
// its machine, whose crashes it survives.
//
// Names are durable at once, and rename() is atomic; contents are durable once they are synced. What was not synced is
// kept, lost or torn by a crash, each file for itself, as SimOptions and the seed have it. Everything is done in no
// time. A program that is to run on real disks, too, reaches either through an interface of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <peal/base/result.h>
#include <peal/base/socket_address.h>

namespace peal {

namespace detail {
class SimNetwork;
}

// Any of them may fail with EIO, by chance; then nothing was done. Without power there is only read() and list(), for
// tests, and whatever changes something fails with EIO.
class SimDisk {
 public:
  // Made by its machine.
  SimDisk(std::shared_ptr<detail::SimNetwork> network, const SocketAddress& machine);
  SimDisk(const SimDisk&) = delete;
  SimDisk& operator=(const SimDisk&) = delete;

  // What was written last, synced or not. ENOENT.
  Result<std::string> read(std::string_view name) const;
  // The whole file anew. ENOSPC: nothing was written.
  Result<void> write(std::string_view name, std::string_view bytes);
  // Makes the file, if there is none. ENOSPC: nothing was written.
  Result<void> append(std::string_view name, std::string_view bytes);
  // What the file has now outlives a crash. ENOENT.
  Result<void> sync(std::string_view name);
  // Instead of what is called `to`, if there is such a file. Syncs nothing: a file that was not synced may be found
  // empty under its new name. ENOENT.
  Result<void> rename(std::string_view from, std::string_view to);
  // ENOENT.
  Result<void> remove(std::string_view name);
  // In alphabetical order. Never fails.
  std::vector<std::string> list() const;

  // Of all files together; no limit at first.
  void set_capacity(uint64_t bytes) { capacity_bytes_ = bytes; }
  uint64_t used_bytes() const;

 private:
  friend class SimMachine;

  struct File {
    std::string bytes;
    size_t synced_bytes = 0;            // of those, at the front
    std::optional<std::string> before;  // was synced, and is overwritten by `bytes`
  };
  using Files = std::map<std::string, File, std::less<>>;

  bool draws_error(std::string_view name) const;
  bool cannot_write(std::string_view name) const { return !powered_ || draws_error(name); }
  Result<Files::iterator> find(std::string_view name);
  Result<File*> make_room(std::string_view name, uint64_t old_bytes, uint64_t new_bytes);
  void lose_unsynced();

  const std::shared_ptr<detail::SimNetwork> network_;
  const SocketAddress machine_;
  Files files_;
  uint64_t capacity_bytes_ = UINT64_MAX;
  bool powered_ = true;
};

}  // namespace peal
