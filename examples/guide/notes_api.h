// SPDX-License-Identifier: BSD-3-Clause
// Pages 4, 5 and 8 of the guide: the notebook as JSON over HTTP. Only the loop of the server uses a NotesApi, so it
// needs no lock. A NotesApi must outlive its server.
#pragma once

#include <string>

#include <peal/http/server/http_server.h>

#include "notebook.h"

class NotesApi {
 public:
  // A client that sends this token may delete notes. If the token is empty, no client may delete notes.
  explicit NotesApi(std::string token) : token_(std::move(token)) {}
  void add_routes(peal::Router& router);

 private:
  void list(peal::HttpExchange& exchange) const;
  void show(peal::HttpExchange& exchange) const;
  peal::Task<> add(peal::HttpExchange& exchange);
  peal::Task<> add_by_form(peal::HttpExchange& exchange);
  void remove(peal::HttpExchange& exchange);

  const std::string token_;
  Notebook notebook_;
};
