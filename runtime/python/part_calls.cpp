#include "python/part_calls.h"

#include <structmember.h>

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <vector>

#include "core/dispatcher.h"
#include "python/dispatch_protocol.h"

namespace pellucid::python {
namespace {

constexpr int64_t kReleaseThreshold = 32768;  // for parts with more elements, the interpreter lock is released

PyTypeObject* part_type = nullptr;  // never freed
Py_ssize_t part_offset, spec_offset;
thread_local PyObject* requested = nullptr;  // owned

bool is_part(const TensorImpl& tensor) {
  return tensor.python && Py_TYPE(static_cast<PyObject*>(tensor.python)) == part_type;
}

PyObject*& slot(const TensorImpl& tensor, Py_ssize_t offset) {
  return *reinterpret_cast<PyObject**>(static_cast<char*>(tensor.python) + offset);
}

Py_ssize_t offset_of(PyObject* type, const char* name) {
  Object member = own(PyObject_GetAttrString(type, name));
  if (Py_TYPE(member.get()) != &PyMemberDescr_Type) raise(ErrorKind::Type, "%s is not a slot of the class", name);
  return reinterpret_cast<PyMemberDescrObject*>(member.get())->d_member->offset;
}

Tensor without_memory(const WholeFacts& like, const TensorImpl& part) {
  Tensor made = empty({}, part.dtype, part.device);
  if (made->storage->release()) destroy(std::exchange(made->storage, nullptr));
  made->storage = allocate_storage(0, part.device).leak();
  set_geometry(*made, like.sizes, like.strides);
  made->flags |= TensorImpl::kNoMemory;
  return made;
}

class ObjectParts final : public PartHolder {
 public:
  bool open(TensorImpl& tensor, TensorImpl*& part, PyObject*& spec, uint64_t&) const override {
    if (!is_part(tensor)) return !tensor.keys.has(Key::PythonDispatch);  // another class has a say of its own
    PyObject* object = slot(tensor, part_offset);
    spec = slot(tensor, spec_offset);
    if (!object || !spec || !is_tensor(object)) return false;
    part = tensor_of(object);
    return true;
  }

  bool describe(const OpCall&, const TensorImpl& made, WholeFacts& facts) const override {
    if (!is_part(made)) return false;
    facts.spec = Object::borrow(slot(made, spec_offset));
    facts.sizes.assign(made.shape().begin(), made.shape().end());
    facts.strides.assign(made.stride().begin(), made.stride().end());
    return true;
  }

  // The tensor owns the object until Python needs it.
  Tensor whole(const OpCall&, const WholeFacts& facts, Tensor part) const override {
    Tensor made = without_memory(facts, *part);
    const Object object = own(wrap_as(part_type, made));
    slot(*made, spec_offset) = new_reference(facts.spec.get());
    slot(*made, part_offset) = wrap(std::move(part));
    return made;
  }

  bool records_again() const override { return true; }
};

// An int, or a sequence of them, as a tuple of ints that int64_t can hold.
Object checked_integers(PyObject* given) {
  Object items = PyLong_Check(given) ? own(PyTuple_Pack(1, given)) : own(PySequence_Tuple(given));
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(items.get()); ++k) {
    PyObject* item = PyTuple_GET_ITEM(items.get(), k);
    if (!PyLong_Check(item) || PyBool_Check(item))
      raise(ErrorKind::Type, "_repeat_on_parts() takes an int or a sequence of ints, not %s", Py_TYPE(item)->tp_name);
    if (PyLong_AsLongLong(item) == -1 && PyErr_Occurred()) raise_python();
  }
  return items;
}

std::vector<int64_t> integers_of(PyObject* checked) {
  std::vector<int64_t> found;
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(checked); ++k)
    found.push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(checked, k)));
  return found;
}

// In this scope, ops on parts are recorded for gradients, although the call is below autograd.
class RecordAgain {
 public:
  explicit RecordAgain(bool active) : saved_(thread_state.exclude) {
    if (active) thread_state.exclude = saved_ - (KeySet(Key::Autograd) | Key::ViewInPlace);
  }
  ~RecordAgain() { thread_state.exclude = saved_; }

 private:
  const KeySet saved_;
};

}  // namespace

const PartHolder& object_parts() {
  static const ObjectParts holder;
  return holder;
}

struct PartCall::Known {
  std::vector<uint64_t> words;
  std::vector<Object> specs;        // whose addresses are in the words
  std::vector<WholeFacts> results;  // empty for an in-place op
  std::vector<Object> moves;        // of each part, or null; none where all stay
  struct Numbers {
    size_t argument;
    std::vector<int64_t> integers;
  };
  std::vector<Numbers> numbers;  // integers of arguments that differ on the parts
};

