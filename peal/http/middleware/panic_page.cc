// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/middleware/panic_page.h>

#include <exception>
#include <string>
#include <string_view>
#include <typeinfo>

#include <fmt/format.h>

#include <peal/base/demangled.h>
#include <peal/base/exception.h>
#include <peal/http/middleware/local_client.h>
#include <peal/wire/content/html_text.h>
#include <peal/wire/http/http_field.h>
#include <peal/wire/http/http_status.h>

namespace peal {
namespace {

struct Thrown {
  std::string type;
  std::string what;
  std::string stack;
};

Thrown describe_thrown(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Exception& error) {
    return {demangled(typeid(error).name()), error.what(), error.stack_trace()};
  } catch (const std::exception& error) {
    return {demangled(typeid(error).name()), error.what(), ""};
  } catch (...) {
    return {"not a std::exception", "", ""};
  }
}

std::string fields_of(const HttpRequestHead& head) {
  std::string lines;
  for (const HttpField field : head.fields()) {
    const bool secret = same_field_name(field.name, "Cookie") || same_field_name(field.name, "Authorization") ||
                        same_field_name(field.name, "Proxy-Authorization");
    lines += fmt::format("{}: {}\n", field.name, secret ? "(left out)" : field.value);
  }
  return lines;
}

void show(HttpExchange& exchange, int status) {
  const Thrown thrown = describe_thrown(exchange.thrown());
  const HttpRequestHead& head = exchange.request();
  std::string page = fmt::format(
      "<!doctype html><meta charset=utf-8><title>{0} {1}</title>\n"
      "<style>body{{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:60rem;padding:0 1rem}}"
      "pre{{background:#f4f4f4;color:#222;padding:1rem;overflow:auto}}</style>\n"
      "<h1>{0} {1}</h1>\n<p>The handler of <code>{2} {3}</code> threw <code>{4}</code>:</p>\n<pre>{5}</pre>\n",
      status, http_reason(status), html_escaped(head.method_text()), html_escaped(head.target()),
      html_escaped(thrown.type), html_escaped(thrown.what));
  if (!thrown.stack.empty()) page += fmt::format("<h2>Where</h2>\n<pre>{}</pre>\n", html_escaped(thrown.stack));
  page += fmt::format("<h2>The request</h2>\n<pre>{}</pre>\n", html_escaped(fields_of(head)));
  exchange.respond(status, "text/html; charset=utf-8", std::move(page));
}

}  // namespace

SharedCallback<void(HttpExchange&, int status)> panic_page(const PanicPageOptions& options) {
  return [options](HttpExchange& exchange, int status) {
    const bool shows = exchange.thrown() != nullptr && (!options.loopback_only || is_from_here(exchange));
    if (!shows) return exchange.respond(status);
    show(exchange, status);
  };
}

}  // namespace peal
