// Values of Python as those of C++, and functions of C++ as Python's: by templates over their types.
#pragma once

#include <functional>
#include <utility>

#include "pellucid/torch/tensor.h"

namespace at::detail {

struct Decref {
  void operator()(PyObject* object) const { Py_XDECREF(object); }
};
using Owned = std::unique_ptr<PyObject, Decref>;

// A Python exception is set.
struct PythonError : std::exception {
  const char* what() const noexcept override { return "a Python exception is set"; }
};
inline Owned owned(PyObject* object) {
  if (!object) throw PythonError();
  return Owned(object);
}

// from: what an argument holds during the call; to: a new reference; name: the type in schemas.
template <class T, class = void>
struct Convert;

template <class T>
struct Convert<T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>>> {
  static std::string name() { return "int"; }
  static T from(PyObject* given) {
    const Owned index = owned(PyNumber_Index(given));
    const long long number = PyLong_AsLongLong(index.get());
    if (number == -1 && PyErr_Occurred()) throw PythonError();
    return static_cast<T>(number);
  }
  static PyObject* to(T number) { return PyLong_FromLongLong(static_cast<long long>(number)); }
};
template <class T>
struct Convert<T, std::enable_if_t<std::is_floating_point_v<T>>> {
  static std::string name() { return "float"; }
  static T from(PyObject* given) {
    const double number = PyFloat_AsDouble(given);
    if (number == -1 && PyErr_Occurred()) throw PythonError();
    return static_cast<T>(number);
  }
  static PyObject* to(T number) { return PyFloat_FromDouble(number); }
};
template <>
struct Convert<bool> {
  static std::string name() { return "bool"; }
  static bool from(PyObject* given) { return PyObject_IsTrue(given) == 1; }
  static PyObject* to(bool value) { return PyBool_FromLong(value); }
};
template <>
struct Convert<std::string> {
  static std::string name() { return "str"; }
  static std::string from(PyObject* given) {
    Py_ssize_t size = 0;
    const char* const text = PyUnicode_AsUTF8AndSize(given, &size);
    if (!text) throw PythonError();
    return {text, static_cast<size_t>(size)};
  }
  static PyObject* to(const std::string& text) {
    return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
  }
};
template <>
struct Convert<string_view> : Convert<std::string> {};
template <>
struct Convert<Scalar> {
  static std::string name() { return "Scalar"; }
  static Scalar from(PyObject* given) {
    if (PyBool_Check(given)) return given == Py_True;
    if (PyLong_Check(given)) return Convert<int64_t>::from(given);
    return Convert<double>::from(given);
  }
  static PyObject* to(const Scalar& value) {
    if (value.isBoolean()) return Convert<bool>::to(value.toLong() != 0);
    return value.isFloatingPoint() ? Convert<double>::to(value.toDouble()) : Convert<int64_t>::to(value.toLong());
  }
};
template <>
struct Convert<ScalarType> {
  static std::string name() { return "ScalarType"; }
  static ScalarType from(PyObject* given) {
    int32_t code = 0;
    if (table().dtype_from_python(given, &code)) throw pellucid::extension::Error(table().last_error());
    return static_cast<ScalarType>(code);
  }
  static PyObject* to(ScalarType dtype) { return table().dtype_to_python(static_cast<int32_t>(dtype)); }
};
template <>
struct Convert<Tensor> {
  static std::string name() { return "Tensor"; }
  static Tensor from(PyObject* given) {
    TensorHandle* handle = nullptr;
    if (given != Py_None && table().from_python(given, &handle))
      throw pellucid::extension::Error(table().last_error());
    return Tensor::adopt(handle);
  }
  static PyObject* to(const Tensor& tensor) {
    return tensor.defined() ? table().to_python(tensor.handle()) : Py_NewRef(Py_None);
  }
};
template <class T>
struct Convert<optional<T>> {
  static std::string name() { return Convert<T>::name() + "?"; }
  static auto from(PyObject* given) {
    using Held = decltype(Convert<T>::from(given));
    return given == Py_None ? optional<Held>() : optional<Held>(Convert<T>::from(given));
  }
  static PyObject* to(const optional<T>& value) { return value ? Convert<T>::to(*value) : Py_NewRef(Py_None); }
};
template <class T>
struct Convert<std::vector<T>> {
  static std::string name() { return Convert<T>::name() + "[]"; }
  static std::vector<T> from(PyObject* given) {
    const Owned list = owned(PySequence_Fast(given, "expected a list or a tuple"));
    std::vector<T> found;
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(list.get()); ++k)
      found.push_back(Convert<T>::from(PySequence_Fast_GET_ITEM(list.get(), k)));
    return found;
  }
  static PyObject* to(const std::vector<T>& values) {
    Owned list = owned(PyList_New(static_cast<Py_ssize_t>(values.size())));
    for (size_t k = 0; k < values.size(); ++k)
      PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(k), owned(Convert<T>::to(values[k])).release());
    return list.release();
  }
};
template <class T>
struct Convert<ArrayRef<T>> : Convert<std::vector<T>> {};
template <class... T>
struct Convert<std::tuple<T...>> {
  static std::string name() {
    std::string text;
    ((text += (text.empty() ? "(" : ", ") + Convert<T>::name()), ...);
    return text + ")";
  }
  static PyObject* to(const std::tuple<T...>& values) {
    Owned tuple = owned(PyTuple_New(sizeof...(T)));
    Py_ssize_t k = 0;
    const auto put = [&](const auto& value) {
      using Kind = std::decay_t<decltype(value)>;
      PyTuple_SET_ITEM(tuple.get(), k++, owned(Convert<Kind>::to(value)).release());
    };
    std::apply([&](const auto&... each) { (put(each), ...); }, values);
    return tuple.release();
  }
};

