// The op table: records made from the frozen file at import.
//
// Per op overload the file holds its schema, kind, exposure and an undecoded block of keys with their plans,
// element functions and derivatives. The block is decoded at the op's first cache miss.
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

// Facts of a record that only ops/ needs, in a table indexed by record id.
struct FrozenOp {
  OpRecord* record = nullptr;
  Compressed keys;             // a list of encoded::KeyedPlan or KeyedFunction
  Compressed derivatives;      // a list of KeyedDerivative
  bool int_to_float = false;   // integers compute in the default float dtype
  bool refuses_bools = false;  // raises for a promoted argument that is a bool
  uint32_t promoted = 0;       // one bit per argument that takes part in type promotion
  bool saves = false;          // the declaration saves values for backward
  std::string inverse;         // of a join: the view that is its inverse
  ResultLayout layout = ResultLayout::RowMajor;
  std::string origin;                                   // of a derivative op: how to trace it again
  std::unique_ptr<ElementFunctions> element_functions;  // of a pointwise op
  std::unique_ptr<Derivatives> derivative_plans;
  // What plans and derivatives that are not decoded yet point into.
  std::vector<uint8_t> own_keys, own_derivatives;
};

bool is_scalar(OpKind kind);  // whether such ops are functions of single elements

// Maps `path` and defines its records; called once, at import, with the kernels of intrinsics. Raises Value
// errors for damaged files.
void load_op_table(const std::string& path, std::span<const Intrinsic> kernels);

// The op that dispatch modes see instead of an op: pellucid_compiler/declare/seen.py.
struct SeenOp {
  std::string_view op;        // "conv2d"
  std::string_view gradient;  // the op that computes its gradient; empty: none
  std::string_view given;     // what declared gradients read, and, after `name=`, what that op receives
  bool reads_results;         // a result of the op is among these
  bool composed, composed_gradients;
  bool numbers;  // whether another overload takes a number there
};
std::span<const SeenOp> seen_ops();

FrozenOp& frozen_op(const OpRecord& op);
const std::string* derivative_origin(const OpRecord& op);  // null: the op is not a derivative

// The record of a derivative with its one key: plans or element functions, according to its kind. It is found by
// name or made, and lives as long as it is owned; retired records are recycled first.
std::shared_ptr<const OpRecord> derivative_op(const std::string& schema, OpKind kind, uint32_t promoted,
                                              std::string origin, ResultLayout layout, std::span<const uint8_t> keys);

}  // namespace pellucid
