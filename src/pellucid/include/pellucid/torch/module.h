// PYBIND11_MODULE, module.def, class_, enum_: the part of pybind11's interface that extensions use.
#pragma once

#include "pellucid/torch/classes.h"

namespace pybind11 {

struct arg {
  explicit arg(const char* name) : parameter{name, nullptr} {}
  arg& noconvert(bool = true) { return *this; }
  arg& none(bool = true) { return *this; }
  template <class T>
  arg operator=(const T& value) && {
    parameter.value = owned(at::detail::Convert<std::decay_t<T>>::to(value)).release();
    return *this;
  }
  at::detail::Parameter parameter;
};
enum class return_value_policy { automatic, copy, move, reference, reference_internal, take_ownership };
template <size_t nurse, size_t patient>
struct keep_alive {};
struct dynamic_attr {};
struct module_local {
  explicit module_local(bool = true) {}
};
struct is_operator {};
struct const_t {};
constexpr const_t const_{};
template <class... Arguments>
struct overload_cast_t {
  template <class Return>
  constexpr auto operator()(Return (*function)(Arguments...)) const {
    return function;
  }
  template <class Return, class Class>
  constexpr auto operator()(Return (Class::*function)(Arguments...), int = 0) const {
    return function;
  }
  template <class Return, class Class>
  constexpr auto operator()(Return (Class::*function)(Arguments...) const, const_t) const {
    return function;
  }
};
template <class... Arguments>
constexpr overload_cast_t<Arguments...> overload_cast{};
inline namespace literals {
inline arg operator""_a(const char* name, size_t) { return arg(name); }
}  // namespace literals

namespace detail {

// What follows a function or a class: documentation, parameters, a scope; in any order.
struct Extras {
  std::string doc;
  std::vector<at::detail::Parameter> parameters;
  void take(const char* text) { doc = text; }
  void take(const std::string& text) { doc = text; }
  void take(const arg& given) { parameters.push_back(given.parameter); }
  template <class Other>
  void take(const Other&) {}  // policies of references: results are copied or shared
};
template <class... Given>
struct ScopeOf {
  using type = at::detail::NoScope;
};
template <class Scope, class... Rest>
struct ScopeOf<call_guard<Scope>, Rest...> {
  using type = Scope;
};
template <class First, class... Rest>
struct ScopeOf<First, Rest...> : ScopeOf<Rest...> {};

template <class Function, class... Given>
at::detail::Callable bound(Function function, Extras& extras, bool is_method, const Given&... given) {
  (extras.take(given), ...);
  std::vector<at::detail::Parameter> parameters = extras.parameters;
  if (is_method && !parameters.empty()) parameters.insert(parameters.begin(), {"self", nullptr});
  return at::detail::callable<typename ScopeOf<Given...>::type>(std::move(function), std::move(parameters));
}

}  // namespace detail

class module_ : public object {
 public:
  explicit module_(PyObject* module) : object(borrow(module)) {}
  static object import(const char* name) { return steal(PyImport_ImportModule(name)); }

  // A function, or an overload of one that is there; then its documentation and a py::arg per parameter.
  template <class Function, class... Given>
  module_& def(const char* name, Function function, const Given&... given) {
    detail::Extras extras;
    at::detail::Callable body = detail::bound(std::move(function), extras, false, given...);
    PyObject* const there = PyDict_GetItemString(PyModule_GetDict(ptr()), name);
    if (at::detail::Overloads* const known = there ? at::detail::overloads_of(there) : nullptr) {
      known->bodies.push_back(std::move(body));
      return *this;
    }
    const object made = steal(at::detail::python_function(std::move(body), name, extras.doc.c_str()));
    if (PyObject_SetAttrString(ptr(), name, made.ptr())) throw error_already_set();
    return *this;
  }
  module_ def_submodule(const char* name, const char* doc = "") {
    const object full = steal(PyUnicode_FromFormat("%U.%s", object(attr("__name__")).ptr(), name));
    const object made = steal(Py_NewRef(PyImport_AddModule(full.cast<std::string>().c_str())));
    if (*doc) made.attr("__doc__") = doc;
    if (PyObject_SetAttrString(ptr(), name, made.ptr())) throw error_already_set();
    return module_(made.ptr());
  }
  Accessor doc() const { return attr("__doc__"); }
};
using module = module_;

template <class... Arguments>
struct init_ {};
template <class... Arguments>
init_<Arguments...> init() {
  return {};
}
template <class Make>
struct made_by {
  Make make;
};
template <class Make>
made_by<Make> init(Make make) {
  return {std::move(make)};
}
template <class Get, class Set>
struct pickle_ {
  Get get;
  Set set;
};
template <class Get, class Set>
pickle_<Get, Set> pickle(Get get, Set set) {
  return {std::move(get), std::move(set)};
}

template <class T, class... Options>
class class_ {
  using Definition = at::detail::ClassDefinition<T>;

