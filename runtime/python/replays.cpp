#include "python/replays.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <unordered_set>

#include "autograd/op_node.h"
#include "core/pending.h"
#include "python/function_protocol.h"
#include "python/read_set.h"
#include "python/tensor_object.h"
#include "python/types.h"
#include "record/program.h"
#include "record/replay.h"
#include "transforms/autocast.h"

namespace pellucid::python {
namespace {

using record::Capture;
using record::kNoSlot;
using record::Replay;
using record::Slot;

// An argument of the captured call: a tensor with certain facts, or an object that existed before.
struct GivenArgument {
  bool is_tensor = false;
  Object object;  // if it is not a tensor
};

// A tensor that the call returns and that is a view: of what, in elements.
struct ReturnedView {
  std::vector<int64_t> sizes, strides;
  int64_t offset;  // from the first element of what it views
  uint16_t flags;  // how it was made
  KeySet pending;  // operations (core/pending.h)
};

// A result of the call: a container or another object that the call made, a tensor that it made, a view of a tensor, an
// argument, or an object that existed before.
struct Output {
  enum class Kind : uint8_t { Made, View, Argument, Object, Tuple, List, Dict, Instance };
  Kind kind;
  Slot slot = kNoSlot;        // of Made
  uint32_t number = 0;        // of Made: among the replay's results; of Argument: among the arguments
  Object object;              // of Object; of Dict: its keys, a tuple; of Tuple and Instance: the class
  std::vector<Output> parts;  // of Instance: its dict; of View: what it views
  std::shared_ptr<const ReturnedView> view;
};

// A tensor that the call made and returns.
struct MadeResult {
  Slot slot;
  TensorImpl* tensor;  // while capturing: the captured call's tensor
  Ref<OpNode> node;    // the node that made it, whose graph was freed; null: it requires no gradient
  uint32_t output = 0;
};

struct ReplayObject {
  PyObject_HEAD std::unique_ptr<Replay> replay;
  std::optional<ReadSet> reads;
  std::vector<GivenArgument> arguments;
  Object names;  // of the last arguments, a tuple; null: all are positional
  AutocastSettings casts;
  std::vector<MadeResult> made;
  Output output;
  record::Recomputed recomputed;
  long long runs;
  uint32_t misses;  // calls since the last run that had another read set or that another replay ran
};
PyTypeObject replay_type = {PyVarObject_HEAD_INIT(nullptr, 0)};
ReplayObject* as_replay(PyObject* object) { return reinterpret_cast<ReplayObject*>(object); }

constexpr uint16_t kWaysToView = TensorImpl::kNoGradView | TensorImpl::kMultiView;

// Whether a tensor has attributes that Python could read.
bool has_attributes(PyObject* tensor) {
  PyObject** dict = _PyObject_GetDictPtr(tensor);
  return dict && *dict && PyDict_GET_SIZE(*dict);
}
// Whether Python can read nothing of the tensor but its elements and what record::TensorFacts compares.
bool is_bare_tensor(PyObject* object) { return is_exact_tensor(object) && !has_attributes(object); }
bool gradients_are_bare(const std::vector<Tensor>& held) {
  return std::ranges::all_of(held, [](const Tensor& tensor) {
    const TensorImpl* gradient = tensor->autograd ? tensor->autograd->grad.get() : nullptr;
    return !gradient || !gradient->python || is_bare_tensor(static_cast<PyObject*>(gradient->python));
  });
}

// This thread's capture and its arguments.
struct Begun {
  std::optional<record::Conditions> conditions;
  std::optional<Capture> capture;
  std::vector<GivenArgument> given;
  Object arguments;  // a tuple of all
  const AutocastSettings casts = autocast_settings;
};
thread_local std::unique_ptr<Begun> begun;

// _begin_call_capture(arguments, held): captures what this thread does to tensors from now on.
PyObject* begin(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *arguments, *held;
    if (!PyArg_ParseTuple(args, "O!O!:_begin_call_capture", &PyTuple_Type, &arguments, &PyList_Type, &held))
      return nullptr;
    auto made = std::make_unique<Begun>();
    made->arguments = Object::borrow(arguments);
    std::vector<Tensor> tensors, holding;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(arguments); ++k) {
      PyObject* given = PyTuple_GET_ITEM(arguments, k);
      const bool is_new_tensor = is_bare_tensor(given);
      made->given.push_back({is_new_tensor, is_new_tensor ? Object() : Object::borrow(given)});
      if (is_new_tensor) tensors.push_back(Tensor::share(tensor_of(given)));
    }
    for (Py_ssize_t k = 0; k < PyList_GET_SIZE(held); ++k)
      holding.push_back(Tensor::share(tensor_of(PyList_GET_ITEM(held, k))));
    made->conditions.emplace(tensors, holding);
    made->capture.emplace(std::move(tensors), std::move(holding));
    if (!gradients_are_bare(made->conditions->held())) made->capture->fail("a gradient has attributes");
    begun = std::move(made);
    return none();
  });
}

