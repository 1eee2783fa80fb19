// SPDX-License-Identifier: BSD-3-Clause
#include <peal/sim/sim_disk.h>

#include <set>
#include <string>
#include <system_error>
#include <vector>

#include <gtest/gtest.h>

#include <peal/sim/sim_machine.h>
#include <peal/sim/sim_world.h>

namespace peal {
namespace {

struct Machine {
  explicit Machine(uint64_t seed, const SimOptions& options = {}) : world(seed, options) {}
  void crash(SimMachine::Disk fate = SimMachine::Disk::kKept) {
    machine.crash(fate);
    machine.restart();
  }

  SimWorld world;
  SimMachine machine{world, "10.0.0.1"};
  SimDisk& disk = machine.disk();
};

TEST(SimDisk, files_are_written_appended_renamed_listed_and_removed) {
  Machine machine(1);
  SimDisk& disk = machine.disk;
  EXPECT_EQ(disk.read("a").error(), std::errc::no_such_file_or_directory);
  EXPECT_EQ(disk.sync("a").error(), std::errc::no_such_file_or_directory);
  EXPECT_TRUE(disk.write("a", "one"));
  EXPECT_TRUE(disk.append("a", " two"));
  EXPECT_TRUE(disk.append("b", "new"));
  EXPECT_EQ(disk.read("a").value(), "one two");
  EXPECT_EQ(disk.list(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(disk.used_bytes(), 10u);
  EXPECT_TRUE(disk.rename("a", "b"));
  EXPECT_TRUE(disk.rename("b", "b"));
  EXPECT_EQ(disk.read("b").value(), "one two");
  EXPECT_EQ(disk.list(), std::vector<std::string>{"b"});
  EXPECT_TRUE(disk.remove("b"));
  EXPECT_EQ(disk.remove("b").error(), std::errc::no_such_file_or_directory);
  EXPECT_EQ(disk.rename("b", "c").error(), std::errc::no_such_file_or_directory);
  EXPECT_TRUE(disk.list().empty());
}

TEST(SimDisk, crash_keeps_what_was_synced_and_any_front_of_the_rest) {
  std::set<std::string> found;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    Machine machine(seed);
    EXPECT_TRUE(machine.disk.write("log", "safe."));
    EXPECT_TRUE(machine.disk.sync("log"));
    EXPECT_TRUE(machine.disk.append("log", "xyz"));
    machine.crash();
    found.insert(machine.disk.read("log").value());
    machine.crash();
    found.insert(machine.disk.read("log").value());  // the contents after a crash are durable
  }
  EXPECT_EQ(found, (std::set<std::string>{"safe.", "safe.x", "safe.xy", "safe.xyz"}));
}

TEST(SimDisk, file_that_was_overwritten_comes_back_old_new_or_as_a_front_of_the_new) {
  std::set<std::string> found;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    Machine machine(seed);
    EXPECT_TRUE(machine.disk.write("file", "old"));
    EXPECT_TRUE(machine.disk.sync("file"));
    EXPECT_TRUE(machine.disk.append("file", "er"));
    EXPECT_TRUE(machine.disk.write("file", "NEW"));
    EXPECT_TRUE(machine.disk.append("file", "!"));
    machine.crash();
    found.insert(machine.disk.read("file").value());
  }
  EXPECT_EQ(found, (std::set<std::string>{"", "N", "NE", "NEW", "NEW!", "old"}));
}

TEST(SimDisk, renamed_without_sync_a_file_may_be_found_empty) {
  std::set<std::string> found;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    Machine machine(seed, {.tear_unsynced = 0});
    EXPECT_TRUE(machine.disk.write("file", "old"));
    EXPECT_TRUE(machine.disk.sync("file"));
    EXPECT_TRUE(machine.disk.write("file.new", "new"));
    if (seed % 2 == 0) {
      EXPECT_TRUE(machine.disk.sync("file.new"));
    }
    EXPECT_TRUE(machine.disk.rename("file.new", "file"));
    machine.crash();
    const std::string left = machine.disk.read("file").value();
    EXPECT_TRUE(seed % 2 != 0 || left == "new") << left;
    found.insert(left);
  }
  EXPECT_EQ(found, (std::set<std::string>{"", "new"}));
}

TEST(SimDisk, lost_disk_comes_back_empty) {
  Machine machine(1);
  EXPECT_TRUE(machine.disk.write("file", "synced"));
  EXPECT_TRUE(machine.disk.sync("file"));
  machine.crash(SimMachine::Disk::kLost);
  EXPECT_TRUE(machine.disk.list().empty());
}

TEST(SimDisk, full_disk_takes_nothing_but_what_is_no_longer) {
  Machine machine(1);
  machine.disk.set_capacity(10);
  EXPECT_TRUE(machine.disk.write("a", "12345678"));
  EXPECT_EQ(machine.disk.append("a", "9ab").error(), std::errc::no_space_on_device);
  EXPECT_EQ(machine.disk.write("b", "123").error(), std::errc::no_space_on_device);
  EXPECT_EQ(machine.disk.list(), std::vector<std::string>{"a"});
  EXPECT_TRUE(machine.disk.append("a", "9a"));
  EXPECT_TRUE(machine.disk.write("a", "123456789b"));
  machine.disk.set_capacity(5);
  EXPECT_TRUE(machine.disk.write("a", "123456789"));
  EXPECT_EQ(machine.disk.read("a").value(), "123456789");
}

TEST(SimDisk, errors_come_by_chance_and_do_nothing) {
  Machine machine(1, {.disk_error = 0.5});
  std::string written;
  int failed = 0;
  for (char letter = 'a'; letter <= 'z'; ++letter) {
    const Result<void> appended = machine.disk.append("file", std::string(1, letter));
    if (appended) written += letter;
    EXPECT_TRUE(appended || appended.error() == std::errc::io_error);
    failed += !appended;
  }
  EXPECT_GT(failed, 3);
  EXPECT_LT(failed, 23);
  EXPECT_EQ(machine.world.stats().disk_errors, static_cast<uint64_t>(failed));
  machine.world.options().disk_error = 0;
  EXPECT_EQ(machine.disk.read("file").value(), written);
}

}  // namespace
}  // namespace peal
