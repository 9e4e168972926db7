// Classes and enumerations of C++ as types of Python: what py::class_, py::enum_ and torch::class_ share.
//
// An instance owns its C++ object (`_held`); a type of Python belongs to a type of C++ for as long as the process
// (pellucid/utils/_cpp/classes.py makes both kinds of types).
#pragma once

#include <cstdarg>
#include <typeindex>

#include "pellucid/torch/objects.h"

namespace at::detail {

// The object of an instance.
struct Held {
  std::shared_ptr<void> owner;
  void* object;
  std::type_index type;
};

struct ClassRecord {
  PyObject* type;
  std::string schema_name;  // "__torch__.torch.classes.my.Stack"
  std::vector<std::pair<std::type_index, void* (*)(void*)>> bases;
};
inline std::unordered_map<std::type_index, ClassRecord>& classes() {
  static auto* const found = new std::unordered_map<std::type_index, ClassRecord>();
  return *found;
}
inline ClassRecord& class_record(std::type_index type) {
  const auto found = classes().find(type);
  TORCH_CHECK_TYPE(found != classes().end(), "the C++ type ", type.name(), " is not registered with Python");
  return found->second;
}

inline void* find_as(void* object, std::type_index type, std::type_index wanted) {
  if (type == wanted) return object;
  const auto known = classes().find(type);
  if (known == classes().end()) return nullptr;
  for (const auto& [base, cast] : known->second.bases)
    if (void* const found = find_as(cast(object), base, wanted)) return found;
  return nullptr;
}
inline Held* held_in(PyObject* instance) {
  const Owned capsule(PyObject_GetAttrString(instance, "_held"));
  if (!capsule) PyErr_Clear();
  return capsule && PyCapsule_IsValid(capsule.get(), "pellucid object")
             ? static_cast<Held*>(PyCapsule_GetPointer(capsule.get(), "pellucid object"))
             : nullptr;
}
// The object of type T in an instance, and its owner.
template <class T>
T& object_in(PyObject* instance, Held** held = nullptr) {
  Held* const found = held_in(instance);
  void* const object = found ? find_as(found->object, found->type, typeid(T)) : nullptr;
  if (!object) {
    PyErr_Format(PyExc_TypeError, "expected %s, not %s",
                 reinterpret_cast<PyTypeObject*>(class_record(typeid(T)).type)->tp_name, Py_TYPE(instance)->tp_name);
    throw PythonError();
  }
  if (held) *held = found;
  return *static_cast<T*>(object);
}
template <class T>
void hold(PyObject* instance, std::shared_ptr<void> owner, T* object) {
  const auto destroy = [](PyObject* capsule) {
    delete static_cast<Held*>(PyCapsule_GetPointer(capsule, "pellucid object"));
  };
  auto* const held = new Held{std::move(owner), object, typeid(T)};
  const Owned capsule = owned(PyCapsule_New(held, "pellucid object", destroy));
  if (PyObject_SetAttrString(instance, "_held", capsule.get())) throw PythonError();
}

// Any pointer or value of a registered class, as an owner.
template <class T>
std::pair<std::shared_ptr<void>, T*> owner_of(std::shared_ptr<T> pointer) {
  T* const object = pointer.get();
  return {std::move(pointer), object};
}
template <class T>
std::pair<std::shared_ptr<void>, T*> owner_of(c10::intrusive_ptr<T> pointer) {
  T* const object = pointer.get();
  return {std::make_shared<c10::intrusive_ptr<T>>(std::move(pointer)), object};
}
template <class T>
std::pair<std::shared_ptr<void>, T*> owner_of(T* pointer) {
  if constexpr (std::is_base_of_v<c10::intrusive_ptr_target, T>) return owner_of(c10::intrusive_ptr<T>(pointer));
  else return owner_of(std::shared_ptr<T>(pointer));
}
template <class T>
std::pair<std::shared_ptr<void>, T*> owner_of(std::unique_ptr<T> pointer) {
  return owner_of(pointer.release());
}
template <class T>
auto owner_of(T value) {
  return owner_of(new T(std::move(value)));
}
template <class Pointer>
PyObject* new_instance(Pointer pointer) {
  auto [owner, object] = owner_of(std::move(pointer));
  if (!object) Py_RETURN_NONE;
  using T = std::remove_pointer_t<decltype(object)>;
  auto* const type = reinterpret_cast<PyTypeObject*>(class_record(typeid(T)).type);
  Owned instance = owned(type->tp_alloc(type, 0));
  hold(instance.get(), std::move(owner), object);
  return instance.release();
}

// A class that a library registered, or an enumeration, by value.
template <class T>
struct ConvertObject {
  static std::string name() { return class_record(typeid(T)).schema_name; }
  static decltype(auto) from(PyObject* given) {
    if constexpr (std::is_enum_v<T>) {
      PyObject* const type = class_record(typeid(T)).type;
      const int is = PyObject_IsInstance(given, type);
      if (is == 0) PyErr_Format(PyExc_TypeError, "expected %s", reinterpret_cast<PyTypeObject*>(type)->tp_name);
      if (is != 1) throw PythonError();
      const Owned value = owned(PyObject_GetAttrString(given, "value"));
      return static_cast<T>(PyLong_AsLongLong(value.get()));
    } else {
      return static_cast<T&>(object_in<T>(given));
    }
  }
  static bool fits(PyObject* given) { return PyObject_IsInstance(given, class_record(typeid(T)).type) == 1; }
  static PyObject* to(const T& value) {
    if constexpr (std::is_enum_v<T>)
      return PyObject_CallMethod(class_record(typeid(T)).type, "_of", "L", static_cast<long long>(value));
    else return new_instance(T(value));
  }
};
template <class T, class>
struct Convert : ConvertObject<T> {};
template <class T>
struct Convert<std::shared_ptr<T>> {
  static std::shared_ptr<T> from(PyObject* given) {
    if (given == Py_None) return nullptr;
    Held* held;
    T& object = object_in<T>(given, &held);
    return {held->owner, &object};
  }
  static PyObject* to(const std::shared_ptr<T>& value) { return new_instance(value); }
};
template <class T>
struct Convert<std::unique_ptr<T>> {
  static PyObject* to(std::unique_ptr<T>& value) { return new_instance(std::move(value)); }
};
template <class T>
struct Convert<c10::intrusive_ptr<T>> {
  static std::string name() { return Convert<T>::name(); }
  static c10::intrusive_ptr<T> from(PyObject* given) { return c10::intrusive_ptr<T>(&object_in<T>(given)); }
  static PyObject* to(const c10::intrusive_ptr<T>& value) { return new_instance(value); }
};
template <class T>
struct Convert<T*, std::enable_if_t<std::is_class_v<T>>> {
  static T* from(PyObject* given) { return given == Py_None ? nullptr : &object_in<std::remove_const_t<T>>(given); }
  static PyObject* to(T* value) { return new_instance(value); }
};

inline PyObject* call_helper(const char* name, const char* format, ...) {
  const Owned module = owned(PyImport_ImportModule("pellucid.utils._cpp.classes"));
  const Owned helper = owned(PyObject_GetAttrString(module.get(), name));
  va_list values;
  va_start(values, format);
  Owned given(Py_VaBuildValue(format, values));
  va_end(values);
  if (!given) throw PythonError();
  return owned(PyObject_CallObject(helper.get(), given.get())).release();
}

inline pybind11::object object_from(PyObject* made) { return pybind11::object::steal(made); }

// Adds members to the type of T.
template <class T>
class ClassDefinition {
 public:
  ClassDefinition(PyObject* scope, const char* name, const std::string& module, const std::string& doc,
                  const std::string& schema_name, PyObject* bases) {
    type_ = call_helper("make_class", "(sssO)", name, module.c_str(), doc.c_str(), bases);
    classes().insert_or_assign(typeid(T), ClassRecord{type_, schema_name, {}});
    if (scope && PyObject_SetAttrString(scope, name, type_)) throw PythonError();
  }
  template <class Base>
  void add_base() {
    const auto cast = [](void* object) -> void* { return static_cast<Base*>(static_cast<T*>(object)); };
    class_record(typeid(T)).bases.emplace_back(typeid(Base), cast);
  }
  void add(const char* name, Callable body, const std::string& doc, bool is_static = false) {
    PyObject* const there = PyDict_GetItemString(reinterpret_cast<PyTypeObject*>(type_)->tp_dict, name);
    if (Overloads* const known = there ? overloads_of(there) : nullptr) {
      known->bodies.push_back(std::move(body));
      return;
    }
    const Owned function = owned(python_function(std::move(body), name, doc.c_str()));
    const Owned member = owned(is_static ? PyStaticMethod_New(function.get()) : PyInstanceMethod_New(function.get()));
    if (PyObject_SetAttrString(type_, name, member.get())) throw PythonError();
  }
  // `set` may be empty.
  void add_property(const char* name, Callable get, Callable set) {
    const Owned getter = owned(python_function(std::move(get), name, ""));
    const Owned setter = set ? owned(python_function(std::move(set), name, "")) : owned(Py_NewRef(Py_None));
    auto* const kind = reinterpret_cast<PyObject*>(&PyProperty_Type);
    const Owned member = owned(PyObject_CallFunctionObjArgs(kind, getter.get(), setter.get(), nullptr));
    if (PyObject_SetAttrString(type_, name, member.get())) throw PythonError();
  }
  template <class... Arguments>
  static auto constructor() {
    return [](pybind11::handle self, Arguments... arguments) {
      auto [owner, object] = [&] {
        if constexpr (std::is_constructible_v<T, Arguments...>) return owner_of(new T(std::move(arguments)...));
        else return owner_of(new T{std::move(arguments)...});
      }();
      hold(self.ptr(), std::move(owner), object);
    };
  }
  // A function that makes the object: the constructor, or how a pickled state becomes one.
  template <class Make, class Return, class... Arguments>
  static auto maker(Make make, Signature<Return, Arguments...>) {
    return [make = std::move(make)](pybind11::handle self, Arguments... arguments) {
      auto [owner, object] = owner_of(make(std::move(arguments)...));
      hold(self.ptr(), std::move(owner), object);
    };
  }
  template <class Get, class Set>
  void add_pickle(Get get, Set set) {
    add("__getstate__", callable(std::move(get)), "");
    add("__setstate__", callable(maker(std::move(set), signature_t<Set>())), "");
  }
  PyObject* type() const { return type_; }

 private:
  PyObject* type_;
};

}  // namespace at::detail
