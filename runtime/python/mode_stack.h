// The active modes of one protocol in this thread.
//
// Both protocols call the innermost mode first, and deactivate it while it runs, so that its own calls go to the outer
// modes. `changed` reports every change to state that depends on active modes. Used by dispatch_protocol.cpp and
// function_protocol.cpp.
#pragma once

#include <vector>

#include "python/object.h"

namespace pellucid::python {

// `changed(stack, by)` is called after a mode is pushed (1) or popped (-1).
class ModeStack {
 public:
  explicit ModeStack(void (*changed)(const ModeStack&, int by)) : changed_(changed) {}
  ModeStack(const ModeStack&) = delete;
  ModeStack& operator=(const ModeStack&) = delete;

  bool empty() const { return modes_.empty(); }
  // Borrowed; null where there is none.
  PyObject* innermost() const { return modes_.empty() ? nullptr : modes_.back(); }

  // Takes over the reference.
  void put(PyObject* mode) {
    modes_.push_back(mode);
    changed_(*this, 1);
  }

  // The innermost mode, with its reference.
  PyObject* take() {
    PyObject* mode = modes_.back();
    modes_.pop_back();
    changed_(*this, -1);
    return mode;
  }

  // A new list, the innermost mode last.
  PyObject* as_list() const {
    Object list = own(PyList_New(0));
    for (PyObject* mode : modes_) checked(PyList_Append(list.get(), mode));
    return list.leak();
  }

 private:
  std::vector<PyObject*> modes_;
  void (*changed_)(const ModeStack&, int by);
};

// The innermost mode, deactivated for a scope.
class RunningMode {
 public:
  explicit RunningMode(ModeStack& stack) : stack_(stack), mode_(stack.take()) {}
  ~RunningMode() { stack_.put(mode_); }
  RunningMode(const RunningMode&) = delete;
  RunningMode& operator=(const RunningMode&) = delete;
  PyObject* get() const { return mode_; }

 private:
  ModeStack& stack_;
  PyObject* mode_;
};

}  // namespace pellucid::python