// A function's parameter as Python names it; `value` is its default, or null.
struct Parameter {
  std::string name;
  PyObject* value = nullptr;
};

// The arguments of a call in order; those of keywords that no parameter names follow in the order they were given in.
std::vector<PyObject*> inline in_order(PyObject* args, PyObject* keywords, const std::vector<Parameter>& parameters,
                                       size_t count) {
  std::vector<PyObject*> found;
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(args); ++k) found.push_back(PyTuple_GET_ITEM(args, k));
  if (parameters.empty() && keywords) {
    PyObject *key, *value;
    for (Py_ssize_t place = 0; PyDict_Next(keywords, &place, &key, &value);) found.push_back(value);
  }
  while (found.size() < parameters.size()) {
    const Parameter& next = parameters[found.size()];
    PyObject* const named = keywords ? PyDict_GetItemString(keywords, next.name.c_str()) : nullptr;
    if (!named && !next.value) break;
    found.push_back(named ? named : next.value);
  }
  if (found.size() == count) return found;
  PyErr_Format(PyExc_TypeError, "the function takes %zu arguments; %zu were given", count, found.size());
  throw PythonError();
}

template <class Body>
PyObject* guarded(Body&& body) {
  try {
    return body();
  } catch (const PythonError&) {
    return nullptr;
  } catch (const pellucid::extension::Error&) {
    if (!PyErr_Occurred()) table().set_python_error();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

using Callable = std::function<PyObject*(PyObject* args, PyObject* keywords)>;

template <class Return, class... Arguments, size_t... I>
PyObject* call_with(Return (*function)(Arguments...), const std::vector<PyObject*>& given, std::index_sequence<I...>) {
  std::tuple<decltype(Convert<std::decay_t<Arguments>>::from(nullptr))...> held{
      Convert<std::decay_t<Arguments>>::from(given[I])...};
  static_cast<void>(given);
  if constexpr (std::is_void_v<Return>) {
    function(std::get<I>(held)...);
    Py_RETURN_NONE;
  } else {
    return Convert<std::decay_t<Return>>::to(function(std::get<I>(held)...));
  }
}

template <class Return, class... Arguments>
Callable callable(Return (*function)(Arguments...), std::vector<Parameter> parameters = {}) {
  return [function, parameters = std::move(parameters)](PyObject* args, PyObject* keywords) {
    return guarded([&] {
      const std::vector<PyObject*> given = in_order(args, keywords, parameters, sizeof...(Arguments));
      return call_with(function, given, std::index_sequence_for<Arguments...>());
    });
  };
}

// "(Tensor _0, int _1) -> Tensor"
template <class Return, class... Arguments>
std::string schema_of(Return (*)(Arguments...)) {
  std::string text = "(";
  int number = 0;
  ((text += (number ? ", " : "") + Convert<std::decay_t<Arguments>>::name() + " _" +
            std::to_string(number),
    ++number),
   ...);
  if constexpr (std::is_void_v<Return>) return text + ") -> ()";
  else return text + ") -> " + Convert<std::decay_t<Return>>::name();
}

// A Python function that lives as long as the process.
inline PyObject* python_function(Callable body, const char* name, const char* doc) {
  struct Function {
    Callable body;
    std::string name, doc;
    PyMethodDef method;
  };
  auto* const made = new Function{std::move(body), name, doc, {}};
  const auto run = [](PyObject* self, PyObject* args, PyObject* keywords) {
    return static_cast<Function*>(PyCapsule_GetPointer(self, nullptr))->body(args, keywords);
  };
  using Run = PyObject* (*)(PyObject*, PyObject*, PyObject*);
  made->method = {made->name.c_str(), reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(static_cast<Run>(run))),
                  METH_VARARGS | METH_KEYWORDS, made->doc.c_str()};
  const Owned capsule = owned(PyCapsule_New(made, nullptr, nullptr));
  return owned(PyCFunction_New(&made->method, capsule.get())).release();
}

}  // namespace at::detail
