// Docstrings of ops: texts of the frozen file, which is mapped, so that none is read before it is needed.
//
// An op's name has a text as a function and one as a method, which differ in the signature that they begin with where
// there is one (src/pellucid_compiler/declare/documentation.py). Called by the bindings.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "plan/records.h"

namespace pellucid {

// Texts live as long as the process; each ends with a zero byte.
struct OpTexts {
  const char* function;
  const char* method;
};

// The rows are sorted by name; `texts` is mapped for as long as the process lives.
void install_documentation(std::vector<encoded::DocumentationRow> rows, std::span<const uint8_t> texts);

// Null pointers for an op that the file does not have.
OpTexts op_texts(std::string_view name);

}  // namespace pellucid
