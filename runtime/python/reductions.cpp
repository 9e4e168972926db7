// _C._reduction_number: the reduction of a loss as ops take it.
#include "python/reductions.h"

#include "abi/codes.h"

namespace pellucid::python {
namespace {

constexpr int kCount = kNumCodes<LossReduction>;
PyObject* names[kCount];  // interned, as the literals of programs are

bool is_text(PyObject* object, std::string_view text) {
  return PyUnicode_Check(object) && PyUnicode_CompareWithASCIIString(object, text.data()) == 0;
}

PyObject* find_number(PyObject* name) {
  for (int number = 0; number < kCount; ++number)
    if (name == names[number]) return PyLong_FromLong(number);
  for (int number = 0; number < kCount; ++number)
    if (is_text(name, kLossReductionNames[number])) return PyLong_FromLong(number);
  return PyErr_Format(PyExc_ValueError, "reduction is 'mean', 'sum' or 'none', not %R", name);
}

// reduction_number(size_average, reduce, reduction): the two deprecated flags win when given.
PyObject* reduction_number(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 3) return PyErr_Format(PyExc_TypeError, "_reduction_number() takes 3 arguments, not %zd", count);
  if (args[0] == Py_None && args[1] == Py_None) [[likely]]
    return find_number(args[2]);
  return guarded([&]() -> PyObject* {
    static LateImport named_reduction("pellucid.nn._functional.losses", "named_reduction");
    const Object name = own(PyObject_Vectorcall(named_reduction.get(), args, 2, nullptr));
    return find_number(name.get());
  });
}

PyMethodDef functions[] = {
    {"_reduction_number", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(reduction_number)), METH_FASTCALL,
     "The number of a reduction by its name, or by the deprecated flags size_average and reduce."},
    {},
};

}  // namespace

void add_reductions(PyObject* module) {
  for (int number = 0; number < kCount; ++number)
    names[number] = checked(PyUnicode_InternFromString(kLossReductionNames[number].data()));
  checked(PyModule_AddFunctions(module, functions));
}

}  // namespace pellucid::python
