// The timeline's sessions for Python (src/pellucid/profiler/_timeline): start, stop, ranges, modules, the collector.
#include "timeline/session.h"

#include <optional>
#include <unordered_map>

#include "autograd/op_node.h"
#include "core/allocator.h"
#include "core/dispatcher.h"
#include "core/thread_state.h"
#include "plan/plan.h"
#include "python/call_lines.h"
#include "python/contexts.h"
#include "python/module_calls.h"
#include "timeline/routes.h"

namespace pellucid::python {
namespace {

size_t sessions_open = 0;  // under the interpreter lock

// Exists while sessions are open, because events point to the ops that ran.
std::optional<RetiredOpsScope>& named_ops() {
  static auto* const scope = new std::optional<RetiredOpsScope>;
  return *scope;
}

void record_block(void* block, size_t nbytes, bool taken) {
  ThreadTimeline* timeline = thread_timeline();
  if (!timeline) return;
  TimelineEvent* event = timeline->note(taken ? EventKind::TakeBlock : EventKind::GiveBlock, block);
  if (event) event->bytes = taken ? static_cast<int64_t>(nbytes) : -static_cast<int64_t>(nbytes);
}

// Disables the allocator's fast paths, so that storages and blocks are recorded.
void follow_memory() {
  static bool records_blocks = false;
  divert_pairs(is_watched(kWatchMemory));
  const bool wanted = is_watched(kWatchBlocks);
  if (wanted != std::exchange(records_blocks, wanted)) set_allocator_hook(wanted ? record_block : nullptr);
}

// start(what, folders of the package) -> session
PyObject* start(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    unsigned what;
    PyObject* folders;
    if (!PyArg_ParseTuple(args, "IO!", &what, &PyTuple_Type, &folders)) return nullptr;
    set_package_folders(folders);
    const uint64_t number = start_session(what);
    if (!sessions_open++) named_ops().emplace();
    follow_memory();
    return checked(PyLong_FromUnsignedLongLong(number));
  });
}

std::string step_name(const Step& step) {
  std::string text(kStepKindNames[static_cast<size_t>(step.kind)]);
  if (step.kernel) text += ' ' + step.kernel->label;
  return text;
}

// The texts of the events' pointers: {kind: {address: text}}.
class Names {
 public:
  void add(const TimelineEvent& event) {
    const bool is_text = event.flags & kTextFlag;
    switch (event.kind) {
      case EventKind::Call:
        if (!is_text) note(event, [](const void* what) { return static_cast<const OpRecord*>(what)->qualified_name; });
        break;
      case EventKind::Node:
        if (!is_text) note(event, [](const void* what) { return node_name(*static_cast<const OpRecord*>(what)); });
        break;
      case EventKind::Step:
        note(event, [](const void* what) { return step_name(*static_cast<const Step*>(what)); });
        break;
      default: break;
    }
    if (is_text) note(event, [](const void* what) { return std::string(static_cast<const char*>(what)); });
  }
  Object take() { return std::move(dict_); }