// Describes the results of the captured call.
class Outputs {
 public:
  // `known`: a list of objects that existed before the call; `classes`: those of which it may have made objects.
  Outputs(Begun& call, PyObject* known, PyObject* classes)
      : begun_(call), capture_(*call.capture), classes_(Object::borrow(classes)) {
    for (Py_ssize_t k = 0; k < PyList_GET_SIZE(known); ++k) known_.insert(PyList_GET_ITEM(known, k));
  }
  std::vector<MadeResult> made;

  Output describe(PyObject* object) {
    if (is_tensor(object)) return describe_tensor(object);
    if (known_.contains(object)) return existing(object);
    const int is_instance = PySet_Contains(classes_.get(), reinterpret_cast<PyObject*>(Py_TYPE(object)));
    checked(is_instance);
    const bool is_mutable = PyList_CheckExact(object) || PyDict_CheckExact(object) || is_instance;
    if (is_mutable && !containers_.insert(object).second) {
      capture_.fail("the call returns a list, dict or other object twice");
      return existing(object);
    }
    const bool is_tuple = PyTuple_Check(object) && !_PyObject_GetDictPtr(object);
    if (is_tuple || PyList_CheckExact(object)) {
      Output output{is_tuple ? Output::Kind::Tuple : Output::Kind::List};
      output.object = Object::borrow(reinterpret_cast<PyObject*>(Py_TYPE(object)));
      for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(object); ++k)
        output.parts.push_back(describe(PySequence_Fast_GET_ITEM(object, k)));
      return output;
    }
    if (PyDict_CheckExact(object)) return describe_dict(object);
    if (is_instance) {
      Output output{Output::Kind::Instance};
      output.object = Object::borrow(reinterpret_cast<PyObject*>(Py_TYPE(object)));
      output.parts.push_back(describe_dict(own(PyObject_GenericGetDict(object, nullptr)).get()));
      return output;
    }
    const bool is_constant = object == Py_None || PyBool_Check(object) || PyFloat_CheckExact(object) ||
                             PyLong_CheckExact(object) || PyUnicode_CheckExact(object) ||
                             Py_IS_TYPE(object, &dtype_type) || Py_IS_TYPE(object, &device_type);
    if (!is_constant) capture_.fail(std::string("the call returns an object of ") + Py_TYPE(object)->tp_name);
    return existing(object);
  }

  std::vector<Slot> outliving_slots() const {
    std::vector<Slot> slots;
    for (const MadeResult& result : made) slots.push_back(result.slot);
    return slots;
  }

 private:
  static Output existing(PyObject* object) {
    Output output{Output::Kind::Object};
    output.object = Object::borrow(object);
    return output;
  }

  Output describe_dict(PyObject* object) {
    Output output{Output::Kind::Dict};
    output.object = own(PySequence_Tuple(object));
    PyObject *key, *value;
    for (Py_ssize_t position = 0; PyDict_Next(object, &position, &key, &value);) {
      if (!PyUnicode_CheckExact(key)) capture_.fail("the call returns a dict whose keys are not strings");
      output.parts.push_back(describe(value));
    }
    return output;
  }

  Output describe_tensor(PyObject* object) {
    TensorImpl& tensor = *tensor_of(object);
    uint32_t number;
    if (capture_.is_argument(tensor, number)) {
      Output output{Output::Kind::Argument};
      output.number = argument_number(number);
      return output;
    }
    if (capture_.is_held(tensor, number)) return existing(object);
    if (!is_bare_tensor(object)) {
      capture_.fail("the call returns a tensor of a subclass, or with attributes");
      return existing(object);
    }
    return tensor.base ? describe_view(object) : describe_made(tensor);
  }

  Output describe_made(TensorImpl& tensor) {
    Output output{Output::Kind::Made};
    const auto known = std::ranges::find(made, &tensor, &MadeResult::tensor);
    output.number = static_cast<uint32_t>(known - made.begin());
    if (known != made.end()) return output;
    output.slot = capture_.slot_of_result(tensor);
    const bool is_shared = std::ranges::find(made, output.slot, &MadeResult::slot) != made.end();
    if (is_shared) capture_.fail("the call returns tensors that share memory");
    MadeResult result{output.slot, &tensor, {}, 0};
    if (requires_grad(tensor)) take_node(tensor, result);
    made.push_back(std::move(result));
    return output;
  }

  // What a view was made of: an argument, a tensor that the program holds, or one that the call made.
  Output describe_base(TensorImpl& view) {
    const auto& arguments = begun_.conditions->arguments();
    const auto& held = begun_.conditions->held();
    const auto has_base = [&](const Tensor& known) {
      return known->storage == view.storage && (known->base ? known->base : known.get()) == view.base;
    };
    if (const auto given = std::ranges::find_if(arguments, has_base); given != arguments.end()) {
      Output output{Output::Kind::Argument};
      output.number = argument_number(static_cast<uint32_t>(given - arguments.begin()));
      return output;
    }
    if (const auto known = std::ranges::find_if(held, has_base); known != held.end())
      return existing(own(wrap(Tensor::share(known->get()))).get());
    return describe_made(*view.base);
  }

  Output describe_view(PyObject* object) {
    TensorImpl& tensor = *tensor_of(object);
    if (!views_.insert(object).second) capture_.fail("the call returns a view twice");
    auto* base_object = static_cast<PyObject*>(tensor.base->python);
    if (base_object && !is_bare_tensor(base_object))
      capture_.fail("the call returns a view of a tensor with attributes");
    if (requires_grad(tensor) || tensor.dtype != tensor.base->dtype || tensor.storage != tensor.base->storage)
      capture_.fail("the call returns a view with a history, or of another dtype");
    Output output{Output::Kind::View};
    output.parts.push_back(describe_base(tensor));
    const Output& base = output.parts[0];
    TensorImpl* source = tensor.base;
    if (base.kind == Output::Kind::Argument) source = tensor_of(PyTuple_GET_ITEM(begun_.arguments.get(), base.number));
    if (base.kind == Output::Kind::Object) source = tensor_of(base.object.get());
    output.view =
        std::make_shared<ReturnedView>(ReturnedView{.sizes = {tensor.sizes, tensor.sizes + tensor.ndim},
                                                    .strides = {tensor.strides, tensor.strides + tensor.ndim},
                                                    .offset = tensor.offset - source->offset,
                                                    .flags = static_cast<uint16_t>(tensor.flags & kWaysToView),
                                                    .pending = pending_of(tensor)});
    return output;
  }

  // A result that requires gradients can be replayed only if the call itself has freed its graph.
  void take_node(TensorImpl& tensor, MadeResult& result) {
    Node* node = grad_fn(tensor);
    if (!node || node->kind != NodeKind::Op || !is_spent(*node) || (tensor.autograd && tensor.autograd->hooks))
      return capture_.fail("the call returns a tensor whose graph it has not freed by backward()");
    result.node = Ref<OpNode>::share(static_cast<OpNode*>(node));
    result.output = tensor.autograd->output_number;
  }

  uint32_t argument_number(uint32_t tensor_number) const {
    uint32_t number = 0;
    for (const GivenArgument& given : begun_.given) {
      if (given.is_tensor && tensor_number-- == 0) break;
      ++number;
    }
    return number;
  }

  Begun& begun_;
  Capture& capture_;
  const Object classes_;  // a set
  // Of `containers_`: lists, dicts and instances, whose identity matters.
  std::unordered_set<PyObject*> known_, containers_, views_;
};

