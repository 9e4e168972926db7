#include "distributed/python_values.h"

namespace pellucid::distributed {

PyObject* failure_type;

const char* name_of(Cause cause) {
  switch (cause) {
    case Cause::Ended: return "ended";
    case Cause::Left: return "left";
    case Cause::TimedOut: return "timed out";
    case Cause::Mismatch: return "mismatch";
    case Cause::Interrupted: return "interrupted";
  }
  return "";
}

void set_failure(const Failure& failure) {
  if (failure.cause == Cause::Interrupted) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_KeyboardInterrupt, "");
    return;
  }
  PyObject* arguments = Py_BuildValue("sN", name_of(failure.cause), list_of(failure.ranks));
  PyErr_SetObject(failure_type, arguments);
  Py_XDECREF(arguments);
}

bool check_type(int dtype, int reduction) {
  if (dtype >= 0 && dtype < kNumDTypes && reduction >= 0 && reduction < kNumReductions) return true;
  PyErr_SetString(PyExc_ValueError, "no such dtype or reduction");
  return false;
}

}  // namespace pellucid::distributed
