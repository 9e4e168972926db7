#include "python/inline_cache.h"

#include <algorithm>
#include <cstring>

#include "autograd/handler.h"
#include "core/call_event.h"
#include "core/defaults.h"
#include "core/dispatcher.h"
#include "core/thread_pool.h"
#include "python/call_lines.h"
#include "python/convert.h"
#include "python/op_callable.h"
#include "python/types.h"

namespace pellucid::python {
namespace {

// The handlers at the history keys do nothing for tensors that neither require gradients nor are written to.
constexpr KeySet kCacheableKeys = kHistoryKeys | Key::CPU;

// Only small calls are prepared, and regions do not record small calls, so Key::Lazy is ignored.
KeySet keys_but_lazy(const OpRecord& op, KeySet keys) { return dispatch_keys(op, keys) - Key::Lazy; }

// The kind of argument that the following words describe.
enum class Fact : uint64_t { Tensor = 1, Float, Int, Sequence, Object, Keywords };

uint64_t tagged(Fact fact, uint64_t rest) { return static_cast<uint64_t>(fact) << 56 | rest; }

// Whether an object's address identifies its value: it is immutable and a program has one object per value.
bool is_known_by_address(PyObject* object) {
  if (object == Py_None || PyBool_Check(object)) return true;
  PyTypeObject* type = Py_TYPE(object);
  return type == &dtype_type || type == &layout_type || type == &memory_format_type || type == &device_type ||
         type == &PyUnicode_Type;
}

bool is_known_sequence(PyObject* object) {
  return PyTuple_CheckExact(object) || PyList_CheckExact(object) || Py_TYPE(object) == &size_type;
}

// The facts of a call's arguments as words: everything except the contents and addresses of tensors. Also the tensors.
class ArgumentFacts {
 public:
  explicit ArgumentFacts(const PythonArguments& given);

  bool complete() const { return count_ != 0; }                         // false: the call cannot be cached
  std::span<const uint64_t> words() const { return {words_, count_}; }  // padded: a multiple of kPadding
  std::span<TensorImpl* const> tensors() const { return {tensors_, num_tensors_}; }
  KeySet keys() const { return KeySet::from_bits(keys_); }
  uint64_t hash() const { return hash_; }

  static constexpr size_t kPadding = 4;
  static constexpr size_t kMaxTensors = 8;

 private:
  static constexpr size_t kMaxWords = 64;
  // The maximum number of words of one argument, plus the padding.
  static constexpr size_t kMargin = 1 + 2 * kInlineDims + kPadding;
  struct Writer;

  size_t count_ = 0, num_tensors_ = 0;
  uint64_t hash_ = 0, keys_ = 0;
  TensorImpl* tensors_[kMaxTensors];
  uint64_t words_[kMaxWords];
};

// The position of the next word, held in registers; null once an argument cannot be described.
struct ArgumentFacts::Writer {
  uint64_t* next;
  uint64_t* const limit;
  uint64_t hash = 0, keys = 0;
  size_t num_tensors = 0;

  void fail() { next = nullptr; }
  void add(uint64_t word) {
    *next++ = word;
    hash = std::rotl(hash, 9) ^ word;
  }

  [[gnu::always_inline]] void add_tensor(ArgumentFacts& facts, TensorImpl& tensor) {
    const uint64_t own_keys = tensor.keys.bits();
    const bool refused =
        own_keys & ~kCacheableKeys.bits() || tensor.numel >= kParallelGrain || tensor.ndim > kInlineDims;
    if (refused || num_tensors == kMaxTensors) [[unlikely]]
      return fail();
    // A view's history follows its base, which may have been written since.
    if (tensor.base && tensor.base->requires_grad() && !tensor.requires_grad()) [[unlikely]]
      return fail();
    facts.tensors_[num_tensors++] = &tensor;
    keys |= own_keys;
    // A tensor with these keys but without memory is a recorded value, which gets memory when it is read.
    constexpr uint32_t kLasting = ~(uint32_t{TensorImpl::kNoMemory} << 16);
    add(tagged(Fact::Tensor, (tensor.facts() & kLasting) | (own_keys & kHistoryKeys.bits()) << 8));
    hash += static_cast<uint64_t>(tensor.numel) << 4;
    for (int axis = 0; axis < tensor.ndim; ++axis) {
      *next++ = static_cast<uint64_t>(tensor.sizes[axis]);
      *next++ = static_cast<uint64_t>(tensor.strides[axis]);
    }
  }