// Fails the capture unless every tensor that gets a gradient is in `held`, is a result, or does not outlive the call.
void check_gradients(const record::Recipe& recipe, const Outputs& outputs, const std::vector<Tensor>& held,
                     Capture& capture) {
  for (const MadeResult& result : outputs.made)
    for (const record::Action& action : recipe.actions)
      if (action.kind == record::Action::Kind::Gradient && action.slot == result.slot && result.slot != kNoSlot) {
        const TensorImpl* gradient = held[action.leaf]->autograd ? held[action.leaf]->autograd->grad.get() : nullptr;
        if (gradient != result.tensor) capture.fail("the call returns an alias of a gradient");
      }
}

// _end_call_capture(result, names, reads, known, classes, handles_errors) -> a Replay, or a str that says why there is
// none. `names`: of the last arguments; `known`, `classes`: see Outputs.
PyObject* end(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *result, *names, *reads, *known, *classes;
    int handles_errors;
    if (!PyArg_ParseTuple(args, "OO!OO!O!p:_end_call_capture", &result, &PyTuple_Type, &names, &reads, &PyList_Type,
                          &known, &PySet_Type, &classes, &handles_errors))
      return nullptr;
    if (!begun) raise(ErrorKind::Runtime, "nothing is captured");
    const std::unique_ptr<Begun> ended = std::move(begun);
    Capture& capture = *ended->capture;
    if (const char* reason = ended->conditions->broken_by_call()) capture.fail(reason);
    if (!gradients_are_bare(ended->conditions->held())) capture.fail("a gradient has attributes");
    for (size_t k = 0; k < ended->given.size(); ++k)
      if (ended->given[k].is_tensor && !is_bare_tensor(PyTuple_GET_ITEM(ended->arguments.get(), k)))
        capture.fail("the call gives an argument attributes");
    if (!(ended->casts == autocast_settings)) capture.fail("the call changes a mode of its thread");
    if (holds_casts()) capture.fail("autocast keeps casts of parameters beyond the call");
    Outputs outputs(*ended, known, classes);
    Output output = outputs.describe(result);
    record::Recipe recipe = capture.finish(outputs.outliving_slots());
    check_gradients(recipe, outputs, ended->conditions->held(), capture);
    if (handles_errors && recipe.may_fail_halfway())
      capture.fail("the program handles errors of ops that follow writes");
    if (!capture.failure().empty()) return checked(PyUnicode_FromString(capture.failure().c_str()));
    Object object = own(replay_type.tp_alloc(&replay_type, 0));
    auto* made = as_replay(object.get());
    new (&made->reads) std::optional<ReadSet>(ReadSet(reads));
    new (&made->arguments) std::vector<GivenArgument>(std::move(ended->given));
    made->casts = autocast_settings;
    new (&made->names) Object(PyTuple_GET_SIZE(names) ? Object::borrow(names) : Object());
    new (&made->made) std::vector<MadeResult>(std::move(outputs.made));
    new (&made->output) Output(std::move(output));
    // Last: the garbage collector skips an object until its content is complete.
    ended->conditions->forget_arguments();
    new (&made->replay) std::unique_ptr<Replay>(new Replay(std::move(recipe), std::move(*ended->conditions)));
    return object.leak();
  });
}

