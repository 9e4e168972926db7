#include "distributed/group_bindings.h"

#include <unistd.h>

#include <cstring>
#include <memory>
#include <string>

#include "distributed/mail.h"
#include "distributed/python_values.h"

namespace pellucid::distributed {

namespace {

PyTypeObject* message_type;

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
  if (PyErr_Occurred() || !check_type(dtype, reduction)) return nullptr;
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

}  // namespace

bool add_group(PyObject* module) {
  PyObject* group_type = PyType_FromSpec(&group_spec);
  message_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&message_spec));
  return group_type && message_type && PyModule_AddObjectRef(module, "Group", group_type) == 0 &&
         PyModule_AddObjectRef(module, "Message", reinterpret_cast<PyObject*>(message_type)) == 0;
}

}  // namespace pellucid::distributed
