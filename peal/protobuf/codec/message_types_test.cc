// SPDX-License-Identifier: BSD-3-Clause
#include <peal/protobuf/codec/message_types.h>

#include <optional>
#include <stdexcept>
#include <string>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/dynamic_message.h>
#include <gtest/gtest.h>

#include <tests/protobuf/note.pb.h>
#include <tests/protobuf/query.pb.h>
#include <tests/support/allocated_bytes.h>

namespace peal {
namespace {

TEST(MessageTypes, are_found_by_their_full_names_alone) {
  MessageTypes types;
  EXPECT_EQ(types.find("peal.test.Query"), std::nullopt);
  EXPECT_EQ(types.add<test::Query>(), 0U);
  EXPECT_EQ(types.add<test::Note>(), 1U);
  EXPECT_EQ(types.add<test::Reply>(), 2U);
  EXPECT_EQ(types.add<test::Payload>(), 3U);
  EXPECT_EQ(types.add<test::Nothing>(), 4U);
  EXPECT_EQ(types.size(), 5U);
  EXPECT_EQ(types.find("peal.test.Query"), 0U);
  EXPECT_EQ(types.find("peal.test.Note"), 1U);
  EXPECT_EQ(types.find("peal.test.Reply"), 2U);
  EXPECT_EQ(types.find("peal.test.Payload"), 3U);
  EXPECT_EQ(types.find("peal.test.Nothing"), 4U);
  const std::string with_nul("peal.test.Note\0", 15);
  for (const std::string_view other :
       {"", "Query", "peal.test.Quer", "peal.test.Querz", "peal.test.Queryy", "google.protobuf.Any"}) {
    EXPECT_EQ(types.find(other), std::nullopt) << other;
  }
  EXPECT_EQ(types.find(with_nul), std::nullopt);
}

TEST(MessageTypes, twice_the_same_is_refused) {
  MessageTypes types;
  types.add<test::Query>();
  EXPECT_THROW(types.add<test::Query>(), std::invalid_argument);
  EXPECT_EQ(types.size(), 1U);
}

TEST(MessageTypes, make_what_was_added_and_nothing_that_is_only_linked_in) {
  MessageTypes types;
  types.add<test::Query>();
  const auto query = types.make("peal.test.Query");
  ASSERT_NE(query, nullptr);
  EXPECT_NE(google::protobuf::DynamicCastToGenerated<test::Query>(query.get()), nullptr);
  EXPECT_EQ(types.make("peal.test.Reply"), nullptr);
}

TEST(MessageTypes, of_a_dynamic_factory_do_too) {
  google::protobuf::DynamicMessageFactory factory;
  MessageTypes types;
  types.add(*factory.GetPrototype(test::Note::descriptor()));
  EXPECT_EQ(types.make("peal.test.Note")->GetDescriptor(), test::Note::descriptor());
}

TEST(MessageTypes, looking_up_allocates_nothing) {
  MessageTypes types;
  types.add<test::Query>();
  const size_t before = test::allocated_bytes();
  EXPECT_TRUE(types.find("peal.test.Query").has_value());
  EXPECT_FALSE(types.find("peal.test.a_name_that_fits_into_no_string_by_itself").has_value());
  EXPECT_EQ(test::allocated_bytes(), before);
}

}  // namespace
}  // namespace peal
