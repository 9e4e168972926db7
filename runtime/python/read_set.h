// The Python objects that a captured call can read, and whether they are unchanged.
//
// _compile/read_set.py lists them. Almost all changes show in words of memory: versions of dicts, if the interpreter
// counts them, and pointers in cells, functions, lists and objects. Usually a replay only compares these words. If one
// differs, its entry is compared in full, and may turn out to be unchanged. Used by replays.cpp.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "python/object.h"

namespace pellucid::python {

// Whether Python behaves the same with either: numbers and strings with the same bits, otherwise the same object.
bool is_same(PyObject* known, PyObject* now);

class ReadSet {
 public:
  // `entries`: a list of tuples (kind, object), ("names", dict, names) or ("members", object, descriptors): of slots
  // of its classes, and of other members that refer to objects. Of a "result", the object is a function that
  // is called without arguments.
  explicit ReadSet(PyObject* entries);
  ReadSet(ReadSet&&) = default;

  // Whether all entries are unchanged. Stores the new words of entries that turn out to be unchanged.
  bool holds();
  // Whether it holds, or only numbers, strings and None have changed: then no known object was replaced.
  bool holds_objects() const;
  // A description of the first difference, for messages.
  std::string difference();
  int traverse(visitproc visit, void* arg) const;
  size_t size() const { return entries_.size(); }

 private:
  enum class Kind : uint8_t { Dict, Names, Type, Function, Cell, Class, List, Set, Order, Members, Result };
  struct Entry {
    Kind kind;
    Object object;
    std::vector<Object> keys;   // of Names and Members
    std::vector<Object> parts;  // null: absent
    unsigned type_version = 0;
    size_t first_word = 0, num_words = 0;
  };
  // Addresses of words, their known values, and the entries that they belong to.
  struct Words {
    std::vector<const void*> places;
    std::vector<uint64_t> values;
    std::vector<uint32_t> owners;
  };
  // Words of lists and sets are compared in order: if one has changed, the addresses of the next ones may be stale.
  // All others have fixed addresses, and are compared in one pass without branches.
  Words& words_with(const Entry& entry) {
    return entry.kind == Kind::List || entry.kind == Kind::Set ? indirect_ : direct_;
  }
  static Kind kind_named(std::string_view name, PyObject* object);
  static std::vector<Object> parts_of(const Entry& entry);
  static bool is_same_entry(const Entry& entry);
  static std::vector<const void*> words_of(const Entry& entry);
  bool refresh(uint32_t number);
  bool refresh_changed(const Words& words);
  static std::string describe(const Entry& entry);

  std::vector<Entry> entries_;
  Words direct_, indirect_;
  std::vector<uint32_t> wordless_;  // entries that are compared in full
};

}  // namespace pellucid::python
