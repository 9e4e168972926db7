#include "python/method_entries.h"

#include <array>
#include <utility>

namespace pellucid::python {
namespace {

constexpr size_t kMethodEntries = 1024;
OverloadSet* entry_sets[kMethodEntries];
size_t used_entries = 0;

PyObject* call_method(OverloadSet& set, PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* { return call_overloads(set, {self, args, count, keywords}); });
}

template <size_t index>
PyObject* entry(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return call_method(*entry_sets[index], self, args, count, keywords);
}

using Entry = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*);
template <size_t... indices>
constexpr std::array<Entry, kMethodEntries> make_entries(std::index_sequence<indices...>) {
  return {entry<indices>...};
}
constexpr std::array<Entry, kMethodEntries> kEntries = make_entries(std::make_index_sequence<kMethodEntries>());

}  // namespace

PyCFunction take_method_entry(OverloadSet& set) {
  if (used_entries == kMethodEntries)
    raise(ErrorKind::Runtime, "more than %zu Tensor methods: enlarge kMethodEntries", kMethodEntries);
  entry_sets[used_entries] = &set;
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(kEntries[used_entries++]));
}

}  // namespace pellucid::python
