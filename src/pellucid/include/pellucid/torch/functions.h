// Functions of C++ as Python's: their arguments in order, overloads, exceptions; and functions of Python as C++'s.
#pragma once

#include <functional>

#include "pellucid/torch/convert.h"

namespace at::detail {

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
    if (PyObject* const type = error.type()) PyErr_SetString(type, error.what());
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
  } catch (const std::exception& error) { PyErr_SetString(PyExc_RuntimeError, error.what()); } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "a C++ exception that is not a std::exception");
  }
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
// `exact`: arguments are not converted to other types.
using Callable = std::function<PyObject*(PyObject* args, PyObject* keywords, bool exact)>;

struct NoScope {};

template <class Scope, template <class> class As, class Function, class Return, class... Arguments, size_t... I>
PyObject* call_with(const Function& function, Signature<Return, Arguments...>, const std::vector<PyObject*>& given,
                    std::index_sequence<I...>, bool exact) {
  using Held = std::tuple<decltype(As<std::decay_t<Arguments>>::from(nullptr))...>;
  static_cast<void>(given);
  Held held = [&] {
    [[maybe_unused]] const Exact scope(exact);
    try {
      return Held{As<std::decay_t<Arguments>>::from(given[I])...};
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
    return As<std::decay_t<Return>>::to(result);
  }
  Py_RETURN_NONE;
}

// How many parameters take what the others leave: *args, **kwargs.
template <class Kind, class List>
constexpr size_t count_of = 0;
template <class Kind, class... Arguments>
constexpr size_t count_of<Kind, std::tuple<Arguments...>> = (0 + ... + std::is_same_v<std::decay_t<Arguments>, Kind>);

// `As` converts arguments and results.
template <class Scope = NoScope, template <class> class As = Value, class Function>
Callable callable(Function function, std::vector<Parameter> parameters = {}) {
  using Called = signature_t<Function>;
  constexpr size_t rest = count_of<pybind11::args, typename Called::List>;
  constexpr size_t names = count_of<pybind11::kwargs, typename Called::List>;
  return [function = std::move(function), parameters = std::move(parameters)](PyObject* args, PyObject* keywords,
                                                                              bool exact) {
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
    return call_with<Scope, As>(function, Called(), given, std::make_index_sequence<Called::count>(), exact);
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

// Overloads of a Python function, which lives as long as the process: the first whose arguments are of its types runs,
// else the first whose arguments convert.
struct Overloads {
  std::vector<Callable> bodies;
  std::string name, doc;
  PyMethodDef method;

  PyObject* call(PyObject* args, PyObject* keywords) const {
    return guarded([&]() -> PyObject* {
      if (bodies.size() == 1) return bodies[0](args, keywords, false);
      for (const bool exact : {true, false})
        for (const Callable& body : bodies) try {
            return body(args, keywords, exact);
          } catch (const Mismatch&) { PyErr_Clear(); }
      PyErr_Format(PyExc_TypeError, "%s(): incompatible function arguments", name.c_str());
      throw Mismatch();
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
      if constexpr (!std::is_void_v<Return>) return Value<std::decay_t<Return>>::from(result.get());
    };
  }
};

}  // namespace at::detail
