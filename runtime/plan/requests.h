// Requests of the runtime to Python, encoded.
//
// Generated from src/pellucid_compiler/abi/requests.py by tools/build.py: change it there.
// clang-format off
#pragma once

#include <string>
#include "plan/items.h"

namespace pellucid {

inline std::string encode_plan_request(Writer auto&& op, Writer auto&& arguments, int64_t mask, DType default_dtype) {
  Encoder out;
  out.list(4);
  op(out);
  arguments(out);
  out.integer(mask);
  out.code(default_dtype);
  return out.data();
}

inline std::string encode_function_request(Writer auto&& op, Writer auto&& arguments, DType common, DType default_dtype) {
  Encoder out;
  out.list(4);
  op(out);
  arguments(out);
  out.code(common);
  out.code(default_dtype);
  return out.data();
}
}  // namespace pellucid
