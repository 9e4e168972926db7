// Values of Python as those of C++, and functions of C++ as Python's: by templates over their types.
#pragma once

#include <functional>
#include <utility>

#include "pellucid/torch/containers.h"

namespace pybind11 {
class args;
class kwargs;
}  // namespace pybind11

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

// from: what an argument holds during the call; to: a new reference; name: the type in schemas. Types that are not
// specialised here are classes that a library registered (classes.h).
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
    if (given != Py_None && table().from_python(given, &handle)) throw pellucid::extension::Error(table().last_error());
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
template <class T>
struct Convert<OptionalArrayRef<T>> : Convert<optional<std::vector<T>>> {};
template <>
struct Convert<SymInt> : Convert<int64_t> {
  static std::string name() { return "SymInt"; }
};
template <class T>
struct Convert<c10::complex<T>> {
  static std::string name() { return "complex"; }
  static c10::complex<T> from(PyObject* given) {
    const Py_complex value = PyComplex_AsCComplex(given);
    if (PyErr_Occurred()) throw PythonError();
    return {static_cast<T>(value.real), static_cast<T>(value.imag)};
  }
  static PyObject* to(const c10::complex<T>& value) { return PyComplex_FromDoubles(value.real(), value.imag()); }
};
template <>
struct Convert<Generator> {
  static std::string name() { return "Generator"; }
  static Generator from(PyObject* given) {
    GeneratorHandle* handle = nullptr;
    if (table().generator_from_python(given, &handle)) throw pellucid::extension::Error(table().last_error());
    return Generator::adopt(handle);
  }
  static PyObject* to(const Generator& generator) { return table().generator_to_python(generator.handle()); }
};
template <>
struct Convert<Device> {
  static std::string name() { return "Device"; }
  static Device from(PyObject* given) {
    const Owned text = owned(PyObject_Str(given));
    return Device(Convert<std::string>::from(text.get()));
  }
  static PyObject* to(const Device& device) {
    const Owned module = owned(PyImport_ImportModule("pellucid"));
    return PyObject_CallMethod(module.get(), "device", "s", c10::detail::text(device).c_str());
  }
};
template <class T>
struct Convert<c10::List<T>> {
  static std::string name() { return Convert<std::vector<T>>::name(); }
  static c10::List<T> from(PyObject* given) { return c10::List<T>(Convert<std::vector<T>>::from(given)); }
  static PyObject* to(const c10::List<T>& list) { return Convert<std::vector<T>>::to(list.vec()); }
};

