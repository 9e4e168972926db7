// The extension module `pellucid.distributed._distributed`: groups in shared memory, for pellucid/distributed.
//
// It shares no symbols with the runtime: it receives tensors as addresses, dtypes and reductions as numbers. Every call
// that may wait releases the interpreter lock.
#include <unistd.h>

#include <cstring>
#include <memory>
#include <optional>
#include <system_error>
#include <vector>

#include "distributed/connection_bindings.h"
#include "distributed/mail.h"

namespace pellucid::distributed {

namespace {

PyObject* failure_type;
PyTypeObject* message_type;

struct PythonError {};  // an exception is set

PyObject* list_of(const auto& numbers) {
  PyObject* list = PyList_New(0);
  for (const auto number : numbers) {
    PyObject* item = PyLong_FromLongLong(static_cast<long long>(number));
    if (!list || !item || PyList_Append(list, item) < 0) throw PythonError{};
    Py_DECREF(item);
  }
  return list;
}

constexpr double kAskEvery = 0.5;  // seconds of a wait

// Lets signals interrupt a wait, and tells Python of ranks that have not come: what it raises ends the wait.
class PythonObserver : public Observer {
 public:
  PythonObserver(PyObject* on_slow, PyObject* on_wait) : on_slow_(Py_NewRef(on_slow)), on_wait_(Py_NewRef(on_wait)) {}
  ~PythonObserver() override {
    Py_DECREF(on_slow_);
    Py_DECREF(on_wait_);
  }

  void waiting(double seconds, bool notifies, const std::vector<int>& missing) override {
    const PyGILState_STATE state = PyGILState_Ensure();
    bool is_well = PyErr_CheckSignals() == 0;
    if (seconds > kAskEvery && seconds_now() > asked_at_ + kAskEvery) {
      asked_at_ = seconds_now();
      for (size_t k = 0; is_well && k < missing.size(); ++k)
        is_well = is_done(PyObject_CallFunction(on_wait_, "i", missing[k]));
    }
    if (is_well && notifies) is_well = is_done(PyObject_CallFunction(on_slow_, "dN", seconds, list_of(missing)));
    PyGILState_Release(state);
    if (!is_well) throw Failure{Cause::Interrupted, {}};
  }

 private:
  static bool is_done(PyObject* result) {
    Py_XDECREF(result);
    return result != nullptr;
  }

