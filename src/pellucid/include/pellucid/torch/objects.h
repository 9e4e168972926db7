// pybind11's names for objects of Python: object, list, dict, str, errors, the interpreter lock.
#pragma once

#include "pellucid/torch/functions.h"
#include "pellucid/torch/parallel.h"

namespace pybind11 {

using at::detail::owned;
using ssize_t = Py_ssize_t;

class error_already_set : public at::detail::PythonError {};
#define PELLUCID_ERROR(name, base, python)                     \
  struct name : c10::base {                                    \
    using base::base;                                          \
    PyObject* type() const override { return PyExc_##python; } \
  };
PELLUCID_ERROR(value_error, Error, ValueError)
PELLUCID_ERROR(type_error, Error, TypeError)
PELLUCID_ERROR(index_error, Error, IndexError)
PELLUCID_ERROR(key_error, Error, KeyError)
PELLUCID_ERROR(attribute_error, Error, AttributeError)
PELLUCID_ERROR(import_error, Error, ImportError)
PELLUCID_ERROR(stop_iteration, Error, StopIteration)
PELLUCID_ERROR(cast_error, Error, RuntimeError)
#undef PELLUCID_ERROR

class object;
class Accessor;

// A borrowed reference.
class handle {
 public:
  handle() = default;
  handle(PyObject* object) : object_(object) {}
  PyObject* ptr() const { return object_; }
  bool is_none() const { return object_ == Py_None; }
  explicit operator bool() const { return object_ != nullptr; }
  handle inc_ref() const {
    Py_XINCREF(object_);
    return *this;
  }
  template <class T>
  T cast() const {
    return at::detail::Value<std::decay_t<T>>::from(object_);
  }
  template <class... Arguments>
  object operator()(Arguments&&... arguments) const;
  Accessor attr(const char* name) const;
  template <class Key>
  Accessor operator[](const Key& key) const;
  template <class Key>
  bool contains(const Key& key) const;
  bool is(handle other) const { return object_ == other.object_; }
  class iterator;
  iterator begin() const;
  iterator end() const;

 protected:
  PyObject* object_ = nullptr;
};

// An owned one.
class object : public handle {
 public:
  object() = default;
  object(const object& other) : handle(other) { Py_XINCREF(object_); }
  object(object&& other) noexcept : handle(std::exchange(other.object_, nullptr)) {}
  object& operator=(object other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~object() { Py_XDECREF(object_); }
  static object steal(PyObject* made) {
    object found;
    found.object_ = owned(made).release();
    return found;
  }
  static object borrow(PyObject* given) { return steal(Py_XNewRef(given)); }
  handle release() { return std::exchange(object_, nullptr); }
};
template <class T>
T reinterpret_steal(handle given) {
  return T(object::steal(given.ptr()));
}
template <class T>
T reinterpret_borrow(handle given) {
  return T(object::borrow(given.ptr()));
}
template <class T>
object cast(const T& value) {
  using Given = std::conditional_t<std::is_array_v<T>, const char*, std::decay_t<T>>;
  return object::steal(at::detail::Value<Given>::to(value));
}

// An attribute or an item, read where an object is needed, written by assignment.
class Accessor {
 public:
  Accessor(object of, object key, bool is_item) : of_(std::move(of)), key_(std::move(key)), is_item_(is_item) {}
  operator object() const {
    return object::steal(is_item_ ? PyObject_GetItem(of_.ptr(), key_.ptr()) : PyObject_GetAttr(of_.ptr(), key_.ptr()));
  }
  template <class T>
  void operator=(const T& value) const {
    const object given = cast(value);
    const int failed = is_item_ ? PyObject_SetItem(of_.ptr(), key_.ptr(), given.ptr())
                                : PyObject_SetAttr(of_.ptr(), key_.ptr(), given.ptr());
    if (failed) throw error_already_set();
  }
  template <class T>
  T cast() const {
    return object(*this).cast<T>();
  }
  template <class... Arguments>
  object operator()(Arguments&&... arguments) const {
    return object(*this)(std::forward<Arguments>(arguments)...);
  }
  Accessor attr(const char* name) const { return object(*this).attr(name); }
  template <class Key>
  Accessor operator[](const Key& key) const {
    return object(*this)[key];
  }
  bool is_none() const { return object(*this).is_none(); }

