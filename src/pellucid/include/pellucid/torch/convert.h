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

using c10::PythonError;
inline Owned owned(PyObject* object) {
  if (!object) throw PythonError();
  return Owned(object);
}

// from: what an argument holds during the call; to: a new reference; name: the type in schemas. Types that are not
// specialised here are classes that a library registered (classes.h).
template <class T, class = void>
struct Convert;
template <class T>
struct ConvertObject;

// Whether values of a type are objects of a class (PYBIND11_MAKE_OPAQUE), and so how extensions' values convert. These
// headers' own lists never are: they convert by `Convert` itself, or as an IValue.
template <class T>
struct Opaque : std::false_type {};
template <class T>
using Value = std::conditional_t<Opaque<T>::value, ConvertObject<T>, Convert<T>>;
// The values of ops: their lists are lists.
template <class T>
using OpValue = Convert<T>;

// While arguments convert: whether only values of the very type fit, as in the first try of a function's overloads.
class Exact {
 public:
  explicit Exact(bool on) : before_(std::exchange(state(), on)) {}
  ~Exact() { state() = before_; }
  Exact(const Exact&) = delete;
  Exact& operator=(const Exact&) = delete;
  static bool is_on() { return state(); }
  // TypeError unless `is_exact`, or values may be converted.
  static void require(bool is_exact, PyObject* given) {
    if (is_exact || !is_on()) return;
    PyErr_Format(PyExc_TypeError, "a %s would be converted", Py_TYPE(given)->tp_name);
    throw PythonError();
  }

 private:
  static bool& state() {
    static thread_local bool on = false;
    return on;
  }
  const bool before_;
};

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
    Exact::require(PyFloat_Check(given), given);
    const double number = PyFloat_AsDouble(given);
    if (number == -1 && PyErr_Occurred()) throw PythonError();
    return static_cast<T>(number);
  }
  static PyObject* to(T number) { return PyFloat_FromDouble(number); }
};
template <>
struct Convert<bool> {
  static std::string name() { return "bool"; }
  static bool from(PyObject* given) {
    Exact::require(PyBool_Check(given), given);
    return PyObject_IsTrue(given) == 1;
  }
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
    using Held = std::decay_t<decltype(Value<T>::from(given))>;
    return given == Py_None ? optional<Held>() : optional<Held>(Value<T>::from(given));
  }
  static PyObject* to(const optional<T>& value) { return value ? Value<T>::to(*value) : Py_NewRef(Py_None); }
};
template <class T>
struct Convert<std::vector<T>> {
  static std::string name() { return Convert<T>::name() + "[]"; }
  static std::vector<T> from(PyObject* given) {
    const Owned list = owned(PySequence_Fast(given, "expected a list or a tuple"));
    std::vector<T> found;
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(list.get()); ++k)
      found.push_back(Value<T>::from(PySequence_Fast_GET_ITEM(list.get(), k)));
    return found;
  }
  static PyObject* to(const std::vector<T>& values) {
    Owned list = owned(PyList_New(static_cast<Py_ssize_t>(values.size())));
    for (size_t k = 0; k < values.size(); ++k)
      PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(k), owned(Value<T>::to(values[k])).release());
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
    Exact::require(PyComplex_Check(given), given);
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
    insert(Value<Key>::from(key), Value<Item>::from(item));
}
template <class Key, class Item>
void put_entry(PyObject* dict, const Key& key, const Item& item) {
  const Owned first = owned(Value<Key>::to(key)), second = owned(Value<Item>::to(item));
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
    return from_each(list.get(), std::index_sequence_for<T...>());
  }
  static PyObject* to(const std::tuple<T...>& values) {
    Owned tuple = owned(PyTuple_New(sizeof...(T)));
    Py_ssize_t k = 0;
    const auto put = [&](const auto& value) {
      using Kind = std::decay_t<decltype(value)>;
      PyTuple_SET_ITEM(tuple.get(), k++, owned(Value<Kind>::to(value)).release());
    };
    std::apply([&](const auto&... each) { (put(each), ...); }, values);
    return tuple.release();
  }

 private:
  template <size_t... I>
  static std::tuple<T...> from_each(PyObject* list, std::index_sequence<I...>) {
    static_cast<void>(list);
    return std::tuple<T...>{Value<T>::from(PyTuple_GET_ITEM(list, static_cast<Py_ssize_t>(I)))...};
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

}  // namespace at::detail