  PyObject* on_slow_;
  PyObject* on_wait_;
  double asked_at_ = 0;  // under the interpreter lock
};

struct GroupObject {
  PyObject_HEAD PythonObserver* observer;
  Group* group;
  Mail* mail;
};

struct MessageObject {
  PyObject_HEAD MailHandle* handle;
};

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

template <class T>
std::vector<T> numbers_in(PyObject* sequence) {
  PyObject* fast = PySequence_Fast(sequence, "expected a sequence of numbers");
  if (!fast) throw PythonError{};
  std::vector<T> found;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(fast, i);
    if constexpr (std::is_same_v<T, double>) found.push_back(PyFloat_AsDouble(item));
    else found.push_back(static_cast<T>(PyLong_AsLongLong(item)));
  }
  Py_DECREF(fast);
  if (PyErr_Occurred()) throw PythonError{};
  return found;
}

template <class T>
T* pointer(unsigned long long address) {
  return reinterpret_cast<T*>(static_cast<uintptr_t>(address));
}

// Runs `body` and translates C++ exceptions to Python exceptions.
template <class Body>
PyObject* guarded(Body body) {
  try {
    return body();
  } catch (const PythonError&) {
  } catch (const Failure& failure) {
    if (failure.cause == Cause::Interrupted) {
      if (!PyErr_Occurred()) PyErr_SetString(PyExc_KeyboardInterrupt, "");
      return nullptr;
    }
    PyObject* arguments = Py_BuildValue("sN", name_of(failure.cause), list_of(failure.ranks));
    PyErr_SetObject(failure_type, arguments);
    Py_XDECREF(arguments);
  } catch (const std::system_error& error) {
    PyErr_Format(PyExc_OSError, "%s", error.what());
  } catch (const std::exception& error) { PyErr_SetString(PyExc_RuntimeError, error.what()); }
  return nullptr;
}

bool parse_type(int dtype, int reduction) {
  if (dtype >= 0 && dtype < kNumDTypes && reduction >= 0 && reduction < kNumReductions) return true;
  PyErr_SetString(PyExc_ValueError, "no such dtype or reduction");
  return false;
}

GroupObject* group_in(PyObject* self) { return reinterpret_cast<GroupObject*>(self); }

int group_init(PyObject* self, PyObject* arguments, PyObject*) {
  int descriptor, rank, size;
  PyObject *pids, *on_slow, *on_wait;
  if (!PyArg_ParseTuple(arguments, "iiiOOO", &descriptor, &rank, &size, &pids, &on_slow, &on_wait)) return -1;
  PyObject* done = guarded([&]() -> PyObject* {
    GroupObject* object = group_in(self);
    const auto processes = numbers_in<int>(pids);
    if (size < 1 || rank < 0 || rank >= size || processes.size() != static_cast<size_t>(size) || object->group) {
      PyErr_SetString(PyExc_ValueError, "expected a rank below the group's size, and one pid per rank");
      throw PythonError{};
    }
    auto observer = std::make_unique<PythonObserver>(on_slow, on_wait);
    auto group = std::make_unique<Group>(descriptor, rank, size, processes, *observer);
    object->mail = new Mail(*group);
    object->group = group.release();
    object->observer = observer.release();
    return Py_None;
  });
  return done ? 0 : -1;
}

void group_dealloc(PyObject* self) {
  GroupObject* object = group_in(self);
  {
    const WithoutLock unlocked;
    delete object->mail;
  }
  delete object->group;
  delete object->observer;
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* group_run(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 9) {
    PyErr_SetString(PyExc_TypeError, "run takes nine arguments");
    return nullptr;
  }
  Call call;
  const long kind = PyLong_AsLong(arguments[0]);
  call.input = pointer<const char>(PyLong_AsUnsignedLongLong(arguments[1]));
  call.output = pointer<char>(PyLong_AsUnsignedLongLong(arguments[2]));
  call.count = PyLong_AsLongLong(arguments[3]);
  const auto dtype = static_cast<int>(PyLong_AsLong(arguments[4]));
  const auto reduction = static_cast<int>(PyLong_AsLong(arguments[5]));
  call.root = static_cast<int>(PyLong_AsLong(arguments[6]));
  call.factor = PyFloat_AsDouble(arguments[7]);
  const double timeout = PyFloat_AsDouble(arguments[8]);
  if (PyErr_Occurred() || !parse_type(dtype, reduction)) return nullptr;
  call.kind = static_cast<Kind>(kind);
  call.dtype = static_cast<DType>(dtype);
  call.reduction = static_cast<Reduction>(reduction);
  GroupObject* object = group_in(self);
  if (kind < 0 || kind >= kNumKinds || call.count < 0 || call.root >= object->group->size()) {
    PyErr_SetString(PyExc_ValueError, "no such collective");
    return nullptr;
  }
  return guarded([&]() -> PyObject* {
    const WithoutLock unlocked;
    object->group->run(call, timeout);
    return Py_NewRef(Py_None);
  });
}

PyObject* group_all_to_all(PyObject* self, PyObject* arguments) {
  unsigned long long input, output;
  PyObject *input_sizes, *output_sizes;
  double timeout;
  if (!PyArg_ParseTuple(arguments, "KOKOd", &input, &input_sizes, &output, &output_sizes, &timeout)) return nullptr;
  return guarded([&]() -> PyObject* {
    const auto given = numbers_in<int64_t>(input_sizes), taken = numbers_in<int64_t>(output_sizes);
    Group& group = *group_in(self)->group;
    if (given.size() != static_cast<size_t>(group.size()) || taken.size() != given.size()) {
      PyErr_SetString(PyExc_ValueError, "expected one size per rank");
      throw PythonError{};
    }
    const WithoutLock unlocked;
    group.all_to_all(pointer<const char>(input), given, pointer<char>(output), taken, timeout);
    return Py_NewRef(Py_None);
  });
}

PyObject* group_exchange_texts(PyObject* self, PyObject* arguments) {
  const char* text;
  Py_ssize_t length;
  double timeout;
  if (!PyArg_ParseTuple(arguments, "s#d", &text, &length, &timeout)) return nullptr;
  return guarded([&]() -> PyObject* {
    std::vector<std::string> texts;
    {
      const WithoutLock unlocked;
      texts = group_in(self)->group->exchange_texts(std::string(text, static_cast<size_t>(length)), timeout);
    }
    PyObject* list = PyList_New(0);
    for (const std::string& each : texts) {
      PyObject* item = PyUnicode_DecodeUTF8(each.data(), static_cast<Py_ssize_t>(each.size()), "replace");
      if (!item || PyList_Append(list, item) < 0) throw PythonError{};
      Py_DECREF(item);
    }
    return list;
  });
}

PyObject* group_add_block(PyObject* self, PyObject* arguments) {
  int descriptor;
  Py_ssize_t nbytes;
  if (!PyArg_ParseTuple(arguments, "in", &descriptor, &nbytes)) return nullptr;
  return guarded([&] {
    char* part = group_in(self)->group->add_block(descriptor, static_cast<size_t>(nbytes));
    return PyLong_FromVoidPtr(part);
  });
}

PyObject* wrap_message(MailHandle handle) {
  PyObject* made = message_type->tp_alloc(message_type, 0);
  if (!made) throw PythonError{};
  reinterpret_cast<MessageObject*>(made)->handle = new MailHandle(std::move(handle));
  return made;
}

PyObject* group_post(PyObject* self, PyObject* arguments, bool is_send) {
  unsigned long long data;
  long long nbytes, tag;
  int peer;
  if (!PyArg_ParseTuple(arguments, "KLiL", &data, &nbytes, &peer, &tag)) return nullptr;
  return guarded([&]() -> PyObject* {
    GroupObject* object = group_in(self);
    if (peer >= object->group->size() || (is_send && peer < 0) || nbytes < 0) {
      PyErr_SetString(PyExc_ValueError, "no such rank");
      throw PythonError{};
    }
    MailHandle handle;
    {
      const WithoutLock unlocked;
      handle = is_send ? object->mail->send(pointer<const char>(data), nbytes, peer, tag)
                       : object->mail->receive(pointer<char>(data), nbytes, peer, tag);
    }
    return wrap_message(std::move(handle));
  });
}

PyObject* group_send(PyObject* self, PyObject* arguments) { return group_post(self, arguments, true); }
PyObject* group_receive(PyObject* self, PyObject* arguments) { return group_post(self, arguments, false); }

PyObject* group_wait(PyObject* self, PyObject* arguments) {
  PyObject* message;
  double timeout;
  if (!PyArg_ParseTuple(arguments, "O!d", message_type, &message, &timeout)) return nullptr;
  return guarded([&]() -> PyObject* {
    const MailHandle handle = *reinterpret_cast<MessageObject*>(message)->handle;
    const WithoutLock unlocked;
    group_in(self)->mail->wait(*handle, timeout);
    return Py_NewRef(Py_None);
  });
}

PyObject* group_move_in_background(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    const WithoutLock unlocked;
    group_in(self)->mail->move_in_background();
    return Py_NewRef(Py_None);
  });
}

