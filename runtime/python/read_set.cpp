#include "python/read_set.h"

#include <algorithm>
#include <bit>
#include <cstring>

// needs Python.h first
#include <structmember.h>

namespace pellucid::python {
namespace {

// Python 3.12 uses the low bits of a dict's version for dict watchers, and later versions may remove it.
constexpr bool kHasVersions = PY_VERSION_HEX < 0x030C0000;

const void* version_word(PyObject* dict) {
#if PY_VERSION_HEX < 0x030C0000
  return &reinterpret_cast<PyDictObject*>(dict)->ma_version_tag;
#else
  return dict;
#endif
}

uint64_t word_at(const void* place) {
  uint64_t word;
  std::memcpy(&word, place, sizeof(word));
  return word;
}

PyTypeObject* as_type(PyObject* object) { return reinterpret_cast<PyTypeObject*>(object); }

// Null if the type is static.
const PyHeapTypeObject* as_heap_type(PyObject* object) {
  const bool is_heap_type = PyType_HasFeature(as_type(object), Py_TPFLAGS_HEAPTYPE);
  return is_heap_type ? reinterpret_cast<PyHeapTypeObject*>(object) : nullptr;
}

// 0 if the type has had no version since its last change.
unsigned version_of_type(PyObject* object) {
  return PyType_HasFeature(as_type(object), Py_TPFLAGS_VALID_VERSION_TAG) ? as_type(object)->tp_version_tag : 0;
}

// The address of the object's dict pointer; null for objects without a dict.
PyObject** attributes_of(PyObject* object) { return _PyObject_GetDictPtr(object); }

const PyMemberDef& definition_of(PyObject* descriptor) {
  return *reinterpret_cast<PyMemberDescrObject*>(descriptor)->d_member;
}

// Where the object refers to the value of a member.
PyObject** member_of(PyObject* object, PyObject* descriptor) {
  return reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object) + definition_of(descriptor).offset);
}

// An object's layout never changes, so that a descriptor that fits remains right after its class has replaced it.
void require_member(PyObject* object, PyObject* descriptor) {
  const bool fits = Py_IS_TYPE(descriptor, &PyMemberDescr_Type) &&
                    PyObject_TypeCheck(object, reinterpret_cast<PyMemberDescrObject*>(descriptor)->d_common.d_type);
  if (!fits || (definition_of(descriptor).type != T_OBJECT && definition_of(descriptor).type != T_OBJECT_EX))
    raise(ErrorKind::Type, "a read set takes members of a %s that refer to objects", Py_TYPE(object)->tp_name);
}

