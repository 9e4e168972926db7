// Errors of C++ extensions and their Python types: TORCH_CHECK and its relatives, warnings, the interpreter lock.
#pragma once

#include <cstdint>
#include <ostream>
#include <sstream>
#include <string>

#include "pellucid/extension.h"

namespace c10 {

namespace detail {

// A class of Python's, borrowed from its module; null with an exception set where it is not there.
inline PyObject* python_class(const char* module, const char* name) {
  PyObject* const found = PyImport_ImportModule(module);
  PyObject* const type = found ? PyObject_GetAttrString(found, name) : nullptr;
  Py_XDECREF(found);
  Py_XDECREF(type);  // the module has another reference
  return type;
}

}  // namespace detail

// RuntimeError in Python; its subclasses name their types.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  const char* msg() const { return what(); }
  virtual PyObject* type() const { return PyExc_RuntimeError; }
};
#define PELLUCID_ERROR(name, python)                   \
  class name : public Error {                          \
   public:                                             \
    using Error::Error;                                \
    PyObject* type() const override { return python; } \
  };
PELLUCID_ERROR(IndexError, PyExc_IndexError)
PELLUCID_ERROR(ValueError, PyExc_ValueError)
PELLUCID_ERROR(TypeError, PyExc_TypeError)
PELLUCID_ERROR(NotImplementedError, PyExc_NotImplementedError)
PELLUCID_ERROR(LinAlgError, detail::python_class("pellucid.linalg", "LinAlgError"))
PELLUCID_ERROR(OutOfMemoryError, detail::python_class("pellucid", "OutOfMemoryError"))
#undef PELLUCID_ERROR

// A Python exception is set.
struct PythonError : std::exception {
  const char* what() const noexcept override { return "a Python exception is set"; }
};

namespace detail {

template <class... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream out;
  static_cast<void>((out << ... << parts));
  return out.str();
}

inline std::string message(std::string said, const char* otherwise) {
  return said.empty() ? otherwise : std::move(said);
}

// The interpreter lock, for a thread that may have released it.
class Lock {
 public:
  Lock() : held_(PyGILState_Check()) {
    if (!held_) state_ = PyGILState_Ensure();
  }
  ~Lock() {
    if (!held_) PyGILState_Release(state_);
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  const bool held_;
  PyGILState_STATE state_ = PyGILState_UNLOCKED;
};

// A filter that raises makes an error of the warning.
inline void warn(const std::string& message, PyObject* category = PyExc_UserWarning) {
  const Lock lock;
  if (PyErr_WarnEx(category, message.c_str(), 1)) throw PythonError();
}

}  // namespace detail

template <class... Parts>
std::string str(const Parts&... parts) {
  return detail::text(parts...);
}