 private:
  template <class T>
  static object cast(const T& value) {
    return pybind11::cast(value);
  }
  object of_, key_;
  bool is_item_;
};

inline Accessor handle::attr(const char* name) const {
  return {object::borrow(object_), object::steal(PyUnicode_FromString(name)), false};
}
template <class Key>
Accessor handle::operator[](const Key& key) const {
  return {object::borrow(object_), pybind11::cast(key), true};
}
template <class Key>
bool handle::contains(const Key& key) const {
  const int found = PySequence_Contains(object_, pybind11::cast(key).ptr());
  if (found < 0) throw error_already_set();
  return found == 1;
}
class handle::iterator {
 public:
  iterator() = default;
  explicit iterator(object source) : source_(std::move(source)) { ++*this; }
  iterator& operator++() {
    PyObject* const next = PyIter_Next(source_.ptr());
    if (!next && PyErr_Occurred()) throw error_already_set();
    item_ = next ? object::steal(next) : object();
    return *this;
  }
  handle operator*() const { return item_; }
  bool operator!=(const iterator& other) const { return item_.ptr() != other.item_.ptr(); }

 private:
  object source_, item_;
};
inline handle::iterator handle::begin() const { return iterator(object::steal(PyObject_GetIter(object_))); }
inline handle::iterator handle::end() const { return {}; }

#define PELLUCID_OBJECT(name, check, made)                                                             \
  name(const object& given) : object(check(given.ptr()) ? given : object::steal(made(given.ptr()))) {} \
  name(const Accessor& given) : name(object(given)) {}                                                 \
  static bool fits(PyObject* given) { return check(given); }

class none : public object {
 public:
  none() : object(borrow(Py_None)) {}
  static bool fits(PyObject* given) { return given == Py_None; }
};
class list : public object {
 public:
  list() : object(steal(PyList_New(0))) {}
  explicit list(size_t count) : object(steal(PyList_New(0))) {
    while (count--) append(none());
  }
  PELLUCID_OBJECT(list, PyList_Check, PySequence_List)
  template <class T>
  void append(const T& value) const {
    if (PyList_Append(object_, pybind11::cast(value).ptr())) throw error_already_set();
  }
  size_t size() const { return static_cast<size_t>(PyList_GET_SIZE(object_)); }
  bool empty() const { return size() == 0; }
};
class tuple : public object {
 public:
  tuple() : object(steal(PyTuple_New(0))) {}
  PELLUCID_OBJECT(tuple, PyTuple_Check, PySequence_Tuple)
  size_t size() const { return static_cast<size_t>(PyTuple_GET_SIZE(object_)); }
  bool empty() const { return size() == 0; }
};
class args : public tuple {
  using tuple::tuple;
};
class dict : public object {
 public:
  dict() : object(steal(PyDict_New())) {}
  // dict("a"_a = 1, "b"_a = 2)
  template <class... Named, class = std::void_t<decltype(std::declval<const Named&>().parameter)...>,
            std::enable_if_t<sizeof...(Named) != 0, int> = 0>
  explicit dict(const Named&... named) : dict() {
    ((operator[](named.parameter.name) = handle(named.parameter.value)), ...);
  }
  PELLUCID_OBJECT(dict, PyDict_Check, PyDict_Copy)
  size_t size() const { return static_cast<size_t>(PyDict_Size(object_)); }
  bool empty() const { return size() == 0; }
};
class kwargs : public dict {
  using dict::dict;
};
class str : public object {
 public:
  str(const char* text = "") : object(steal(PyUnicode_FromString(text))) {}
  str(const std::string& text) : str(text.c_str()) {}
  PELLUCID_OBJECT(str, PyUnicode_Check, PyObject_Str)
  operator std::string() const { return cast<std::string>(); }
};
class bytes : public object {
 public:
  bytes(const char* data, size_t size)
      : object(steal(PyBytes_FromStringAndSize(data, static_cast<Py_ssize_t>(size)))) {}
  explicit bytes(const std::string& text = "") : bytes(text.data(), text.size()) {}
  PELLUCID_OBJECT(bytes, PyBytes_Check, PyBytes_FromObject)
  operator std::string() const { return {PyBytes_AS_STRING(object_), static_cast<size_t>(PyBytes_GET_SIZE(object_))}; }
};
class set : public object {
 public:
  set() : object(steal(PySet_New(nullptr))) {}
  PELLUCID_OBJECT(set, PyAnySet_Check, PySet_New)
  size_t size() const { return static_cast<size_t>(PySet_GET_SIZE(object_)); }
  template <class T>
  void add(const T& value) const {
    if (PySet_Add(object_, pybind11::cast(value).ptr())) throw error_already_set();
  }
};
// Memory that C++ gave Python, freed with the object: the base of an array.
class capsule : public object {
 public:
  capsule(const void* data, void (*destroy)(void*))
      : object(steal(PyCapsule_New(const_cast<void*>(data), nullptr, free))) {
    PyCapsule_SetContext(object_, reinterpret_cast<void*>(destroy));
  }
  PELLUCID_OBJECT(capsule, PyCapsule_CheckExact, Py_NewRef)
  template <class T>
  operator T*() const {
    return static_cast<T*>(PyCapsule_GetPointer(object_, nullptr));
  }

