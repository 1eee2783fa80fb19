// SPDX-License-Identifier: BSD-3-Clause
// ServerPlace: the machine on which a duel starts its servers: this one (PlaceHere), or another (load/remote/). One
// thread, that of the duel's loop.
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

  // Who has which CPUs of which machine to himself.
  virtual CpuPins pins(const DuelOptions& options) = 0;
  // The servers of the next restart; not more than one crew at a time.
  virtual std::unique_ptr<ServerCrew> crew(const DuelOptions& options, const CpuPins& pins) = 0;
  // None: this machine. What happened there is counted from the place's beginning until now, while no crew is there.
  // The error is one sentence.
  virtual std::expected<std::optional<ServerHost>, std::string> host() = 0;
};

// The error is one sentence.
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

// A PlaceMaker.
std::expected<std::unique_ptr<ServerPlace>, std::string> place_here(DuelLoop& loop, const DuelOptions& options);

}  // namespace peal::load
