// PYBIND11_MODULE, module.def and py::arg: the part of pybind11's interface that extensions of functions use.
#pragma once

#include "pellucid/torch/convert.h"

namespace pybind11 {

struct arg {
  explicit arg(const char* name) : parameter{name, nullptr} {}
  template <class T>
  arg operator=(const T& value) && {
    parameter.value = at::detail::owned(at::detail::Convert<std::decay_t<T>>::to(value)).release();
    return *this;
  }
  arg operator=(const char* value) && { return std::move(*this) = std::string(value); }
  at::detail::Parameter parameter;
};

class module_ {
 public:
  explicit module_(PyObject* module) : module_object_(module) {}
  PyObject* ptr() const { return module_object_; }

  // A function; then its documentation and a py::arg per parameter, in any order.
  template <class Function, class... Extras>
  module_& def(const char* name, Function function, const Extras&... extras) {
    std::string doc;
    std::vector<at::detail::Parameter> parameters;
    (take(extras, doc, parameters), ...);
    PyObject* const made = at::detail::python_function(at::detail::callable(+function, parameters), name, doc.c_str());
    if (PyModule_AddObject(module_object_, name, made)) throw at::detail::PythonError();
    return *this;
  }
  std::string& doc() { return doc_; }

 private:
  static void take(const char* text, std::string& doc, std::vector<at::detail::Parameter>&) { doc = text; }
  static void take(const std::string& text, std::string& doc, std::vector<at::detail::Parameter>&) { doc = text; }
  static void take(const arg& given, std::string&, std::vector<at::detail::Parameter>& parameters) {
    parameters.push_back(given.parameter);
  }
  PyObject* module_object_;
  std::string doc_;
};
using module = module_;

struct gil_scoped_release {};

namespace detail {

inline PyObject* make_module(PyModuleDef* definition, void (*fill)(module_&)) {
  return at::detail::guarded([&]() -> PyObject* {
    at::detail::table();
    at::detail::Owned loading = at::detail::owned(PyImport_ImportModule("pellucid.utils._cpp.loading"));
    at::detail::owned(PyObject_CallMethod(loading.get(), "raise_failure", nullptr));
    at::detail::Owned made = at::detail::owned(PyModule_Create(definition));
    module_ module(made.get());
    fill(module);
    return made.release();
  });
}

}  // namespace detail
}  // namespace pybind11

namespace py = pybind11;

#define PELLUCID_TEXT_(name) #name
#define PELLUCID_TEXT(name) PELLUCID_TEXT_(name)
#define PELLUCID_MODULE_(name, m)                                                                            \
  static void pellucid_fill_##name(pybind11::module_&);                                                      \
  extern "C" __attribute__((visibility("default"))) PyObject* PyInit_##name() {                              \
    static PyModuleDef definition{PyModuleDef_HEAD_INIT, #name, nullptr, -1, nullptr, nullptr, nullptr, nullptr, nullptr}; \
    return pybind11::detail::make_module(&definition, pellucid_fill_##name);                                 \
  }                                                                                                          \
  void pellucid_fill_##name([[maybe_unused]] pybind11::module_& m)
#define PYBIND11_MODULE(name, m) PELLUCID_MODULE_(name, m)
