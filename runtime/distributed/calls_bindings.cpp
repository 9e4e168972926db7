// The calls of one group: which may run, which runs, and which ran before it, for errors and for `waiting()`.
//
// `pellucid.distributed._group.queue` derives its queue from this class. In Python, this bookkeeping took most of the
// time of a small all_reduce; four ranks on two cores also evict each other's code from the caches.
#include "distributed/calls_bindings.h"

#include <structmember.h>

#include <iterator>

#include "distributed/group.h"

namespace pellucid::distributed {

namespace {

struct CallsObject {
  PyObject_HEAD PyThread_type_lock running;  // held while a call runs
  Py_ssize_t num_queued;                     // calls for the group's thread; none may overtake them
  long long num_calls;
  PyObject *last, *before;  // the last call that began, a tuple, and the one before it
  PyObject* site;           // the source line of the current one, if another thread runs it
  double since;             // when the current one began; 0: none runs
};

CallsObject& calls_in(PyObject* self) { return *reinterpret_cast<CallsObject*>(self); }

void note_begin(CallsObject& calls, PyObject* call, PyObject* site) {
  ++calls.num_calls;
  Py_XSETREF(calls.before, calls.last);
  calls.last = Py_NewRef(call);
  Py_XSETREF(calls.site, Py_XNewRef(site));
  calls.since = seconds_now();
}

void note_end(CallsObject& calls) {
  calls.since = 0;
  Py_CLEAR(calls.site);
  PyThread_release_lock(calls.running);
}

PyObject* calls_new(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* made = type->tp_alloc(type, 0);
  if (!made) return nullptr;
  calls_in(made).running = PyThread_allocate_lock();
  if (calls_in(made).running) return made;
  Py_DECREF(made);
  return PyErr_NoMemory();
}

void calls_dealloc(PyObject* self) {
  CallsObject& calls = calls_in(self);
  if (calls.running) PyThread_free_lock(calls.running);
  Py_CLEAR(calls.last);
  Py_CLEAR(calls.before);
  Py_CLEAR(calls.site);
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

bool is_call(PyObject* object) {
  if (PyTuple_Check(object) && PyTuple_GET_SIZE(object) == 5) return true;
  PyErr_SetString(PyExc_TypeError, "a call is a tuple: kind, count, dtype, reduction, root");
  return false;
}

// Calls `tell` with the error in flight, while its call still runs: other ranks may be asked. An error of `tell`
// replaces it.
void tell_error(PyObject* tell, PyObject* call, PyObject* timeout) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  PyObject* given[] = {value, call, timeout};
  PyObject* told = PyObject_Vectorcall(tell, given, std::size(given), nullptr);
  if (told) {
    Py_DECREF(told);
    PyErr_Restore(type, value, traceback);
    return;
  }
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(traceback);
}

// try_run(run, tell, call, input, output, factor, timeout)
PyObject* calls_try_run(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 7) return PyErr_Format(PyExc_TypeError, "try_run takes seven arguments, not %zd", count);
  PyObject *call = arguments[2], *timeout = arguments[6];
  if (!is_call(call)) return nullptr;
  CallsObject& calls = calls_in(self);
  if (calls.num_queued || !PyThread_acquire_lock(calls.running, NOWAIT_LOCK)) Py_RETURN_FALSE;
  note_begin(calls, call, nullptr);
  const auto item = [call](Py_ssize_t index) { return PyTuple_GET_ITEM(call, index); };
  PyObject* given[] = {item(0), arguments[3], arguments[4], item(1), item(2), item(3), item(4), arguments[5], timeout};
  PyObject* result = PyObject_Vectorcall(arguments[0], given, std::size(given), nullptr);
  if (!result) tell_error(arguments[1], call, timeout);
  note_end(calls);
  if (!result) return nullptr;
  Py_DECREF(result);
  Py_RETURN_TRUE;
}

PyObject* calls_begin(PyObject* self, PyObject* arguments) {
  PyObject *call, *site;
  if (!PyArg_ParseTuple(arguments, "OU", &call, &site) || !is_call(call)) return nullptr;
  CallsObject& calls = calls_in(self);
  if (!PyThread_acquire_lock(calls.running, NOWAIT_LOCK)) {
    const WithoutLock unlocked;
    PyThread_acquire_lock(calls.running, WAIT_LOCK);
  }
  note_begin(calls, call, site);
  Py_RETURN_NONE;
}

PyObject* calls_end(PyObject* self, PyObject*) {
  CallsObject& calls = calls_in(self);
  if (!calls.site) {
    PyErr_SetString(PyExc_RuntimeError, "end() ends a call that begin() began; none runs");
    return nullptr;
  }
  note_end(calls);
  Py_RETURN_NONE;
}

PyMethodDef calls_methods[] = {
    {"try_run", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(calls_try_run)), METH_FASTCALL,
     "Runs a call if none is queued or runs. An error of `run` is given to `tell` before the call ends."},
    {"begin", calls_begin, METH_VARARGS, "Waits for the running call to end, and begins one."},
    {"end", calls_end, METH_NOARGS, "Ends the call that begin() began."},
    {nullptr, nullptr, 0, nullptr},
};

PyMemberDef calls_members[] = {
    {"num_queued", T_PYSSIZET, offsetof(CallsObject, num_queued), 0, "Calls for the group's thread."},
    {"num_calls", T_LONGLONG, offsetof(CallsObject, num_calls), READONLY, "Calls that have begun."},
    {"last", T_OBJECT, offsetof(CallsObject, last), READONLY, "The last call that began, or None."},
    {"before", T_OBJECT, offsetof(CallsObject, before), READONLY, "The call before it, or None."},
    {"site", T_OBJECT, offsetof(CallsObject, site), READONLY, "The line of a call that another thread runs, or None."},
    {"since", T_DOUBLE, offsetof(CallsObject, since), READONLY, "When the running call began; 0: none runs."},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot calls_slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(calls_new)},
    {Py_tp_dealloc, reinterpret_cast<void*>(calls_dealloc)},
    {Py_tp_methods, calls_methods},
    {Py_tp_members, calls_members},
    {0, nullptr},
};
PyType_Spec calls_spec = {"pellucid.distributed._distributed.Calls", sizeof(CallsObject), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, calls_slots};

}  // namespace

bool add_calls(PyObject* module) {
  PyObject* type = PyType_FromSpec(&calls_spec);
  return type && PyModule_AddObjectRef(module, "Calls", type) == 0;
}

}  // namespace pellucid::distributed
