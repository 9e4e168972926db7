// The ops of Python's operators on tensors.
//
// Generated from src/pellucid_compiler/abi/operators.py by tools/build.py: change it there.
// clang-format off
#pragma once


namespace pellucid {
// Null: none. abi/operators.py explains the fields.
struct OperatorRow {
  const char *op, *reflected;
  bool commutes;
  const char *slot, *reflected_slot, *captured;
};
enum Binary { Add, Subtract, Multiply, Divide, FloorDivide, Remainder, Power, MatrixMultiply, And, Or, Xor, LeftShift, RightShift, Less, LessEqual, Equal, NotEqual, Greater, GreaterEqual, AddInPlace, SubtractInPlace, MultiplyInPlace, DivideInPlace, FloorDivideInPlace, RemainderInPlace, PowerInPlace, AndInPlace, OrInPlace, XorInPlace, LeftShiftInPlace, RightShiftInPlace, NumBinary };
inline constexpr OperatorRow kBinaryOperators[] = {
    {"add", nullptr, true, nullptr, nullptr, nullptr},
    {"sub", "rsub", false, nullptr, "__rsub__", nullptr},
    {"mul", nullptr, true, nullptr, nullptr, nullptr},
    {"div", nullptr, false, nullptr, "__rtruediv__", "divided"},
    {"floor_divide", nullptr, false, "__floordiv__", "__rfloordiv__", nullptr},
    {"remainder", nullptr, false, nullptr, "__rmod__", nullptr},
    {"pow", nullptr, false, nullptr, "__rpow__", "raised"},
    {"matmul", nullptr, false, nullptr, "__rmatmul__", nullptr},
    {"bitwise_and", nullptr, true, "__and__", nullptr, nullptr},
    {"bitwise_or", nullptr, true, "__or__", nullptr, nullptr},
    {"bitwise_xor", nullptr, true, "__xor__", nullptr, nullptr},
    {"bitwise_left_shift", nullptr, false, "__lshift__", "__rlshift__", nullptr},
    {"bitwise_right_shift", nullptr, false, "__rshift__", "__rrshift__", nullptr},
    {"lt", nullptr, false, nullptr, nullptr, nullptr},
    {"le", nullptr, false, nullptr, nullptr, nullptr},
    {"eq", nullptr, false, "__eq__", nullptr, nullptr},
    {"ne", nullptr, false, nullptr, nullptr, nullptr},
    {"gt", nullptr, false, nullptr, nullptr, nullptr},
    {"ge", nullptr, false, nullptr, nullptr, nullptr},
    {"add_", nullptr, false, nullptr, nullptr, nullptr},
    {"sub_", nullptr, false, nullptr, nullptr, nullptr},
    {"mul_", nullptr, false, nullptr, nullptr, nullptr},
    {"div_", nullptr, false, nullptr, nullptr, nullptr},
    {"floor_divide_", nullptr, false, nullptr, nullptr, nullptr},
    {"remainder_", nullptr, false, nullptr, nullptr, nullptr},
    {"pow_", nullptr, false, nullptr, nullptr, nullptr},
    {"bitwise_and_", nullptr, false, "__iand__", nullptr, nullptr},
    {"bitwise_or_", nullptr, false, "__ior__", nullptr, nullptr},
    {"bitwise_xor_", nullptr, false, "__ixor__", nullptr, nullptr},
    {"bitwise_left_shift_", nullptr, false, "__ilshift__", nullptr, nullptr},
    {"bitwise_right_shift_", nullptr, false, "__irshift__", nullptr, nullptr},
};
enum Unary { Negative, Positive, Absolute, Invert, NumUnary };
inline constexpr OperatorRow kUnaryOperators[] = {
    {"neg", nullptr, false, nullptr, nullptr, nullptr},
    {"positive", nullptr, false, nullptr, nullptr, nullptr},
    {"abs", nullptr, false, nullptr, nullptr, nullptr},
    {"bitwise_not", nullptr, false, "__invert__", nullptr, nullptr},
};
}  // namespace pellucid
