// Conversions between Python's values and those of groups, and of C++'s errors to Python's.
#pragma once

#include <cstdint>
#include <system_error>
#include <vector>

#include "distributed/group.h"
#include "distributed/without_lock.h"

namespace pellucid::distributed {

struct PythonError {};  // an exception is set

// The exception type `Failure`, whose arguments are a cause and ranks.
extern PyObject* failure_type;

inline PyObject* list_of(const auto& numbers) {
  PyObject* list = PyList_New(0);
  for (const auto number : numbers) {
    PyObject* item = PyLong_FromLongLong(static_cast<long long>(number));
    if (!list || !item || PyList_Append(list, item) < 0) throw PythonError{};
    Py_DECREF(item);
  }
  return list;
}

const char* name_of(Cause cause);

template <class T>
std::vector<T> numbers_in(PyObject* sequence) {
  PyObject* fast = PySequence_Fast(sequence, "expected a sequence of numbers");
  if (!fast) throw PythonError{};
  std::vector<T> found;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(fast, i);
    if constexpr (std::is_same_v<T, double>) found.push_back(PyFloat_AsDouble(item));
    else found.push_back(static_cast<T>(PyLong_AsLongLong(item)));
  }
  Py_DECREF(fast);
  if (PyErr_Occurred()) throw PythonError{};
  return found;
}

template <class T>
T* pointer(unsigned long long address) {
  return reinterpret_cast<T*>(static_cast<uintptr_t>(address));
}

// Sets Python's exception for a failure.
void set_failure(const Failure& failure);

// Runs `body` and translates C++ exceptions to Python exceptions.
template <class Body>
PyObject* guarded(Body body) {
  try {
    return body();
  } catch (const PythonError&) {
  } catch (const Failure& failure) { set_failure(failure); } catch (const std::system_error& error) {
    PyErr_Format(PyExc_OSError, "%s", error.what());
  } catch (const std::exception& error) { PyErr_SetString(PyExc_RuntimeError, error.what()); }
  return nullptr;
}

// False, with an exception, if these numbers are not those of a dtype and a reduction.
bool check_type(int dtype, int reduction);

}  // namespace pellucid::distributed
