// Schemas in PyTorch's schema language: "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor".
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/value.h"

namespace pellucid {

enum class ArgType : uint8_t {
  Tensor,
  TensorOrScalar,
  TensorList,
  OptionalTensorList,
  Scalar,
  ScalarList,
  Int,
  SymInt,
  Float,
  Bool,
  String,
  IntList,
  SymIntList,
  FloatList,
  BoolList,
  DType,
  Device,
  Layout,
  MemoryFormat,
  Generator,
  Object,
};

// Structural arguments are part of an op's specialisation key by value; run-time ones (sizes, numbers) stay symbolic.
struct Argument {
  std::string name;
  ArgType type;
  bool optional = false;  // "T?"
  bool keyword_only = false;
  bool has_default = false;
  bool structural = false;
  bool written = false;         // alias annotation "(a!)"
  bool aliased = false;         // "(a)"
  int8_t list_size = 0;         // int[2] accepts one int for both
  std::string type_text;        // as written, without the alias annotation: "Tensor?[]", "int[2]"
  std::string alias;            // the contents of the annotation: "a", "a!", "a -> *"
  Value default_value;          // lists and strings point to memory that the schema owns
  void* python_name = nullptr;  // interned str, set by the bindings
};

struct Return {
  std::string name;  // empty: unnamed
  ArgType type = ArgType::Tensor;
  bool is_list = false;
  bool written = false, aliased = false;
  std::string type_text, alias;
};

struct Schema {
  std::string name_space;      // "aten" of "aten::add"; empty if the text has none
  std::string name, overload;  // "add", "Tensor"
  std::vector<Argument> arguments;
  std::vector<Return> returns;
  uint8_t num_positional = 0;
  uint32_t tensor_arguments = 0;  // one bit per argument that is or holds tensors
  std::string text;
  std::vector<std::shared_ptr<const void>> owned;  // the storage of list and string defaults
};

Schema parse_schema(std::string_view text);  // raises Value errors that point at the offending character

}  // namespace pellucid
