// What a captured call could read of Python's objects, and whether it still is as it was.
//
// _compile/read_set.py lists what that is. Dicts are compared by their version where the interpreter counts them, and
// only where that moved by their entries; everything else by identity. Used by replays.cpp.
#pragma once

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

  // Whether all of it is as it was. May note that a dict, which has a new version, has what it had.
  bool holds();
  // Why not, for people.
  std::string difference();
  int traverse(visitproc visit, void* arg) const;
  size_t size() const { return dicts_.size() + others_.size(); }

 private:
  struct Dict {
    Object dict;
    uint64_t version;
    bool whole;
    std::vector<Object> keys, values;  // a null value: no such entry
    bool holds();
    bool same_entries() const;
  };
  // A type's version, a function's code and defaults, a cell's contents, the class of an instance, elements.
  struct Other {
    enum class Kind : uint8_t { Type, Function, Cell, Class, List, Set };
    Kind kind;
    Object object;
    unsigned version = 0;
    std::vector<PyObject*> parts;  // `held` owns them
    std::vector<Object> held;
    bool holds() const;
  };
  static bool is_of(Other::Kind kind, PyObject* object);
  static std::vector<PyObject*> parts_of(Other::Kind kind, PyObject* object);

  std::vector<Dict> dicts_;
  std::vector<Other> others_;
};

}  // namespace pellucid::python
