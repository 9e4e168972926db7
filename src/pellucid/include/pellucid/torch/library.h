// TORCH_LIBRARY and TORCH_LIBRARY_IMPL: ops, kernels and classes of a C++ library.
//
// A library registers when it is loaded (torch.ops.load_library, an import). What it adds stays for the process, and
// is what torch.library.Library would add: the kernel is a Python function around the C++ one.
#pragma once

#include "pellucid/torch/dispatcher.h"

namespace at {

#define PELLUCID_TAGS(tag)                                                                                  \
  tag(core) tag(cudagraph_unsafe) tag(data_dependent_output) tag(dynamic_output_shape) tag(flexible_layout) \
      tag(generated) tag(inplace_view) tag(maybe_aliasing_or_mutating) tag(needs_contiguous_strides)        \
          tag(needs_exact_strides) tag(needs_fixed_stride_order) tag(nondeterministic_bitwise)              \
              tag(nondeterministic_seeded) tag(pointwise) tag(pt2_compliant_tag) tag(reduction) tag(view_copy)
enum class Tag {
#define PELLUCID_TAG(name) name,
  PELLUCID_TAGS(PELLUCID_TAG)
#undef PELLUCID_TAG
};
inline const char* toString(Tag tag) {
#define PELLUCID_TAG(name) #name,
  constexpr const char* names[] = {PELLUCID_TAGS(PELLUCID_TAG)};
#undef PELLUCID_TAG
  return names[static_cast<int>(tag)];
}

namespace autocast {

// The tensor in the dtype that autocast computes in, if it is a floating tensor of the device.
inline Tensor cached_cast(ScalarType type, const Tensor& tensor, DeviceType device = kCPU) {
  const bool casts = tensor.defined() && tensor.is_floating_point() && tensor.device().type() == device &&
                     tensor.scalar_type() != type && tensor.scalar_type() != kDouble;
  return casts ? tensor.to(type) : tensor;
}

}  // namespace autocast
}  // namespace at

namespace torch {

// A kernel with what is special about it: that it is boxed, or absent.
class CppFunction {
 public:
  using BoxedKernel = void(const c10::OperatorHandle&, jit::Stack*);
  using BoxedKernelWithKeys = void(const c10::OperatorHandle&, c10::DispatchKeySet, jit::Stack*);
  template <
      class Function,
      std::enable_if_t<!std::is_same_v<std::decay_t<Function>, CppFunction> && !std::is_enum_v<Function>, int> = 0>
  CppFunction(Function function)
      : body_(at::detail::callable<at::detail::NoScope, at::detail::OpValue>(std::move(function))),
        schema_(schema_text<Function>) {}
  static CppFunction makeFallthrough() { return CppFunction(); }
  template <BoxedKernel* kernel>
  static CppFunction makeFromBoxedFunction() {
    return CppFunction(+[](const c10::OperatorHandle& op, jit::Stack* stack) { kernel(op, stack); }, 0);
  }
  template <BoxedKernelWithKeys* kernel>
  static CppFunction makeFromBoxedFunction() {
    return CppFunction(+[](const c10::OperatorHandle& op, jit::Stack* stack) { kernel(op, {}, stack); }, 0);
  }
  bool is_fallthrough() const { return !body_ && !boxed_; }
  bool is_boxed() const { return boxed_ != nullptr; }
  // What its types say; nothing for a boxed kernel.
  std::string schema() const { return schema_ ? schema_() : ""; }
  const std::string& key() const { return key_; }
  CppFunction&& at_key(const char* key) && {
    key_ = key;
    return std::move(*this);
  }
  // The kernel of an op as a function of Python; of any op, whose name comes first, for a fallback.
  PyObject* function(const std::string& op) const {
    if (!boxed_) return at::detail::python_function(body_, op.c_str(), "");
    const auto run = [kernel = boxed_, op](PyObject* args, PyObject* keywords, bool) -> PyObject* {
      const pybind11::tuple given(pybind11::object::borrow(args));
      const std::string name = op.empty() ? given[0].cast<std::string>() : op;
      const pybind11::object ordered = at::detail::object_from(at::detail::call_helper(
          "in_order", "(sOOi)", name.c_str(), args, keywords ? keywords : Py_None, op.empty() ? 1 : 0));
      const c10::OperatorHandle called(name);
      const c10::FunctionSchema schema = called.schema();
      jit::Stack stack;
      for (const pybind11::handle value : ordered)
        stack.push_back(as_type(value.cast<c10::IValue>(), schema.list[stack.size()].type_text));
      kernel(called, &stack);
      if (stack.empty()) Py_RETURN_NONE;
      if (stack.size() == 1) return at::detail::Convert<c10::IValue>::to(stack[0]);
      pybind11::list results;
      for (const c10::IValue& value : stack) results.append(value);
      return pybind11::tuple(results).release().ptr();
    };
    return at::detail::python_function(run, op.c_str(), "");
  }

