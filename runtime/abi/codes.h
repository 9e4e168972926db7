// The enumerations that Python and C++ share; a member's index is its code.
//
// Generated from src/pellucid_compiler/abi/codes.py by tools/build.py: change it there.
// clang-format off
#pragma once

#include <cstdint>
#include <string_view>

namespace pellucid {
template <class E>
constexpr int kNumCodes = 0;  // members of E

// The tag byte of an encoded value.
enum class Code : uint8_t {
  None,
  False,
  True,
  Integer,  // zigzag, 7 bits per byte
  Number,  // a double
  Text,  // its length, UTF-8
  Bytes,  // its length, the bytes
  List,  // its length, the values
  Complex,  // two doubles
};
template <>
inline constexpr int kNumCodes<Code> = 9;
inline constexpr std::string_view kCodeNames[] = {"none", "false", "true", "integer", "number", "text", "bytes", "list", "complex"};

// The Python exception that an error becomes in the bindings.
enum class ErrorKind : uint8_t {
  Runtime,
  Type,
  Value,
  Index,
  Attribute,
  NotImplemented,
  OutOfMemory,  // RuntimeError, as PyTorch's CPU allocator raises
  ZeroDivision,
  Assertion,  // as PyTorch raises for devices its build lacks
  PythonRaised,  // an exception is set in the calling thread
  LinearAlgebra,  // of pellucid.linalg
};
template <>
inline constexpr int kNumCodes<ErrorKind> = 11;
inline constexpr std::string_view kErrorKindNames[] = {"RuntimeError", "TypeError", "ValueError", "IndexError", "AttributeError", "NotImplementedError", "out of memory", "ZeroDivisionError", "AssertionError", "raised in Python", "LinAlgError"};

// What a kernel returns: code << STATUS_SHIFT | detail.
enum class KernelStatus : uint8_t {
  Ok,
  IndexOutOfBounds,  // detail: the index
  ZeroDivision,
  Requirement,  // detail: the number of the requirement
  OutsideOperand,  // only in checked mode; detail: the operand, outputs first, then the element and the number of elements, OUTSIDE_BITS each
};
template <>
inline constexpr int kNumCodes<KernelStatus> = 5;
inline constexpr std::string_view kKernelStatusNames[] = {"ok", "out_of_bounds", "zero_division", "requirement", "outside_operand"};

// What a loss makes of its elements, in the order of the numbers that ops take.
enum class LossReduction : uint8_t {
  None,
  Mean,
  Sum,
};
template <>
inline constexpr int kNumCodes<LossReduction> = 3;
inline constexpr std::string_view kLossReductionNames[] = {"none", "mean", "sum"};

// How an op runs.
enum class OpKind : uint8_t {
  View,  // shares memory with its operand
  Factory,  // makes a tensor without operands
  Pointwise,  // an ElementFunction over one element of each operand
  Reduction,
  Scan,
  Fused,  // a Graph of several loops
  Contraction,  // sums of products
  Loop,  // a recurrence
  DataDependent,  // result sizes depend on elements
  Random,  // pointwise, over random words
  Foreach,  // pointwise, over lists of tensors
  Join,  // concatenates the tensors of a list along a dim
  Library,  // a routine by name
  Composite,  // calls other ops
};
template <>
inline constexpr int kNumCodes<OpKind> = 14;
inline constexpr std::string_view kOpKindNames[] = {"view", "factory", "pointwise", "reduction", "scan", "fused", "contraction", "loop", "data_dependent", "random", "foreach", "join", "library", "composite"};

// Where an op writes.
enum class Variant : uint8_t {
  Functional,  // new tensors
  InPlace,  // its arguments
  Out,  // out=
};
template <>
inline constexpr int kNumCodes<Variant> = 3;
inline constexpr std::string_view kVariantNames[] = {"functional", "in_place", "out"};

// The dtype to which an autocast region casts floating-point operands.
enum class CastRule : uint8_t {
  None,  // none: the op runs in the dtypes of its operands
  Lower,  // the region's dtype: products, which are faster there
  Float32,  // float32: for ops that are too inaccurate in half precision
  Widest,  // the widest among the operands
};
template <>
inline constexpr int kNumCodes<CastRule> = 4;
inline constexpr std::string_view kCastRuleNames[] = {"", "lower", "float32", "widest"};

// The memory order of results.
enum class ResultLayout : uint8_t {
  RowMajor,
  Operand,  // that of the first operand, if it is dense
  Images,  // channels innermost if those of the operands are
};
template <>
inline constexpr int kNumCodes<ResultLayout> = 3;
inline constexpr std::string_view kResultLayoutNames[] = {"", "operand", "images"};

// How an overload without plans runs (declare/late_forms.py).
enum class LateBody : uint8_t {
  Redirect,  // calls another record, with arguments matched by name
  Composite,  // a Python body
  OutOf,  // a functional record, whose results are written to out=
  InPlaceOf,  // a functional record, whose result is written to self
  CopyOf,  // a view, whose result is copied
};
template <>
inline constexpr int kNumCodes<LateBody> = 5;
inline constexpr std::string_view kLateBodyNames[] = {"redirect", "composite", "out_of", "in_place_of", "copy_of"};

// The ops that transforms derive from an op at one key and mask of inputs.
enum class Rule : uint8_t {
  Vjp,  // gradients of the inputs of the mask
  Jvp,  // tangents of the outputs, given tangents of the inputs of the mask
  Batch,  // the op, with a leading dim on the inputs of the mask and all outputs
  SavedVjp,  // as vjp, for a call that runs the derivative's forward op
};
template <>
inline constexpr int kNumCodes<Rule> = 4;
inline constexpr std::string_view kRuleNames[] = {"vjp", "jvp", "batch", "saved_vjp"};

// Where an argument of a derivative comes from.
enum class ArgumentOrigin : uint8_t {
  Argument,  // the forward argument (saved if it is a tensor)
  Result,  // the forward result (saved)
  Saved,  // extra results of the forward op, saved for backward
  Gradient,  // the gradient of a forward result; an undefined one is zeros
  Gradients,  // the gradients of all results, as one list
  Sizes,  // sizes of forward tensors, as integers
  Tangent,  // the tangent of an input, by its number
  Constant,  // a value that the plan holds, by its number
};
template <>
inline constexpr int kNumCodes<ArgumentOrigin> = 8;
inline constexpr std::string_view kArgumentOriginNames[] = {"argument", "result", "saved", "gradient", "gradients", "sizes", "tangent", "constant"};

// What a step of a plan does.
enum class StepKind : uint8_t {
  Map,  // one kernel over every point
  Reduce,  // one kernel that combines along axes
  Rows,  // one kernel per row, which may read the row several times
  Nest,  // a kernel that receives whole values
  Gemm,  // a matrix product
  Scan,  // a running combination along the last axis
  Recurrence,  // a plan, run for each element along a dim
  Fill,  // one number in every element
  View,  // shares memory
  Reshape,  // shares memory if the strides allow it, else copies
  Copy,  // a value that starts as a copy
  Library,  // a routine by name
  Nonzero,  // the indices of true elements
  Compute,  // runs the next part of the register program
  Block,  // steps that run together, block by block
};
template <>
inline constexpr int kNumCodes<StepKind> = 15;
inline constexpr std::string_view kStepKindNames[] = {"map", "reduce", "rows", "nest", "gemm", "scan", "recurrence", "fill", "view", "reshape", "copy", "library", "nonzero", "compute", "block"};

// The contents of a slot of a tile program.
enum class SlotKind : uint8_t {
  Input,  // the operand's element
  Constant,
  Parameter,  // a number of the call
  Row,  // a result of an earlier pass over the row
  Axis,  // the index along an axis
  Op,  // one scalar op, by its kernel
  Bitcast,  // the same bits
  Gather,  // an operand's element at computed indices
  Check,  // the value of a slot, where another one is true
};
template <>
inline constexpr int kNumCodes<SlotKind> = 9;
inline constexpr std::string_view kSlotKindNames[] = {"input", "const", "param", "row", "axis", "op", "bitcast", "gather", "check"};

// The loops that a tile program runs in.
enum class TileForm : uint8_t {
  Map,
  Reduce,
  Scan,
  Rows,
  Nest,
};
template <>
inline constexpr int kNumCodes<TileForm> = 5;
inline constexpr std::string_view kTileFormNames[] = {"map", "reduce", "scan", "rows", "nest"};

// What one pass over a row does.
enum class RowPassKind : uint8_t {
  Reduce,  // reduces to one value
  Map,  // stores a row that later passes read
  Store,  // stores one value per row
  Add,  // adds the row to an output
};
template <>
inline constexpr int kNumCodes<RowPassKind> = 4;
inline constexpr std::string_view kRowPassKindNames[] = {"reduce", "map", "store", "add"};

// How a stored value is combined with the existing one.
enum class Combine : uint8_t {
  Assign,
  Sum,
  Prod,
  Max,
  Min,
  And,
  Or,
  ArgMax,
  ArgMin,
};
template <>
inline constexpr int kNumCodes<Combine> = 9;
inline constexpr std::string_view kCombineNames[] = {"assign", "sum", "prod", "max", "min", "and", "or", "argmax", "argmin"};

// The items that describe arguments in keys and requests (items.py).
enum class ItemKind : uint8_t {
  Tensor,
  Number,  // a symbolic number
  Unit,  // a factor that is 1, its default
  Static,  // a value that is part of the key
  DType,
  List,
  Ignored,  // no plan depends on it
};
template <>
inline constexpr int kNumCodes<ItemKind> = 7;
inline constexpr std::string_view kItemKindNames[] = {"tensor", "number", "unit", "static", "dtype", "list", "ignored"};

// The type of a Python number.
enum class NumberKind : uint8_t {
  Int,
  Float,
  Bool,
  Complex,
};
template <>
inline constexpr int kNumCodes<NumberKind> = 4;
inline constexpr std::string_view kNumberKindNames[] = {"int", "float", "bool", "complex"};

// The part of a number that a kernel's parameter takes.
enum class NumberPart : uint8_t {
  Whole,
  Real,  // of a complex number
  Imaginary,  // of a complex number
};
template <>
inline constexpr int kNumCodes<NumberPart> = 3;
inline constexpr std::string_view kNumberPartNames[] = {"whole", "real", "imaginary"};

// The accesses of a GPU kernel that runs on the CPU.
enum class GridAccess : uint8_t {
  ReadGlobal,
  WriteGlobal,
  ReadShared,
  WriteShared,
};
template <>
inline constexpr int kNumCodes<GridAccess> = 4;
inline constexpr std::string_view kGridAccessNames[] = {"read_global", "write_global", "read_shared", "write_shared"};

// The elements of matrices that the lanes of an emulated warp multiply.
enum class GridMatrix : uint8_t {
  Float16,
  BFloat16,
  Int8,
  UInt8,
};
template <>
inline constexpr int kNumCodes<GridMatrix> = 4;
inline constexpr std::string_view kGridMatrixNames[] = {"float16", "bfloat16", "int8", "uint8"};
}  // namespace pellucid