  bool has_room() const { return next && next <= limit; }

  [[gnu::always_inline]] void add_object(ArgumentFacts& facts, PyObject* object) {
    if (!has_room()) [[unlikely]]
      return fail();
    if (is_plain_tensor(object)) return add_tensor(facts, *tensor_of(object));
    int64_t integer;
    if (is_small_integer(object, integer)) {
      add(tagged(Fact::Int, 0));
      add(static_cast<uint64_t>(integer));
    } else if (PyFloat_CheckExact(object)) {
      add(tagged(Fact::Float, 0));
      add(std::bit_cast<uint64_t>(PyFloat_AS_DOUBLE(object)));
    } else if (is_known_by_address(object)) {
      add(tagged(Fact::Object, reinterpret_cast<uint64_t>(object)));
    } else if (is_known_sequence(object)) {
      add_sequence(facts, object);
    } else {
      fail();
    }
  }

  [[gnu::always_inline]] void add_sequence(ArgumentFacts& facts, PyObject* sequence) {
    const Py_ssize_t length = PySequence_Fast_GET_SIZE(sequence);
    if (length > limit - next) return fail();
    add(tagged(Fact::Sequence, static_cast<uint64_t>(length)));
    if (length && is_plain_tensor(PySequence_Fast_GET_ITEM(sequence, 0))) [[unlikely]]
      return add_tensors(facts, sequence);
    for (Py_ssize_t k = 0; k < length; ++k) {
      int64_t integer;
      if (!is_small_integer(PySequence_Fast_GET_ITEM(sequence, k), integer)) return fail();
      add(static_cast<uint64_t>(integer));
    }
  }

  [[gnu::always_inline]] void add_tensors(ArgumentFacts& facts, PyObject* sequence) {
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(sequence) && next; ++k) {
      PyObject* item = PySequence_Fast_GET_ITEM(sequence, k);
      if (!has_room() || !is_plain_tensor(item)) return fail();
      add_tensor(facts, *tensor_of(item));
    }
  }
};

[[gnu::always_inline]] inline ArgumentFacts::ArgumentFacts(const PythonArguments& given) {
  Writer to{.next = words_, .limit = words_ + kMaxWords - kMargin};
  to.add(static_cast<uint64_t>(default_dtype()) | uint64_t{thread_state.grad_mode} << 8 |
         uint64_t{thread_state.anomaly_mode || thread_state.packs_saved_tensors} << 16);
  PyObject* const* objects = given.positional;
  Py_ssize_t count = given.count;
  if (given.keywords) {
    to.add(tagged(Fact::Keywords, reinterpret_cast<uint64_t>(given.keywords)));
    count += PyTuple_GET_SIZE(given.keywords);
  }
  if (given.self) to.add_object(*this, given.self);
  for (Py_ssize_t k = 0; k < count && to.next; ++k) to.add_object(*this, objects[k]);
  if (!to.next) [[unlikely]]
    return;
  hash_ = to.hash * 0x9E3779B97F4A7C15ull;
  keys_ = to.keys;
  num_tensors_ = to.num_tensors;
  for (size_t k = 0; k + 1 < kPadding; ++k) to.next[k] = 0;
  count_ = (static_cast<size_t>(to.next - words_) + kPadding - 1) / kPadding * kPadding;
}

bool same_words(std::span<const uint64_t> known, std::span<const uint64_t> words) {
  typedef uint64_t Block __attribute__((vector_size(8 * ArgumentFacts::kPadding), aligned(8)));
  if (known.size() != words.size()) return false;
  Block differences = {};
  for (size_t k = 0; k < words.size(); k += ArgumentFacts::kPadding)
    differences |= *reinterpret_cast<const Block*>(&known[k]) ^ *reinterpret_cast<const Block*>(&words[k]);
  return !(differences[0] | differences[1] | differences[2] | differences[3]);
}

}  // namespace

namespace {

// The observer of a cached call: none, or the timeline.
struct Unseen {
  struct Event {};
  Event event(const OpCall&) const { return {}; }
};
struct Recorded {
  const uint64_t begin = (note_line(), ticks());
  CallEvent event(const OpCall& call) const { return {call, begin}; }
};

}  // namespace