 private:
  CppFunction() = default;
  CppFunction(void (*kernel)(const c10::OperatorHandle&, jit::Stack*), int) : boxed_(kernel) {}
  // An empty list has the type that the schema says.
  static c10::IValue as_type(c10::IValue value, const std::string& type) {
    if (!value.isIntList() || !value.toIntVector().empty()) return value;
    if (type.compare(0, 6, "Tensor") == 0) return std::vector<at::Tensor>();
    if (type.compare(0, 5, "float") == 0) return std::vector<double>();
    if (type.compare(0, 4, "bool") == 0) return std::vector<bool>();
    return value;
  }
  template <class Function>
  static std::string schema_text() {
    return at::detail::schema_of(at::detail::signature_t<Function>());
  }
  at::detail::Callable body_;
  std::string (*schema_)() = nullptr;
  void (*boxed_)(const c10::OperatorHandle&, jit::Stack*) = nullptr;
  std::string key_;
};
template <class Function>
CppFunction dispatch(c10::DispatchKey key, Function function) {
  return CppFunction(std::move(function)).at_key(toString(key));
}
template <class Function>
CppFunction dispatch(c10::DeviceType type, Function function) {
  return dispatch(type == c10::kCPU ? c10::DispatchKey::CPU : c10::DispatchKey::CUDA, std::move(function));
}

// A parameter of a method of a class, and its default.
struct arg {
  explicit arg(const char* name) : parameter{name, nullptr} {}
  arg operator=(const c10::IValue& value) && {
    parameter.value = at::detail::owned(at::detail::Convert<c10::IValue>::to(value)).release();
    return *this;
  }
  at::detail::Parameter parameter;
};
template <class... Arguments>
pybind11::init_<Arguments...> init() {
  return {};
}

// A class that scripts and Python use: torch.classes.SPACE.NAME.
template <class T>
class class_ {
  using Definition = at::detail::ClassDefinition<T>;

 public:
  class_(const std::string& space, const std::string& name, const std::string& doc = "")
      : definition_(nullptr, name.c_str(), "pellucid.utils._cpp.classes." + space, doc,
                    "__torch__.torch.classes." + space + "." + name, pybind11::tuple().ptr()) {}
  template <class... Arguments>
  class_& def(pybind11::init_<Arguments...>, const std::string& doc = "", std::initializer_list<arg> parameters = {}) {
    return def("__init__", Definition::template constructor<Arguments...>(), doc, parameters);
  }
  template <class Function>
  class_& def(const char* name, Function function, const std::string& doc = "",
              std::initializer_list<arg> parameters = {}) {
    std::vector<at::detail::Parameter> named;
    if (parameters.size()) named.push_back({"self", nullptr});
    for (const arg& each : parameters) named.push_back(each.parameter);
    definition_.add(name, at::detail::callable(std::move(function), std::move(named)), doc);
    return *this;
  }
  template <class Function>
  class_& def_static(const char* name, Function function, const std::string& doc = "") {
    definition_.add(name, at::detail::callable(std::move(function)), doc, true);
    return *this;
  }
  template <class Get>
  class_& def_property(const char* name, Get get) {
    definition_.add_property(name, at::detail::callable(std::move(get)), {});
    return *this;
  }
  template <class Get, class Set>
  class_& def_property(const char* name, Get get, Set set) {
    definition_.add_property(name, at::detail::callable(std::move(get)), at::detail::callable(std::move(set)));
    return *this;
  }
  template <class Field, class Owner>
  class_& def_readwrite(const char* name, Field Owner::* field) {
    return def_property(
        name, [field](const T& self) -> Field { return self.*field; },
        [field](T& self, const Field& value) { self.*field = value; });
  }
  template <class Field, class Owner>
  class_& def_readonly(const char* name, Field Owner::* field) {
    return def_property(name, [field](const T& self) -> Field { return self.*field; });
  }
  template <class Get, class Set>
  class_& def_pickle(Get get, Set set) {
    definition_.add_pickle(std::move(get), std::move(set));
    return *this;
  }

 private:
  Definition definition_;
};

class Library {
 public:
  Library(const char* space, const char* kind, const char* key) : space_(space), key_(key) {
    const at::detail::Owned module = at::detail::owned(PyImport_ImportModule("pellucid.library"));
    library_ = at::detail::owned(PyObject_CallMethod(module.get(), "Library", "sss", space, kind, "")).release();
  }

