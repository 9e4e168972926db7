// Schemas in PyTorch's schema language: "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor".
// The words of types are those of abi/schema_types.py, which says why the engine has a parser too.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "abi/schema_types.h"
#include "core/value.h"

namespace pellucid {

constexpr const ArgTypeFacts& facts_of(ArgType type) { return kArgTypes[static_cast<int>(type)]; }

// A part of a schema's text.
struct TextRange {
  uint32_t begin = 0, end = 0;
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
  TextRange written_type;       // in the schema's text
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
  uint32_t returns_begin = 0;                      // in the text, after the arrow
  std::vector<std::shared_ptr<const void>> owned;  // the storage of list and string defaults
};

Schema parse_schema(std::string_view text);  // raises Runtime errors that point at the offending character
// As PyTorch prints it, without its name: "(Tensor self, int[2] n=1) -> Tensor".
std::string print_schema(const Schema& schema);

}  // namespace pellucid