Object key_of(PyObject* dict, PyObject* key) {
  PyObject* found = PyDict_GetItemWithError(dict, key);
  if (!found && PyErr_Occurred()) raise_python();
  return Object::borrow(found);
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

// A proxy may claim another type by __class__: objects that are read as C structures must really have the type.
ReadSet::Kind ReadSet::kind_named(std::string_view name, PyObject* object) {
  const auto take = [&](Kind kind, bool fits) {
    if (!fits)
      raise(ErrorKind::Type, "a read set's %s cannot be a %s", std::string(name).c_str(), Py_TYPE(object)->tp_name);
    return kind;
  };
  if (name == "dict") return take(Kind::Dict, PyDict_Check(object));
  if (name == "names") return take(Kind::Names, PyDict_Check(object));
  if (name == "type") return take(Kind::Type, PyType_Check(object));
  if (name == "function") return take(Kind::Function, PyFunction_Check(object));
  if (name == "cell") return take(Kind::Cell, PyCell_Check(object));
  if (name == "class") return Kind::Class;
  if (name == "list") return take(Kind::List, PyList_CheckExact(object));
  if (name == "set") return take(Kind::Set, PyAnySet_Check(object));
  if (name == "order") return take(Kind::Order, PyODict_CheckExact(object));
  if (name == "members") return Kind::Members;
  if (name == "result") return take(Kind::Result, PyCallable_Check(object));
  raise(ErrorKind::Value, "a read set has no kind of entry named %s", std::string(name).c_str());
}

// The objects of the entry to compare; for dicts with versions, compared only after the version has changed.
std::vector<Object> ReadSet::parts_of(const Entry& entry) {
  PyObject* const object = entry.object.get();
  std::vector<Object> parts;
  const auto add = [&](PyObject* part) { parts.push_back(Object::borrow(part)); };
  switch (entry.kind) {
    case Kind::Type:  // its version does not show these
      if (const PyHeapTypeObject* type = as_heap_type(object))
        for (PyObject* part : {type->ht_name, type->ht_qualname}) add(part);
      break;
    case Kind::Dict: {
      PyObject *key, *value;
      for (Py_ssize_t position = 0; PyDict_Next(object, &position, &key, &value);) {
        add(key);
        add(value);
      }
      break;
    }
    case Kind::Names:
      for (const Object& key : entry.keys) parts.push_back(key_of(object, key.get()));
      break;
    case Kind::Function: {
      const auto& function = *reinterpret_cast<PyFunctionObject*>(object);
      for (PyObject* part : {function.func_code, function.func_defaults, function.func_kwdefaults, function.func_dict,
                             function.func_name, function.func_qualname})
        add(part);
      break;
    }
    case Kind::Cell: add(PyCell_GET(object)); break;
    case Kind::Class:
      add(reinterpret_cast<PyObject*>(Py_TYPE(object)));
      if (PyObject** attributes = attributes_of(object)) add(*attributes);
      break;
    case Kind::List:
      for (Py_ssize_t k = 0; k < PyList_GET_SIZE(object); ++k) add(PyList_GET_ITEM(object, k));
      break;
    case Kind::Set: {
      PyObject* item;
      Py_hash_t hash;
      for (Py_ssize_t position = 0; _PySet_NextEntry(object, &position, &item, &hash);) add(item);
      break;
    }
    case Kind::Order: {
      Object keys = own(PySequence_List(object));
      for (Py_ssize_t k = 0; k < PyList_GET_SIZE(keys.get()); ++k) add(PyList_GET_ITEM(keys.get(), k));
      break;
    }
    case Kind::Members:
      for (const Object& descriptor : entry.keys) add(*member_of(object, descriptor.get()));
      break;
    case Kind::Result: parts.push_back(own(PyObject_CallNoArgs(object))); break;
  }
  return parts;
}

bool ReadSet::is_same_entry(const Entry& entry) {
  if (entry.kind == Kind::Type && version_of_type(entry.object.get()) != entry.type_version) return false;
  const auto same = [](const Object& known, const Object& now) { return is_same(known.get(), now.get()); };
  const auto identical = [](const Object& known, const Object& now) { return known.get() == now.get(); };
  const std::vector<Object> now = parts_of(entry);
  const bool by_value = entry.kind == Kind::Dict || entry.kind == Kind::Names || entry.kind == Kind::Result;
  return by_value ? std::ranges::equal(entry.parts, now, same) : std::ranges::equal(entry.parts, now, identical);
}

// The addresses of the entry's words, if these show all of its changes. A type's version is followed by padding.
std::vector<const void*> ReadSet::words_of(const Entry& entry) {
  PyObject* const object = entry.object.get();
  switch (entry.kind) {
    case Kind::Dict:
    case Kind::Names: return kHasVersions ? std::vector<const void*>{version_word(object)} : std::vector<const void*>{};
    case Kind::Function: {
      const auto& function = *reinterpret_cast<PyFunctionObject*>(object);
      return {&function.func_code, &function.func_defaults, &function.func_kwdefaults,
              &function.func_dict, &function.func_name,     &function.func_qualname};
    }
    case Kind::Cell: return {&reinterpret_cast<PyCellObject*>(object)->ob_ref};
    case Kind::Class: {
      std::vector<const void*> words{&object->ob_type};
      if (PyObject** attributes = attributes_of(object)) words.push_back(attributes);
      return words;
    }
    case Kind::List: {
      const auto& list = *reinterpret_cast<PyListObject*>(object);
      std::vector<const void*> words{&list.ob_item, &list.ob_base.ob_size};
      for (Py_ssize_t k = 0; k < PyList_GET_SIZE(object); ++k) words.push_back(list.ob_item + k);
      return words;
    }
    case Kind::Type: {
      std::vector<const void*> words{&as_type(object)->tp_flags, &as_type(object)->tp_version_tag};
      if (const PyHeapTypeObject* type = as_heap_type(object))
        words.insert(words.end(), {&type->ht_name, &type->ht_qualname});
      return words;
    }
    case Kind::Set: {
      const auto& set = *reinterpret_cast<PySetObject*>(object);
      std::vector<const void*> words{&set.fill, &set.used, &set.mask, &set.table};
      for (Py_ssize_t k = 0; set.fill && k <= set.mask; ++k) words.push_back(&set.table[k].key);
      return words;
    }
    case Kind::Members: {
      std::vector<const void*> words;
      for (const Object& descriptor : entry.keys) words.push_back(member_of(object, descriptor.get()));
      return words;
    }
    case Kind::Order:
    case Kind::Result: return {};
  }
  return {};
}

ReadSet::ReadSet(PyObject* entries) {
  if (!PyList_Check(entries)) raise(ErrorKind::Type, "a read set is made of a list");
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(entries); ++i) {
    PyObject* given = PyList_GET_ITEM(entries, i);
    PyObject* object = PyTuple_GET_ITEM(given, 1);
    const Kind kind = kind_named(PyUnicode_AsUTF8(PyTuple_GET_ITEM(given, 0)), object);
    Entry& made = entries_.emplace_back(Entry{.kind = kind, .object = Object::borrow(object)});
    if (kind == Kind::Names || kind == Kind::Members) {
      PyObject* names = PyTuple_GET_ITEM(given, 2);
      for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(names); ++k)
        made.keys.push_back(Object::borrow(PyTuple_GET_ITEM(names, k)));
      if (kind == Kind::Members)
        for (const Object& descriptor : made.keys) require_member(object, descriptor.get());
    }
    if (kind == Kind::Type) {
      _PyType_Lookup(as_type(object), PyTuple_GET_ITEM(given, 0));  // assigns a version
      made.type_version = version_of_type(object);
      if (!made.type_version) raise(ErrorKind::Value, "the interpreter has run out of versions of classes");
    }
    made.parts = parts_of(made);
    Words& words = words_with(made);
    made.first_word = words.places.size();
    const auto number = static_cast<uint32_t>(entries_.size() - 1);
    for (const void* place : words_of(made)) {
      words.places.push_back(place);
      words.values.push_back(word_at(place));
      words.owners.push_back(number);
    }
    made.num_words = words.places.size() - made.first_word;
    if (!made.num_words) wordless_.push_back(number);
  }
}

