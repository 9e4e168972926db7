// Tensor's operators: C slots that call overload sets. abi/operators.py has the ops.
#include "abi/operators.h"
#include "core/thread_state.h"
#include "python/convert.h"
#include "python/function_protocol.h"
#include "python/method_entries.h"
#include "python/overload_sets.h"
#include "python/tensor_type.h"

namespace pellucid::python {
namespace {

struct BinaryOperator {
  OverloadSet* set = nullptr;
  OverloadSet* reflected_set = nullptr;
  OperatorRow row{};
};
constinit BinaryOperator binary_operators[NumBinary];

struct UnaryOperator {
  OverloadSet* set = nullptr;
  OperatorRow row{};
};
constinit UnaryOperator unary_operators[NumUnary];

PyObject* call_captured(const char* name, PyObject* number, PyObject* tensor) {
  Object module = own(PyImport_ImportModule("pellucid._functions.captured_operators"));
  Object function = own(PyObject_GetAttrString(module.get(), name));
  PyObject* const arguments[] = {number, tensor};
  return PyObject_Vectorcall(function.get(), arguments, 2, nullptr);
}

bool is_number(PyObject* object) { return PyLong_Check(object) || PyFloat_Check(object) || PyComplex_Check(object); }

PyObject* not_implemented() { return new_reference(Py_NotImplemented); }

// The general path; on a mismatch Python tries the other operand.
PyObject* call_binary(OverloadSet& set, PyObject* left, PyObject* right, bool* mismatch) {
  PyObject* arguments[] = {right};
  return call_overloads(set, {left, arguments, 1, nullptr}, mismatch);
}

// number - tensor: calls the reflected op, or the same op if operands commute, or else converts the number to a tensor.
PyObject* call_reflected(const BinaryOperator& operation, PyObject* left, PyObject* right) {
  bool mismatch = false;
  if (operation.reflected_set || operation.row.commutes) {
    OverloadSet& set = operation.reflected_set ? *operation.reflected_set : *operation.set;
    PyObject* result = call_binary(set, right, left, &mismatch);
    return mismatch ? not_implemented() : result;
  }
  PyObject* arguments[] = {left, right};
  PyObject* result = call_overloads(*operation.set, {nullptr, arguments, 2, nullptr}, &mismatch);
  return mismatch ? not_implemented() : result;
}

[[gnu::noinline]] PyObject* binary_slow(const BinaryOperator& operation, PyObject* left, PyObject* right) {
  if (!operation.set) return not_implemented();
  const bool reflects = !is_tensor(left);
  const char* slot = reflects ? operation.row.reflected_slot : operation.row.slot;
  if (slot && (slot_is_overridden(left) || classify(right) == TensorKind::Overrides)) {
    PyObject* const operands[] = {reflects ? right : left, reflects ? left : right};
    return call_slot_override(slot, operands);
  }
  if (reflects && operation.row.captured && is_number(left) && thread_state.include.has(Key::PreDispatch))
    return call_captured(operation.row.captured, left, right);
  if (reflects) return call_reflected(operation, left, right);
  bool mismatch = false;
  PyObject* result = call_binary(*operation.set, left, right, &mismatch);
  return mismatch ? not_implemented() : result;
}

template <Binary index>
PyObject* binary(PyObject* left, PyObject* right) {
  const BinaryOperator& operation = binary_operators[index];
  return guarded([&]() -> PyObject* {
    const bool is_number = PyFloat_CheckExact(right) || PyLong_CheckExact(right);
    const bool is_plain = is_plain_tensor(left) && (is_plain_tensor(right) || is_number);
    if (is_plain && operation.set && !function_modes_active()) [[likely]] {
      PyObject* const arguments[] = {right};
      return call_overloads(*operation.set, {left, arguments, 1, nullptr});
    }
    return binary_slow(operation, left, right);
  });
}

template <Binary index>
PyObject* in_place(PyObject* left, PyObject* right) {
  if (!binary_operators[index].set) {
    PyErr_Format(PyExc_NotImplementedError, "the op %s does not exist: this operator cannot work in place",
                 binary_operators[index].row.op);
    return nullptr;
  }
  return binary<index>(left, right);
}

PyObject* power(PyObject* left, PyObject* right, PyObject* modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return binary<Power>(left, right);
}
PyObject* power_in_place(PyObject* left, PyObject* right, PyObject* modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return in_place<PowerInPlace>(left, right);
}

template <Unary index>
PyObject* unary(PyObject* self) {
  OverloadSet* set = unary_operators[index].set;
  if (!set) {
    PyErr_Format(PyExc_NotImplementedError, "the op %s does not exist", unary_operators[index].row.op);
    return nullptr;
  }
  return guarded([&] {
    const char* slot = unary_operators[index].row.slot;
    if (slot && slot_is_overridden(self)) [[unlikely]]
      return call_slot_override(slot, {&self, 1});
    return call_overloads(*set, {self, nullptr, 0, nullptr});
  });
}

PyObject* compare(PyObject* left, PyObject* right, int operation) {
  switch (operation) {
    case Py_LT: return binary<Less>(left, right);
    case Py_LE: return binary<LessEqual>(left, right);
    case Py_EQ: return binary<Equal>(left, right);
    case Py_NE: return binary<NotEqual>(left, right);
    case Py_GT: return binary<Greater>(left, right);
    default: return binary<GreaterEqual>(left, right);
  }
}

Py_hash_t hash(PyObject* self) { return static_cast<Py_hash_t>(reinterpret_cast<uintptr_t>(self) >> 4); }

PyNumberMethods number_methods = {};

}  // namespace

void bind_operators() {
  for (int k = 0; k < NumBinary; ++k) {
    const OperatorRow& row = kBinaryOperators[k];
    OverloadSet* set = find_method(row.op);
    binary_operators[k] = {set ? set : find_function("", row.op),
                           row.reflected ? find_function("", row.reflected) : nullptr, row};
  }
  for (int k = 0; k < NumUnary; ++k) unary_operators[k] = {find_method(kUnaryOperators[k].op), kUnaryOperators[k]};
}

void fill_operator_slots(PyTypeObject& type) {
  PyNumberMethods& number = number_methods;
  number.nb_add = binary<Add>;
  number.nb_subtract = binary<Subtract>;
  number.nb_multiply = binary<Multiply>;
  number.nb_true_divide = binary<Divide>;
  number.nb_floor_divide = binary<FloorDivide>;
  number.nb_remainder = binary<Remainder>;
  number.nb_power = power;
  number.nb_matrix_multiply = binary<MatrixMultiply>;
  number.nb_and = binary<And>;
  number.nb_or = binary<Or>;
  number.nb_xor = binary<Xor>;
  number.nb_lshift = binary<LeftShift>;
  number.nb_rshift = binary<RightShift>;
  number.nb_inplace_add = in_place<AddInPlace>;
  number.nb_inplace_subtract = in_place<SubtractInPlace>;
  number.nb_inplace_multiply = in_place<MultiplyInPlace>;
  number.nb_inplace_true_divide = in_place<DivideInPlace>;
  number.nb_inplace_floor_divide = in_place<FloorDivideInPlace>;
  number.nb_inplace_remainder = in_place<RemainderInPlace>;
  number.nb_inplace_power = power_in_place;
  number.nb_inplace_and = in_place<AndInPlace>;
  number.nb_inplace_or = in_place<OrInPlace>;
  number.nb_inplace_xor = in_place<XorInPlace>;
  number.nb_inplace_lshift = in_place<LeftShiftInPlace>;
  number.nb_inplace_rshift = in_place<RightShiftInPlace>;
  number.nb_negative = unary<Negative>;
  number.nb_positive = unary<Positive>;
  number.nb_absolute = unary<Absolute>;
  number.nb_invert = unary<Invert>;
  fill_number_slots(number);
  type.tp_as_number = &number;
  type.tp_richcompare = compare;
  type.tp_hash = hash;
}

}  // namespace pellucid::python
