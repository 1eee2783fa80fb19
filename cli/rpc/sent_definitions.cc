// SPDX-License-Identifier: BSD-3-Clause
#include <cli/rpc/sent_definitions.h>

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <google/protobuf/compiler/parser.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/type_resolver.h>
#include <google/protobuf/util/type_resolver_util.h>

#include <peal/base/assert.h>

namespace peal::cli {
namespace {

// The deepest nesting of brackets that is parsed. Without this limit, protobuf's recursive parser could use up the
// stack. protobuf's own limit, 32 levels of nested messages, does not prevent that, because protobuf checks its limit
// only after the parser has read the text.
constexpr size_t kMostNesting = 100;
constexpr size_t kMostImports = 100;     // files in a chain, each of which imports the next one
constexpr size_t kMostMessages = 5'000;  // protobuf recurses if each message has a field of the next message's type
constexpr size_t kMostAnys = 30;
constexpr const char* kUrlPrefix = "type.googleapis.com";
constexpr std::array kTypesWithJson{"google/protobuf/any.proto",        "google/protobuf/duration.proto",
                                    "google/protobuf/field_mask.proto", "google/protobuf/struct.proto",
                                    "google/protobuf/timestamp.proto",  "google/protobuf/wrappers.proto"};

// Receives the errors of protobuf, and keeps only the first one.
class FirstError final : public google::protobuf::io::ErrorCollector,
                         public google::protobuf::DescriptorPool::ErrorCollector {
 public:
  void AddError(int line, google::protobuf::io::ColumnNumber, const std::string& text) override {
    if (error.empty()) error = fmt::format("line {}: {}", line + 1, text);
  }
  void AddError(const std::string&, const std::string& element, const google::protobuf::Message*, ErrorLocation,
                const std::string& text) override {
    if (error.empty()) error = fmt::format("{}: {}", element, text);
  }
  void AddWarning(int, google::protobuf::io::ColumnNumber, const std::string&) override {}
  void AddWarning(const std::string&, const std::string&, const google::protobuf::Message*, ErrorLocation,
                  const std::string&) override {}

  std::string error;
};

bool nests_too_deep(const std::string& text) {
  constexpr std::string_view kOpening = "{[<";
  constexpr std::string_view kClosing = "}]>";
  google::protobuf::io::ArrayInputStream stream(text.data(), static_cast<int>(text.size()));
  FirstError ignored;  // the parser reports the same errors later
  google::protobuf::io::Tokenizer words(&stream, &ignored);
  std::string open;
  while (words.Next()) {
    const std::string& word = words.current().text;
    if (word.size() != 1) continue;
    if (kOpening.contains(word[0])) open += word[0];
    if (open.size() > kMostNesting) return true;
    const size_t closed = kClosing.find(word[0]);
    if (closed != std::string_view::npos && open.ends_with(kOpening[closed])) open.pop_back();
  }
  return false;
}

// True if `message` nests more than kMostAnys messages of the type google.protobuf.Any in each other. protobuf's JSON
// code copies the whole content at each level, so deep nesting takes very long. `anys` counts the messages of the type
// Any around `message`.
bool nests_any_too_deep(const google::protobuf::Message& message, google::protobuf::DynamicMessageFactory& messages,
                        size_t anys = 0) {
  const google::protobuf::Descriptor& type = *message.GetDescriptor();
  const google::protobuf::Reflection& fields = *message.GetReflection();
  if (type.full_name() == "google.protobuf.Any") {
    const std::string url = fields.GetString(message, type.FindFieldByName("type_url"));
    const auto* const held = type.file()->pool()->FindMessageTypeByName(url.substr(url.rfind('/') + 1));
    if (held == nullptr) return false;
    if (anys == kMostAnys) return true;
    const std::unique_ptr<google::protobuf::Message> inner(messages.GetPrototype(held)->New());
    inner->ParsePartialFromString(fields.GetString(message, type.FindFieldByName("value")));
    return nests_any_too_deep(*inner, messages, anys + 1);
  }
  std::vector<const google::protobuf::FieldDescriptor*> set;
  fields.ListFields(message, &set);
  for (const google::protobuf::FieldDescriptor* field : set) {
    if (field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      if (nests_any_too_deep(fields.GetMessage(message, field), messages, anys)) return true;
      continue;
    }
    for (int i = 0; i < fields.FieldSize(message, field); ++i) {
      if (nests_any_too_deep(fields.GetRepeatedMessage(message, field, i), messages, anys)) return true;
    }
  }
  return false;
}

// Returns how many messages the definition `message` contains: itself and all messages that are defined inside it.
size_t count_messages(const google::protobuf::DescriptorProto& message) {
  size_t count = 1;
  for (const google::protobuf::DescriptorProto& nested : message.nested_type()) count += count_messages(nested);
  return count;
}

// types_of() makes a resolver of types, and url_of() returns the URL of the message's type. protobuf's functions
// JsonToBinaryString() and BinaryToJsonString() need both. protobuf also has JsonStringToMessage() and
// MessageToJsonString(), which make both themselves. These two functions are not used, because they leak the resolver
// if protobuf throws an exception.
std::unique_ptr<google::protobuf::util::TypeResolver> types_of(const google::protobuf::Message& message) {
  const google::protobuf::DescriptorPool* const pool = message.GetDescriptor()->file()->pool();
  return std::unique_ptr<google::protobuf::util::TypeResolver>(
      google::protobuf::util::NewTypeResolverForDescriptorPool(kUrlPrefix, pool));
}
std::string url_of(const google::protobuf::Message& message) {
  return fmt::format("{}/{}", kUrlPrefix, message.GetDescriptor()->full_name());
}

}  // namespace

SentDefinitions::SentDefinitions() : messages_(&pool_) {
  for (const char* const file : kTypesWithJson) {
    const std::string trouble = build(file, "peal-rpc");
    PEAL_ASSERT(trouble.empty(), "{}", trouble);
  }
}

std::expected<std::unique_ptr<SentDefinitions>, std::string> SentDefinitions::compile(
    const muduo::net::GetServiceResponse& sent) {
  if (sent.proto_file_size() != sent.proto_file_name_size()) {
    return std::unexpected(
        fmt::format("it sent {} files and {} names of files", sent.proto_file_size(), sent.proto_file_name_size()));
  }
  const google::protobuf::LogSilencer quiet;  // drops protobuf's warnings; errors are returned
  std::unique_ptr<SentDefinitions> definitions(new SentDefinitions());
  for (int i = 0; i < sent.proto_file_size(); ++i) {
    std::string trouble = definitions->parse(sent.proto_file_name(i), sent.proto_file(i));
    if (!trouble.empty()) return std::unexpected(std::move(trouble));
  }
  // Builds the first file, which defines the service, and all files that it imports. The other files are not needed.
  if (sent.proto_file_size() > 0) {
    std::string trouble = definitions->build(sent.proto_file_name(0), "the service");
    if (!trouble.empty()) return std::unexpected(std::move(trouble));
  }
  return definitions;
}

std::string SentDefinitions::parse(const std::string& name, const std::string& text) {
  if (nests_too_deep(text)) return fmt::format("{} nests more than {} times", name, kMostNesting);
  google::protobuf::io::ArrayInputStream stream(text.data(), static_cast<int>(text.size()));
  FirstError errors;
  google::protobuf::io::Tokenizer words(&stream, &errors);
  google::protobuf::compiler::Parser parser;
  parser.RecordErrorsTo(&errors);
  google::protobuf::FileDescriptorProto file;
  if (!parser.Parse(&words, &file)) return fmt::format("{} cannot be parsed: {}", name, errors.error);
  file.set_name(name);
  for (const google::protobuf::DescriptorProto& message : file.message_type())
    sent_messages_ += count_messages(message);
  if (sent_messages_ > kMostMessages) return fmt::format("it sent more than {} messages", kMostMessages);
  files_.insert_or_assign(name, std::move(file));
  return {};
}

// Moves the file `name` out of `files_`, then builds the imports of the file, and the file itself last. If A and B
// import each other, B's import of A does not find A in `files_`. The import then fails, unless A is also built into
// this program. If A stayed in `files_`, build() would call itself for A and B in turn, up to kMostImports times.
std::string SentDefinitions::build(const std::string& name, const std::string& importer, size_t imports) {
  if (pool_.FindFileByName(name) != nullptr) return {};
  if (imports > kMostImports) return fmt::format("its files import each other more than {} times", kMostImports);
  google::protobuf::FileDescriptorProto file;
  if (auto sent = files_.extract(name)) {
    file = std::move(sent.mapped());
  } else if (const auto* known = google::protobuf::DescriptorPool::generated_pool()->FindFileByName(name)) {
    known->CopyTo(&file);
  } else {
    return fmt::format("it did not send {}, which {} needs", name, importer);
  }
  for (const std::string& imported : file.dependency()) {
    if (std::string trouble = build(imported, name, imports + 1); !trouble.empty()) return trouble;
  }
  FirstError errors;
  const bool built = pool_.BuildFileCollectingErrors(file, &errors) != nullptr;
  return built ? std::string() : fmt::format("{} cannot be compiled: {}", name, errors.error);
}

const google::protobuf::ServiceDescriptor* SentDefinitions::service(const std::string& name) const {
  return pool_.FindServiceByName(name);
}

std::unique_ptr<google::protobuf::Message> SentDefinitions::make(const google::protobuf::Descriptor& type) {
  return std::unique_ptr<google::protobuf::Message>(messages_.GetPrototype(&type)->New());
}

std::string read_json(const std::string& json, google::protobuf::Message& message) {
  const google::protobuf::LogSilencer quiet;
  std::string bytes;
  const auto types = types_of(message);
  const auto read = google::protobuf::util::JsonToBinaryString(types.get(), url_of(message), json, &bytes);
  if (!read.ok()) {
    const std::string_view trouble(read.message().data(), read.message().size());
    // protobuf's error text is "FIELD: REASON". FIELD is the path of the wrong field. If the error is in the outermost
    // message, FIELD is empty, and the text begins with ": ". These two characters are removed.
    return std::string(trouble.starts_with(": ") ? trouble.substr(2) : trouble);
  }
  if (!message.ParsePartialFromString(bytes)) return "protobuf cannot read the message that it has made from the JSON";
  std::vector<std::string> missing;
  message.FindInitializationErrors(&missing);
  return missing.empty() ? std::string()
                         : fmt::format("these required fields are missing: {}", fmt::join(missing, ", "));
}

std::expected<std::string, std::string> json_of(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  std::string json;
  const google::protobuf::LogSilencer quiet;
  google::protobuf::DynamicMessageFactory messages(message.GetDescriptor()->file()->pool());
  if (nests_any_too_deep(message, messages)) {
    return std::unexpected(fmt::format("it nests google.protobuf.Any more than {} times", kMostAnys));
  }
  const auto types = types_of(message);
  const auto written = google::protobuf::util::BinaryToJsonString(types.get(), url_of(message),
                                                                  message.SerializePartialAsString(), &json, options);
  if (!written.ok()) return std::unexpected(std::string(written.message()));
  if (!json.ends_with('\n')) json += '\n';
  return json;
}

}  // namespace peal::cli