// _abort_call_capture()
PyObject* abort(PyObject*, PyObject*) {
  return guarded([] {
    begun.reset();
    return none();
  });
}

PyObject* build(const Output& output, std::span<PyObject* const> made, PyObject* const* args);

PyObject* build_view(const Output& output, std::span<PyObject* const> made, PyObject* const* args) {
  const ReturnedView& known = *output.view;
  const Object object = own(build(output.parts[0], made, args));
  TensorImpl& source = *tensor_of(object.get());
  Tensor view = make_view(source, known.sizes, known.strides, source.offset + known.offset);
  view->flags = static_cast<uint16_t>((view->flags & ~kWaysToView) | known.flags);
  set_pending(*view, known.pending);
  return wrap(std::move(view));
}

PyObject* build_instance(const Output& output, std::span<PyObject* const> made, PyObject* const* args) {
  auto* type = reinterpret_cast<PyTypeObject*>(output.object.get());
  Object object = own(type->tp_alloc(type, 0));
  const Object attributes = own(build(output.parts[0], made, args));
  checked(PyObject_GenericSetDict(object.get(), attributes.get(), nullptr));
  return object.leak();
}

PyObject* build(const Output& output, std::span<PyObject* const> made, PyObject* const* args) {
  switch (output.kind) {
    case Output::Kind::Made: return new_reference(made[output.number]);
    case Output::Kind::View: return build_view(output, made, args);
    case Output::Kind::Instance: return build_instance(output, made, args);
    case Output::Kind::Argument: return new_reference(args[output.number]);
    case Output::Kind::Object: return new_reference(output.object.get());
    case Output::Kind::Tuple:
    case Output::Kind::List: {
      const auto count = static_cast<Py_ssize_t>(output.parts.size());
      const bool is_tuple = output.kind == Output::Kind::Tuple;
      auto* type = reinterpret_cast<PyTypeObject*>(output.object.get());
      Object object = own(type == &PyTuple_Type ? PyTuple_New(count)
                          : is_tuple            ? type->tp_alloc(type, count)
                                                : PyList_New(count));
      for (Py_ssize_t k = 0; k < count; ++k) {
        PyObject* part = build(output.parts[static_cast<size_t>(k)], made, args);
        if (is_tuple) PyTuple_SET_ITEM(object.get(), k, part);
        else PyList_SET_ITEM(object.get(), k, part);
      }
      return object.leak();
    }
    case Output::Kind::Dict: break;
  }
  Object object = own(PyDict_New());
  for (size_t k = 0; k < output.parts.size(); ++k) {
    Object part = own(build(output.parts[k], made, args));
    checked(
        PyDict_SetItem(object.get(), PyTuple_GET_ITEM(output.object.get(), static_cast<Py_ssize_t>(k)), part.get()));
  }
  return object.leak();
}

