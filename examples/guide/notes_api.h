// SPDX-License-Identifier: BSD-3-Clause
// The guide, pages 4, 5 and 8: the notebook as JSON over HTTP. It belongs to the loop of the server that it is served
// by, so it needs no lock; it outlives that server.
#pragma once

#include <string>

#include <peal/http/server/http_server.h>

#include "notebook.h"

class NotesApi {
 public:
  // Who knows the token may delete; with an empty one nobody.
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