 private:
  template <class Describe>
  void note(const TimelineEvent& event, Describe&& describe) {
    Object key =
        own(Py_BuildValue("iK", static_cast<int>(event.kind), reinterpret_cast<unsigned long long>(event.what)));
    if (const int known = PyDict_Contains(dict_.get(), key.get()); checked(known), known) return;
    const std::string text = describe(event.what);
    Object name = own(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
    checked(PyDict_SetItem(dict_.get(), key.get(), name.get()));
  }
  Object dict_ = own(PyDict_New());
};

template <class Entry>
Object bytes_of(const std::vector<Entry>& list) {
  return own(PyBytes_FromStringAndSize(reinterpret_cast<const char*>(list.data()),
                                       static_cast<Py_ssize_t>(list.size() * sizeof(Entry))));
}

Object listed_threads(const SessionEvents& session, Names& names) {
  Object list = own(PyList_New(0));
  for (const ThreadEvents& thread : session.threads) {
    const void* known[64] = {};  // a cache before the dict: most events belong to few ops
    for (const TimelineEvent& event : thread.events) {
      const void*& last = known[(reinterpret_cast<uintptr_t>(event.what) >> 4 ^ static_cast<size_t>(event.kind)) % 64];
      if (std::exchange(last, event.what) != event.what || event.kind == EventKind::Node) names.add(event);
    }
    Object entry = own(Py_BuildValue("LKNN", static_cast<long long>(thread.system_thread),
                                     static_cast<unsigned long long>(thread.python_thread),
                                     bytes_of(thread.events).leak(), bytes_of(thread.facts).leak()));
    checked(PyList_Append(list.get(), entry.get()));
  }
  return list;
}

// stop(session) -> (clocks, threads, names, lines, modules, lost)
PyObject* stop(PyObject*, PyObject* number) {
  return guarded([&]() -> PyObject* {
    const unsigned long long session = PyLong_AsUnsignedLongLong(number);
    if (PyErr_Occurred()) return nullptr;
    const SessionEvents found = stop_session(session);
    follow_memory();
    Names names;
    Object threads = listed_threads(found, names);
    Object lines = listed_lines(), modules = listed_modules();
    if (sessions_open && !--sessions_open) {
      named_ops().reset();
      forget_lines();
      forget_modules();
    }
    return checked(Py_BuildValue(
        "(KKKK)NNNNK", static_cast<unsigned long long>(found.begin.ticks),
        static_cast<unsigned long long>(found.begin.nanoseconds), static_cast<unsigned long long>(found.end.ticks),
        static_cast<unsigned long long>(found.end.nanoseconds), threads.leak(), names.take().leak(), lines.leak(),
        modules.leak(), static_cast<unsigned long long>(found.lost)));
  });
}

std::string_view text_of(PyObject* object) {
  Py_ssize_t size;
  const char* text = PyUnicode_AsUTF8AndSize(object, &size);
  if (!text) raise_python();
  return {text, static_cast<size_t>(size)};
}

// The text of a name; cached by address, without reading its characters again.
const char* name_text(PyObject* name) {
  struct Known {
    Object name;
    const char* text = nullptr;
  };
  static auto* recent = new Known[64];
  Known& known = recent[reinterpret_cast<uintptr_t>(name) / 64 % 64];
  if (known.name.get() != name) known = {Object::borrow(name), shared_text(text_of(name))};
  return known.text;
}

// begin(text) -> token of a range, or None while nothing records
PyObject* begin_range(PyObject*, PyObject* text) {
  return guarded([&]() -> PyObject* {
    if (!is_watched(kWatchCalls)) return none();
    if (!PyUnicode_Check(text)) raise(ErrorKind::Type, "record_function takes a name, not %s", Py_TYPE(text)->tp_name);
    note_line();
    ThreadTimeline* timeline = thread_timeline();
    TimelineEvent* event =
        timeline ? timeline->begin(EventKind::Range, name_text(text), thread_state.sequence, kTextFlag) : nullptr;
    if (!event) return none();
    const uint64_t place = static_cast<uint64_t>(timeline->number & 0x7FFF) << 48 |
                           static_cast<uint64_t>(timeline->round & 0xFFFF) << 32 | timeline->open;
    return checked(PyLong_FromUnsignedLongLong(place));
  });
}

PyObject* end_range(PyObject*, PyObject* token) {
  return guarded([&]() -> PyObject* {
    if (token == Py_None) return none();
    const unsigned long long place = PyLong_AsUnsignedLongLong(token);
    if (PyErr_Occurred()) return nullptr;
    ThreadTimeline* timeline = thread_timeline();
    const auto number = static_cast<uint32_t>(place);
    const bool is_here = timeline && (timeline->number & 0x7FFF) == place >> 48 &&
                         (timeline->round & 0xFFFF) == (place >> 32 & 0xFFFF) && number < timeline->events.size();
    if (is_here) timeline->end(timeline->events[number]);
    return none();
  });
}

// run(text, function, ...): the function's result; a range of this name spans the call
PyObject* run_in_range(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    if (count < 2) raise(ErrorKind::Type, "_timeline_run takes a name and a function");
    TimelineScope scope;
    if (is_watched(kWatchCalls)) {
      note_line();
      scope.open(EventKind::Range, name_text(args[0]), kTextFlag, thread_state.sequence);
    }
    return checked(PyObject_Vectorcall(args[1], args + 2, static_cast<size_t>(count - 2), keywords));
  });
}

// For gc.callbacks: (phase, info).
PyObject* note_collection(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&]() -> PyObject* {
    static thread_local uint64_t begin = 0;
    if (count != 2) raise(ErrorKind::Type, "a callback of the garbage collector takes a phase and a dict");
    if (text_of(args[0]) == "start") {
      begin = is_watched(kWatchCalls) ? ticks() : 0;
      return none();
    }
    ThreadTimeline* timeline = begin && is_watched(kWatchCalls) ? thread_timeline() : nullptr;
    TimelineEvent* event = timeline ? timeline->note(EventKind::Collect, shared_text("garbage collection")) : nullptr;
    if (event) {
      event->flags = kTextFlag;
      event->end = ticks();  // this callback's own time counts as the event's
      event->begin = std::exchange(begin, 0);
    }
    return none();
  });
}

// add(process, text, begin, end): a range that another process timed
PyObject* add_range(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    long long process;
    PyObject* text;
    unsigned long long begin, end;
    if (!PyArg_ParseTuple(args, "LUKK", &process, &text, &begin, &end)) return nullptr;
    add_range_of_process(process, name_text(text), begin, end);
    return none();
  });
}

// Adds a text to the call that is running.
PyObject* add_note(PyObject*, PyObject* text) {
  return guarded([&] {
    ThreadTimeline* timeline = is_watched(kWatchNotes) ? thread_timeline() : nullptr;
    TimelineEvent* event = timeline ? timeline->note(EventKind::Note, shared_text(text_of(text))) : nullptr;
    if (event) event->flags = kTextFlag;
    return none();
  });
}