// Whether a tracing or profiling function, or a function mode, of the program would observe the Python code.
bool is_observed() {
  const PyThreadState* state = PyThreadState_Get();
  return state->c_tracefunc || state->c_profilefunc || function_modes_active();
}

// While it exists, no other thread uses the replay, nor does a finalizer drop it; unless another use is in progress,
// perhaps in this thread.
class BusyScope {
 public:
  explicit BusyScope(ReplayObject& self)
      : self_(self), held_(Object::borrow(reinterpret_cast<PyObject*>(&self))), is_begun_(self.replay->begin()) {}
  ~BusyScope() {
    if (is_begun_ && self_.replay) self_.replay->end();
  }
  BusyScope(const BusyScope&) = delete;
  BusyScope& operator=(const BusyScope&) = delete;
  bool is_begun() const { return is_begun_; }

 private:
  ReplayObject& self_;
  const Object held_;
  const bool is_begun_;
};

PyObject* run(ReplayObject& self, PyObject* const* args, std::span<TensorImpl* const> tensors) {
  Replay::Run run(*self.replay, tensors);
  try {
    run.run();
  } catch (const Error& error) {
    // Nothing has happened yet: let Python run the call and raise the error.
    if (run.has_effects() || error.kind == ErrorKind::PythonRaised) throw;
    return nullptr;
  }
  ++self.runs;
  self.misses = 0;
  std::vector<Object> made;
  std::vector<PyObject*> pointers;
  for (const MadeResult& result : self.made) {
    Tensor tensor = Tensor::share(&run.at(result.slot));
    if (result.node) set_history(*tensor, Ref<Node>::adopt(copy_of_spent(*result.node).leak()), result.output);
    pointers.push_back(made.emplace_back(own(wrap(std::move(tensor)))).get());
  }
  return build(self.output, pointers, args);
}

// Drops all references; the replay fits no call afterwards.
int clear(PyObject* object) {
  ReplayObject& self = *as_replay(object);
  const auto replay = std::move(self.replay);
  const auto reads = std::exchange(self.reads, std::nullopt);
  const auto arguments = std::move(self.arguments);
  const Object names = std::move(self.names);
  const auto made = std::move(self.made);
  const Output output = std::move(self.output);
  return 0;
}