PyObject* group_leave(PyObject* self, PyObject* has_failed) {
  const int failed = PyObject_IsTrue(has_failed);
  if (failed < 0) return nullptr;
  group_in(self)->group->stop();
  group_in(self)->group->set_presence(failed ? Presence::Failed : Presence::Left);
  Py_RETURN_NONE;
}

PyObject* group_phases(PyObject* self, PyObject*) {
  return guarded([&] { return list_of(group_in(self)->group->phases()); });
}

RankPage* page_of(PyObject* self, int rank) {
  const Group& group = *group_in(self)->group;
  if (rank >= 0 && rank < group.size()) return &group.segment().page(rank);
  PyErr_SetString(PyExc_ValueError, "no such rank");
  return nullptr;
}

PyObject* group_losses(PyObject* self, PyObject*) {
  return guarded([&] {
    const Group& group = *group_in(self)->group;
    PyObject* found = PyDict_New();
    for (int rank = 0; found && rank < group.size(); ++rank) {
      if (rank == group.rank()) continue;
      const Presence presence = group.segment().page(rank).presence;
      const bool has_left = presence == Presence::Left || presence == Presence::Failed;
      if (!has_left && !group.processes().has_ended(rank)) continue;
      PyObject* number = PyLong_FromLong(rank);
      PyObject* cause = PyUnicode_FromString(name_of(has_left ? Cause::Left : Cause::Ended));
      if (!number || !cause || PyDict_SetItem(found, number, cause) < 0) Py_CLEAR(found);
      Py_XDECREF(number);
      Py_XDECREF(cause);
    }
    return found;
  });
}

