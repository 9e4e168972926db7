#include "python/dispatch_keys.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/device_names.h"
#include "core/dispatcher.h"
#include "core/tensor.h"
#include "python/tensor_object.h"

namespace pellucid::python {
namespace {

struct KeyObject {
  PyObject_HEAD const NamedKey* named;
};
struct KeySetObject {
  PyObject_HEAD KeySet keys;
};

PyTypeObject key_type = {PyVarObject_HEAD_INIT(nullptr, 0)};
PyTypeObject keyset_type = {PyVarObject_HEAD_INIT(nullptr, 0)};

const NamedKey& named_of(PyObject* object) { return *reinterpret_cast<KeyObject*>(object)->named; }
KeySet keys_of(PyObject* object) { return reinterpret_cast<KeySetObject*>(object)->keys; }

KeySet bits_of(const NamedKey& named) {
  KeySet bits;
  if (named.key) bits = bits | *named.key;
  if (named.key && named.backend) bits = bits | *named.backend;
  return bits;
}

// A DispatchKey, its name, or a DispatchKeySet.
KeySet to_keys(PyObject* object) {
  if (Py_TYPE(object) == &keyset_type) return keys_of(object);
  if (Py_TYPE(object) == &key_type) return bits_of(named_of(object));
  raise(ErrorKind::Type, "expected a DispatchKey or a DispatchKeySet, not %s", Py_TYPE(object)->tp_name);
}

PyObject* key_member(std::string_view name) {
  return checked(PyDict_GetItemString(key_type.tp_dict, std::string(name).c_str()));
}

// -------------------------------------------------------------------------------------- DispatchKey

PyObject* key_str(PyObject* self) { return PyUnicode_FromFormat("DispatchKey.%s", named_of(self).name.c_str()); }
PyObject* key_repr(PyObject* self) {
  return PyUnicode_FromFormat("<DispatchKey.%s: %d>", named_of(self).name.c_str(), named_of(self).code);
}
PyObject* key_name_of(PyObject* self, void*) { return PyUnicode_FromString(named_of(self).name.c_str()); }
PyObject* key_code(PyObject* self, void*) { return PyLong_FromLong(named_of(self).code); }
PyObject* key_number(PyObject* self) { return PyLong_FromLong(named_of(self).code); }
PyObject* key_reduce(PyObject* self, PyObject*) {
  return guarded([&] {
    Object builtins = own(PyImport_ImportModule("builtins"));
    Object getter = own(PyObject_GetAttrString(builtins.get(), "getattr"));
    return Py_BuildValue("O(Os)", getter.get(), &key_type, named_of(self).name.c_str());
  });
}

PyGetSetDef key_attributes[] = {{"name", key_name_of, nullptr, "\"AutogradCPU\"", nullptr},
                                {"value", key_code, nullptr, "PyTorch's number of the key.", nullptr},
                                {}};
PyMethodDef key_methods[] = {{"__reduce__", key_reduce, METH_NOARGS, nullptr}, {}};
PyNumberMethods key_as_number = {};

// ----------------------------------------------------------------------------------- DispatchKeySet

std::vector<std::string> names_of(KeySet keys) {
  std::vector<std::string> names;
  for (int bit = 0; bit < kNumKeys; ++bit) {
    const Key key = static_cast<Key>(bit);
    if (!keys.has(key)) continue;
    const std::string name = key_name(key, kBackends.has(key) ? KeySet{} : keys);
    if (names.empty() || names.back() != name) names.push_back(name);
  }
  return names;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

PyObject* keyset_new(PyTypeObject*, PyObject* args, PyObject*) {
  return guarded([&]() -> PyObject* {
    PyObject* first;
    if (!PyArg_ParseTuple(args, "O:DispatchKeySet", &first)) return nullptr;
    return keyset_object(to_keys(first));
  });
}
PyObject* keyset_repr(PyObject* self) {
  return guarded([&] { return to_string("DispatchKeySet(" + joined(names_of(keys_of(self))) + ")").leak(); });
}
PyObject* keyset_or(PyObject* left, PyObject* right) {
  return guarded([&] { return keyset_object(to_keys(left) | to_keys(right)); });
}
PyObject* keyset_and(PyObject* left, PyObject* right) {
  return guarded([&] { return keyset_object(to_keys(left) & to_keys(right)); });
}
PyObject* keyset_without(PyObject* left, PyObject* right) {
  return guarded([&] { return keyset_object(to_keys(left) - to_keys(right)); });
}
PyObject* keyset_remove(PyObject* self, PyObject* other) { return keyset_without(self, other); }
PyObject* keyset_add(PyObject* self, PyObject* other) { return keyset_or(self, other); }
int keyset_contains(PyObject* self, PyObject* key) {
  return guarded(
      [&] {
        const KeySet wanted = to_keys(key);
        return !wanted.empty() && (keys_of(self) & wanted) == wanted ? 1 : 0;
      },
      -1);
}
PyObject* keyset_has(PyObject* self, PyObject* key) {
  const int found = keyset_contains(self, key);
  return found < 0 ? nullptr : PyBool_FromLong(found);
}
PyObject* keyset_raw(PyObject* self, PyObject*) { return PyLong_FromUnsignedLongLong(keys_of(self).bits()); }
PyObject* keyset_from_raw(PyObject*, PyObject* number) {
  return guarded([&] {
    const unsigned long long bits = PyLong_AsUnsignedLongLong(number);
    if (PyErr_Occurred()) raise_python();
    return keyset_object(KeySet::from_bits(bits));
  });
}
PyObject* keyset_highest(PyObject* self, PyObject*) {
  return guarded([&] {
    const KeySet keys = keys_of(self);
    return new_reference(key_member(keys.empty() ? "Undefined" : key_name(keys.highest(), keys)));
  });
}
PyObject* keyset_iterate(PyObject* self) {
  return guarded([&] {
    Object members = own(PyList_New(0));
    for (const std::string& name : names_of(keys_of(self))) checked(PyList_Append(members.get(), key_member(name)));
    return checked(PyObject_GetIter(members.get()));
  });
}
PyObject* keyset_compare(PyObject* self, PyObject* other, int operation) {
  if (Py_TYPE(other) != &keyset_type || (operation != Py_EQ && operation != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
  return PyBool_FromLong((keys_of(self) == keys_of(other)) == (operation == Py_EQ));
}
Py_hash_t keyset_hash(PyObject* self) { return static_cast<Py_hash_t>(keys_of(self).bits() >> 1); }

PyMethodDef keyset_methods[] = {
    {"has", keyset_has, METH_O, "Whether all of a key's bits are here."},
    {"add", keyset_add, METH_O, "The set with a key."},
    {"remove", keyset_remove, METH_O, "The set without a key."},
    {"raw_repr", keyset_raw, METH_NOARGS, "The set as a 64-bit integer."},
    {"from_raw_repr", keyset_from_raw, METH_O | METH_STATIC, "The set of a 64-bit integer."},
    {"highestPriorityTypeId", keyset_highest, METH_NOARGS, "The key whose kernel runs first."},
    {},
};
PyNumberMethods keyset_as_number = {};
PySequenceMethods keyset_as_sequence = {};

// ------------------------------------------------------------------------------------ thread's keys

// Includes and excludes keys in this thread for a scope. PyTorch has guards that act from construction to `del`, and
// guards for `with`; here, every guard works both ways.
struct GuardObject {
  PyObject_HEAD KeySet include, exclude;  // the keys that it includes and excludes
  KeySet restored;                        // the keys that it stops excluding
  KeySet before_include, before_exclude;
  bool active;
};

void activate(GuardObject& guard) {
  if (guard.active) return;
  guard.before_include = thread_state.include;
  guard.before_exclude = thread_state.exclude;
  thread_state.include = thread_state.include | guard.include;
  thread_state.exclude = (thread_state.exclude | guard.exclude) - guard.restored;
  guard.active = true;
}

void restore(GuardObject& guard) {
  if (!guard.active) return;
  guard.active = false;
  thread_state.include = guard.before_include;
  thread_state.exclude = guard.before_exclude;
}

GuardObject& guard_of(PyObject* self) { return *reinterpret_cast<GuardObject*>(self); }
PyObject* guard_enter(PyObject* self, PyObject*) {
  activate(guard_of(self));
  return new_reference(self);
}
PyObject* guard_exit(PyObject* self, PyObject*) {
  restore(guard_of(self));
  Py_RETURN_FALSE;
}
void guard_dealloc(PyObject* self) {
  restore(guard_of(self));
  Py_TYPE(self)->tp_free(self);
}
PyMethodDef guard_methods[] = {
    {"__enter__", guard_enter, METH_NOARGS, nullptr},
    {"__exit__", guard_exit, METH_VARARGS, nullptr},
    {},
};

PyObject* make_guard(PyTypeObject* type, KeySet include, KeySet exclude, bool at_once) {
  PyObject* object = checked(type->tp_alloc(type, 0));
  guard_of(object).include = include;
  guard_of(object).exclude = exclude;
  if (at_once) activate(guard_of(object));
  return object;
}

// The functionality of a key such as "AutogradCPU": a thread includes and excludes keys for all backends.
KeySet functionality(PyObject* object) {
  const KeySet keys = to_keys(object);
  return (keys - kBackends).empty() ? keys : keys - kBackends;
}
KeySet only_argument(PyObject* args) {
  PyObject* keys;
  if (!PyArg_ParseTuple(args, "O", &keys)) raise_python();
  return functionality(keys);
}
PyObject* new_exclude_guard(PyTypeObject* type, PyObject* args, PyObject*) {
  return guarded([&] { return make_guard(type, {}, only_argument(args), true); });
}
PyObject* new_include_guard(PyTypeObject* type, PyObject* args, PyObject*) {
  return guarded([&] { return make_guard(type, only_argument(args), {}, true); });
}
PyObject* new_force_guard(PyTypeObject* type, PyObject* args, PyObject*) {
  return guarded([&]() -> PyObject* {
    PyObject *include, *exclude;
    if (!PyArg_ParseTuple(args, "OO", &include, &exclude)) return nullptr;
    return make_guard(type, functionality(include), functionality(exclude), false);
  });
}
PyObject* new_below_autograd(PyTypeObject* type, PyObject*, PyObject*) {
  return guarded([&] { return make_guard(type, {}, Key::Autograd, true); });
}
PyObject* new_below_views(PyTypeObject* type, PyObject*, PyObject*) {
  return guarded([&] { return make_guard(type, {}, KeySet(Key::Autograd) | Key::ViewInPlace, true); });
}

// Restores the keys that the dispatch to a __torch_dispatch__ handler excluded.
PyObject* new_restoring(PyTypeObject* type, PyObject*, PyObject*) {
  return guarded([&] {
    PyObject* object = make_guard(type, {}, {}, false);
    guard_of(object).restored = KeySet(Key::Autograd) | Key::ViewInPlace;
    activate(guard_of(object));
    return object;
  });
}

struct GuardType {
  const char* name;
  newfunc make;
  const char* doc;
  PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
};
GuardType guard_types[] = {
    {"_ExcludeDispatchKeyGuard", new_exclude_guard, "Excludes keys in this thread."},
    {"_IncludeDispatchKeyGuard", new_include_guard, "Includes keys in this thread."},
    {"_ForceDispatchKeyGuard", new_force_guard, "Includes and excludes keys in this thread."},
    {"_AutoDispatchBelowAutograd", new_below_autograd, "Excludes Autograd in this thread."},
    {"_AutoDispatchBelowADInplaceOrView", new_below_views, "Excludes Autograd and ADInplaceOrView in this thread."},
    {"_RestorePythonTLSSnapshot", new_restoring, "Lets a __torch_dispatch__ handler record gradients of its own."},
};

PyObject* included(PyObject*, PyObject*) {
  return guarded([] { return keyset_object(thread_state.include); });
}
PyObject* excluded(PyObject*, PyObject*) {
  return guarded([] { return keyset_object(thread_state.exclude); });
}
PyObject* is_included(PyObject*, PyObject* key) {
  return guarded([&] { return PyBool_FromLong(!(functionality(key) & thread_state.include).empty()); });
}
PyObject* is_excluded(PyObject*, PyObject* key) {
  return guarded([&] { return PyBool_FromLong(!(functionality(key) & thread_state.exclude).empty()); });
}

PyObject* keys_of_tensor(PyObject*, PyObject* object) {
  return guarded([&] {
    if (!is_tensor(object))
      raise(ErrorKind::Type, "_dispatch_keys() expects a tensor, not %s", Py_TYPE(object)->tp_name);
    return keyset_object(tensor_of(object)->keys);
  });
}
PyObject* parse(PyObject*, PyObject* text) {
  return guarded([&]() -> PyObject* {
    const char* name = PyUnicode_AsUTF8(text);
    if (!name) raise_python();
    return new_reference(key_member(key_named(name).name));
  });
}
PyObject* key_name_function(PyObject*, PyObject* key) {
  if (Py_TYPE(key) == &key_type) return key_name_of(key, nullptr);
  PyErr_SetString(PyExc_TypeError, "_dispatch_key_name() expects a DispatchKey");
  return nullptr;
}

bool equal_but_for_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

PyObject* key_for_device(PyObject*, PyObject* text) {
  return guarded([&]() -> PyObject* {
    const char* given = PyUnicode_AsUTF8(text);
    if (!given) raise_python();
    const std::optional<DeviceType> type = find_device_type(given);
    if (!type)
      raise(ErrorKind::Runtime, "Expected one of %s device type at start of device string: %s",
            device_type_names().c_str(), given);
    if (*type == DeviceType::PrivateUse) return to_string("PrivateUse1").leak();
    for (const NamedKey& key : named_keys())
      if (equal_but_for_case(key.name, given)) return to_string(key.name).leak();
    raise(ErrorKind::Runtime, "ops have no kernels for devices of type %s: no dispatch key has its name", given);
  });
}
PyObject* is_composite(PyObject*, PyObject* name) {
  return guarded([&] {
    const char* text = PyUnicode_AsUTF8(name);
    if (!text) raise_python();
    return PyBool_FromLong(key_named(text).composite);
  });
}

PyMethodDef functions[] = {
    {"_dispatch_keys", keys_of_tensor, METH_O, "The DispatchKeySet that a tensor carries."},
    {"_dispatch_tls_local_include_set", included, METH_NOARGS, "The keys that this thread includes."},
    {"_dispatch_tls_local_exclude_set", excluded, METH_NOARGS, "The keys that this thread excludes."},
    {"_dispatch_tls_is_dispatch_key_included", is_included, METH_O, "Whether this thread includes a key."},
    {"_dispatch_tls_is_dispatch_key_excluded", is_excluded, METH_O, "Whether this thread excludes a key."},
    {"_dispatch_key_parse", parse, METH_O, "The DispatchKey of a name."},
    {"_dispatch_key_for_device", key_for_device, METH_O, "The name of the key of tensors on a type of devices."},
    {"_dispatch_key_is_composite", is_composite, METH_O, "Whether kernels of this key serve all backends."},
    {"_dispatch_key_name", key_name_function, METH_O, "The name of a DispatchKey."},
    {},
};

void add_type(PyObject* module, PyTypeObject& type, const char* name) {
  checked(PyType_Ready(&type));
  checked(PyModule_AddObjectRef(module, name, reinterpret_cast<PyObject*>(&type)));
}

void add_key_type(PyObject* module) {
  key_as_number.nb_int = key_as_number.nb_index = key_number;
  key_type.tp_name = "pellucid._C.DispatchKey";
  key_type.tp_doc = "A key that chooses an op's kernel, by PyTorch's name.";
  key_type.tp_basicsize = sizeof(KeyObject);
  key_type.tp_flags = Py_TPFLAGS_DEFAULT;
  key_type.tp_str = key_str;
  key_type.tp_repr = key_repr;
  key_type.tp_getset = key_attributes;
  key_type.tp_methods = key_methods;
  key_type.tp_as_number = &key_as_number;
  add_type(module, key_type, "DispatchKey");
  Object members = own(PyDict_New());
  for (const NamedKey& named : named_keys()) {
    Object key = own(key_type.tp_alloc(&key_type, 0));
    reinterpret_cast<KeyObject*>(key.get())->named = &named;
    checked(PyDict_SetItemString(key_type.tp_dict, named.name.c_str(), key.get()));
    if (named.code >= 0) checked(PyDict_SetItemString(members.get(), named.name.c_str(), key.get()));
  }
  checked(PyDict_SetItemString(key_type.tp_dict, "__members__", members.get()));
  PyType_Modified(&key_type);
}

void add_keyset_type(PyObject* module) {
  keyset_as_number.nb_or = keyset_or;
  keyset_as_number.nb_and = keyset_and;
  keyset_as_number.nb_subtract = keyset_without;
  keyset_as_sequence.sq_contains = keyset_contains;
  keyset_type.tp_name = "pellucid._C.DispatchKeySet";
  keyset_type.tp_doc = "DispatchKeySet(key): a set of dispatch keys; the highest has the kernel that runs.";
  keyset_type.tp_basicsize = sizeof(KeySetObject);
  keyset_type.tp_flags = Py_TPFLAGS_DEFAULT;
  keyset_type.tp_new = keyset_new;
  keyset_type.tp_repr = keyset_repr;
  keyset_type.tp_iter = keyset_iterate;
  keyset_type.tp_richcompare = keyset_compare;
  keyset_type.tp_hash = keyset_hash;
  keyset_type.tp_methods = keyset_methods;
  keyset_type.tp_as_number = &keyset_as_number;
  keyset_type.tp_as_sequence = &keyset_as_sequence;
  add_type(module, keyset_type, "DispatchKeySet");
}

}  // namespace

PyObject* keyset_object(KeySet keys) {
  PyObject* object = checked(keyset_type.tp_alloc(&keyset_type, 0));
  reinterpret_cast<KeySetObject*>(object)->keys = keys;
  return object;
}

const NamedKey& key_named(const char* text) {
  const NamedKey* key = find_key(text);
  if (!key) raise(ErrorKind::Runtime, "could not parse dispatch key: %s", text);
  return *key;
}

const NamedKey& to_named_key(PyObject* object) {
  if (Py_TYPE(object) == &key_type) return named_of(object);
  const char* text = PyUnicode_AsUTF8(object);
  if (!text) raise_python();
  return key_named(text);
}

void add_dispatch_keys(PyObject* module) {
  add_key_type(module);
  add_keyset_type(module);
  static std::string names[std::size(guard_types)];
  for (size_t i = 0; i < std::size(guard_types); ++i) {
    PyTypeObject& type = guard_types[i].type;
    names[i] = std::string("pellucid._C.") + guard_types[i].name;
    type.tp_name = names[i].c_str();
    type.tp_doc = guard_types[i].doc;
    type.tp_basicsize = sizeof(GuardObject);
    type.tp_flags = Py_TPFLAGS_DEFAULT;
    type.tp_new = guard_types[i].make;
    type.tp_dealloc = guard_dealloc;
    type.tp_methods = guard_methods;
    add_type(module, type, guard_types[i].name);
  }
  checked(PyModule_AddFunctions(module, functions));
}

}  // namespace pellucid::python