// Dictionaries of Python, by their entries.
template <class Key, class Item, class Insert>
void each_entry(PyObject* given, Insert&& insert) {
  if (!PyDict_Check(given)) {
    PyErr_Format(PyExc_TypeError, "expected a dict, not %s", Py_TYPE(given)->tp_name);
    throw PythonError();
  }
  PyObject *key, *item;
  for (Py_ssize_t place = 0; PyDict_Next(given, &place, &key, &item);)
    insert(Convert<Key>::from(key), Convert<Item>::from(item));
}
template <class Key, class Item>
void put_entry(PyObject* dict, const Key& key, const Item& item) {
  const Owned first = owned(Convert<Key>::to(key)), second = owned(Convert<Item>::to(item));
  if (PyDict_SetItem(dict, first.get(), second.get())) throw PythonError();
}
template <class Map>
struct ConvertMap {
  using Key = typename Map::key_type;
  using Item = typename Map::mapped_type;
  static std::string name() { return "Dict(" + Convert<Key>::name() + ", " + Convert<Item>::name() + ")"; }
  static Map from(PyObject* given) {
    Map made;
    each_entry<Key, Item>(given, [&](Key key, Item item) { made.emplace(std::move(key), std::move(item)); });
    return made;
  }
  static PyObject* to(const Map& map) {
    Owned made = owned(PyDict_New());
    for (const auto& [key, item] : map) put_entry(made.get(), key, item);
    return made.release();
  }
};
template <class Key, class Item>
struct Convert<std::map<Key, Item>> : ConvertMap<std::map<Key, Item>> {};
template <class Key, class Item>
struct Convert<std::unordered_map<Key, Item>> : ConvertMap<std::unordered_map<Key, Item>> {};
template <class Key, class Item>
struct Convert<c10::Dict<Key, Item>> {
  static std::string name() { return "Dict(" + Convert<Key>::name() + ", " + Convert<Item>::name() + ")"; }
  static c10::Dict<Key, Item> from(PyObject* given) {
    c10::Dict<Key, Item> made;
    each_entry<Key, Item>(given, [&](Key key, Item item) { made.insert(std::move(key), std::move(item)); });
    return made;
  }
  static PyObject* to(const c10::Dict<Key, Item>& dict) {
    Owned made = owned(PyDict_New());
    for (const auto& entry : dict) put_entry(made.get(), entry.key(), entry.value());
    return made.release();
  }
};
template <class T, size_t N>
struct Convert<std::array<T, N>> {
  static std::string name() { return Convert<T>::name() + "[]"; }
  static std::array<T, N> from(PyObject* given) {
    const std::vector<T> list = Convert<std::vector<T>>::from(given);
    TORCH_CHECK_TYPE(list.size() == N, "expected ", N, " elements, not ", list.size());
    std::array<T, N> made;
    std::copy(list.begin(), list.end(), made.begin());
    return made;
  }
  static PyObject* to(const std::array<T, N>& list) {
    return Convert<std::vector<T>>::to(std::vector<T>(list.begin(), list.end()));
  }
};
template <class... T>
struct Convert<std::tuple<T...>> {
  static std::string name() {
    std::string text;
    ((text += (text.empty() ? "(" : ", ") + Convert<T>::name()), ...);
    return text + ")";
  }
  static std::tuple<T...> from(PyObject* given) {
    const Owned list = owned(PySequence_Tuple(given));
    TORCH_CHECK_TYPE(PyTuple_GET_SIZE(list.get()) == sizeof...(T), "expected ", sizeof...(T), " elements, not ",
                     PyTuple_GET_SIZE(list.get()));
    Py_ssize_t k = 0;
    return std::tuple<T...>{Convert<T>::from(PyTuple_GET_ITEM(list.get(), k++))...};
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

template <class A, class B>
struct Convert<std::pair<A, B>> {
  static std::string name() { return Convert<std::tuple<A, B>>::name(); }
  static std::pair<A, B> from(PyObject* given) {
    return std::make_from_tuple<std::pair<A, B>>(Convert<std::tuple<A, B>>::from(given));
  }
  static PyObject* to(const std::pair<A, B>& pair) { return Convert<std::tuple<A, B>>::to({pair.first, pair.second}); }
};
template <>
struct Convert<c10::IValue> {
  static std::string name() { return "Any"; }
  static c10::IValue from(PyObject* given);
  static PyObject* to(const c10::IValue& value) {
    return value.visit([](const auto& held) -> PyObject* {
      using Held = std::decay_t<decltype(held)>;
      if constexpr (std::is_same_v<Held, std::monostate>) Py_RETURN_NONE;
      else return Convert<Held>::to(held);
    });
  }
};
inline c10::IValue Convert<c10::IValue>::from(PyObject* given) {
  if (given == Py_None) return {};
  if (PyBool_Check(given)) return Convert<bool>::from(given);
  if (PyLong_Check(given)) return Convert<int64_t>::from(given);
  if (PyFloat_Check(given)) return Convert<double>::from(given);
  if (PyComplex_Check(given)) return Convert<c10::complex<double>>::from(given);
  if (PyUnicode_Check(given)) return Convert<std::string>::from(given);
  if (PyList_Check(given) || PyTuple_Check(given)) {
    const Owned list = owned(PySequence_Fast(given, ""));
    PyObject* const first = PySequence_Fast_GET_SIZE(list.get()) ? PySequence_Fast_GET_ITEM(list.get(), 0) : nullptr;
    if (!first || PyLong_Check(first)) return Convert<std::vector<int64_t>>::from(given);
    if (PyFloat_Check(first)) return Convert<std::vector<double>>::from(given);
    if (PyUnicode_Check(first)) return Convert<std::vector<std::string>>::from(given);
    return Convert<std::vector<Tensor>>::from(given);
  }
  int32_t code = 0;
  if (!table().dtype_from_python(given, &code)) return static_cast<ScalarType>(code);
  GeneratorHandle* generator = nullptr;
  if (!table().generator_from_python(given, &generator)) return Generator::adopt(generator);
  return Convert<Tensor>::from(given);
}

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
  const Py_ssize_t named = keywords ? PyDict_GET_SIZE(keywords) : 0;
  Py_ssize_t used = 0;
  if (parameters.empty() && keywords) {
    PyObject *key, *value;
    for (Py_ssize_t place = 0; PyDict_Next(keywords, &place, &key, &value); ++used) found.push_back(value);
  }
  while (found.size() < parameters.size()) {
    const Parameter& next = parameters[found.size()];
    PyObject* const given = keywords ? PyDict_GetItemString(keywords, next.name.c_str()) : nullptr;
    if (!given && !next.value) break;
    used += given != nullptr;
    found.push_back(given ? given : next.value);
  }
  if (found.size() == count && used == named) return found;
  if (used != named) PyErr_SetString(PyExc_TypeError, "the function got a keyword that it has no parameter for");
  else PyErr_Format(PyExc_TypeError, "the function takes %zu arguments; %zu were given", count, found.size());
  throw PythonError();
}

// The current exception as Python's.
inline void raise_current() {
  try {
    throw;
  } catch (const PythonError&) {
  } catch (const pellucid::extension::Error&) {
    if (!PyErr_Occurred()) table().set_python_error();
  } catch (const c10::Error& error) {
    PyErr_SetString(error.type(), error.what());
  } catch (const std::bad_alloc& error) {
    PyErr_SetString(PyExc_MemoryError, error.what());
  } catch (const std::out_of_range& error) {
    PyErr_SetString(PyExc_IndexError, error.what());
  } catch (const std::overflow_error& error) {
    PyErr_SetString(PyExc_OverflowError, error.what());
  } catch (const std::logic_error& error) {  // invalid_argument, domain_error, length_error
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (const std::range_error& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (const std::exception& error) { PyErr_SetString(PyExc_RuntimeError, error.what()); }
}

template <class Body>
PyObject* guarded(Body&& body) {
  try {
    return body();
  } catch (...) { raise_current(); }
  return nullptr;
}

// What a function, a member function or a functor takes and returns; a member's object is its first argument.
template <class Return, class... Arguments>
struct Signature {
  using Result = Return;
  using List = std::tuple<Arguments...>;
  static constexpr size_t count = sizeof...(Arguments);
};
template <class Function, class = void>
struct SignatureOf : SignatureOf<decltype(&Function::operator())> {
  using type = typename SignatureOf<decltype(&Function::operator())>::functor;
};
template <class Return, class... Arguments>
struct SignatureOf<Return (*)(Arguments...)> {
  using type = Signature<Return, Arguments...>;
};
template <class Class, class Return, class... Arguments>
struct SignatureOf<Return (Class::*)(Arguments...)> {
  using type = Signature<Return, Class&, Arguments...>;
  using functor = Signature<Return, Arguments...>;
};
template <class Class, class Return, class... Arguments>
struct SignatureOf<Return (Class::*)(Arguments...) const> {
  using type = Signature<Return, const Class&, Arguments...>;
  using functor = Signature<Return, Arguments...>;
};
template <class Function>
using signature_t = typename SignatureOf<std::decay_t<Function>>::type;

// An overload: it throws Mismatch if its arguments do not convert, the Python error set.
struct Mismatch : PythonError {};
using Callable = std::function<PyObject*(PyObject* args, PyObject* keywords)>;

struct NoScope {};

template <class Scope, class Function, class Return, class... Arguments, size_t... I>
PyObject* call_with(const Function& function, Signature<Return, Arguments...>, const std::vector<PyObject*>& given,
                    std::index_sequence<I...>) {
  using Held = std::tuple<decltype(Convert<std::decay_t<Arguments>>::from(nullptr))...>;
  static_cast<void>(given);
  Held held = [&] {
    try {
      return Held{Convert<std::decay_t<Arguments>>::from(given[I])...};
    } catch (...) {
      raise_current();
      throw Mismatch();
    }
  }();
  if constexpr (std::is_void_v<Return>) {
    const Scope scope;
    std::invoke(function, std::get<I>(held)...);
  } else {
    decltype(auto) result = [&]() -> decltype(auto) {
      [[maybe_unused]] const Scope scope;
      return std::invoke(function, std::get<I>(held)...);
    }();
    return Convert<std::decay_t<Return>>::to(result);
  }
  Py_RETURN_NONE;
}

// How many parameters take what the others leave: *args, **kwargs.
template <class Kind, class List>
constexpr size_t count_of = 0;
template <class Kind, class... Arguments>
constexpr size_t count_of<Kind, std::tuple<Arguments...>> = (0 + ... + std::is_same_v<std::decay_t<Arguments>, Kind>);

template <class Scope = NoScope, class Function>
Callable callable(Function function, std::vector<Parameter> parameters = {}) {
  using Called = signature_t<Function>;
  constexpr size_t rest = count_of<pybind11::args, typename Called::List>;
  constexpr size_t names = count_of<pybind11::kwargs, typename Called::List>;
  return [function = std::move(function), parameters = std::move(parameters)](PyObject* args, PyObject* keywords) {
    std::vector<PyObject*> given;
    Owned held[2];
    try {
      if constexpr (rest + names) {
        constexpr auto first = static_cast<Py_ssize_t>(Called::count - rest - names);
        held[0] = owned(PyTuple_GetSlice(args, 0, rest ? first : PyTuple_GET_SIZE(args)));
        given = in_order(held[0].get(), names ? nullptr : keywords, parameters, static_cast<size_t>(first));
        if (rest) held[0] = owned(PyTuple_GetSlice(args, first, PyTuple_GET_SIZE(args)));
        if (rest) given.push_back(held[0].get());
        if (names) held[1] = owned(keywords ? Py_NewRef(keywords) : PyDict_New());
        if (names) given.push_back(held[1].get());
      } else {
        given = in_order(args, keywords, parameters, Called::count);
      }
    } catch (const PythonError&) { throw Mismatch(); }
    return call_with<Scope>(function, Called(), given, std::make_index_sequence<Called::count>());
  };
}

// "(Tensor _0, int _1) -> Tensor"
template <class Return, class... Arguments>
std::string schema_of(Signature<Return, Arguments...>) {
  std::string text = "(";
  int number = 0;
  ((text += (number ? ", " : "") + Convert<std::decay_t<Arguments>>::name() + " _" + std::to_string(number), ++number),
   ...);
  if constexpr (std::is_void_v<Return>) return text + ") -> ()";
  else return text + ") -> " + Convert<std::decay_t<Return>>::name();
}

// Overloads of a Python function, which lives as long as the process: the first whose arguments convert runs.
struct Overloads {
  std::vector<Callable> bodies;
  std::string name, doc;
  PyMethodDef method;

  PyObject* call(PyObject* args, PyObject* keywords) const {
    return guarded([&]() -> PyObject* {
      for (size_t k = 0;; ++k) try {
          return bodies[k](args, keywords);
        } catch (const Mismatch&) {
          if (k + 1 == bodies.size()) {
            if (k) PyErr_Format(PyExc_TypeError, "%s(): incompatible function arguments", name.c_str());
            throw;
          }
          PyErr_Clear();
        }
    });
  }
};

inline PyObject* python_function(Callable body, const char* name, const char* doc) {
  auto* const made = new Overloads{{std::move(body)}, name, doc, {}};
  const auto run = [](PyObject* self, PyObject* args, PyObject* keywords) {
    return static_cast<Overloads*>(PyCapsule_GetPointer(self, nullptr))->call(args, keywords);
  };
  using Run = PyObject* (*)(PyObject*, PyObject*, PyObject*);
  made->method = {made->name.c_str(), reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(static_cast<Run>(run))),
                  METH_VARARGS | METH_KEYWORDS, made->doc.c_str()};
  const Owned capsule = owned(PyCapsule_New(made, nullptr, nullptr));
  return owned(PyCFunction_New(&made->method, capsule.get())).release();
}
// The overloads of a function that was made above; null for any other object.
inline Overloads* overloads_of(PyObject* function) {
  if (PyInstanceMethod_Check(function)) function = PyInstanceMethod_GET_FUNCTION(function);
  PyObject* const self = PyCFunction_Check(function) ? PyCFunction_GET_SELF(function) : nullptr;
  return self && PyCapsule_CheckExact(self) ? static_cast<Overloads*>(PyCapsule_GetPointer(self, nullptr)) : nullptr;
}

// A function of Python as one of C++.
template <class Return, class... Arguments>
struct Convert<std::function<Return(Arguments...)>> {
  static std::function<Return(Arguments...)> from(PyObject* given) {
    const std::shared_ptr<PyObject> held(Py_NewRef(given), Decref());
    return [held](Arguments... arguments) -> Return {
      const c10::detail::Lock lock;
      const Owned args = owned(Convert<std::tuple<std::decay_t<Arguments>...>>::to({arguments...}));
      const Owned result = owned(PyObject_CallObject(held.get(), args.get()));
      if constexpr (!std::is_void_v<Return>) return Convert<std::decay_t<Return>>::from(result.get());
    };
  }
};

}  // namespace at::detail