PyObject* group_has_ended(PyObject* self, PyObject* rank) {
  const auto number = static_cast<int>(PyLong_AsLong(rank));
  if (PyErr_Occurred() || !page_of(self, number)) return nullptr;
  return PyBool_FromLong(group_in(self)->group->processes().has_ended(number));
}

// Asks where a rank is in its program. Returns the number that `answer_of` expects.
PyObject* group_ask(PyObject* self, PyObject* rank) {
  const auto number = static_cast<int>(PyLong_AsLong(rank));
  RankPage* page = PyErr_Occurred() ? nullptr : page_of(self, number);
  if (!page) return nullptr;
  const uint32_t answers = page->num_answers;
  page->question.ring_shared();
  return PyLong_FromUnsignedLong(answers);
}

PyObject* group_answer_of(PyObject* self, PyObject* arguments) {
  int rank;
  unsigned before;
  double timeout;
  if (!PyArg_ParseTuple(arguments, "iId", &rank, &before, &timeout)) return nullptr;
  RankPage* page = page_of(self, rank);
  if (!page) return nullptr;
  {
    const WithoutLock unlocked;
    const double start = seconds_now();
    while (page->num_answers == before && seconds_now() - start < timeout) usleep(5000);
  }
  if (page->num_answers == before) return PyUnicode_FromString("");
  return PyUnicode_DecodeUTF8(page->answer, static_cast<Py_ssize_t>(strnlen(page->answer, kTextBytes)), "replace");
}

// Sleeps until another rank asks (True) or for half a second (False).
PyObject* group_wait_for_question(PyObject* self, PyObject*) {
  const Group& group = *group_in(self)->group;
  RankPage& page = group.segment().page(group.rank());
  const uint32_t seen = page.num_answers;
  {
    const WithoutLock unlocked;
    if (page.question.count == seen) page.question.sleep(seen, std::chrono::milliseconds(500));
  }
  return PyBool_FromLong(page.question.count != seen);
}

PyObject* group_answer(PyObject* self, PyObject* text) {
  const char* utf8 = PyUnicode_AsUTF8(text);
  if (!utf8) return nullptr;
  const Group& group = *group_in(self)->group;
  RankPage& page = group.segment().page(group.rank());
  strncpy(page.answer, utf8, kTextBytes - 1);
  page.num_answers = page.question.count.load();
  Py_RETURN_NONE;
}