// A set of the cache (set-associative): calls with the same hash do not evict each other at once.
struct PartCall::Set {
  std::array<std::shared_ptr<const Known>, 4> ways;
  size_t oldest = 0;
};

PartCall::Set& PartCall::set_of(uint64_t hash) {
  constexpr int kSetsLog2 = 8;
  static auto* sets = new std::vector<Set>(size_t{1} << kSetsLog2);
  return (*sets)[hash >> (64 - kSetsLog2)];
}

std::shared_ptr<const PartCall::Known> PartCall::find() const {
  for (const std::shared_ptr<const Known>& known : set_of(hash_).ways)
    if (known && std::ranges::equal(known->words, words_)) return known;
  return nullptr;
}

void PartCall::add(uint64_t word) {
  words_.push_back(word);
  hash_ = (std::rotl(hash_, 9) ^ word) * 0x9E3779B97F4A7C15ull;
}

// False for a tensor whose calls are not cached.
bool PartCall::add(TensorImpl& tensor, TensorImpl*& part) {
  PyObject* spec = nullptr;
  uint64_t word = 0;
  part = &tensor;
  if (!holder_.open(tensor, part, spec, word)) return false;
  if (spec) specs_.push_back(spec);
  held_.push_back(Tensor::share(part).leak());
  elements_ += part->numel;
  add(reinterpret_cast<uint64_t>(spec) ^ word);
  add(part->keys.bits() << 1 | (part->requires_grad() ? 1 : 0));
  return true;
}

PartCall::PartCall(const PartHolder& holder, const OpCall& call) : holder_(holder), values_(0) {
  constexpr size_t kMostListed = 16;
  if (!holder.fits(call)) return;
  add(reinterpret_cast<uint64_t>(call.op));
  add(uint64_t{call.op->epoch.load(std::memory_order_relaxed)} << 1 | (thread_state.grad_mode ? 1 : 0));
  for (int k = 0; k < call.num_args; ++k) {
    const Value& given = call.args[k];
    Value& value = values_[static_cast<size_t>(k)] = given;
    if (given.tag == Tag::Tensor) {
      if (!add(*given.tensor, value.tensor)) return;
    } else if (given.tag == Tag::TensorList) {
      const size_t first = listed_.size();
      if (first + given.length > kMostListed) return;
      for (TensorImpl* item : given.list()) {
        TensorImpl* part;
        if (!item || !add(*item, part)) return;
        listed_.push_back(part);
      }
      value.tensors = listed_.begin() + first;
    } else if (given.tag == Tag::OptionalTensorList) {
      return;
    }
  }
  const CallFacts facts({call.op, values_.data(), nullptr, call.num_args, KeySet()});
  if (!facts.complete()) return;
  for (const uint64_t word : facts.words()) add(word);
  is_complete_ = true;
}

PartCall::~PartCall() {
  for (TensorImpl* part : held_) Tensor::adopt(part);
}

bool PartCall::run(OpCall& call) {
  if (!is_complete_) return false;
  const std::shared_ptr<const Known> known = find();  // owned: the call below may evict it
  if (!known) return false;
  Values<kMaxReturns> results(kMaxReturns);
  OpCall on_parts{call.op, values_.data(), results.data(), call.num_args, KeySet()};
  {
    const RecordAgain scope(holder_.records_again());
    move_parts(*known, call.num_args);
    for (const auto& [argument, integers] : known->numbers) {
      Value& value = values_[argument];
      value = value.tag == Tag::IntList ? Value::of(std::span(integers)) : Value::of_int(integers[0]);
    }
    if (elements_ > kReleaseThreshold) {
      const ReleaseGil release;
      dispatch(on_parts);
    } else {
      dispatch(on_parts);
    }
  }
  if (call.op->variant == Variant::InPlace) {
    Tensor::adopt(results[0].tensor);
    returns_written(call);
    return true;
  }
  for (size_t k = 0; k < known->results.size(); ++k)
    call.rets[k] = Value::of(holder_.whole(call, known->results[k], Tensor::adopt(results[k].tensor)).leak());
  return true;
}

void PartCall::move_parts(const Known& known, int num_args) {
  if (known.moves.empty()) return;
  size_t number = 0;
  const auto move = [&](TensorImpl*& part) {
    TensorImpl*& held = held_[number];
    const Object& function = known.moves[number++];
    if (!function) return;
    const Object given = own(wrap(Tensor::share(part)));
    const Object moved = own(PyObject_CallOneArg(function.get(), given.get()));
    if (!is_tensor(moved.get())) raise(ErrorKind::Type, "a part moves to a %s", Py_TYPE(moved.get())->tp_name);
    part = tensor_of(moved.get());
    Tensor::adopt(std::exchange(held, Tensor::share(part).leak()));
  };
  TensorImpl** listed = listed_.begin();
  for (int k = 0; k < num_args; ++k) {
    Value& value = values_[static_cast<size_t>(k)];
    if (value.tag == Tag::Tensor) move(value.tensor);
    if (value.tag == Tag::TensorList)
      for (uint32_t i = 0; i < value.length; ++i) move(*listed++);
  }
}