PyObject* takes_notes(PyObject*, PyObject*) { return PyBool_FromLong(is_watched(kWatchNotes)); }

PyObject* is_recording(PyObject*, PyObject*) { return PyBool_FromLong(is_watched(kWatchCalls)); }

PyObject* size_of_timeline(PyObject*, PyObject*) {
  return guarded([] {
    const ThreadTimeline* timeline = is_watched(kWatchCalls) ? thread_timeline() : nullptr;
    return checked(PyLong_FromSize_t(timeline ? timeline->events.size() : 0));
  });
}

// The names of the tags of recorded arguments.
PyObject* list_tags(PyObject*, PyObject*) {
  return guarded([] {
    static constexpr const char* kTags[] = {"None",
                                            "Tensor",
                                            "Int",
                                            "Float",
                                            "Bool",
                                            "Complex",
                                            "IntList",
                                            "FloatList",
                                            "BoolList",
                                            "TensorList",
                                            "OptionalTensorList",
                                            "ScalarList",
                                            "DType",
                                            "Device",
                                            "Layout",
                                            "MemoryFormat",
                                            "String",
                                            "Generator",
                                            "Object"};
    static_assert(std::size(kTags) == static_cast<size_t>(Tag::Object) + 1);
    Object list = own(PyTuple_New(std::size(kTags)));
    for (size_t k = 0; k < std::size(kTags); ++k)
      PyTuple_SET_ITEM(list.get(), static_cast<Py_ssize_t>(k), checked(PyUnicode_FromString(kTags[k])));
    return list.leak();
  });
}

PyObject* list_dtypes(PyObject*, PyObject*) {
  return guarded([] {
    Object list = own(PyTuple_New(kNumDTypes));
    for (int k = 0; k < kNumDTypes; ++k) {
      const std::string text(name(static_cast<DType>(k)));
      PyTuple_SET_ITEM(list.get(), k, checked(PyUnicode_FromString(text.c_str())));
    }
    return list.leak();
  });
}

// (name, when it runs) of the GEMM drivers, by the number in `detail` of a step's event.
PyObject* list_routes(PyObject*, PyObject*) {
  return guarded([] {
    Object list = own(PyTuple_New(std::size(kProductRouteTexts)));
    for (size_t k = 0; k < std::size(kProductRouteTexts); ++k) {
      const auto& [name, reason] = kProductRouteTexts[k];
      PyTuple_SET_ITEM(list.get(), static_cast<Py_ssize_t>(k), checked(Py_BuildValue("(ss)", name, reason)));
    }
    return list.leak();
  });
}

// The names of dispatch keys, by their place in the `extra` of a call's event; "" for a place without a key.
PyObject* list_keys(PyObject*, PyObject*) {
  return guarded([] {
    Object list = own(PyTuple_New(kNumKeys));
    for (int k = 0; k < kNumKeys; ++k) {
      const std::string text(name(static_cast<Key>(k)));
      PyTuple_SET_ITEM(list.get(), k, checked(PyUnicode_FromString(text.c_str())));
    }
    return list.leak();
  });
}

PyMethodDef functions[] = {
    {"_timeline_keys", list_keys, METH_NOARGS, "The names of dispatch keys, by their place in a set."},
    {"_timeline_routes", list_routes, METH_NOARGS, "(name, when it runs) of the GEMM drivers, by the number in steps."},
    {"_timeline_tags", list_tags, METH_NOARGS, "The names of the tags of recorded arguments."},
    {"_timeline_dtypes", list_dtypes, METH_NOARGS, "The names of dtypes by their number."},
    {"_timeline_start", start, METH_VARARGS, "_timeline_start(what, folders): begins a session; returns its number."},
    {"_timeline_stop", stop, METH_O,
     "_timeline_stop(session): what it recorded (pellucid.profiler._timeline.log reads it)."},
    {"_timeline_begin", begin_range, METH_O, "_timeline_begin(name): begins a range; None while nothing records."},
    {"_timeline_end", end_range, METH_O, "_timeline_end(token): ends a range that _timeline_begin began."},
    {"_timeline_add", add_range, METH_VARARGS,
     "_timeline_add(process, name, begin, end): a range that another process timed, in nanoseconds."},
    {"_timeline_note", add_note, METH_O, "_timeline_note(text): adds a text to the call that is running."},
    {"_timeline_takes_notes", takes_notes, METH_NOARGS, "Whether a session asks ops implemented in Python for notes."},
    {"_timeline_run", reinterpret_cast<PyCFunction>(run_in_range), METH_FASTCALL | METH_KEYWORDS,
     "_timeline_run(name, function, ...): calls the function within a range."},
    {"_timeline_is_on", is_recording, METH_NOARGS, "Whether a session of the timeline is open."},
    {"_timeline_size", size_of_timeline, METH_NOARGS, "The number of events of this thread, 0 while nothing records."},
    {"_timeline_note_collection", reinterpret_cast<PyCFunction>(note_collection), METH_FASTCALL,
     "For gc.callbacks: records runs of the garbage collector."},
    {},
};

}  // namespace

void add_timeline(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace pellucid::python