// A replay, which is busy, does not extend the lives of objects that the program has replaced.
void drop_if_replaced(ReplayObject& self) {
  if (!self.reads->holds_objects()) clear(reinterpret_cast<PyObject*>(&self));
}

// A program may alternate between two objects, so they count as replaced only after a while: 64 to 192 calls. The
// replay is busy.
constexpr uint32_t kPatience = 64;
void count_misses(ReplayObject& self, uint32_t count) {
  const uint32_t before = std::exchange(self.misses, self.misses + count);
  if (before >= kPatience && before / kPatience != self.misses / kPatience) drop_if_replaced(self);
}

// Once in kPatience runs of one replay.
void count_misses_of_others(PyObject* replays, const ReplayObject& used) {
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(replays); ++k) {
    ReplayObject& other = *as_replay(PyTuple_GET_ITEM(replays, k));
    if (&other == &used || !other.replay) continue;
    const BusyScope busy(other);
    if (busy.is_begun()) count_misses(other, kPatience);
  }
}

// Whether a call names the same arguments in the same order.
bool same_names(PyObject* known, PyObject* names) {
  const Py_ssize_t count = names ? PyTuple_GET_SIZE(names) : 0;
  if ((known ? PyTuple_GET_SIZE(known) : 0) != count) return false;
  for (Py_ssize_t k = 0; k < count; ++k)
    if (!is_same(PyTuple_GET_ITEM(known, k), PyTuple_GET_ITEM(names, k))) return false;
  return true;
}

// `args`: `count` arguments, the last of which have the `names`.
PyObject* try_replay(ReplayObject& self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  constexpr size_t kMost = 32;
  if (!self.replay || !same_names(self.names.get(), names)) return nullptr;
  if (static_cast<size_t>(count) != self.arguments.size() || self.replay->conditions().num_arguments() > kMost)
    return nullptr;
  TensorImpl* tensors[kMost];
  size_t num_tensors = 0;
  for (Py_ssize_t k = 0; k < count; ++k) {
    const GivenArgument& known = self.arguments[static_cast<size_t>(k)];
    if (!known.is_tensor) {
      if (!is_same(known.object.get(), args[k])) return nullptr;
    } else if (is_bare_tensor(args[k])) {
      tensors[num_tensors++] = tensor_of(args[k]);
    } else {
      return nullptr;
    }
  }
  const record::Conditions& conditions = self.replay->conditions();
  if (!(self.casts == autocast_settings) || holds_casts()) return nullptr;
  if (!conditions.allow({tensors, num_tensors}) || !gradients_are_bare(conditions.held()) || !self.replay->is_current())
    return nullptr;
  const BusyScope busy(self);
  if (!busy.is_begun()) return nullptr;
  if (!self.reads->holds()) {
    count_misses(self, 1);
    return nullptr;
  }
  return run(self, args, {tensors, num_tensors});
}

// replay.run(args, names): the call's result in a tuple; None if the replay does not fit the call.
PyObject* run_alone(PyObject* self, PyObject* given) {
  return guarded([&]() -> PyObject* {
    PyObject *args, *names;
    if (!PyArg_ParseTuple(given, "O!O!:run", &PyTuple_Type, &args, &PyTuple_Type, &names)) return nullptr;
    if (is_observed()) return none();
    PyObject* result = try_replay(*as_replay(self), PySequence_Fast_ITEMS(args), PyTuple_GET_SIZE(args), names);
    if (!result) return none();
    Object owned = Object::steal(result);
    return PyTuple_Pack(1, owned.get());
  });
}

// replay.difference(): the first difference of the read set, or None.
PyObject* difference(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    ReplayObject& known = *as_replay(self);
    if (!known.replay) return checked(PyUnicode_FromString("an object that was replaced"));
    const BusyScope busy(known);
    if (!busy.is_begun()) return checked(PyUnicode_FromString("a replay in progress"));
    return known.reads->holds() ? none() : checked(PyUnicode_FromString(known.reads->difference().c_str()));
  });
}