// After a word of the entry has changed: whether the entry's contents are the same; if so, stores the new words.
bool ReadSet::refresh(uint32_t number) {
  const Entry& entry = entries_[number];
  if (!is_same_entry(entry)) return false;
  const std::vector<const void*> places = words_of(entry);
  if (places.size() != entry.num_words) return false;  // of a set that has grown and shrunk
  Words& words = words_with(entry);
  size_t next = entry.first_word;
  for (const void* place : places) {
    words.places[next] = place;
    words.values[next++] = word_at(place);
  }
  return true;
}

// In order, because refreshing an entry changes its next words.
bool ReadSet::refresh_changed(const Words& words) {
  for (size_t k = 0; k < words.places.size(); ++k)
    if (word_at(words.places[k]) != words.values[k] && !refresh(words.owners[k])) [[unlikely]]
      return false;
  return true;
}

bool ReadSet::holds() {
  uint64_t changed = 0;
  for (size_t k = 0; k < direct_.places.size(); ++k) changed |= word_at(direct_.places[k]) ^ direct_.values[k];
  if (changed && !refresh_changed(direct_)) [[unlikely]]
    return false;
  if (!refresh_changed(indirect_)) return false;
  return std::ranges::all_of(wordless_, [&](uint32_t number) { return is_same_entry(entries_[number]); });
}

bool ReadSet::holds_objects() const {
  const auto is_plain = [](PyObject* part) {
    return part && (part == Py_None || PyBool_Check(part) || PyLong_CheckExact(part) || PyFloat_CheckExact(part) ||
                    PyUnicode_CheckExact(part));
  };
  const auto holds = [&](const Object& known, const Object& now) {
    return is_same(known.get(), now.get()) || is_plain(known.get());
  };
  return std::ranges::all_of(entries_, [&](const Entry& entry) {
    return is_same_entry(entry) ||
           (entry.kind != Kind::Type && std::ranges::equal(entry.parts, parts_of(entry), holds));
  });
}

std::string ReadSet::describe(const Entry& entry) {
  PyObject* const object = entry.object.get();
  const auto text = [](PyObject* shown) { return std::string(PyUnicode_AsUTF8(own(PyObject_Repr(shown)).get())); };
  if (entry.kind == Kind::Names)
    for (size_t k = 0; k < entry.keys.size(); ++k)
      if (!is_same(entry.parts[k].get(), key_of(object, entry.keys[k].get()).get()))
        return "the entry " + text(entry.keys[k].get()) + " of a dict";
  if (entry.kind == Kind::Dict)
    for (size_t k = 0; k < entry.parts.size(); k += 2)
      if (!is_same(entry.parts[k + 1].get(), key_of(object, entry.parts[k].get()).get()))
        return "the entry " + text(entry.parts[k].get()) + " of a dict";
  return "an object of " + text(reinterpret_cast<PyObject*>(Py_TYPE(object)));
}

std::string ReadSet::difference() {
  for (const Entry& entry : entries_)
    if (!is_same_entry(entry)) return describe(entry);
  return "nothing";
}

int ReadSet::traverse(visitproc visit, void* arg) const {
  for (const Entry& entry : entries_) {
    Py_VISIT(entry.object.get());
    for (const Object& part : entry.parts) Py_VISIT(part.get());
  }
  return 0;
}

}  // namespace pellucid::python
