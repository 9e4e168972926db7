// What a captured call could read of Python's objects, and whether it still is as it was.
//
// _compile/read_set.py lists what that is. Almost all of it comes down to words in memory: versions of dicts, where the
// interpreter counts them, pointers to what cells, functions, lists and objects have. Comparing those words is all that
// a replay costs; where one differs, the entry that it belongs to is looked at, and may still have what it had. Used by
// replays.cpp.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "python/object.h"

namespace pellucid::python {

// Whether Python would do the same with either: numbers and texts of the same bits, else the same object.
bool is_same(PyObject* known, PyObject* now);

class ReadSet {
 public:
  // `entries`: a list of tuples (kind, object) or ("names", dict, names).
  explicit ReadSet(PyObject* entries);
  ReadSet(ReadSet&&) = default;

  // Whether all of it is as it was. May note that an entry, which has changed, has what it had.
  bool holds();
  // Why not, for people.
  std::string difference();
  int traverse(visitproc visit, void* arg) const;
  size_t size() const { return entries_.size(); }

 private:
  enum class Kind : uint8_t { Dict, Names, Type, Function, Cell, Class, List, Set, Order };
  struct Entry {
    Kind kind;
    Object object;
    std::vector<Object> keys;   // of Dict and Names
    std::vector<Object> parts;  // null: there is none
    unsigned type_version = 0;
    size_t first_word = 0, num_words = 0;
  };
  struct Word {
    const void* at;
    uint64_t value;
    uint32_t entry;
  };
  static Kind kind_named(std::string_view name, PyObject* object);
  static std::vector<Object> parts_of(const Entry& entry);
  static bool is_same_entry(const Entry& entry);
  static std::vector<const void*> words_of(const Entry& entry);
  bool refresh(uint32_t number);
  static std::string describe(const Entry& entry);

  std::vector<Entry> entries_;
  std::vector<Word> words_;
  std::vector<uint32_t> wordless_;  // entries that are compared in full
};

}  // namespace pellucid::python
