// Groups of recorded ops: their descriptions, and the answers.
//
// Generated from src/pellucid_compiler/abi/groups.py by tools/build.py: change it there.
// clang-format off
#pragma once

#include <optional>
#include <vector>
#include "plan/decode.h"

namespace pellucid {
namespace encoded {

struct MemberOperand {
  int32_t argument;
  int64_t place;
  void write(Encoder& out) const {
    out.list(2);
    out.integer(argument);
    out.integer(place);
  }
};

struct MemberNumber {
  int32_t argument;
  uint16_t equals;
  bool is_integer;
  NumberPart part;
  void write(Encoder& out) const {
    out.list(4);
    out.integer(argument);
    out.integer(equals);
    out.boolean(is_integer);
    out.code(part);
  }
};

struct Member {
  std::string_view request;
  std::vector<MemberOperand> operands;
  std::optional<std::vector<MemberNumber>> numbers;
  void write(Encoder& out) const {
    out.list(3);
    out.bytes(request);
    out.list_of(operands, [&](auto& item) { out.record(item); });
    if (numbers) out.list_of(*numbers, [&](auto& item) { out.record(item); }); else out.none();
  }
};

struct InputExample {
  DType dtype;
  std::vector<int64_t> sizes;
  void write(Encoder& out) const {
    out.list(2);
    out.code(dtype);
    out.list_of(sizes, [&](auto& item) { out.integer(item); });
  }
};

struct GroupDescription {
  std::vector<Member> members;
  std::vector<int32_t> outputs;
  std::optional<std::vector<InputExample>> inputs;
  void write(Encoder& out) const {
    out.list(3);
    out.list_of(members, [&](auto& item) { out.record(item); });
    out.list_of(outputs, [&](auto& item) { out.integer(item); });
    if (inputs) out.list_of(*inputs, [&](auto& item) { out.record(item); }); else out.none();
  }
};

struct GroupInput {
  static constexpr size_t kFields = 2;
  uint16_t number;
  DType dtype;
  static GroupInput read(Decoder& in);
};
inline GroupInput GroupInput::read(Decoder& in) {
  return {
      .number = in.integer_as<uint16_t>(),
      .dtype = in.code<DType>(),
  };
}

struct GroupNumber {
  static constexpr size_t kFields = 3;
  uint16_t member;
  int32_t argument;
  NumberPart part;
  static GroupNumber read(Decoder& in);
};
inline GroupNumber GroupNumber::read(Decoder& in) {
  return {
      .member = in.integer_as<uint16_t>(),
      .argument = in.integer_as<int32_t>(),
      .part = in.code<NumberPart>(),
  };
}

struct GroupAnswer {
  static constexpr size_t kFields = 4;
  KernelId kernel;
  std::vector<GroupInput> inputs;
  std::vector<DType> outputs;
  std::vector<GroupNumber> numbers;
  static GroupAnswer read(Decoder& in);
};
inline GroupAnswer GroupAnswer::read(Decoder& in) {
  return {
      .kernel = in.kernel_id(),
      .inputs = in.list_of<GroupInput>([&] { return in.record<GroupInput>(); }),
      .outputs = in.list_of<DType>([&] { return in.code<DType>(); }),
      .numbers = in.list_of<GroupNumber>([&] { return in.record<GroupNumber>(); }),
  };
}
}  // namespace encoded
}  // namespace pellucid