// replay.drop_if_replaced(): drops all references if an object of the read set was replaced.
PyObject* drop_replaced(PyObject* self, PyObject*) {
  return guarded([&] {
    ReplayObject& known = *as_replay(self);
    if (!known.replay) return none();
    const BusyScope busy(known);
    if (busy.is_begun()) drop_if_replaced(known);
    return none();
  });
}

Replay& undropped(PyObject* object) {
  if (!PyObject_TypeCheck(object, &replay_type)) raise(ErrorKind::Type, "needs a replay");
  const auto& replay = as_replay(object)->replay;
  if (!replay) raise(ErrorKind::Runtime, "the replay has dropped its actions, because an object was replaced");
  return *replay;
}

// replay.same_as(other): whether both have the same actions on the same tensors.
PyObject* same_as(PyObject* self, PyObject* other) {
  return guarded([&] { return PyBool_FromLong(undropped(self).recipe().same_as(undropped(other).recipe())); });
}

// replay.facts(): (ops, actions, compared objects, runs, joined ops, bytes of their block); only runs if it was dropped
PyObject* facts(PyObject* self, PyObject*) {
  return guarded([&] {
    const ReplayObject& known = *as_replay(self);
    Object ops = own(PyList_New(0));
    if (!known.replay) return checked(Py_BuildValue("(OiiLii)", ops.get(), 0, 0, known.runs, 0, 0));
    const auto& actions = known.replay->recipe().actions;
    for (const record::Action& action : actions)
      if (action.op) checked(PyList_Append(ops.get(), to_string(action.op->qualified_name).get()));
    const record::Program* program = known.replay->program();
    return checked(Py_BuildValue("(OnnLnn)", ops.get(), static_cast<Py_ssize_t>(actions.size()),
                                 static_cast<Py_ssize_t>(known.reads->size()), known.runs,
                                 static_cast<Py_ssize_t>(program ? program->num_ops() : 0),
                                 static_cast<Py_ssize_t>(program ? program->block_bytes() : 0)));
  });
}

// replay.recompute(memory_budget): recomputes what is cheap, or what the budget demands. Before its first run.
PyObject* recompute(PyObject* self, PyObject* budget) {
  return guarded([&]() -> PyObject* {
    ReplayObject& known = *as_replay(self);
    const double bytes = PyFloat_AsDouble(budget);
    if (PyErr_Occurred()) return nullptr;
    known.recomputed = undropped(self).recompute({.bytes = bytes});
    return none();
  });
}

// replay.recomputed(): (results computed twice, peak bytes of what the call makes without that, and with it)
PyObject* recomputed(PyObject* self, PyObject*) {
  return guarded([&] {
    const record::Recomputed& known = as_replay(self)->recomputed;
    return checked(Py_BuildValue("(ILL)", known.results, static_cast<long long>(known.bytes_before),
                                 static_cast<long long>(known.bytes)));
  });
}

int visit_output(const Output& output, visitproc visit, void* arg) {
  Py_VISIT(output.object.get());
  for (const Output& part : output.parts)
    if (const int status = visit_output(part, visit, arg)) return status;
  return 0;
}

int traverse(PyObject* object, visitproc visit, void* arg) {
  const ReplayObject& self = *as_replay(object);
  if (!self.replay) return 0;
  for (const GivenArgument& given : self.arguments) Py_VISIT(given.object.get());
  if (const int status = visit_output(self.output, visit, arg)) return status;
  return self.reads ? self.reads->traverse(visit, arg) : 0;
}

void deallocate(PyObject* object) {
  PyObject_GC_UnTrack(object);
  clear(object);
  ReplayObject& self = *as_replay(object);
  self.replay.~unique_ptr();
  self.reads.~optional();
  self.arguments.~vector();
  self.names.~Object();
  self.made.~vector();
  self.output.~Output();
  Py_TYPE(object)->tp_free(object);
}

// A read set alone, to find out later whether its objects have changed.
struct ReadSetObject {
  PyObject_HEAD std::optional<ReadSet> reads;
};
PyTypeObject reads_type = {PyVarObject_HEAD_INIT(nullptr, 0)};

