#include "python/read_set.h"

#include <algorithm>
#include <bit>
#include <string>

namespace pellucid::python {
namespace {

// Changes whenever an entry does. Python 3.12 gave its low bits to watchers of dicts; later ones may leave it out.
uint64_t version_of(PyObject* dict) {
#if PY_VERSION_HEX < 0x030C0000
  return reinterpret_cast<PyDictObject*>(dict)->ma_version_tag;
#else
  static_cast<void>(dict);
  return 0;
#endif
}
constexpr bool kHasVersions = PY_VERSION_HEX < 0x030C0000;

PyTypeObject* as_type(PyObject* object) { return reinterpret_cast<PyTypeObject*>(object); }

[[noreturn]] void refuse(std::string_view kind, PyObject* object) {
  raise(ErrorKind::Type, "a read set's %s cannot be a %s", std::string(kind).c_str(), Py_TYPE(object)->tp_name);
}

// 0: none was given since the type changed.
unsigned version_of_type(PyObject* object) {
  return PyType_HasFeature(as_type(object), Py_TPFLAGS_VALID_VERSION_TAG) ? as_type(object)->tp_version_tag : 0;
}

}  // namespace

bool is_same(PyObject* known, PyObject* now) {
  if (known == now) return true;
  if (!known || !now || Py_TYPE(known) != Py_TYPE(now)) return false;
  if (PyFloat_CheckExact(known))
    return std::bit_cast<uint64_t>(PyFloat_AS_DOUBLE(known)) == std::bit_cast<uint64_t>(PyFloat_AS_DOUBLE(now));
  if (!PyLong_CheckExact(known) && !PyUnicode_CheckExact(known)) return false;
  const int same = PyObject_RichCompareBool(known, now, Py_EQ);
  checked(same);
  return same;
}

bool ReadSet::Dict::same_entries() const {
  if (!whole) {
    for (size_t k = 0; k < keys.size(); ++k)
      if (!is_same(values[k].get(), PyDict_GetItemWithError(dict.get(), keys[k].get()))) return false;
    return true;
  }
  if (PyDict_GET_SIZE(dict.get()) != static_cast<Py_ssize_t>(keys.size())) return false;
  PyObject *key, *value;
  Py_ssize_t position = 0;
  for (size_t k = 0; PyDict_Next(dict.get(), &position, &key, &value); ++k)
    if (key != keys[k].get() || !is_same(values[k].get(), value)) return false;
  return true;
}

bool ReadSet::Dict::holds() {
  const uint64_t now = version_of(dict.get());
  if (kHasVersions && now == version) [[likely]]
    return true;
  if (!same_entries()) return false;
  version = now;
  return true;
}

// Attributes of a proxy can look like those of a class: what is read as C's structures must be them.
bool ReadSet::is_of(Other::Kind kind, PyObject* object) {
  using Kind = Other::Kind;
  switch (kind) {
    case Kind::Type: return PyType_Check(object);
    case Kind::Function: return PyFunction_Check(object);
    case Kind::Cell: return PyCell_Check(object);
    case Kind::Class: return true;
    case Kind::List: return PyList_CheckExact(object);
    case Kind::Set: return PyAnySet_Check(object);
  }
  return false;
}

std::vector<PyObject*> ReadSet::parts_of(Other::Kind kind, PyObject* object) {
  using Kind = Other::Kind;
  std::vector<PyObject*> parts;
  switch (kind) {
    case Kind::Type: break;
    case Kind::Function:
      parts = {PyFunction_GET_CODE(object), PyFunction_GET_DEFAULTS(object), PyFunction_GET_KW_DEFAULTS(object)};
      break;
    case Kind::Cell: parts = {PyCell_GET(object)}; break;
    case Kind::Class: parts = {reinterpret_cast<PyObject*>(Py_TYPE(object))}; break;
    case Kind::List:
      parts.assign(PySequence_Fast_ITEMS(object), PySequence_Fast_ITEMS(object) + PyList_GET_SIZE(object));
      break;
    case Kind::Set: {
      PyObject* item;
      Py_hash_t hash;
      for (Py_ssize_t position = 0; _PySet_NextEntry(object, &position, &item, &hash);) parts.push_back(item);
      break;
    }
  }
  return parts;
}

bool ReadSet::Other::holds() const {
  PyObject* const now = object.get();
  switch (kind) {
    case Kind::Type: return version_of_type(now) == version;
    case Kind::Function:
      return PyFunction_GET_CODE(now) == parts[0] && PyFunction_GET_DEFAULTS(now) == parts[1] &&
             PyFunction_GET_KW_DEFAULTS(now) == parts[2];
    case Kind::Cell: return PyCell_GET(now) == parts[0];
    case Kind::Class: return reinterpret_cast<PyObject*>(Py_TYPE(now)) == parts[0];
    case Kind::List:
      return PyList_GET_SIZE(now) == static_cast<Py_ssize_t>(parts.size()) &&
             std::equal(parts.begin(), parts.end(), PySequence_Fast_ITEMS(now));
    case Kind::Set: return parts_of(kind, now) == parts;
  }
  return false;
}

ReadSet::ReadSet(PyObject* entries) {
  if (!PyList_Check(entries)) raise(ErrorKind::Type, "a read set is made of a list");
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(entries); ++i) {
    PyObject* entry = PyList_GET_ITEM(entries, i);
    const std::string_view kind = PyUnicode_AsUTF8(PyTuple_GET_ITEM(entry, 0));
    PyObject* object = PyTuple_GET_ITEM(entry, 1);
    if (kind == "dict" || kind == "names") {
      if (!PyDict_Check(object)) refuse(kind, object);
      Dict& made = dicts_.emplace_back(Object::borrow(object), version_of(object), kind == "dict");
      PyObject *key, *value;
      if (made.whole) {
        for (Py_ssize_t position = 0; PyDict_Next(object, &position, &key, &value);) {
          made.keys.push_back(Object::borrow(key));
          made.values.push_back(Object::borrow(value));
        }
        continue;
      }
      PyObject* names = PyTuple_GET_ITEM(entry, 2);
      for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(names); ++k) {
        made.keys.push_back(Object::borrow(PyTuple_GET_ITEM(names, k)));
        made.values.push_back(Object::borrow(PyDict_GetItemWithError(object, PyTuple_GET_ITEM(names, k))));
      }
      continue;
    }
    constexpr std::string_view kKinds[] = {"type", "function", "cell", "class", "list", "set"};
    const auto found = std::ranges::find(kKinds, kind);
    if (found == std::end(kKinds)) raise(ErrorKind::Value, "no such kind of entry of a read set");
    Other& made = others_.emplace_back(static_cast<Other::Kind>(found - kKinds), Object::borrow(object));
    if (!is_of(made.kind, object)) refuse(kind, object);
    if (made.kind == Other::Kind::Type) {
      _PyType_Lookup(as_type(object), PyTuple_GET_ITEM(entry, 0));  // gives it a version
      made.version = version_of_type(object);
      if (!made.version) raise(ErrorKind::Value, "the interpreter has run out of versions of classes");
    }
    made.parts = parts_of(made.kind, object);
    for (PyObject* part : made.parts) made.held.push_back(Object::borrow(part));
  }
}

