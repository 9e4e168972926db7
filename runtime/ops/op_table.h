// The op table: records made from the frozen file at import.
//
// The file holds, per op overload, its schema, kind, exposure and an undecoded block of keys with
// their plans, element functions and derivatives. A record's block is read when the op first misses.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/op_record.h"
#include "ops/derivatives.h"
#include "ops/element_functions.h"
#include "ops/graph_op.h"
#include "ops/intrinsics.h"

namespace pellucid {

// Facts of a record that only ops/ needs; they live in the record's id-indexed table.
struct FrozenOp {
  OpRecord* record = nullptr;
  std::span<const uint8_t> keys;         // a list of encoded::KeyedPlan or KeyedFunction
  std::span<const uint8_t> derivatives;  // of KeyedDerivative
  bool int_to_float = false;             // integers compute in the default float dtype
  bool refuses_bools = false;            // raises for a promoted argument that is a bool
  uint32_t promoted = 0;                 // bits of arguments that join type promotion
  bool saves = false;                    // the declaration saves values for its gradient
  std::string inverse;                   // of a join: the view that takes its result apart
  ResultLayout layout = ResultLayout::RowMajor;
  std::string origin;                                   // of a derivative op: how to trace it again
  std::unique_ptr<ElementFunctions> element_functions;  // of pointwise ops
  std::unique_ptr<Derivatives> derivative_plans;
  std::vector<uint8_t> own_keys;  // of a derivative op, whose key did not come with the file
};

bool is_scalar(OpKind kind);  // whether the meaning of such ops is a function of single elements

// Maps `path` and defines its records; called once, at import, with the kernels of intrinsics. Raises Value errors for
// damaged files.
void load_op_table(const std::string& path, std::span<const Intrinsic> kernels);

// What dispatch modes see in place of an op: pellucid_compiler/declare/seen.py.
struct SeenOp {
  std::string_view op;        // "conv2d"
  std::string_view gradient;  // the op that gives its gradient; empty: none
  std::string_view given;     // what declared gradients read, and by `name=` what that op is given
  bool composed, composed_gradients;
  bool numbers;  // whether a number is an argument of another overload
};
std::span<const SeenOp> seen_ops();

FrozenOp& frozen_op(const OpRecord& op);
const std::string* derivative_origin(const OpRecord& op);  // null: an op with a name of its own

// The record of a derivative with its one key: plans or element functions, as its kind says. It is found by its name or
// made, and lives as long as it is owned; records that nobody owned any more are emptied first.
std::shared_ptr<const OpRecord> derivative_op(const std::string& schema, OpKind kind, uint32_t promoted,
                                              std::string origin, ResultLayout layout, std::span<const uint8_t> keys);

}  // namespace pellucid