PyCFunction function(PyObject* (*called)(PyObject*, PyObject* const*, Py_ssize_t)) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(called));
}

PyMethodDef group_methods[] = {
    {"run", function(group_run), METH_FASTCALL, "Runs a collective."},
    {"all_to_all", group_all_to_all, METH_VARARGS, "Runs all_to_all with sizes in bytes."},
    {"exchange_texts", group_exchange_texts, METH_VARARGS, "The texts of all ranks."},
    {"add_block", group_add_block, METH_VARARGS, "Maps memory that holds a part of each rank."},
    {"send", group_send, METH_VARARGS, "Starts a send."},
    {"receive", group_receive, METH_VARARGS, "Starts a receive; source -1: from any rank."},
    {"wait", group_wait, METH_VARARGS, "Waits for a send or receive."},
    {"move_in_background", group_move_in_background, METH_NOARGS,
     "Advances messages that nobody waits for, on a thread."},
    {"leave", group_leave, METH_O, "Tells the other ranks that this one takes part no longer."},
    {"phases", group_phases, METH_NOARGS, "How many phases each rank has arrived at."},
    {"losses", group_losses, METH_NOARGS, "Which ranks have ended, and which have left, by rank."},
    {"has_ended", group_has_ended, METH_O, "Whether the process of a rank has ended."},
    {"ask", group_ask, METH_O, "Asks where a rank is."},
    {"answer_of", group_answer_of, METH_VARARGS, "The answer to a question, or an empty text."},
    {"wait_for_question", group_wait_for_question, METH_NOARGS, "Waits half a second for a question."},
    {"answer", group_answer, METH_O, "Answers where this rank is."},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot group_slots[] = {
    {Py_tp_init, reinterpret_cast<void*>(group_init)},
    {Py_tp_dealloc, reinterpret_cast<void*>(group_dealloc)},
    {Py_tp_new, reinterpret_cast<void*>(PyType_GenericNew)},
    {Py_tp_methods, group_methods},
    {0, nullptr},
};
PyType_Spec group_spec = {"pellucid.distributed._distributed.Group", sizeof(GroupObject), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, group_slots};

MailOperation& operation_in(PyObject* self) { return **reinterpret_cast<MessageObject*>(self)->handle; }

void message_dealloc(PyObject* self) {
  delete reinterpret_cast<MessageObject*>(self)->handle;
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* message_is_done(PyObject* self, void*) { return PyBool_FromLong(operation_in(self).is_done); }
PyObject* message_source(PyObject* self, void*) { return PyLong_FromLong(operation_in(self).source); }
PyObject* message_num_received(PyObject* self, void*) { return PyLong_FromLongLong(operation_in(self).num_received); }

PyGetSetDef message_attributes[] = {
    {"is_done", message_is_done, nullptr, "Whether the memory may be used.", nullptr},
    {"source", message_source, nullptr, "The rank that sent it.", nullptr},
    {"num_received", message_num_received, nullptr, "Bytes of a message of unexpected size, else -1.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyType_Slot message_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(message_dealloc)},
    {Py_tp_getset, message_attributes},
    {0, nullptr},
};
PyType_Spec message_spec = {"pellucid.distributed._distributed.Message", sizeof(MessageObject), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, message_slots};

PyObject* module_segment_bytes(PyObject*, PyObject* size) {
  const long ranks = PyLong_AsLong(size);
  if (PyErr_Occurred()) return nullptr;
  return PyLong_FromSize_t(Segment::bytes_for(static_cast<int>(ranks)));
}

PyObject* module_make_shared_file(PyObject*, PyObject* nbytes) {
  const size_t size = PyLong_AsSize_t(nbytes);
  if (PyErr_Occurred()) return nullptr;
  return guarded([&] { return PyLong_FromLong(make_shared_file(size)); });
}

PyObject* module_is_defined(PyObject*, PyObject* arguments) {
  int dtype, reduction;
  if (!PyArg_ParseTuple(arguments, "ii", &dtype, &reduction) || !parse_type(dtype, reduction)) return nullptr;
  return PyBool_FromLong(is_defined(static_cast<DType>(dtype), static_cast<Reduction>(reduction)));
}

PyObject* module_combine(PyObject*, PyObject* arguments) {
  PyObject *sources, *factors;
  unsigned long long output;
  long long count;
  int dtype, reduction;
  if (!PyArg_ParseTuple(arguments, "OOKLii", &sources, &factors, &output, &count, &dtype, &reduction) ||
      !parse_type(dtype, reduction))
    return nullptr;
  return guarded([&]() -> PyObject* {
    const auto addresses = numbers_in<uintptr_t>(sources);
    const auto scales = numbers_in<double>(factors);
    if (addresses.empty() || scales.size() != addresses.size()) {
      PyErr_SetString(PyExc_ValueError, "expected one operand and one factor per rank");
      throw PythonError{};
    }
    std::vector<const char*> operands;
    for (const uintptr_t address : addresses) operands.push_back(pointer<const char>(address));
    const WithoutLock unlocked;
    combine(static_cast<DType>(dtype), static_cast<Reduction>(reduction), operands, scales, pointer<char>(output),
            count);
    return Py_NewRef(Py_None);
  });
}

PyObject* module_read_memory(PyObject*, PyObject* arguments) {
  int pid;
  unsigned long long address;
  Py_buffer target;
  if (!PyArg_ParseTuple(arguments, "iKw*", &pid, &address, &target)) return nullptr;
  bool is_read;
  {
    const WithoutLock unlocked;
    is_read =
        read_memory(pid, pointer<const char>(address), static_cast<char*>(target.buf), static_cast<size_t>(target.len));
  }
  PyBuffer_Release(&target);
  return PyBool_FromLong(is_read);
}

PyMethodDef module_methods[] = {
    {"segment_bytes", module_segment_bytes, METH_O, "Bytes of shared memory of a group with so many ranks."},
    {"make_shared_file", module_make_shared_file, METH_O,
     "Creates an anonymous file of zeros and returns its descriptor."},
    {"is_defined", module_is_defined, METH_VARARGS, "Whether a reduction is defined for a dtype."},
    {"combine", module_combine, METH_VARARGS, "Reduces the ranks' operands in the order of the tree."},
    {"read_memory", module_read_memory, METH_VARARGS, "Fills a buffer from an address of another process."},
    {nullptr, nullptr, 0, nullptr},
};
PyModuleDef module_definition = {PyModuleDef_HEAD_INIT,
                                 "pellucid.distributed._distributed",
                                 nullptr,
                                 -1,
                                 module_methods,
                                 nullptr,
                                 nullptr,
                                 nullptr,
                                 nullptr};

}  // namespace

PyObject* make_module() {
  PyObject* module = PyModule_Create(&module_definition);
  PyObject* group_type = PyType_FromSpec(&group_spec);
  message_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&message_spec));
  failure_type = PyErr_NewException("pellucid.distributed._distributed.Failure", nullptr, nullptr);
  if (!module || !group_type || !message_type || !failure_type ||
      PyModule_AddObjectRef(module, "Group", group_type) < 0 ||
      PyModule_AddObjectRef(module, "Message", reinterpret_cast<PyObject*>(message_type)) < 0 ||
      PyModule_AddObjectRef(module, "Failure", failure_type) < 0 ||
      PyModule_AddIntConstant(module, "SLOT_BYTES", static_cast<long>(kSlotBytes)) < 0 || !add_connection(module))
    return nullptr;
  return module;
}

}  // namespace pellucid::distributed

PyMODINIT_FUNC PyInit__distributed() { return pellucid::distributed::make_module(); }
