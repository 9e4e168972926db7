// torch.library: ops and kernels that Python defines and removes.
//
// The kernels of an op at a key, and those of a key for all ops, form a stack: the newest that serves the call's
// backend runs, and removing it restores the one before. A kernel may be restricted to a backend (PyTorch's
// "AutogradCPU"), may take the keys that selected it, and may fall through to the next lower key.
#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "core/device_names.h"
#include "core/dispatcher.h"
#include "core/pending.h"
#include "python/boxing.h"
#include "python/contexts.h"
#include "python/dispatch_keys.h"
#include "python/op_overload.h"

namespace pellucid::python {
namespace {

struct PythonKernel {
  int token;
  std::optional<Key> backend;
  PyObject* function;  // null: the next lower key runs
  bool with_keyset;
};

// All Python kernels of an op (null: of every op) at a key (empty: at every key without one).
struct Slot {
  OpRecord* op;
  std::optional<Key> key;
  std::vector<PythonKernel> kernels;
  KeyEntry replaced;
};

// Slots are never freed: running calls point to them. Used with the interpreter lock held.
std::deque<Slot>& slots() {
  static auto* made = new std::deque<Slot>;
  return *made;
}
int last_token = 0;

struct Choice {
  Object function;  // null: run the handler that the slot replaced, or the next lower key
  bool with_keyset = false;
};

Choice choose(const Slot& slot, const OpCall& call) {
  const KeySet backends = gather_keys(call) & kBackends;
  const Key backend = backends.empty() ? Key::CPU : backends.highest();
  for (size_t i = slot.kernels.size(); i-- > 0;) {
    const PythonKernel& kernel = slot.kernels[i];
    if (!kernel.backend || *kernel.backend == backend) return {Object::borrow(kernel.function), kernel.with_keyset};
  }
  return {};
}

void run_lower(OpCall& call, Key key) {
  ExcludeKeys below(key);
  dispatch(call);
}

// (first, *rest). `first` is the key set for a kernel that takes it, the overload for a kernel of every op.
Object with_first(Object first, const Object& rest) {
  const Py_ssize_t count = PyTuple_GET_SIZE(rest.get());
  Object all = own(PyTuple_New(count + 1));
  PyTuple_SET_ITEM(all.get(), 0, first.leak());
  for (Py_ssize_t i = 0; i < count; ++i)
    PyTuple_SET_ITEM(all.get(), i + 1, new_reference(PyTuple_GET_ITEM(rest.get(), i)));
  return all;
}

void run_slot(OpCall& call, void* context) {
  const Slot& slot = *static_cast<Slot*>(context);
  HoldGil gil;
  const Choice chosen = choose(slot, call);
  if (!chosen.function) {
    const KernelEntry before = slot.replaced.kernel;
    return before.function ? before.function(call, before.context) : run_lower(call, *slot.key);
  }
  if (slot.key == Key::CPU) require_device_of_kernel(call);
  Object positional, keywords;
  pack_arguments(call, positional, keywords);
  if (!slot.op) positional = with_first(Object::borrow(overload_object(*call.op)), positional);
  if (chosen.with_keyset) positional = with_first(own(keyset_object(call.keys)), positional);
  Object returned = own(PyObject_Call(chosen.function.get(), positional.get(), keywords.get()));
  unpack_results(call, returned.get());
}

Slot& slot_of(OpRecord* op, std::optional<Key> key) {
  for (Slot& slot : slots())
    if (slot.op == op && slot.key == key) return slot;
  return slots().emplace_back(Slot{op, key, {}, {}});
}

KeyEntry present(const Slot& slot) {
  if (!slot.op) return {fallback_at(*slot.key), false};
  return slot.key ? entry_at(*slot.op, *slot.key) : KeyEntry{catch_all_of(*slot.op), false};
}

void install(const Slot& slot, KeyEntry entry) {
  if (!slot.op) return register_fallback(*slot.key, entry.kernel);
  slot.key ? set_entry(*slot.op, *slot.key, entry) : register_catch_all(*slot.op, entry.kernel);
}

void refresh(Slot& slot) {
  if (slot.kernels.empty()) return install(slot, slot.replaced);
  const PythonKernel& newest = slot.kernels.back();
  const bool falls_through = slot.op && slot.key && !newest.function && !newest.backend;
  install(slot, falls_through ? KeyEntry{{}, true} : KeyEntry{{run_slot, &slot}, false});
}

constexpr const char* kCatchAll = "CompositeImplicitAutograd";

// _register_kernel(name, key, function, with_keyset=False): returns a token for `_remove_kernel`, 0 if no call can
// reach the kernel. Function None: fall through to the next lower key. Name "": for every op. Key "" or a composite
// key: at every key without a kernel.
PyObject* register_python_kernel(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    const char *name, *key_text;
    PyObject* function;
    int with_keyset = 0;
    if (!PyArg_ParseTuple(args, "ssO|p:_register_kernel", &name, &key_text, &function, &with_keyset)) return nullptr;
    if (function != Py_None && !PyCallable_Check(function))
      raise(ErrorKind::Type, "a kernel must be callable, a %s is not", Py_TYPE(function)->tp_name);
    OpRecord* op = *name ? find_op(name) : nullptr;
    if (*name && !op)
      raise(ErrorKind::Runtime, "there is no op %s: define it first, or check its name and overload", name);
    const NamedKey* key = *key_text ? &key_named(key_text) : nullptr;
    const bool everywhere = !key || key->composite;
    if (!everywhere && !key->key) return PyLong_FromLong(0);
    if (everywhere && !op) raise(ErrorKind::Runtime, "a kernel for every op needs a dispatch key, not '%s'", key_text);
    Slot& slot = slot_of(op, everywhere ? std::nullopt : key->key);
    if (slot.kernels.empty()) slot.replaced = present(slot);
    if (everywhere && (!key || key->name == kCatchAll)) fall_through_pending(*op);
    const std::optional<Key> backend = everywhere ? std::nullopt : key->backend;
    PyObject* kernel = function == Py_None ? nullptr : new_reference(function);
    slot.kernels.push_back({++last_token, backend, kernel, with_keyset != 0});
    refresh(slot);
    return PyLong_FromLong(last_token);
  });
}

