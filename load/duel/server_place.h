// SPDX-License-Identifier: BSD-3-Clause
// ServerPlace: the machine on which a duel starts its servers. It is this machine (PlaceHere) or another one
// (load/remote/). Use it on the thread of the duel's loop.
#pragma once

#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <load/duel/cpu_pins.h>
#include <load/duel/duel_loop.h>
#include <load/duel/duel_record.h>
#include <load/duel/server_crew.h>
#include <load/duel/server_process.h>

namespace peal::load {

class ServerPlace {
 public:
  virtual ~ServerPlace() = default;

  // Returns two lists of CPU numbers:
  // - `server`: the servers are pinned to these CPUs of their machine.
  // - `client`: the load generator is pinned to these CPUs of this machine.
  // If `server` is empty, the servers are not pinned. If `client` is empty, the load generator is not pinned.
  virtual CpuPins pins(const DuelOptions& options) = 0;
  // Makes a ServerCrew, which starts and ends the servers of one restart. Destroy the ServerCrew before you make the
  // next one.
  virtual std::unique_ptr<ServerCrew> crew(const DuelOptions& options, const CpuPins& pins) = 0;
  // Describes the machine that the user named for the servers. Returns std::nullopt if the user named no machine, so
  // that the servers run here. ServerHost contains the elapsed time and two CPU times. They cover the period from the
  // construction of the ServerPlace to this call. No ServerCrew may exist during the call, because the CPU time of
  // servers that still run would count as CPU time of other programs. The error is one sentence.
  virtual std::expected<std::optional<ServerHost>, std::string> host() = 0;
};

// A function that makes the ServerPlace of a duel: the machine on which the servers run. The error is one sentence.
using PlaceMaker =
    std::function<std::expected<std::unique_ptr<ServerPlace>, std::string>(DuelLoop&, const DuelOptions&)>;

class PlaceHere final : public ServerPlace {
 public:
  PlaceHere(DuelLoop& loop, const DuelOptions& options);

  CpuPins pins(const DuelOptions& options) override;
  std::unique_ptr<ServerCrew> crew(const DuelOptions& options, const CpuPins& pins) override;
  std::expected<std::optional<ServerHost>, std::string> host() override { return std::nullopt; }

 private:
  DuelLoop& loop_;
  std::optional<OrphansHere> orphans_;
};

// Makes the ServerPlace of this machine. This function can be used as a PlaceMaker.
std::expected<std::unique_ptr<ServerPlace>, std::string> place_here(DuelLoop& loop, const DuelOptions& options);

}  // namespace peal::load
