// SPDX-License-Identifier: BSD-3-Clause
// Encodes and decodes one of protobuf's own messages with an installed peal::protobuf, in each of the three formats.
#include <google/protobuf/wrappers.pb.h>

#include <peal/protobuf/codec/delimited_codec.h>
#include <peal/protobuf/codec/named_codec.h>
#include <peal/protobuf/codec/tagged_codec.h>
#include <peal/protobuf/message_dispatcher.h>

namespace {

using google::protobuf::StringValue;

template <class Codec>
bool passes(const Codec& codec) {
  StringValue sent;
  sent.set_value("from an installed peal");
  peal::Buffer frame = peal::framed(codec, sent);
  peal::Buffer body;
  StringValue read;
  return codec.next(frame, body) == peal::FrameState::kWhole && codec.read(body, read) && read.value() == sent.value();
}

}  // namespace

int main() {
  peal::MessageDispatcher dispatcher;
  dispatcher.on<StringValue>([](peal::Connection&, const StringValue&) {});
  const bool all =
      passes(peal::NamedCodec()) && passes(peal::TaggedCodec{.tag = "TEXT"}) && passes(peal::DelimitedCodec());
  return all && dispatcher.on_message() ? 0 : 1;
}