PyObject* remove_python_kernel(PyObject*, PyObject* token_object) {
  return guarded([&]() -> PyObject* {
    const long token = PyLong_AsLong(token_object);
    if (token == -1 && PyErr_Occurred()) raise_python();
    for (Slot& slot : slots())
      for (size_t i = 0; i < slot.kernels.size(); ++i) {
        if (slot.kernels[i].token != token) continue;
        const Object function = Object::steal(slot.kernels[i].function);
        slot.kernels.erase(slot.kernels.begin() + static_cast<ptrdiff_t>(i));
        refresh(slot);
        return none();
      }
    return none();
  });
}

PyObject* define(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    const char *schema, *name_space;
    if (!PyArg_ParseTuple(args, "ss:_define_op", &schema, &name_space)) return nullptr;
    OpRecord* op = define_op(schema, name_space);
    register_fall_through(*op, Key::Autograd);  // the ops that a kernel in Python calls are recorded
    const auto is_viewed = [](const Argument& argument) { return argument.aliased && !argument.written; };
    if (std::ranges::any_of(op->schema.arguments, is_viewed)) fall_through_pending(*op);
    return to_string(op->qualified_name).leak();
  });
}

PyObject* undefine(PyObject*, PyObject* name) {
  return guarded([&]() -> PyObject* {
    const char* text = PyUnicode_AsUTF8(name);
    if (!text) raise_python();
    OpRecord* op = find_op(text);
    if (!op) return none();
    for (Slot& slot : slots())
      if (slot.op == op) {
        for (PythonKernel& kernel : slot.kernels) Py_CLEAR(kernel.function);
        slot.kernels.clear();
        slot.op = nullptr;
        slot.key = std::nullopt;
      }
    undefine_op(*op);
    return none();
  });
}