 public:
  template <class... Given>
  class_(handle scope, const char* name, const Given&... given)
      : definition_(scope.ptr(), name, module_of(scope), doc_of(given...), "", bases().ptr()) {
    (add_base(static_cast<Options*>(nullptr)), ...);
  }
  template <class... Arguments, class... Given>
  class_& def(init_<Arguments...>, const Given&... given) {
    return def("__init__", Definition::template constructor<Arguments...>(), given...);
  }
  template <class Make, class... Given>
  class_& def(made_by<Make> made, const Given&... given) {
    return def("__init__", Definition::maker(std::move(made.make), at::detail::signature_t<Make>()), given...);
  }
  template <class Get, class Set>
  class_& def(pickle_<Get, Set> given) {
    definition_.add_pickle(std::move(given.get), std::move(given.set));
    return *this;
  }
  template <class Function, class... Given>
  class_& def(const char* name, Function function, const Given&... given) {
    detail::Extras extras;
    at::detail::Callable body = detail::bound(std::move(function), extras, true, given...);
    definition_.add(name, std::move(body), extras.doc);
    return *this;
  }
  template <class Function, class... Given>
  class_& def_static(const char* name, Function function, const Given&... given) {
    detail::Extras extras;
    at::detail::Callable body = detail::bound(std::move(function), extras, false, given...);
    definition_.add(name, std::move(body), extras.doc, true);
    return *this;
  }
  template <class Get, class... Given>
  class_& def_property_readonly(const char* name, Get get, const Given&...) {
    definition_.add_property(name, at::detail::callable(std::move(get)), {});
    return *this;
  }
  template <class Get, class Set, class... Given>
  class_& def_property(const char* name, Get get, Set set, const Given&...) {
    definition_.add_property(name, at::detail::callable(std::move(get)), at::detail::callable(std::move(set)));
    return *this;
  }
  template <class Field, class Owner, class... Given>
  class_& def_readonly(const char* name, Field Owner::* field, const Given&...) {
    return def_property_readonly(name, [field](const T& self) -> Field { return self.*field; });
  }
  template <class Field, class Owner, class... Given>
  class_& def_readwrite(const char* name, Field Owner::* field, const Given&...) {
    return def_property(
        name, [field](const T& self) -> Field { return self.*field; },
        [field](T& self, const Field& value) { self.*field = value; });
  }
  PyObject* ptr() const { return definition_.type(); }

 private:
  static std::string module_of(handle scope) {
    return object(scope.attr(PyModule_Check(scope.ptr()) ? "__name__" : "__module__")).template cast<std::string>();
  }
  template <class... Given>
  static std::string doc_of(const Given&... given) {
    detail::Extras extras;
    (extras.take(given), ...);
    return extras.doc;
  }
  template <class Option>
  static constexpr bool is_base = std::is_base_of_v<Option, T>;
  static tuple bases() {
    list found;
    (append<Options>(found), ...);
    return tuple(found);
  }
  template <class Option>
  static void append(const list& found) {
    if constexpr (is_base<Option>) found.append(handle(at::detail::class_record(typeid(Option)).type));
  }
  template <class Option>
  void add_base(Option*) {
    if constexpr (is_base<Option>) definition_.template add_base<Option>();
  }
  Definition definition_;
};

template <class E>
class enum_ {
 public:
  enum_(handle scope, const char* name, const char* doc = "") : scope_(object::borrow(scope.ptr())) {
    const std::string module = object(scope.attr("__name__")).cast<std::string>();
    type_ = object::steal(at::detail::call_helper("make_enum", "(sss)", name, module.c_str(), doc));
    at::detail::classes().insert_or_assign(typeid(E), at::detail::ClassRecord{type_.inc_ref().ptr(), "int", {}});
    scope.attr(name) = type_;
  }
  enum_& value(const char* name, E value, const char* = "") {
    type_.attr("_add")(name, static_cast<int64_t>(value));
    return *this;
  }
  enum_& export_values() {
    const object members = type_.attr("__members__");
    for (const handle name : members) scope_.attr(name.cast<std::string>().c_str()) = object(members[name]);
    return *this;
  }

 private:
  object scope_, type_;
};

namespace detail {

inline PyObject* make_module(PyModuleDef* definition, void (*fill)(module_&)) {
  return at::detail::guarded([&]() -> PyObject* {
    at::detail::table();
    at::detail::Owned loading = owned(PyImport_ImportModule("pellucid.utils._cpp.loading"));
    owned(PyObject_CallMethod(loading.get(), "raise_failure", nullptr));
    at::detail::Owned made = owned(PyModule_Create(definition));
    module_ module(made.get());
    fill(module);
    return made.release();
  });
}

}  // namespace detail
}  // namespace pybind11

namespace py = pybind11;

// Values of the type are objects of a class, not copies as lists; at the top level, before functions use the type.
#define PYBIND11_MAKE_OPAQUE(...)                 \
  namespace at::detail {                          \
  template <>                                     \
  struct Opaque<__VA_ARGS__> : std::true_type {}; \
  }

#define PELLUCID_MODULE_(name, m)                                                                \
  static void pellucid_fill_##name(pybind11::module_&);                                          \
  extern "C" __attribute__((visibility("default"))) PyObject* PyInit_##name() {                  \
    static PyModuleDef definition{                                                               \
        PyModuleDef_HEAD_INIT, #name, nullptr, -1, nullptr, nullptr, nullptr, nullptr, nullptr}; \
    return pybind11::detail::make_module(&definition, pellucid_fill_##name);                     \
  }                                                                                              \
  void pellucid_fill_##name([[maybe_unused]] pybind11::module_& m)
#define PYBIND11_MODULE(name, m) PELLUCID_MODULE_(name, m)
