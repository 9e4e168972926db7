// Python.h and what every binding file needs: an owning pointer, and translation of errors.
//
// The interpreter lock is held wherever these are used unless a comment says otherwise.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>
#include <unistd.h>
#undef T_NONE

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/error.h"

namespace pellucid::python {

// Owns one reference to a Python object.
class Object {
 public:
  Object() = default;
  Object(std::nullptr_t) {}
  static Object steal(PyObject* object) {
    Object owner;
    owner.object_ = object;
    return owner;
  }
  static Object borrow(PyObject* object) {
    Py_XINCREF(object);
    return steal(object);
  }
  Object(const Object& other) : object_(other.object_) { Py_XINCREF(object_); }
  Object(Object&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Object& operator=(Object other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Object() { Py_XDECREF(object_); }

  PyObject* get() const { return object_; }
  PyObject* leak() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

// Sets the Python exception for the C++ exception in flight. Call only inside a catch block.
void set_python_error() noexcept;

// Throws after a Python call has failed: the Python exception passes through C++ frames unchanged.
[[noreturn]] void raise_python();
inline PyObject* checked(PyObject* object) {
  if (!object) raise_python();
  return object;
}
inline void checked(int status) {
  if (status < 0) raise_python();
}
// Owns the result of a call that returns a new reference; raises when it failed.
inline Object own(PyObject* object) { return Object::steal(checked(object)); }

// Runs `body` for Python: returns its result, or `failed` with the Python exception set.
template <class Body, class Result = std::invoke_result_t<Body>>
inline Result guarded(Body&& body, Result failed = {}) noexcept {
  try {
    return body();
  } catch (...) {
    set_python_error();
    return failed;
  }
}
template <class Body>
inline int guarded_status(Body&& body) noexcept {
  try {
    body();
    return 0;
  } catch (...) {
    set_python_error();
    return -1;
  }
}

inline PyObject* new_reference(PyObject* object) {
  Py_INCREF(object);
  return object;
}
inline PyObject* none() { return new_reference(Py_None); }
inline Object to_string(std::string_view text) {
  return own(PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size())));
}

// A Python function, imported at first use. Never freed: destructors of statics run after the interpreter has ended.
class LateImport {
 public:
  constexpr LateImport(const char* module, const char* name) : module_(module), name_(name) {}
  PyObject* get() {
    if (object_) return object_;
    Object module = own(PyImport_ImportModule(module_));
    object_ = checked(PyObject_GetAttrString(module.get(), name_));
    return object_;
  }

 private:
  const char* module_;
  const char* name_;
  PyObject* object_ = nullptr;
};

// Calls `acquire`, which acquires the interpreter lock. While the interpreter ends, a thread other than its own would be
// unwound from there, through destructors: it sleeps until the process has ended.
template <class Acquire>
auto acquire_or_sleep(Acquire acquire) {
  try {
    return acquire();
  } catch (...) {
    for (;;) pause();
  }
}

// Releases the interpreter lock for a scope.
class ReleaseGil {
 public:
  ReleaseGil() : state_(PyEval_SaveThread()) {}
  ~ReleaseGil() {
    acquire_or_sleep([this] { PyEval_RestoreThread(state_); });
  }
  ReleaseGil(const ReleaseGil&) = delete;
  ReleaseGil& operator=(const ReleaseGil&) = delete;

 private:
  PyThreadState* state_;
};

// Acquires the interpreter lock for a scope, whether or not the thread holds it. While the interpreter finalises, its
// own thread holds the lock but cannot acquire it again: hence the check.
class HoldGil {
 public:
  HoldGil() : had_gil_(PyGILState_Check()) {
    if (!had_gil_) state_ = acquire_or_sleep(PyGILState_Ensure);
  }
  ~HoldGil() {
    if (!had_gil_) PyGILState_Release(state_);
  }
  HoldGil(const HoldGil&) = delete;
  HoldGil& operator=(const HoldGil&) = delete;

 private:
  bool had_gil_;
  PyGILState_STATE state_{};
};

}  // namespace pellucid::python