bool serves(const OpRecord& op, std::optional<Key> key) {
  return (key ? entry_at(op, *key).kernel : catch_all_of(op)).function != nullptr;
}

PyObject* has_kernel_for_key(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    const char* name;
    PyObject* key_object;
    if (!PyArg_ParseTuple(args, "sO:_dispatch_has_kernel_for_dispatch_key", &name, &key_object)) return nullptr;
    const NamedKey& key = to_named_key(key_object);
    const OpRecord* op = find_op(name);
    const bool found = op && (key.composite ? serves(*op, std::nullopt) : key.key && serves(*op, key.key));
    return PyBool_FromLong(found);
  });
}

PyObject* has_kernel(PyObject*, PyObject* name_object) {
  return guarded([&]() -> PyObject* {
    const char* name = PyUnicode_AsUTF8(name_object);
    if (!name) raise_python();
    const OpRecord* op = find_op(name);
    bool found = op && serves(*op, std::nullopt);
    for (int key = 0; op && key < kNumKeys && !found; ++key) found = serves(*op, static_cast<Key>(key));
    return PyBool_FromLong(found);
  });
}

// The kernel at the time of `_capture_kernel`, even if it was replaced since.
struct Captured {
  OpRecord* op;
  KernelEntry entry;
};

void run_captured(OpCall& call, void* context) {
  const Captured& captured = *static_cast<Captured*>(context);
  OpCall original{captured.op, call.args, call.rets, call.num_args, call.keys};
  captured.entry.function(original, captured.entry.context);
}

// _capture_kernel(name, key): the overload of a new op that runs the kernel which the op has at the key now.
PyObject* capture_kernel(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    const char *name, *key_text;
    if (!PyArg_ParseTuple(args, "ss:_capture_kernel", &name, &key_text)) return nullptr;
    OpRecord* op = find_op(name);
    if (!op) raise(ErrorKind::Runtime, "there is no op %s", name);
    const NamedKey& key = key_named(key_text);
    const KernelEntry entry = key.composite ? catch_all_of(*op)
                              : key.key     ? op->table[static_cast<int>(*key.key)]
                                            : KernelEntry{};
    if (!entry.function) raise(ErrorKind::Runtime, "%s has no kernel at %s", name, key_text);
    const std::string& text = op->schema.text;
    const std::string arguments = text.substr(text.find('('));
    static int count = 0;
    OpRecord* wrapper = define_op("kernel" + std::to_string(++count) + arguments, "captured");
    auto* captured = new Captured{op, entry};  // kernels are never freed
    for (int bit = 0; bit < kNumKeys; ++bit) set_entry(*wrapper, static_cast<Key>(bit), {{run_captured, captured}});
    return new_reference(overload_object(*wrapper));
  });
}

// "registered at file:line" for a kernel in Python, "the runtime's" for one of C++, "" for none.
std::string origin_of(const KeyEntry& entry) {
  if (entry.falls_through) return "fallthrough";
  if (!entry.kernel.function) return "";
  if (entry.kernel.function != run_slot) return "the runtime's";
  PyObject* const function = static_cast<const Slot*>(entry.kernel.context)->kernels.back().function;
  if (!function) return "fallthrough";
  if (!PyObject_HasAttrString(function, "__code__")) return "in Python";
  const Object code = own(PyObject_GetAttrString(function, "__code__"));
  const Object file = own(PyObject_GetAttrString(code.get(), "co_filename"));
  const Object line = own(PyObject_GetAttrString(code.get(), "co_firstlineno"));
  const Object text = own(PyUnicode_FromFormat("registered at %S:%S", file.get(), line.get()));
  const char* characters = PyUnicode_AsUTF8(text.get());
  if (!characters) raise_python();
  return characters;
}

