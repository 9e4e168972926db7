// Docstrings of ops. The texts are in the mapped frozen file, so that none is read before it is needed.
//
// Each op name has a text as a function and one as a method, which differ in the signature at the beginning, if
// there is one (src/pellucid_compiler/declare/documentation.py). Called by the bindings.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "plan/records.h"

namespace pellucid {

// Texts live as long as the process and are null-terminated.
struct OpTexts {
  const char* function;
  const char* method;
};

// The rows are sorted by name.
void install_documentation(std::vector<encoded::DocumentationRow> rows, Compressed texts);

// Null pointers for an op that is not in the file.
OpTexts op_texts(std::string_view name);

}  // namespace pellucid
