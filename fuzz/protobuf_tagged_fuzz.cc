// SPDX-License-Identifier: BSD-3-Clause
// TaggedCodec and DelimitedCodec, tested like NamedCodec in protobuf_named_fuzz.cc. An input has one byte for the kind,
// one byte for the block size minus 1, and a stream.
// - Kind 0: a TaggedCodec reads the stream.
// - Kind 1: the stream is one message. The test adds the right length, tag and checksum. Then a TaggedCodec reads it.
// - Kind 2: a DelimitedCodec reads the stream.
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>

#include <peal/base/result.h>
#include <peal/protobuf/codec/delimited_codec.h>
#include <peal/protobuf/codec/tagged_codec.h>
#include <tests/protobuf/note.pb.h>
#include <tests/protobuf/protobuf_streams.h>

namespace peal {
namespace {

constexpr TaggedCodec kTagged{.tag = "RPC0", .limit_bytes = 100'000};
constexpr DelimitedCodec kDelimited{.limit_bytes = 100'000};

// Returns a function that reads a body as a Note.
template <class Codec>
auto note_reader(const Codec& codec) {
  return [&codec](auto& body) -> std::expected<std::unique_ptr<google::protobuf::Message>, Trouble> {
    auto note = std::make_unique<test::Note>();
    if (const std::expected<void, Trouble> read = codec.read(body, *note); !read) return std::unexpected(read.error());
    return note;
  };
}

}  // namespace
}  // namespace peal

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  std::string stream(reinterpret_cast<const char*>(data + 2), size - 2);
  const size_t block_bytes = size_t{data[1]} + 1;
  switch (data[0] % 3) {
    case 1: stream = peal::test::framed_body(peal::test::summed("RPC0" + stream)); [[fallthrough]];
    case 0: peal::test::check_stream(peal::kTagged, stream, block_bytes, peal::note_reader(peal::kTagged)); break;
    default: peal::test::check_stream(peal::kDelimited, stream, block_bytes, peal::note_reader(peal::kDelimited));
  }
  return 0;
}
