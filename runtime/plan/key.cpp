#include "plan/key.h"

#include <cstring>

#include "core/defaults.h"
#include "plan/items.h"

namespace pellucid {

namespace {

// The default dtype that frozen plans were traced with; any other default becomes a word of the key.
constexpr DType kFrozenDefault = DType::Float32;

// An item is a word with its kind and its facts (plan/items.h); a list's items, the bits of a static number and the
// characters of a text follow it.
constexpr uint64_t kNone = 0;
constexpr uint64_t kText = 0xFF;  // in place of a static number's kind

constexpr uint64_t list_word(size_t length) { return item_word(ItemKind::List, length); }

static_assert(static_cast<int>(Tag::Float) - static_cast<int>(Tag::Int) == static_cast<int>(NumberKind::Float));
static_assert(static_cast<int>(Tag::Bool) - static_cast<int>(Tag::Int) == static_cast<int>(NumberKind::Bool));
static_assert(static_cast<int>(Tag::Complex) - static_cast<int>(Tag::Int) == static_cast<int>(NumberKind::Complex));
constexpr NumberKind kind_of(Tag number) {
  return static_cast<NumberKind>(static_cast<int>(number) - static_cast<int>(Tag::Int));
}

uint64_t bits(double number) {
  uint64_t out;
  std::memcpy(&out, &number, sizeof out);
  return out;
}

}  // namespace

// A factor that is 1, which is the default: derivatives of pointwise ops leave it out.
static bool is_unit(const Argument& argument, const Value& value) {
  const auto is_one = [](const Value& number) {
    return (number.tag == Tag::Int && number.integer == 1) || (number.tag == Tag::Float && number.number == 1);
  };
  return argument.type == ArgType::Scalar && is_one(value) && argument.has_default && is_one(argument.default_value);
}

void KeyBuilder::spill(uint64_t word) {
  if (spilled_.empty()) spilled_.assign(inline_, inline_ + kInline);
  spilled_.push_back(word);
}

void KeyBuilder::add_text(std::string_view text) {
  add(item_word(ItemKind::Static, kText | static_cast<uint64_t>(text.size()) << 8));
  for (size_t at = 0; at < text.size(); at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + at, std::min<size_t>(8, text.size() - at));
    add(word);
  }
}

inline void KeyBuilder::add_static(NumberKind kind, uint64_t bits) {
  add(item_word(ItemKind::Static, static_cast<uint64_t>(kind)));
  add(bits);
}

inline void KeyBuilder::add_tensor(const TensorImpl& tensor, bool ranks) {
  add(word_of_tensor(tensor.dtype, ranks ? tensor.ndim : tensor.ndim > 0));
}

void KeyBuilder::add_value(const Argument& argument, const Value& value, bool ranks) {
  switch (value.tag) {
    case Tag::None: add(facts_of(argument.type).is_ignored ? word_of_ignored() : kNone); break;
    case Tag::Tensor: add_tensor(*value.tensor, ranks); break;
    case Tag::Int:
    case Tag::Bool:
    case Tag::Float:
    case Tag::Complex: {
      const NumberKind kind = kind_of(value.tag);
      if (argument.structural && value.tag != Tag::Complex) add_static(kind, static_cast<uint64_t>(value.integer));
      else if (!ranks && is_unit(argument, value)) add(word_of_unit(kind));
      else add(word_of_number(kind));
      break;
    }
    case Tag::IntList:
    case Tag::FloatList:
    case Tag::BoolList: {
      const NumberKind kind = value.tag == Tag::FloatList  ? NumberKind::Float
                              : value.tag == Tag::BoolList ? NumberKind::Bool
                                                           : NumberKind::Int;
      add(list_word(value.length));
      for (uint32_t k = 0; k < value.length; ++k) {
        if (argument.structural) add_static(kind, static_cast<uint64_t>(value.integers[value.broadcast_list ? 0 : k]));
        else add(word_of_number(kind));
      }
      break;
    }
    case Tag::ScalarList:
      add(list_word(value.length));
      for (uint32_t k = 0; k < value.length; ++k) add(word_of_number(kind_of(value.values[k].tag)));
      break;
    case Tag::TensorList:
    case Tag::OptionalTensorList:
      add(list_word(value.length));
      for (TensorImpl* tensor : value.list()) add(tensor ? word_of_tensor(tensor->dtype, tensor->ndim) : kNone);
      break;
    case Tag::DType: add(word_of_dtype(static_cast<DType>(value.integer))); break;
    case Tag::String: add_text({value.string, value.length}); break;
    case Tag::Device:
    case Tag::Layout:
    case Tag::MemoryFormat:
    case Tag::Generator:
    case Tag::Object: add(word_of_ignored()); break;
  }
}

void KeyBuilder::add_call(const OpCall& call, bool ranks) {
  const OpRecord& functional = call.op->functional ? *call.op->functional : *call.op;
  const std::vector<Argument>& arguments = functional.schema.arguments;
  for (size_t k = 0; k < arguments.size(); ++k) {
    const Value& value = call.args[k];
    if (value.tag == Tag::Tensor) add_tensor(*value.tensor, ranks);
    else add_value(arguments[k], value, ranks);
  }
  if (const DType dtype = default_dtype(); dtype != kFrozenDefault) [[unlikely]]
    add(word_of_dtype(dtype));
}

void KeyBuilder::add_literal(const Literal& literal, const Decoder& in) {
  switch (literal.tag) {
    case Code::None: return add(kNone);
    case Code::False:
    case Code::True: return add_static(NumberKind::Bool, static_cast<uint64_t>(literal.integer));
    case Code::Integer: return add_static(NumberKind::Int, static_cast<uint64_t>(literal.integer));
    case Code::Number: return add_static(NumberKind::Float, bits(literal.number));
    case Code::Text: return add_text(literal.text);
    default: in.refuse_code();
  }
}

void KeyBuilder::add_item(Decoder& in) {
  read_key_item(in, [&]<class Item>(Item item) {
    if constexpr (std::is_same_v<Item, Literal>) {
      add_literal(item, in);
    } else if constexpr (std::is_same_v<Item, encoded::KeyListItem>) {
      size_t length = item.items.list();
      add(list_word(length));
      while (length--) add_item(item.items);
    } else {
      add(item.word());
    }
  });
}

void KeyBuilder::add_items(Decoder& in, const Schema& schema) {
  in.expect_list(schema.arguments.size());
  for (size_t k = 0; k < schema.arguments.size(); ++k) add_item(in);
}

FlatTensors::FlatTensors(const OpCall& call) {
  const OpRecord& functional = call.op->functional ? *call.op->functional : *call.op;
  for (uint32_t mask = functional.schema.tensor_arguments; mask; mask &= mask - 1) {
    const Value& value = call.args[__builtin_ctz(mask)];
    if (value.tag == Tag::Tensor) add(value.tensor);
    else if (value.tag == Tag::TensorList || value.tag == Tag::OptionalTensorList)
      for (TensorImpl* tensor : value.list())
        if (tensor) add(tensor);
  }
}

void FlatTensors::add(TensorImpl* tensor) {
  if (spilled.empty() && count < kInline) {
    inline_tensors[count] = tensor;
  } else {
    if (spilled.empty()) spilled.assign(inline_tensors, inline_tensors + kInline);
    spilled.push_back(tensor);
  }
  ++count;
}

}  // namespace pellucid
