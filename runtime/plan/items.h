// The items that describe a call's arguments in requests and keys.
//
// Generated from src/pellucid_compiler/abi/items.py by tools/build.py: change it there.
// clang-format off
#pragma once

#include <concepts>
#include <span>
#include "plan/decode.h"

namespace pellucid {
// Appends a part of a request or an item.
template <class F>
concept Writer = std::invocable<F, Encoder&>;

// The first word of an item in a key; None is 0.
constexpr uint64_t item_word(ItemKind kind, uint64_t data = 0) {
  return (static_cast<uint64_t>(kind) + 1) | data << 8;
}

inline void write_request_tensor(Encoder& out, DType dtype, std::span<const int64_t> shape) {
  out.list(3);
  out.code(ItemKind::Tensor);
  out.code(dtype);
  out.list_of(shape, [&](int64_t size) { out.integer(size); });
}

inline void write_request_dtype(Encoder& out, DType dtype) {
  out.list(2);
  out.code(ItemKind::DType);
  out.code(dtype);
}

inline void write_request_list(Encoder& out, Writer auto&& items) {
  out.list(2);
  out.code(ItemKind::List);
  items(out);
}

inline void write_request_ignored(Encoder& out) {
  out.list(1);
  out.code(ItemKind::Ignored);
}

inline void write_operand_tensor(Encoder& out, DType dtype) {
  out.list(2);
  out.code(ItemKind::Tensor);
  out.code(dtype);
}

inline void write_operand_number(Encoder& out) {
  out.list(1);
  out.code(ItemKind::Number);
}

inline void write_operand_static(Encoder& out, Writer auto&& item) {
  out.list(2);
  out.code(ItemKind::Static);
  item(out);
}

constexpr uint64_t word_of_tensor(DType dtype, uint8_t rank) {
  return item_word(ItemKind::Tensor, static_cast<uint64_t>(dtype) | static_cast<uint64_t>(rank) << 8);
}

constexpr uint64_t word_of_number(NumberKind kind) {
  return item_word(ItemKind::Number, static_cast<uint64_t>(kind));
}

constexpr uint64_t word_of_unit(NumberKind kind) {
  return item_word(ItemKind::Unit, static_cast<uint64_t>(kind));
}

constexpr uint64_t word_of_dtype(DType dtype) {
  return item_word(ItemKind::DType, static_cast<uint64_t>(dtype));
}

constexpr uint64_t word_of_ignored() {
  return item_word(ItemKind::Ignored);
}

namespace encoded {

struct TensorItem {
  static constexpr size_t kFields = 2;
  DType dtype;
  uint8_t rank;
  static TensorItem read(Decoder& in);
  constexpr uint64_t word() const { return word_of_tensor(dtype, rank); }
};
inline TensorItem TensorItem::read(Decoder& in) {
  return {
      .dtype = in.code<DType>(),
      .rank = in.integer_as<uint8_t>(),
  };
}

struct NumberItem {
  static constexpr size_t kFields = 1;
  NumberKind kind;
  static NumberItem read(Decoder& in);
  constexpr uint64_t word() const { return word_of_number(kind); }
};
inline NumberItem NumberItem::read(Decoder& in) {
  return {
      .kind = in.code<NumberKind>(),
  };
}

struct UnitItem {
  static constexpr size_t kFields = 1;
  NumberKind kind;
  static UnitItem read(Decoder& in);
  constexpr uint64_t word() const { return word_of_unit(kind); }
};
inline UnitItem UnitItem::read(Decoder& in) {
  return {
      .kind = in.code<NumberKind>(),
  };
}

struct DTypeItem {
  static constexpr size_t kFields = 1;
  DType dtype;
  static DTypeItem read(Decoder& in);
  constexpr uint64_t word() const { return word_of_dtype(dtype); }
};
inline DTypeItem DTypeItem::read(Decoder& in) {
  return {
      .dtype = in.code<DType>(),
  };
}

struct KeyListItem {
  static constexpr size_t kFields = 1;
  Decoder items;
  static KeyListItem read(Decoder& in);
};
inline KeyListItem KeyListItem::read(Decoder& in) {
  return {
      .items = in.nested(),
  };
}

struct Ignored {
  static constexpr size_t kFields = 0;
  static Ignored read(Decoder& in);
  constexpr uint64_t word() const { return word_of_ignored(); }
};
inline Ignored Ignored::read(Decoder&) {
  return {
  };
}

struct OperandTensor {
  static constexpr size_t kFields = 1;
  DType dtype;
  static OperandTensor read(Decoder& in);
};
inline OperandTensor OperandTensor::read(Decoder& in) {
  return {
      .dtype = in.code<DType>(),
  };
}

struct OperandNumber {
  static constexpr size_t kFields = 0;
  static OperandNumber read(Decoder& in);
};
inline OperandNumber OperandNumber::read(Decoder&) {
  return {
  };
}

struct OperandStatic {
  static constexpr size_t kFields = 1;
  Decoder item;
  static OperandStatic read(Decoder& in);
};
inline OperandStatic OperandStatic::read(Decoder& in) {
  return {
      .item = in.nested(),
  };
}
}  // namespace encoded

// Passes the next key item to `take`: its record, or a Literal.
template <class Take>
void read_key_item(Decoder& in, Take&& take) {
  if (in.peek() != Code::List) return take(in.literal());
  const size_t count = in.list();
  switch (in.code<ItemKind>()) {
    case ItemKind::Tensor: return take(in.fields<encoded::TensorItem>(count - 1));
    case ItemKind::Number: return take(in.fields<encoded::NumberItem>(count - 1));
    case ItemKind::Unit: return take(in.fields<encoded::UnitItem>(count - 1));
    case ItemKind::Static: break;
    case ItemKind::DType: return take(in.fields<encoded::DTypeItem>(count - 1));
    case ItemKind::List: return take(in.fields<encoded::KeyListItem>(count - 1));
    case ItemKind::Ignored: return take(in.fields<encoded::Ignored>(count - 1));
  }
  in.refuse_code();
}

// Passes the next operand item to `take`: its record, or a Literal.
template <class Take>
void read_operand_item(Decoder& in, Take&& take) {
  if (in.peek() != Code::List) return take(in.literal());
  const size_t count = in.list();
  switch (in.code<ItemKind>()) {
    case ItemKind::Tensor: return take(in.fields<encoded::OperandTensor>(count - 1));
    case ItemKind::Number: return take(in.fields<encoded::OperandNumber>(count - 1));
    case ItemKind::Unit: break;
    case ItemKind::Static: return take(in.fields<encoded::OperandStatic>(count - 1));
    case ItemKind::DType: break;
    case ItemKind::List: break;
    case ItemKind::Ignored: break;
  }
  in.refuse_code();
}
}  // namespace pellucid
