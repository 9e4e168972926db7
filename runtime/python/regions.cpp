// Regions of compiled callables and the groups of their ops, for pellucid._compile.
#include "core/dispatcher.h"
#include "core/hooks.h"
#include "core/recording.h"
#include "python/contexts.h"
#include "python/value_reads.h"
#include "record/groups.h"
#include "record/recorder.h"

namespace pellucid::python {
namespace {

using record::Counts;
using record::Event;
using record::Recorder;

// Whether code belongs to the package.
bool is_own(PyCodeObject* code) {
  static const std::string folder = [] {
    Object package = own(PyImport_ImportModule("pellucid"));
    Object file = own(PyObject_GetAttrString(package.get(), "__file__"));
    const std::string path = PyUnicode_AsUTF8(file.get());
    return path.substr(0, path.rfind('/') + 1);
  }();
  return std::string_view(PyUnicode_AsUTF8(code->co_filename)).starts_with(folder);
}

// Where the program is: what is needed to describe it later.
struct Place {
  Object code;
  int instruction = 0;

  // "file:line in function"
  std::string text() const {
    if (!code) return "";
    auto* known = reinterpret_cast<PyCodeObject*>(code.get());
    return std::string(PyUnicode_AsUTF8(known->co_filename)) + ":" +
           std::to_string(PyCode_Addr2Line(known, instruction)) + " in " + PyUnicode_AsUTF8(known->co_name);
  }
};

// Of the innermost frame of the program.
Place place_of_program() {
  Object frame = Object::borrow(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  while (frame) {
    auto* python_frame = reinterpret_cast<PyFrameObject*>(frame.get());
    Object code = Object::steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(python_frame)));
    auto* named = reinterpret_cast<PyCodeObject*>(code.get());
    if (!is_own(named)) return {std::move(code), PyFrame_GetLasti(python_frame)};
    frame = Object::steal(reinterpret_cast<PyObject*>(PyFrame_GetBack(python_frame)));
  }
  return {};
}

std::shared_ptr<const void> find_place() {
  const HoldGil gil;
  return {new Place(place_of_program()), [](const void* place) {
            const HoldGil held;
            delete static_cast<const Place*>(place);
          }};
}

void refuse_value_read(const char* what) {
  const HoldGil gil;
  static LateImport function("pellucid._dynamo.exc", "refuse_read");
  own(PyObject_CallFunction(function.get(), "ss", what, place_of_program().text().c_str()));
}

void ask_for_group(int number, const std::string& description) {
  const HoldGil gil;
  static LateImport function("pellucid._compile.background", "request");
  own(PyObject_CallFunction(function.get(), "iy#", number, description.data(),
                            static_cast<Py_ssize_t>(description.size())));
}

// _enter_region(refuses_reads)
PyObject* enter(PyObject*, PyObject* refuses) {
  return guarded([&] {
    record::start_recording();
    record::find_place = find_place;
    record::refuse_read = refuse_value_read;
    record::request_group = ask_for_group;
    Recorder::of_this_thread().enter(refuses == Py_True);
    return none();
  });
}

// _leave_region(): all live values have memory afterwards.
PyObject* leave(PyObject*, PyObject*) {
  return guarded([] {
    Recorder& recorder = Recorder::of_this_thread();
    if (recorder.depth() == 0) raise(ErrorKind::Runtime, "no region was entered");
    recorder.finish("the region ends");
    return none();
  });
}

PyObject* depth(PyObject*, PyObject*) {
  return guarded([] { return PyLong_FromLong(Recorder::of_this_thread().depth()); });
}

PyObject* refuses(PyObject*, PyObject*) {
  return guarded([] { return PyBool_FromLong(Recorder::of_this_thread().refuses_reads()); });
}

// (recorded, grouped, launches, fused, spared) since this thread began.
PyObject* counts(PyObject*, PyObject*) {
  return guarded([] {
    const Counts& all = Recorder::of_this_thread().counts();
    return checked(Py_BuildValue("(LLLLL)", static_cast<long long>(all.recorded), static_cast<long long>(all.grouped),
                                 static_cast<long long>(all.launches), static_cast<long long>(all.fused),
                                 static_cast<long long>(all.spared)));
  });
}

PyObject* watch(PyObject*, PyObject* wanted) {
  return guarded([&] {
    Recorder::of_this_thread().watch(wanted == Py_True);
    return none();
  });
}

using Events = std::vector<Event>;
constexpr const char* kEvents = "pellucid._C.events";

// The collected events; describing them takes time.
PyObject* events(PyObject*, PyObject*) {
  return guarded([] {
    auto* taken = new Events(Recorder::of_this_thread().take_events());
    return checked(PyCapsule_New(taken, kEvents, [](PyObject* capsule) {
      delete static_cast<Events*>(PyCapsule_GetPointer(capsule, kEvents));
    }));
  });
}

// _describe_events(events): [(kind, op or None, count, reason, place)]; kind is "recorded", "ran" or "flushed".
PyObject* describe_events(PyObject*, PyObject* taken) {
  static constexpr const char* kKinds[] = {"recorded", "ran", "flushed"};
  return guarded([&] {
    const auto* known = static_cast<const Events*>(PyCapsule_GetPointer(taken, kEvents));
    if (!known) raise_python();
    Object list = own(PyList_New(0));
    for (const Event& event : *known) {
      const std::string place = event.place ? static_cast<const Place*>(event.place.get())->text() : "";
      const char* op = event.op ? event.op->qualified_name.c_str() : nullptr;
      Object entry = own(Py_BuildValue("(szLss)", kKinds[static_cast<int>(event.kind)], op,
                                       static_cast<long long>(event.numel), event.reason.c_str(), place.c_str()));
      checked(PyList_Append(list.get(), entry.get()));
    }
    return list.leak();
  });
}

// [(number, ops, state, description)]: state is "waiting", "asked", "fused" or why there is no kernel.
PyObject* groups(PyObject*, PyObject*) {
  return guarded([] {
    Object list = own(PyList_New(0));
    for (const record::GroupEntry* group : record::all_groups()) {
      Object ops = own(PyList_New(0));
      for (const OpRecord* op : group->ops) checked(PyList_Append(ops.get(), to_string(op->qualified_name).get()));
      const char* refusal = group->refusal.load();
      const char* state = group->function.load() ? "fused"
                          : refusal              ? refusal
                          : group->asked.load()  ? "asked"
                                                 : "waiting";
      Object entry = own(Py_BuildValue("(iOsy#)", group->number, ops.get(), state, group->description.data(),
                                       static_cast<Py_ssize_t>(group->description.size())));
      checked(PyList_Append(list.get(), entry.get()));
    }
    return list.leak();
  });
}

// _publish_group(number, answer)
PyObject* publish(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    int number;
    const char* bytes;
    Py_ssize_t size;
    if (!PyArg_ParseTuple(args, "iy#:_publish_group", &number, &bytes, &size)) return nullptr;
    record::publish_group(number, {bytes, static_cast<size_t>(size)});
    return none();
  });
}

