// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/forms/http_form.h>

#include <utility>

#include <peal/wire/uri/http_path.h>

namespace peal {

std::optional<HttpForm> HttpForm::parse(std::string text, size_t most_fields) {
  if (text.size() > UINT32_MAX) return std::nullopt;
  HttpForm form;
  const bool plain = text.find_first_of("%+") == std::string::npos;
  if (!plain) form.text_.reserve(text.size());  // decoding never makes the text longer
  // Decodes a name or value and returns its position in form.text_. If nothing in `text` has to be decoded, `text`
  // itself is moved to form.text_ at the end. The position in `text` is then returned.
  const auto part_of = [&](std::string_view piece) -> Part {
    if (plain) return {static_cast<uint32_t>(piece.data() - text.data()), static_cast<uint32_t>(piece.size())};
    const size_t begin = form.text_.size();
    append_http_decoded(piece, form.text_);
    return {static_cast<uint32_t>(begin), static_cast<uint32_t>(form.text_.size() - begin)};
  };
  for (const HttpQuery::Pair& pair : HttpQuery(text)) {
    if (form.fields_.size() == most_fields) return std::nullopt;
    const Part name = part_of(pair.key);
    form.fields_.push_back({name, part_of(pair.value)});
  }
  if (plain) form.text_ = std::move(text);
  return form;
}

std::optional<std::string_view> HttpForm::find(std::string_view name) const {
  for (const Field& field : *this) {
    if (field.name == name) return field.value;
  }
  return std::nullopt;
}

std::vector<std::string_view> HttpForm::all(std::string_view name) const {
  std::vector<std::string_view> values;
  for (const Field& field : *this) {
    if (field.name == name) values.push_back(field.value);
  }
  return values;
}

}  // namespace peal