void PartCall::remember(const OpCall& call, PyObject* request) const {
  PyObject *moves = PyTuple_GET_ITEM(request, 0), *numbers = PyTuple_GET_ITEM(request, 1);
  const auto num_moves = static_cast<size_t>(PyTuple_GET_SIZE(moves));
  if (num_moves && num_moves != held_.size()) return;
  if (!is_complete_ || call.op->variant == Variant::Out || owner_of(*call.op)) return;
  auto known = std::make_shared<Known>();
  if (call.op->variant == Variant::Functional)
    for (size_t k = 0; k < call.op->schema.returns.size(); ++k) {
      const Value& value = call.rets[k];
      WholeFacts facts;
      if (value.tag != Tag::Tensor || !holder_.describe(call, *value.tensor, facts)) return;
      known->results.push_back(std::move(facts));
    }
  known->words.assign(words_.begin(), words_.end());
  for (PyObject* spec : specs_) known->specs.push_back(Object::borrow(spec));
  for (size_t k = 0; k < num_moves; ++k) {
    PyObject* move = PyTuple_GET_ITEM(moves, static_cast<Py_ssize_t>(k));
    known->moves.push_back(move == Py_None ? Object() : Object::borrow(move));
  }
  for (int k = 0; k < call.num_args && PyDict_GET_SIZE(numbers); ++k) {
    const std::string& name = call.op->schema.arguments[static_cast<size_t>(k)].name;
    PyObject* given = PyDict_GetItemString(numbers, name.c_str());
    if (!given) continue;
    const Tag tag = call.args[k].tag;
    if (tag != Tag::IntList && (tag != Tag::Int || PyTuple_GET_SIZE(given) != 1)) return;
    known->numbers.push_back({static_cast<size_t>(k), integers_of(given)});
  }
  Set& set = set_of(hash_);
  set.ways[set.oldest] = std::move(known);
  set.oldest = (set.oldest + 1) % set.ways.size();
}

RepeatRequest::RepeatRequest() : outer_(std::exchange(requested, nullptr)) {}
RepeatRequest::~RepeatRequest() { Py_XDECREF(std::exchange(requested, outer_)); }
PyObject* RepeatRequest::given() const { return requested; }

bool has_parts(const OpCall& call) {
  if (!part_type) return false;
  for (uint32_t mask = call.op->schema.tensor_arguments; mask; mask &= mask - 1) {
    const Value& value = call.args[std::countr_zero(mask)];
    if (value.tag == Tag::Tensor && is_part(*value.tensor)) return true;
    if (value.tag == Tag::TensorList)
      for (const TensorImpl* item : value.list())
        if (item && is_part(*item)) return true;
  }
  return false;
}

namespace {

// _set_part_class(cls, part, spec)
PyObject* set_part_class(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject* type;
    const char *part, *spec;
    if (!PyArg_ParseTuple(args, "O!ss:_set_part_class", &PyType_Type, &type, &part, &spec)) return nullptr;
    part_offset = offset_of(type, part);
    spec_offset = offset_of(type, spec);
    part_type = reinterpret_cast<PyTypeObject*>(new_reference(type));
    return none();
  });
}

PyObject* repeat_on_parts(PyObject*, PyObject* moves, PyObject* numbers) {
  return guarded([&] {
    const Object integers = own(PyDict_New());
    PyObject *name, *given;
    for (Py_ssize_t place = 0; numbers && PyDict_Next(numbers, &place, &name, &given);)
      checked(PyDict_SetItem(integers.get(), name, checked_integers(given).get()));
    Py_XDECREF(std::exchange(requested, checked(PyTuple_Pack(2, moves, integers.get()))));
    return none();
  });
}

PyMethodDef functions[] = {
    {"_set_part_class", set_part_class, METH_VARARGS,
     "_set_part_class(cls, part, spec): the class of tensors held in parts, and its slots."},
    {"_repeat_on_parts", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(repeat_on_parts)),
     METH_VARARGS | METH_KEYWORDS,
     "_repeat_on_parts(*moves, **numbers), in its __torch_dispatch__: the call ran on the parts as they are, or as a "
     "function or None for each moves it, with other integers for the arguments named; others like it run so too."},
    {},
};

}  // namespace

void add_part_calls(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace pellucid::python
