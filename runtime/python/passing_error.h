// PassingError: calls of Python while a Python error propagates.
#pragma once

#include "python/object.h"

namespace pellucid::python {

// Saves a Python error that is propagating, because the tensors it frees may call Python, and restores it afterwards.
class PassingError {
 public:
  PassingError() { PyErr_Fetch(&type_, &value_, &traceback_); }
  ~PassingError() {
    if (type_) PyErr_Restore(type_, value_, traceback_);
  }
  PassingError(const PassingError&) = delete;
  PassingError& operator=(const PassingError&) = delete;

 private:
  PyObject *type_, *value_, *traceback_;
};

}  // namespace pellucid::python