  // A schema, or a schema or name with the kernel of all devices.
  Library& def(const std::string& schema, const std::vector<at::Tag>& tags = {}) {
    const pybind11::list names;
    for (const at::Tag tag : tags) names.append(std::string(toString(tag)));
    at::detail::object_from(
        at::detail::call_helper("define", "(OsO)", library_, without_space(schema).c_str(), names.ptr()));
    return *this;
  }
  Library& def(const std::string& schema, CppFunction function, const std::vector<at::Tag>& tags = {}) {
    const std::string text = without_space(schema), name = text.substr(0, text.find('('));
    def(name == text ? name + function.schema() : text, tags);
    return add(name, function, "CompositeImplicitAutograd");
  }
  template <class Function, std::enable_if_t<!std::is_convertible_v<Function, std::vector<at::Tag>>, int> = 0>
  Library& def(const std::string& schema, Function function, const std::vector<at::Tag>& tags = {}) {
    return def(schema, CppFunction(std::move(function)), tags);
  }
  Library& impl(const std::string& name, CppFunction function) {
    return add(without_space(name), function, key_.c_str());
  }
  template <class Function>
  Library& impl(const std::string& name, Function function) {
    return impl(name, CppFunction(std::move(function)));
  }
  // The kernel of every op at this key that has none of its own.
  Library& fallback(const CppFunction& function) {
    at::detail::call_helper("add_fallback", "(OOs)", library_,
                            function.is_fallthrough() ? Py_None : function.function(""), key_.c_str());
    return *this;
  }
  template <class T>
  torch::class_<T> class_(const std::string& name, const std::string& doc = "") {
    return torch::class_<T>(space_, name, doc);
  }
  // Where Python has more about the ops: nothing is imported.
  Library& impl_abstract_pystub(const char*, const char* = "") { return *this; }
  Library& set_python_module(const char*, const char* = "") { return *this; }

 private:
  std::string without_space(const std::string& text) const {
    const std::string prefix = space_ + "::";
    return text.compare(0, prefix.size(), prefix) == 0 ? text.substr(prefix.size()) : text;
  }
  Library& add(const std::string& name, const CppFunction& function, const char* key) {
    if (!function.key().empty()) key = function.key().c_str();
    PyObject* const kernel = function.is_fallthrough() ? Py_None : function.function(space_ + "::" + name);
    at::detail::call_helper("add_kernel", "(OsOss)", library_, name.c_str(), kernel, key, function.schema().c_str());
    return *this;
  }

  PyObject* library_;  // never released
  const std::string space_, key_;
};

// Ops registered one by one, their namespaces in their names.
class RegisterOperators {
 public:
  template <class Function>
  RegisterOperators&& op(const std::string& schema, Function function) &&;
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
    const at::detail::Owned parts[] = {at::detail::Owned(type), at::detail::Owned(value), at::detail::Owned(traceback)};
    const at::detail::Owned module(PyImport_ImportModule("pellucid.utils._cpp.loading"));
    const at::detail::Owned done(module ? PyObject_CallMethod(module.get(), "note_failure", "O", value) : nullptr);
    if (!done) PyErr_Print();
  }
};

}  // namespace detail
}  // namespace torch

#define PELLUCID_LIBRARY_(space, kind, key, m, id)                                    \
  static void PELLUCID_JOIN(pellucid_fill_, id)(torch::Library&);                     \
  static const torch::detail::Registration PELLUCID_JOIN(pellucid_registration_, id)( \
      #space, kind, #key, &PELLUCID_JOIN(pellucid_fill_, id));                        \
  void PELLUCID_JOIN(pellucid_fill_, id)([[maybe_unused]] torch::Library & m)
#define TORCH_LIBRARY(space, m) PELLUCID_LIBRARY_(space, "DEF", , m, __COUNTER__)
#define TORCH_LIBRARY_FRAGMENT(space, m) PELLUCID_LIBRARY_(space, "FRAGMENT", , m, __COUNTER__)
#define TORCH_LIBRARY_IMPL(space, key, m) PELLUCID_LIBRARY_(space, "IMPL", key, m, __COUNTER__)
#define TORCH_LIBRARY_EXPAND(space, m) TORCH_LIBRARY(space, m)
#define TORCH_FN(...) &__VA_ARGS__
#define TORCH_SELECTIVE_NAME(name) name
#define TORCH_SELECTIVE_SCHEMA(schema) schema

namespace torch {

using c10::Dispatcher;
using c10::DispatchKey;

template <class Function>
RegisterOperators&& RegisterOperators::op(const std::string& schema, Function function) && {
  static std::vector<std::unique_ptr<std::pair<std::string, CppFunction>>> waiting;
  const std::string space = schema.substr(0, schema.find("::"));
  waiting.push_back(std::make_unique<std::pair<std::string, CppFunction>>(schema, CppFunction(std::move(function))));
  detail::Registration(space.c_str(), "FRAGMENT", "",
                       [](Library& library) { library.def(waiting.back()->first, waiting.back()->second); });
  return std::move(*this);
}

}  // namespace torch

#define STABLE_TORCH_LIBRARY(space, m) TORCH_LIBRARY(space, m)
#define STABLE_TORCH_LIBRARY_FRAGMENT(space, m) TORCH_LIBRARY_FRAGMENT(space, m)
#define STABLE_TORCH_LIBRARY_IMPL(space, key, m) TORCH_LIBRARY_IMPL(space, key, m)
#define TORCH_BOX(function) function