OpRecord& defined_op(PyObject* name_object) {
  const char* name = PyUnicode_AsUTF8(name_object);
  if (!name) raise_python();
  OpRecord* op = find_op(name);
  if (!op) raise(ErrorKind::Runtime, "there is no op %s", name);
  return *op;
}

void add_line(std::string& text, std::string_view key, const std::string& origin, const char* kind) {
  if (!origin.empty()) text.append(key).append(": ").append(origin).append(kind).append("\n");
}

// _dispatch_dump(name): the schema, and what is registered for the op itself.
PyObject* dump(PyObject*, PyObject* name_object) {
  return guarded([&] {
    const OpRecord& op = defined_op(name_object);
    std::string text = "name: " + op.qualified_name + "\nschema: " + op.schema.text + "\n";
    for (int key = kNumKeys; key-- > 0;)
      add_line(text, name(static_cast<Key>(key)), origin_of(entry_at(op, static_cast<Key>(key))), "");
    add_line(text, kCatchAll, origin_of({catch_all_of(op)}), "");
    return to_string(text).leak();
  });
}

// _dispatch_dump_table(name): what runs at each key, from the highest.
PyObject* dump_table(PyObject*, PyObject* name_object) {
  return guarded([&] {
    const OpRecord& op = defined_op(name_object);
    std::string text;
    for (int bit = kNumKeys; bit-- > 0;) {
      const Key key = static_cast<Key>(bit);
      const KeyEntry own_entry = entry_at(op, key);
      const KernelEntry chosen = op.table[bit];
      if (own_entry.kernel.function || own_entry.falls_through) {
        add_line(text, name(key), origin_of(own_entry), " [kernel]");
      } else if (chosen.function) {
        const bool is_fallback = fallback_at(key).function != nullptr;
        add_line(text, name(key), origin_of({chosen}), is_fallback ? " [backend fallback]" : " [catch all]");
      }
    }
    return to_string(text).leak();
  });
}

PyObject* name_backend(PyObject*, PyObject* name_object) {
  return guarded([&] {
    const char* name = PyUnicode_AsUTF8(name_object);
    if (!name) raise_python();
    name_user_backend(name);
    return none();
  });
}
PyObject* backend_name(PyObject*, PyObject*) {
  return guarded([] { return to_string(device_type_name(DeviceType::PrivateUse)).leak(); });
}

PyMethodDef functions[] = {
    {"_rename_privateuse1_backend", name_backend, METH_O, "Names the user's backend."},
    {"_get_privateuse1_backend_name", backend_name, METH_NOARGS, "The name of the user's backend."},
    {"_define_op", define, METH_VARARGS, "_define_op(schema, namespace): a new op; its full name."},
    {"_undefine_op", undefine, METH_O, "_undefine_op(name): frees an op's name and its Python kernels."},
    {"_register_kernel", register_python_kernel, METH_VARARGS,
     "_register_kernel(name, key, function, with_keyset=False): a kernel written in Python; its token."},
    {"_remove_kernel", remove_python_kernel, METH_O, "_remove_kernel(token): removes a kernel."},
    {"_capture_kernel", capture_kernel, METH_VARARGS, "_capture_kernel(name, key): an overload that runs that kernel."},
    {"_dispatch_has_kernel", has_kernel, METH_O, "Whether an op has a kernel of its own."},
    {"_dispatch_has_kernel_for_dispatch_key", has_kernel_for_key, METH_VARARGS,
     "Whether an op has a kernel of its own at a key."},
    {"_dispatch_dump", dump, METH_O, "_dispatch_dump(name): what is registered for an op itself, as text."},
    {"_dispatch_dump_table", dump_table, METH_O, "_dispatch_dump_table(name): what runs at each key, as text."},
    {},
};

}  // namespace

void add_python_kernels(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace pellucid::python