 private:
  static void free(PyObject* made) {
    reinterpret_cast<void (*)(void*)>(PyCapsule_GetContext(made))(PyCapsule_GetPointer(made, nullptr));
  }
};
class int_ : public object {
 public:
  template <class T, std::enable_if_t<std::is_integral_v<T>, int> = 0>
  int_(T value) : object(steal(PyLong_FromLongLong(value))) {}
  PELLUCID_OBJECT(int_, PyLong_Check, PyNumber_Long)
  operator int64_t() const { return cast<int64_t>(); }
};
class float_ : public object {
 public:
  float_(double value = 0) : object(steal(PyFloat_FromDouble(value))) {}
  PELLUCID_OBJECT(float_, PyFloat_Check, PyNumber_Float)
  operator double() const { return cast<double>(); }
};
class bool_ : public object {
 public:
  bool_(bool value = false) : object(steal(PyBool_FromLong(value))) {}
  static bool fits(PyObject* given) { return PyBool_Check(given); }
};
class function : public object {
 public:
  function() = default;
  function(const object& given) : object(given) {}
  static bool fits(PyObject* given) { return PyCallable_Check(given); }
};
#undef PELLUCID_OBJECT

template <class... Values>
tuple make_tuple(const Values&... values) {
  return tuple(object::steal(at::detail::Convert<std::tuple<Values...>>::to({values...})));
}
template <class... Arguments>
object handle::operator()(Arguments&&... arguments) const {
  const tuple given = pybind11::make_tuple(std::decay_t<Arguments>(arguments)...);
  return object::steal(PyObject_CallObject(object_, given.ptr()));
}
inline size_t len(handle given) {
  const Py_ssize_t size = PyObject_Size(given.ptr());
  if (size < 0) throw error_already_set();
  return static_cast<size_t>(size);
}
template <class T>
bool isinstance(handle given) {
  if constexpr (std::is_base_of_v<object, T>) return T::fits(given.ptr());
  else return at::detail::Convert<T>::fits(given.ptr());
}
inline bool hasattr(handle given, const char* name) { return PyObject_HasAttrString(given.ptr(), name); }
template <class... Values>
void print(const Values&... values) {
  const object builtins = object::steal(PyImport_ImportModule("builtins"));
  object(builtins.attr("print"))(values...);
}

struct gil_scoped_release {
  at::detail::Unlocked unlocked;
};
struct gil_scoped_acquire {
  c10::detail::Lock lock;
};
template <class Scope>
struct call_guard {
  using type = Scope;
};

}  // namespace pybind11

namespace at::detail {

template <class T>
struct Convert<T, std::enable_if_t<std::is_base_of_v<pybind11::handle, T>>> {
  static std::string name() { return "Any"; }
  static T from(PyObject* given) {
    if constexpr (std::is_same_v<T, pybind11::handle>) return given;
    else if constexpr (std::is_same_v<T, pybind11::object>) return pybind11::object::borrow(given);
    else {
      if (!fits<T>(given, 0)) {
        PyErr_Format(PyExc_TypeError, "an argument is a %s", Py_TYPE(given)->tp_name);
        throw PythonError();
      }
      return T(pybind11::object::borrow(given));
    }
  }
  static PyObject* to(const T& value) { return Py_XNewRef(value.ptr()); }

 private:
  // A class may accept what it converts (array_t).
  template <class Kind>
  static auto fits(PyObject* given, int) -> decltype(Kind::accepts(given)) {
    return Exact::is_on() ? Kind::fits(given) : Kind::accepts(given);
  }
  template <class Kind>
  static bool fits(PyObject* given, long) {
    return Kind::fits(given);
  }
};
template <>
struct Convert<pybind11::Accessor> {
  static PyObject* to(const pybind11::object& value) { return Py_NewRef(value.ptr()); }
};
template <>
struct Convert<std::nullopt_t> {
  static PyObject* to(std::nullopt_t) { Py_RETURN_NONE; }
};
template <>
struct Convert<const char*> {
  static std::string name() { return "str"; }
  static PyObject* to(const char* text) { return PyUnicode_FromString(text); }
};

}  // namespace at::detail
