// Translation between C++ and Python exceptions.
#include <new>
#include <utility>

#include "python/object.h"

namespace pellucid::python {
namespace {

// A subclass of RuntimeError that a module defines; borrowed from the module, which is never freed.
PyObject* error_of(const char* module_name, const char* name) {
  PyObject* module = PyImport_ImportModule(module_name);
  PyObject* type = module ? PyObject_GetAttrString(module, name) : nullptr;
  Py_XDECREF(module);
  Py_XDECREF(type);
  if (!type) PyErr_Clear();
  return type ? type : PyExc_RuntimeError;
}

PyObject* exception_type(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::Type: return PyExc_TypeError;
    case ErrorKind::Value: return PyExc_ValueError;
    case ErrorKind::Index: return PyExc_IndexError;
    case ErrorKind::Attribute: return PyExc_AttributeError;
    case ErrorKind::NotImplemented: return PyExc_NotImplementedError;
    case ErrorKind::ZeroDivision: return PyExc_ZeroDivisionError;
    case ErrorKind::Assertion: return PyExc_AssertionError;
    case ErrorKind::LinearAlgebra: return error_of("pellucid.linalg", "LinAlgError");
    case ErrorKind::Runtime:
    case ErrorKind::OutOfMemory:
    case ErrorKind::PythonRaised: return PyExc_RuntimeError;
  }
  return PyExc_RuntimeError;
}

// Appends a report of the memory in use to the message of a failed allocation (pellucid/memory/_failure.py). The report
// allocates too: if that fails, the error has the plain message.
void set_out_of_memory_error(const char* text) {
  static thread_local bool is_explaining = false;
  PyObject* explained = nullptr;
  if (!std::exchange(is_explaining, true)) {
    PyObject* module = PyImport_ImportModule("pellucid.memory._failure");
    explained = module ? PyObject_CallMethod(module, "explain", "s", text) : nullptr;
    Py_XDECREF(module);
    if (!explained) PyErr_Clear();
    is_explaining = false;
  }
  if (explained) PyErr_SetObject(exception_type(ErrorKind::OutOfMemory), explained);
  else PyErr_SetString(exception_type(ErrorKind::OutOfMemory), text);
  Py_XDECREF(explained);
}

}  // namespace

void set_python_error() noexcept {
  try {
    throw;
  } catch (const DeviceMemoryError& error) {
    PyErr_SetString(error_of("pellucid._package.errors", "OutOfMemoryError"), error.what());
  } catch (const Error& error) {
    if (error.kind == ErrorKind::PythonRaised && PyErr_Occurred()) return;
    if (error.kind == ErrorKind::OutOfMemory) set_out_of_memory_error(error.what());
    else PyErr_SetString(exception_type(error.kind), error.what());
  } catch (const std::bad_alloc&) { PyErr_NoMemory(); } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  } catch (...) { PyErr_SetString(PyExc_RuntimeError, "an unknown C++ exception reached Python"); }
}

void raise_python() { throw Error(ErrorKind::PythonRaised, "a Python exception is set"); }

}  // namespace pellucid::python