bool ReadSet::holds() {
  for (Dict& dict : dicts_)
    if (!dict.holds()) return false;
  for (const Other& other : others_)
    if (!other.holds()) return false;
  return true;
}

std::string ReadSet::difference() {
  for (Dict& dict : dicts_) {
    if (dict.holds()) continue;
    for (size_t k = 0; k < dict.keys.size(); ++k)
      if (!is_same(dict.values[k].get(), PyDict_GetItemWithError(dict.dict.get(), dict.keys[k].get()))) {
        Object key = own(PyObject_Repr(dict.keys[k].get()));
        return std::string("the entry ") + PyUnicode_AsUTF8(key.get()) + " of a dict";
      }
    return "the entries of a dict";
  }
  for (const Other& other : others_)
    if (!other.holds()) {
      Object type = own(PyObject_Repr(reinterpret_cast<PyObject*>(Py_TYPE(other.object.get()))));
      return std::string("an object of ") + PyUnicode_AsUTF8(type.get());
    }
  return "nothing";
}

int ReadSet::traverse(visitproc visit, void* arg) const {
  for (const Dict& dict : dicts_) {
    Py_VISIT(dict.dict.get());
    for (const Object& value : dict.values) Py_VISIT(value.get());
  }
  for (const Other& other : others_) {
    Py_VISIT(other.object.get());
    for (const Object& part : other.held) Py_VISIT(part.get());
  }
  return 0;
}

}  // namespace pellucid::python
