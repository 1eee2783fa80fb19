// SPDX-License-Identifier: BSD-3-Clause
#include <peal/sim/sim_disk.h>

#include <cerrno>
#include <ranges>
#include <utility>

#include <peal/sim/parts/sim_network.h>

namespace peal {

SimDisk::SimDisk(std::shared_ptr<detail::SimNetwork> network, const SocketAddress& machine)
    : network_(std::move(network)), machine_(machine) {}

bool SimDisk::draws_error(std::string_view name) const {
  return network_->strikes(SimFaultKind::kDiskError, {}, machine_, name);
}

Result<SimDisk::Files::iterator> SimDisk::find(std::string_view name) {
  if (cannot_write(name)) return fail(EIO);
  const auto found = files_.find(name);
  if (found == files_.end()) return fail(ENOENT);
  return found;
}

Result<std::string> SimDisk::read(std::string_view name) const {
  if (draws_error(name)) return fail(EIO);
  const auto found = files_.find(name);
  if (found == files_.end()) return fail(ENOENT);
  return found->second.bytes;
}

uint64_t SimDisk::used_bytes() const {
  uint64_t sum = 0;
  for (const File& file : std::views::values(files_)) sum += file.bytes.size();
  return sum;
}

// Checks whether `new_bytes` in place of `old_bytes` fit on the disk. If so, returns the file `name`, which is made if
// it does not exist. Fails with EIO if the machine is off or a disk fault strikes, and with ENOSPC if the bytes do not
// fit.
Result<SimDisk::File*> SimDisk::make_room(std::string_view name, uint64_t old_bytes, uint64_t new_bytes) {
  if (cannot_write(name)) return fail(EIO);
  if (new_bytes > old_bytes && used_bytes() - old_bytes + new_bytes > capacity_bytes_) return fail(ENOSPC);
  return &files_[std::string(name)];
}

Result<void> SimDisk::write(std::string_view name, std::string_view bytes) {
  const auto old = files_.find(name);
  Result<File*> file = make_room(name, old == files_.end() ? 0 : old->second.bytes.size(), bytes.size());
  if (!file) return std::unexpected(file.error());
  File& into = **file;
  if (!into.before) into.before = into.bytes.substr(0, into.synced_bytes);
  into.bytes = bytes;
  return {};
}

Result<void> SimDisk::append(std::string_view name, std::string_view bytes) {
  Result<File*> file = make_room(name, 0, bytes.size());
  if (!file) return std::unexpected(file.error());
  (*file)->bytes += bytes;
  return {};
}

Result<void> SimDisk::sync(std::string_view name) {
  Result<Files::iterator> file = find(name);
  if (!file) return std::unexpected(file.error());
  (*file)->second.before.reset();
  (*file)->second.synced_bytes = (*file)->second.bytes.size();
  return {};
}

Result<void> SimDisk::rename(std::string_view from, std::string_view to) {
  Result<Files::iterator> file = find(from);
  if (!file) return std::unexpected(file.error());
  if (from == to) return {};
  File moved = std::move((*file)->second);
  files_.erase(*file);
  files_[std::string(to)] = std::move(moved);
  return {};
}

Result<void> SimDisk::remove(std::string_view name) {
  Result<Files::iterator> file = find(name);
  if (!file) return std::unexpected(file.error());
  files_.erase(*file);
  return {};
}

std::vector<std::string> SimDisk::list() const {
  const auto names = std::views::keys(files_);
  return {names.begin(), names.end()};
}

void SimDisk::lose_unsynced() {
  for (auto& [name, file] : files_) {
    if (file.before || file.synced_bytes < file.bytes.size()) {
      const size_t front = file.before ? 0 : file.synced_bytes;
      const auto lose = network_->draw(SimFaultKind::kLoseUnsynced, {}, machine_, name);
      const auto tear = network_->draw(SimFaultKind::kTearUnsynced, {}, machine_, name);
      if (network_->strikes(lose)) {
        file.bytes = file.before ? std::move(*file.before) : file.bytes.substr(0, front);
      } else if (file.bytes.size() > front && network_->strikes(tear)) {
        file.bytes.resize(front + network_->random_for(SimFaultKind::kTearUnsynced, file.bytes.size() - front));
      }
    }
    file.before.reset();
    file.synced_bytes = file.bytes.size();
  }
}

}  // namespace peal