// _refuse_group(number, reason)
PyObject* refuse(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    int number;
    const char* reason;
    if (!PyArg_ParseTuple(args, "is:_refuse_group", &number, &reason)) return nullptr;
    record::refuse_group(number, reason);
    return none();
  });
}

// _exclude_recording(bool): returns the previous setting.
PyObject* exclude(PyObject*, PyObject* wanted) {
  return guarded([&] {
    refuse_replay("code that is not to be compiled runs");
    run_recorded_ops();
    KeySet& keys = thread_state.exclude;
    const bool before = keys.has(Key::Lazy);
    keys = wanted == Py_True ? keys | Key::Lazy : keys - Key::Lazy;
    return PyBool_FromLong(before);
  });
}

PyMethodDef functions[] = {
    {"_enter_region", enter, METH_O, "_enter_region(refuses_reads): ops of this thread are recorded from now on."},
    {"_leave_region", leave, METH_NOARGS, "Leaves the region; all live values have memory afterwards."},
    {"_region_depth", depth, METH_NOARGS, "How many regions this thread is in."},
    {"_region_refuses_reads", refuses, METH_NOARGS, "Whether this thread's region raises where Python reads a value."},
    {"_exclude_recording", exclude, METH_O, "Sets whether regions run ops unrecorded; returns the previous setting."},
    {"_recording_counts", counts, METH_NOARGS, "(recorded, grouped, launches, fused, spared) of this thread."},
    {"_watch_recording", watch, METH_O, "Sets whether events of this thread's regions are collected."},
    {"_recording_events", events, METH_NOARGS, "The collected events, for _describe_events."},
    {"_describe_events", describe_events, METH_O, "What was collected: [(kind, op, count, reason, place)]."},
    {"_recorded_groups", groups, METH_NOARGS, "[(number, ops, state, description)] of this process."},
    {"_publish_group", publish, METH_VARARGS, "_publish_group(number, answer): the kernel of a group."},
    {"_refuse_group", refuse, METH_VARARGS, "_refuse_group(number, reason): the group gets no kernel."},
    {},
};

}  // namespace

void refuse_read_in_region(const char* what) {
  if (!thread_state.exclude.has(Key::Lazy) && Recorder::of_this_thread().refuses_reads()) refuse_value_read(what);
}

void add_regions(PyObject* module) {
  checked(PyModule_AddFunctions(module, functions));
  checked(PyModule_AddStringConstant(module, "_OTHER_BITS", record::kOtherBits));
}

}  // namespace pellucid::python