PyObject* make_reads(PyTypeObject* type, PyObject* args, PyObject*) {
  return guarded([&]() -> PyObject* {
    PyObject* entries;
    if (!PyArg_ParseTuple(args, "O:ReadSet", &entries)) return nullptr;
    Object object = own(type->tp_alloc(type, 0));
    auto* made = reinterpret_cast<ReadSetObject*>(object.get());
    new (&made->reads) std::optional<ReadSet>();
    made->reads.emplace(entries);
    return object.leak();
  });
}
void free_reads(PyObject* object) {
  reinterpret_cast<ReadSetObject*>(object)->reads.~optional();
  Py_TYPE(object)->tp_free(object);
}
// reads.difference(): the first difference, or None.
PyObject* reads_difference(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    ReadSet& reads = *reinterpret_cast<ReadSetObject*>(self)->reads;
    return reads.holds() ? none() : checked(PyUnicode_FromString(reads.difference().c_str()));
  });
}

PyMethodDef replay_methods[] = {
    {"run", run_alone, METH_VARARGS, "run(args, names): the result in a tuple; None: Python must run the call."},
    {"difference", difference, METH_NOARGS, "The first difference of Python's objects, or None."},
    {"drop_if_replaced", drop_replaced, METH_NOARGS, "Drops all references if an object that it reads was replaced."},
    {"same_as", same_as, METH_O, "Whether another replay has the same actions on the same tensors."},
    {"facts", facts, METH_NOARGS, "(ops, actions, compared objects, runs, joined ops, bytes of their block)"},
    {"recompute", recompute, METH_O, "recompute(memory_budget): recomputes results to need less memory."},
    {"recomputed", recomputed, METH_NOARGS, "(results computed twice, peak bytes without that, and with it)"},
    {},
};
PyMethodDef reads_methods[] = {
    {"difference", reads_difference, METH_NOARGS, "The first difference, or None."},
    {},
};
PyMethodDef functions[] = {
    {"_begin_call_capture", begin, METH_VARARGS, "_begin_call_capture(arguments, held): begins to capture a call."},
    {"_end_call_capture", end, METH_VARARGS,
     "_end_call_capture(result, names, reads, known, handles_errors): a Replay, or why there is none."},
    {"_abort_call_capture", abort, METH_NOARGS, "Discards the capture."},
    {},
};

}  // namespace

PyObject* replay_call(PyObject* replays, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  if (is_observed()) return nullptr;
  return guarded([&]() -> PyObject* {
    if (keywords) count += PyTuple_GET_SIZE(keywords);
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(replays); ++k) {
      ReplayObject& replay = *as_replay(PyTuple_GET_ITEM(replays, k));
      Object result = Object::steal(try_replay(replay, args, count, keywords));
      if (!result) continue;
      if (replay.runs % kPatience == 0) [[unlikely]]
        count_misses_of_others(replays, replay);
      return result.leak();
    }
    return nullptr;
  });
}

void add_replays(PyObject* module) {
  replay_type.tp_name = "pellucid._C.Replay";
  replay_type.tp_basicsize = sizeof(ReplayObject);
  replay_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION;
  replay_type.tp_traverse = traverse;
  replay_type.tp_clear = clear;
  replay_type.tp_dealloc = deallocate;
  replay_type.tp_methods = replay_methods;
  checked(PyType_Ready(&replay_type));
  checked(PyModule_AddObjectRef(module, "Replay", reinterpret_cast<PyObject*>(&replay_type)));
  reads_type.tp_name = "pellucid._C.ReadSet";
  reads_type.tp_basicsize = sizeof(ReadSetObject);
  reads_type.tp_flags = Py_TPFLAGS_DEFAULT;
  reads_type.tp_new = make_reads;
  reads_type.tp_dealloc = free_reads;
  reads_type.tp_methods = reads_methods;
  checked(PyType_Ready(&reads_type));
  checked(PyModule_AddObjectRef(module, "ReadSet", reinterpret_cast<PyObject*>(&reads_type)));
  checked(PyModule_AddFunctions(module, functions));
}

}  // namespace pellucid::python