PyObject* InlineCache::run(const PythonArguments& given, bool& wanted) {
  if (watched.load(std::memory_order_relaxed)) [[unlikely]]
    return run_watched(given, wanted);
  return run_seen(given, wanted, Unseen{});
}

// A separate function, so that unobserved calls cost only one more test and need not save registers.
[[gnu::noinline]] PyObject* InlineCache::run_watched(const PythonArguments& given, bool& wanted) {
  wanted = false;
  return is_watched(kWatchDispatches) ? nullptr : run_seen(given, wanted, Recorded{});
}

template <class Watcher>
[[gnu::always_inline]] inline PyObject* InlineCache::run_seen(const PythonArguments& given, bool& wanted,
                                                              const Watcher& watcher) {
  wanted = false;
  const ArgumentFacts facts(given);
  if (!facts.complete()) return nullptr;
  if (!places_) [[unlikely]]
    places_ = std::make_unique<Place[]>(size_t{1} << kPlacesLog2);
  Place& place = place_of(facts.hash());
  CachedCall* cached = place.call.get();
  if (!cached || cached->epoch != cached->op->epoch.load(std::memory_order_relaxed) ||
      !same_words(cached->words, facts.words())) [[unlikely]] {
    wanted = std::exchange(place.last_hash, facts.hash()) == facts.hash();
    return nullptr;
  }
  const OpRecord& op = *cached->op;
  const size_t num_results = cached->num_results;
  if (!cached->prepared || keys_but_lazy(op, facts.keys()) != cached->keys) [[unlikely]]
    return nullptr;
  TensorImpl* const* tensor = facts.tensors().data();
  for (TensorImpl** slot : cached->values.tensors()) *slot = *tensor++;
  Values<kMaxReturns> results(num_results);
  OpCall call{&op, cached->values.data(), results.data(), static_cast<uint8_t>(cached->values.size()), cached->keys};
  [[maybe_unused]] const auto event = watcher.event(call);
  if (!cached->prepared->run(call, facts.tensors())) [[unlikely]] {
    // May run Python, which may call the same op or change a list: hold everything that the Values point to.
    std::unique_ptr<CachedCall> held = std::move(place.call);
    std::vector<Tensor> items;
    for (TensorImpl* item : facts.tensors()) items.push_back(Tensor::share(item));
    dispatch(call, facts.keys());
    if (!place.call && held->prepared->is_current()) place.call = std::move(held);
  }
  if (num_results == 1 && results[0].tag == Tag::Tensor) [[likely]]
    return wrap(Tensor::adopt(results[0].tensor));
  return wrap_results(op, results.data());
}

void InlineCache::insert(std::unique_ptr<CachedCall> call) {
  Place& place = place_of(call->hash);
  place.call = std::move(call);
}

std::unique_ptr<CachedCall> describe_call(const PythonArguments& given, const Signature& signature,
                                          ParsedArguments& parsed) {
  const ArgumentFacts facts(given);
  auto call = std::make_unique<CachedCall>();
  call->words.assign(facts.words().begin(), facts.words().end());
  call->hash = facts.hash();
  call->op = signature.op;
  call->num_results = signature.num_results;
  call->keys = keys_but_lazy(*signature.op, facts.keys());
  call->epoch = signature.op->epoch.load(std::memory_order_relaxed);
  call->values = StoredValues({parsed.values(), signature.num_parameters});
  bool possible = call->values.complete() && !parsed.requires_grad && (call->keys - kCacheableKeys).empty();
  const OpRecord& op = *signature.op;
  if (op.variant != Variant::Functional) possible &= (call->keys & kHistoryKeys).empty();
  const auto given_in_order = [](TensorImpl** place, TensorImpl* tensor) { return *place == tensor; };
  if (!possible || !std::ranges::equal(call->values.tensors(), facts.tensors(), given_in_order)) return nullptr;
  if (given.keywords) call->held.push_back(Object::borrow(given.keywords));
  const Py_ssize_t count = given.count + (given.keywords ? PyTuple_GET_SIZE(given.keywords) : 0);
  for (Py_ssize_t k = 0; k < count; ++k)
    if (is_known_by_address(given.positional[k])) call->held.push_back(Object::borrow(given.positional[k]));
  return call;
}

}  // namespace pellucid::python
