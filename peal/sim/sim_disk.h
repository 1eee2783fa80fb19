// SPDX-License-Identifier: BSD-3-Clause
// SimDisk: the simulated disk of a SimMachine. It stores whole files by name, and a crash of the machine may damage
// them. It is used on the world's thread and owned by its machine. It survives the crashes of the machine.
//
// File names are durable at once and rename() is atomic. Contents are durable only after sync(). For each file, a crash
// keeps, loses or tears the bytes that were not synced; SimOptions gives the probabilities and the seed decides. A call
// takes no simulated time. A program that also runs on a real disk needs an interface of its own over both.
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

// The simulated disk of one machine. Each call that returns a Result may fail with EIO, with the probability
// SimOptions::disk_error. A call that fails has changed nothing.
// While the machine has no power, every call that changes a file fails with EIO. A test may call read() and list() even
// then.
class SimDisk {
 public:
  // Makes the empty disk of a machine. Only SimMachine calls this.
  SimDisk(std::shared_ptr<detail::SimNetwork> network, const SocketAddress& machine);
  SimDisk(const SimDisk&) = delete;
  SimDisk& operator=(const SimDisk&) = delete;

  // Returns the current contents of a file, synced or not. ENOENT: there is no such file.
  Result<std::string> read(std::string_view name) const;
  // Replaces the contents of a file, or makes the file. ENOSPC: the disk is full, and nothing was written.
  Result<void> write(std::string_view name, std::string_view bytes);
  // Appends bytes to a file, or makes the file. ENOSPC: the disk is full, and nothing was written.
  Result<void> append(std::string_view name, std::string_view bytes);
  // Makes the current contents of a file survive a crash. ENOENT: there is no such file.
  Result<void> sync(std::string_view name);
  // Renames a file. If a file named `to` exists, it is replaced. Syncs nothing: after a crash, a file that was not
  // synced may be empty under its new name. ENOENT: there is no file `from`.
  Result<void> rename(std::string_view from, std::string_view to);
  // Removes a file. ENOENT: there is no such file.
  Result<void> remove(std::string_view name);
  // Returns the names of all files in alphabetical order. Never fails.
  std::vector<std::string> list() const;

  // Limits how many bytes all files together may have. A new disk has no limit.
  void set_capacity(uint64_t bytes) { capacity_bytes_ = bytes; }
  // Returns how many bytes all files together have.
  uint64_t used_bytes() const;

 private:
  friend class SimMachine;

  struct File {
    std::string bytes;
    size_t synced_bytes = 0;            // how many bytes at the front of `bytes` are synced
    std::optional<std::string> before;  // the synced contents, if write() has replaced them since
  };
  using Files = std::map<std::string, File, std::less<>>;

  bool draws_error(std::string_view name) const;
  bool cannot_write(std::string_view name) const { return !powered_ || draws_error(name); }
  Result<Files::iterator> find(std::string_view name);
  Result<File*> make_room(std::string_view name, uint64_t old_bytes, uint64_t new_bytes);
  // Applies a crash to every file: the bytes that are not synced are kept, lost or torn.
  void lose_unsynced();

  const std::shared_ptr<detail::SimNetwork> network_;
  const SocketAddress machine_;
  Files files_;
  uint64_t capacity_bytes_ = UINT64_MAX;
  bool powered_ = true;
};

}  // namespace peal
