// TORCH_LIBRARY and TORCH_LIBRARY_IMPL: ops and kernels of a C++ library; calls of ops by their names.
//
// A library registers when it is loaded (torch.ops.load_library, an import). What it adds stays for the process, and
// is what torch.library.Library would add: the kernel is a Python function around the C++ one.
#pragma once

#include "pellucid/torch/convert.h"

namespace torch {

class Library {
 public:
  Library(const char* space, const char* kind, const char* key) : space_(space), key_(key) {
    const at::detail::Owned module = at::detail::owned(PyImport_ImportModule("pellucid.library"));
    library_ = at::detail::owned(PyObject_CallMethod(module.get(), "Library", "sss", space, kind, "")).release();
  }

  // A schema, or a schema or name with the kernel of all devices.
  Library& def(const std::string& schema) {
    at::detail::owned(PyObject_CallMethod(library_, "define", "s", schema.c_str()));
    return *this;
  }
  template <class Function>
  Library& def(const std::string& schema, Function function) {
    const std::string name = schema.substr(0, schema.find('('));
    def(name == schema ? schema + at::detail::schema_of(+function) : schema);
    return add(name, +function, "CompositeImplicitAutograd");
  }
  template <class Function>
  Library& impl(const std::string& name, Function function) {
    return add(name, +function, key_.c_str());
  }
  // Where Python has more about the ops: nothing is imported.
  Library& impl_abstract_pystub(const char*, const char* = "") { return *this; }
  Library& set_python_module(const char*, const char* = "") { return *this; }

 private:
  template <class Function>
  Library& add(const std::string& name, Function* function, const char* key) {
    PyObject* const kernel = at::detail::python_function(at::detail::callable(function), name.c_str(), "");
    at::detail::owned(PyObject_CallMethod(library_, "impl", "sOs", name.c_str(), kernel, key));
    return *this;
  }

  PyObject* library_;  // never released
  const std::string space_, key_;
};

namespace detail {

// An exception cannot leave a static initializer: it is noted for whoever loads the library.
struct Registration {
  Registration(const char* space, const char* kind, const char* key, void (*fill)(Library&)) {
    const PyGILState_STATE state = PyGILState_Ensure();
    PyObject* const done = at::detail::guarded([&]() -> PyObject* {
      Library library(space, kind, key);
      fill(library);
      Py_RETURN_NONE;
    });
    if (!done) note_failure();
    Py_XDECREF(done);
    PyGILState_Release(state);
  }

 private:
  static void note_failure() {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    const at::detail::Owned parts[] = {at::detail::Owned(type), at::detail::Owned(value),
                                       at::detail::Owned(traceback)};
    const at::detail::Owned module(PyImport_ImportModule("pellucid.utils._cpp.loading"));
    const at::detail::Owned done(module ? PyObject_CallMethod(module.get(), "note_failure", "O", value) : nullptr);
    if (!done) PyErr_Print();
  }
};

}  // namespace detail
}  // namespace torch

#define PELLUCID_JOIN_(a, b) a##b
#define PELLUCID_JOIN(a, b) PELLUCID_JOIN_(a, b)
#define PELLUCID_LIBRARY_(space, kind, key, m, id)                                              \
  static void PELLUCID_JOIN(pellucid_fill_, id)(torch::Library&);                               \
  static const torch::detail::Registration PELLUCID_JOIN(pellucid_registration_, id)(           \
      #space, kind, #key, &PELLUCID_JOIN(pellucid_fill_, id));                                  \
  void PELLUCID_JOIN(pellucid_fill_, id)([[maybe_unused]] torch::Library & m)
#define TORCH_LIBRARY(space, m) PELLUCID_LIBRARY_(space, "DEF", , m, __COUNTER__)
#define TORCH_LIBRARY_FRAGMENT(space, m) PELLUCID_LIBRARY_(space, "FRAGMENT", , m, __COUNTER__)
#define TORCH_LIBRARY_IMPL(space, key, m) PELLUCID_LIBRARY_(space, "IMPL", key, m, __COUNTER__)
#define TORCH_LIBRARY_EXPAND(space, m) TORCH_LIBRARY(space, m)
#define TORCH_FN(function) &function
#define TORCH_SELECTIVE_NAME(name) name
#define TORCH_SELECTIVE_SCHEMA(schema) schema

namespace c10 {

template <class Signature>
class TypedOperatorHandle;
template <class Return, class... Arguments>
class TypedOperatorHandle<Return(Arguments...)> {
 public:
  explicit TypedOperatorHandle(std::string name) : name_(std::move(name)) {}
  Return call(Arguments... arguments) const {
    return at::detail::call<Return>(name_.c_str(), at::detail::pack(arguments)...);
  }

 private:
  std::string name_;
};

class OperatorHandle {
 public:
  explicit OperatorHandle(std::string name) : name_(std::move(name)) {}
  template <class Signature>
  TypedOperatorHandle<Signature> typed() const {
    return TypedOperatorHandle<Signature>(name_);
  }

 private:
  std::string name_;
};

class Dispatcher {
 public:
  static Dispatcher& singleton() {
    static Dispatcher dispatcher;
    return dispatcher;
  }
  // The error of a name that nothing defines comes with the first call.
  OperatorHandle findSchemaOrThrow(const char* name, const char* overload) const {
    return OperatorHandle(*overload ? std::string(name) + "." + overload : name);
  }
};

}  // namespace c10

namespace torch {
using c10::Dispatcher;
}
