// The extension module `pellucid.distributed._distributed`: groups in shared memory, for pellucid/distributed.
//
// It shares no symbols with the runtime: it receives tensors as addresses, dtypes and reductions as numbers. Every call
// that may wait releases the interpreter lock.
#include <vector>

#include "distributed/calls_bindings.h"
#include "distributed/connection_bindings.h"
#include "distributed/group_bindings.h"
#include "distributed/python_values.h"
#include "distributed/reduction.h"
#include "distributed/segment.h"
#include "distributed/waiting.h"

namespace pellucid::distributed {

namespace {

PyObject* module_segment_bytes(PyObject*, PyObject* size) {
  const long ranks = PyLong_AsLong(size);
  if (PyErr_Occurred()) return nullptr;
  return PyLong_FromSize_t(Segment::bytes_for(static_cast<int>(ranks)));
}

PyObject* module_make_shared_file(PyObject*, PyObject* nbytes) {
  const size_t size = PyLong_AsSize_t(nbytes);
  if (PyErr_Occurred()) return nullptr;
  return guarded([&] { return PyLong_FromLong(make_shared_file(size)); });
}

PyObject* module_is_defined(PyObject*, PyObject* arguments) {
  int dtype, reduction;
  if (!PyArg_ParseTuple(arguments, "ii", &dtype, &reduction) || !check_type(dtype, reduction)) return nullptr;
  return PyBool_FromLong(is_defined(static_cast<DType>(dtype), static_cast<Reduction>(reduction)));
}

PyObject* module_combine(PyObject*, PyObject* arguments) {
  PyObject *sources, *factors;
  unsigned long long output;
  long long count;
  int dtype, reduction;
  if (!PyArg_ParseTuple(arguments, "OOKLii", &sources, &factors, &output, &count, &dtype, &reduction) ||
      !check_type(dtype, reduction))
    return nullptr;
  return guarded([&]() -> PyObject* {
    const auto addresses = numbers_in<uintptr_t>(sources);
    const auto scales = numbers_in<double>(factors);
    if (addresses.empty() || scales.size() != addresses.size()) {
      PyErr_SetString(PyExc_ValueError, "expected one operand and one factor per rank");
      throw PythonError{};
    }
    std::vector<const char*> operands;
    for (const uintptr_t address : addresses) operands.push_back(pointer<const char>(address));
    const WithoutLock unlocked;
    combine(static_cast<DType>(dtype), static_cast<Reduction>(reduction), operands, scales, pointer<char>(output),
            count);
    return Py_NewRef(Py_None);
  });
}

PyObject* module_read_memory(PyObject*, PyObject* arguments) {
  int pid;
  unsigned long long address;
  Py_buffer target;
  if (!PyArg_ParseTuple(arguments, "iKw*", &pid, &address, &target)) return nullptr;
  bool is_read;
  {
    const WithoutLock unlocked;
    is_read =
        read_memory(pid, pointer<const char>(address), static_cast<char*>(target.buf), static_cast<size_t>(target.len));
  }
  PyBuffer_Release(&target);
  return PyBool_FromLong(is_read);
}

PyMethodDef module_methods[] = {
    {"segment_bytes", module_segment_bytes, METH_O, "Bytes of shared memory of a group with so many ranks."},
    {"make_shared_file", module_make_shared_file, METH_O,
     "Creates an anonymous file of zeros and returns its descriptor."},
    {"is_defined", module_is_defined, METH_VARARGS, "Whether a reduction is defined for a dtype."},
    {"combine", module_combine, METH_VARARGS, "Reduces the ranks' operands in the order of the tree."},
    {"read_memory", module_read_memory, METH_VARARGS, "Fills a buffer from an address of another process."},
    {nullptr, nullptr, 0, nullptr},
};
PyModuleDef module_definition = {PyModuleDef_HEAD_INIT,
                                 "pellucid.distributed._distributed",
                                 nullptr,
                                 -1,
                                 module_methods,
                                 nullptr,
                                 nullptr,
                                 nullptr,
                                 nullptr};

}  // namespace

PyObject* make_module() {
  PyObject* module = PyModule_Create(&module_definition);
  failure_type = PyErr_NewException("pellucid.distributed._distributed.Failure", nullptr, nullptr);
  if (!module || !failure_type || !add_group(module) || !add_calls(module) ||
      PyModule_AddObjectRef(module, "Failure", failure_type) < 0 ||
      PyModule_AddIntConstant(module, "SLOT_BYTES", static_cast<long>(kSlotBytes)) < 0 || !add_connection(module))
    return nullptr;
  return module;
}

}  // namespace pellucid::distributed

PyMODINIT_FUNC PyInit__distributed() { return pellucid::distributed::make_module(); }