// An if statement: callers leave the semicolon out.
#define PELLUCID_CHECK(kind, condition, ...)                                                         \
  if (!(condition)) {                                                                                \
    throw ::c10::kind(::c10::detail::message(::c10::detail::text(__VA_ARGS__),                       \
                                             "Expected " #condition " to be true, but got false.")); \
  }
#define TORCH_CHECK(condition, ...) PELLUCID_CHECK(Error, condition, __VA_ARGS__)
#define STD_TORCH_CHECK(condition, ...) PELLUCID_CHECK(Error, condition, __VA_ARGS__)
#define TORCH_CHECK_INDEX(condition, ...) PELLUCID_CHECK(IndexError, condition, __VA_ARGS__)
#define TORCH_CHECK_VALUE(condition, ...) PELLUCID_CHECK(ValueError, condition, __VA_ARGS__)
#define TORCH_CHECK_TYPE(condition, ...) PELLUCID_CHECK(TypeError, condition, __VA_ARGS__)
#define TORCH_CHECK_NOT_IMPLEMENTED(condition, ...) PELLUCID_CHECK(NotImplementedError, condition, __VA_ARGS__)
#define TORCH_CHECK_LINALG(condition, ...) PELLUCID_CHECK(LinAlgError, condition, __VA_ARGS__)
#define TORCH_CHECK_WITH(kind, condition, ...) PELLUCID_CHECK(kind, condition, __VA_ARGS__)
#define TORCH_CHECK_IF_NOT(condition, ...) TORCH_CHECK(condition, __VA_ARGS__)
#define TORCH_CHECK_NOTNULL(pointer)                                                \
  [](auto given) {                                                                  \
    TORCH_CHECK(given != nullptr, "Check failed: '" #pointer "' must be non NULL"); \
    return given;                                                                   \
  }(pointer)
#define TORCH_CHECK_ARG(condition, place, ...) \
  PELLUCID_CHECK(Error, condition, "invalid argument ", place, ": ", __VA_ARGS__)
#define TORCH_INTERNAL_ASSERT(condition, ...) TORCH_CHECK(condition, __VA_ARGS__)
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY(condition, ...) static_cast<void>(0)
#define TORCH_API
#define C10_API
#define C10_EXPORT
#define C10_HOST_DEVICE
#define C10_UNUSED [[maybe_unused]]
#define C10_ALWAYS_INLINE inline __attribute__((always_inline))
#define C10_RESTRICT __restrict__
#define C10_LIKELY(condition) (__builtin_expect(static_cast<bool>(condition), 1))
#define C10_UNLIKELY(condition) (__builtin_expect(static_cast<bool>(condition), 0))
#define C10_THROW_ERROR(kind, message) throw ::c10::kind(message)
#define C10_NODISCARD [[nodiscard]]
#define C10_FALLTHROUGH [[fallthrough]]
#define C10_NOINLINE __attribute__((noinline))
#define C10_ANONYMOUS_VARIABLE(name) PELLUCID_JOIN(name, __COUNTER__)
#define C10_CONCATENATE(a, b) PELLUCID_JOIN(a, b)
#define C10_STRINGIZE(name) PELLUCID_TEXT(name)
#define TORCH_WARN(...) ::c10::detail::warn(::c10::detail::text(__VA_ARGS__))
#define TORCH_WARN_WITH(category, ...) TORCH_WARN(__VA_ARGS__)
#define TORCH_WARN_DEPRECATION(...) ::c10::detail::warn(::c10::detail::text(__VA_ARGS__), PyExc_DeprecationWarning)
#define TORCH_WARN_ONCE(...) \
  do { [[maybe_unused]] static const bool pellucid_warned = (TORCH_WARN(__VA_ARGS__), true); } while (false)
#define PELLUCID_COMPARE(a, sign, b) \
  TORCH_CHECK((a)sign(b), "Check failed: " #a " " #sign " " #b " (", (a), " vs. ", (b), "). ")
#define TORCH_CHECK_EQ(a, b) PELLUCID_COMPARE(a, ==, b)
#define TORCH_CHECK_NE(a, b) PELLUCID_COMPARE(a, !=, b)
#define TORCH_CHECK_LT(a, b) PELLUCID_COMPARE(a, <, b)
#define TORCH_CHECK_LE(a, b) PELLUCID_COMPARE(a, <=, b)
#define TORCH_CHECK_GT(a, b) PELLUCID_COMPARE(a, >, b)
#define TORCH_CHECK_GE(a, b) PELLUCID_COMPARE(a, >=, b)
#define AT_ASSERT(condition) TORCH_CHECK(condition)
#define AT_ASSERTM(condition, ...) TORCH_CHECK(condition, __VA_ARGS__)
#define AT_ERROR(...) throw ::c10::Error(::c10::detail::text(__VA_ARGS__))

}  // namespace c10

#define PELLUCID_JOIN_(a, b) a##b
#define PELLUCID_JOIN(a, b) PELLUCID_JOIN_(a, b)
#define PELLUCID_TEXT_(...) #__VA_ARGS__
#define PELLUCID_TEXT(...) PELLUCID_TEXT_(__VA_ARGS__)
