#include "plan/key.h"

#include <cstring>

#include "core/defaults.h"
#include "core/error.h"

namespace pellucid {

namespace {

// The default dtype that frozen plans were traced with; any other default becomes a word of the key.
constexpr DType kFrozenDefault = DType::Float32;

// Word encodings: the kind in the low byte, its data above. None is 0.
enum WordKind : uint64_t {
  kNone = 0,
  kTensor = 1,
  kNumber = 2,
  kStatic = 3,
  kList = 4,
  kText = 5,
  kIgnored = 6,
  kDType = 7
};

uint64_t tensor_word(DType dtype, size_t rank) {
  return kTensor | static_cast<uint64_t>(dtype) << 8 | static_cast<uint64_t>(rank) << 16;
}
uint64_t number_word(Tag tag, bool is_unit = false) {
  return kNumber | static_cast<uint64_t>(tag) << 8 | uint64_t{is_unit} << 16;
}
uint64_t list_word(size_t length) { return kList | static_cast<uint64_t>(length) << 8; }

// A static number: a word with its type, then a word with its bits.
uint64_t static_word(Tag tag) { return kStatic | static_cast<uint64_t>(tag) << 8; }

Tag tag_of(NumberKind kind) {
  switch (kind) {
    case NumberKind::Int: return Tag::Int;
    case NumberKind::Float: return Tag::Float;
    case NumberKind::Bool: return Tag::Bool;
    case NumberKind::Complex: break;
  }
  return Tag::Complex;
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

// Argument types that no plan depends on.
static bool is_ignored(ArgType type) { return type >= ArgType::Device && type <= ArgType::Object; }

void KeyBuilder::spill(uint64_t word) {
  if (spilled_.empty()) spilled_.assign(inline_, inline_ + kInline);
  spilled_.push_back(word);
}

void KeyBuilder::add_text(std::string_view text) {
  add(kText | static_cast<uint64_t>(text.size()) << 8);
  for (size_t at = 0; at < text.size(); at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + at, std::min<size_t>(8, text.size() - at));
    add(word);
  }
}

inline void KeyBuilder::add_tensor(const TensorImpl& tensor, bool ranks) {
  add(tensor_word(tensor.dtype, ranks ? tensor.ndim : tensor.ndim > 0));
}

void KeyBuilder::add_value(const Argument& argument, const Value& value, bool ranks) {
  switch (value.tag) {
    case Tag::None: add(is_ignored(argument.type) ? kIgnored : kNone); break;
    case Tag::Tensor: add_tensor(*value.tensor, ranks); break;
    case Tag::Int:
    case Tag::Bool:
    case Tag::Float:
    case Tag::Complex:
      if (!argument.structural || value.tag == Tag::Complex) {
        add(number_word(value.tag, !ranks && is_unit(argument, value)));
      } else {
        add(static_word(value.tag));
        add(static_cast<uint64_t>(value.integer));
      }
      break;
    case Tag::IntList:
    case Tag::FloatList:
    case Tag::BoolList: {
      Tag element = value.tag == Tag::FloatList ? Tag::Float : value.tag == Tag::BoolList ? Tag::Bool : Tag::Int;
      add(list_word(value.length));
      for (uint32_t k = 0; k < value.length; ++k) {
        if (!argument.structural) {
          add(number_word(element));
          continue;
        }
        add(static_word(element));
        add(static_cast<uint64_t>(value.integers[value.broadcast_list ? 0 : k]));
      }
      break;
    }
    case Tag::ScalarList:
      add(list_word(value.length));
      for (uint32_t k = 0; k < value.length; ++k) add(number_word(value.values[k].tag));
      break;
    case Tag::TensorList:
    case Tag::OptionalTensorList:
      add(list_word(value.length));
      for (TensorImpl* tensor : value.list()) add(tensor ? tensor_word(tensor->dtype, tensor->ndim) : uint64_t{kNone});
      break;
    case Tag::DType: add(kDType | static_cast<uint64_t>(value.integer) << 8); break;
    case Tag::String: add_text({value.string, value.length}); break;
    case Tag::Device:
    case Tag::Layout:
    case Tag::MemoryFormat:
    case Tag::Generator:
    case Tag::Object: add(kIgnored); break;
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
    add(kDType | static_cast<uint64_t>(dtype) << 8);
}

void KeyBuilder::add_item(Decoder& in) {
  auto add_static = [&](Tag tag, uint64_t word) {
    add(static_word(tag));
    add(word);
  };
  switch (in.peek()) {
    case Code::None:
      in.take_none();
      add(kNone);
      return;
    case Code::False:
    case Code::True: add_static(Tag::Bool, in.boolean()); return;
    case Code::Integer: add_static(Tag::Int, static_cast<uint64_t>(in.integer())); return;
    case Code::Number: add_static(Tag::Float, bits(in.number())); return;
    case Code::Text: add_text(in.text()); return;
    default: break;
  }
  size_t length = in.list() - 1;
  switch (const auto kind = in.code<ItemKind>()) {
    case ItemKind::Tensor: {
      const auto dtype = in.code<DType>();
      add(tensor_word(dtype, in.integer_as<uint8_t>()));
      break;
    }
    case ItemKind::DType: add(kDType | static_cast<uint64_t>(in.code<DType>()) << 8); break;
    case ItemKind::Number:
    case ItemKind::Unit: add(number_word(tag_of(in.code<NumberKind>()), kind == ItemKind::Unit)); break;
    case ItemKind::List:
      add(list_word(length));
      while (length--) add_item(in);
      break;
    case ItemKind::Ignored: add(kIgnored); break;
    case ItemKind::Static: in.refuse_code();
  }
}

void KeyBuilder::add_specification(Decoder& in, const Schema& schema) {
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
