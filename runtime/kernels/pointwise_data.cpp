#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "core/format.h"
#include "core/geometry.h"
#include "kernels/pointwise.h"
#include "threads/fork_safe_mutex.h"

namespace pellucid {

namespace {

FORK_SAFE ForkSafeMutex adding;  // functions to any op

void set_dense_strides(const ElementFunction& function) {
  for (int k = 0; k < function.num_outputs + function.num_inputs; ++k) {
    const bool is_output = k < function.num_outputs;
    const DType dtype = is_output ? function.outputs[k] : function.inputs[k - function.num_outputs].dtype;
    function.dense_strides[2 * k] = static_cast<int64_t>(item_size(dtype));
  }
}

}  // namespace

PointwiseData::PointwiseData(const Schema& schema, uint32_t promoted, bool int_to_float, bool refuses_bools)
    : num_arguments(static_cast<uint8_t>(schema.arguments.size())), int_to_float(int_to_float),
      refuses_bools(refuses_bools), promoted(promoted) {
  if (schema.arguments.size() > kMaxPointwiseArguments)
    raise(ErrorKind::Value, "%s has %zu arguments; a pointwise op has at most %d", schema.name.c_str(),
          schema.arguments.size(), kMaxPointwiseArguments);
  for (int k = 0; k < kMaxMapOutputs; ++k) written[k] = static_cast<uint8_t>(k);
  for (int i = 0, k = 0; i < num_arguments && k < kMaxMapOutputs; ++i)
    if (schema.arguments[static_cast<size_t>(i)].written) written[k++] = static_cast<uint8_t>(i);
  for (int i = 0; i < num_arguments; ++i) {
    if (schema.arguments[static_cast<size_t>(i)].type == ArgType::Device) device_argument = static_cast<int8_t>(i);
    switch (schema.arguments[static_cast<size_t>(i)].type) {
      case ArgType::Tensor:
      case ArgType::TensorOrScalar: roles[i] = Role::Operand; break;
      case ArgType::TensorList:
      case ArgType::OptionalTensorList: roles[i] = promoted >> i & 1 ? Role::Operand : Role::Number; break;
      case ArgType::Scalar:
      case ArgType::Float:
      case ArgType::SymInt:
      case ArgType::ScalarList: roles[i] = Role::Number; break;
      case ArgType::Generator:
        roles[i] = Role::Ignored;
        static_codes |= PointwiseKey::bits_of(i, PointwiseKey::None);
        break;
      default:
        roles[i] = Role::Static;
        has_statics = true;
        static_codes |= PointwiseKey::bits_of(i, PointwiseKey::Static);
    }
  }
}

void PointwiseData::refuse_bools(const OpCall& call) const {
  for (int i = 0; i < num_arguments; ++i) {
    const Value& value = call.args[i];
    const bool is_bool = value.is_tensor() ? value.tensor->dtype == DType::Bool : value.tag == Tag::Bool;
    if (promoted >> i & 1 && is_bool)
      raise(ErrorKind::Runtime,
            "%s does not take bools: use logical_xor or ~ for logic, or convert with .to(torch.int64)",
            call.op->schema.name.c_str());
  }
}

PointwiseData::~PointwiseData() {
  for (const Entry* entry = entries_.load(); entry;) delete std::exchange(entry, entry->next);
}

const ElementFunction& PointwiseData::function_for(const OpCall& call, PointwiseKey key) {
  for (const Entry* entry = entries_.load(std::memory_order_acquire); entry; entry = entry->next)
    if (entry->key == key && (!has_statics || statics_match(call, *entry))) return *entry->function;
  return add_entry(call, key);
}

bool PointwiseData::statics_match(const OpCall& call, const Entry& entry) const {
  size_t next = 0;
  for (int i = 0; i < num_arguments; ++i) {
    if (roles[i] != Role::Static) continue;
    const Value& given = call.args[i];
    const Value& known = entry.statics[next++];
    if (given.tag != known.tag || given.length != known.length) return false;
    if (given.tag == Tag::String ? given.length && std::memcmp(given.string, known.string, given.length) != 0
                                 : given.integer != known.integer)
      return false;
  }
  return true;
}

// Shapes that do not broadcast, and results that the destination cannot hold, are reported before a dtype that
// the op refuses.
void PointwiseData::refuse_shapes(const OpCall& call, PointwiseKey key) const {
  int64_t sizes[kMaxDims], next[kMaxDims];
  size_t rank = 0;
  for (int i = 0; i < num_arguments; ++i) {
    if (roles[i] != Role::Operand || !call.args[i].is_tensor()) continue;
    rank = static_cast<size_t>(broadcast_sizes({sizes, rank}, call.args[i].tensor->shape(), next));
    std::copy_n(next, rank, sizes);
  }
  if (call.op->variant != Variant::InPlace) return;
  const TensorImpl& target = *call.args[result_argument(call.args, 0)].tensor;
  if (!can_cast(key.common(), target.dtype))
    raise(ErrorKind::Runtime, "result type %s can't be cast to the desired output type %s", type_word(key.common()),
          type_word(target.dtype));
  if (!std::ranges::equal(target.shape(), Sizes{sizes, rank}))
    raise(ErrorKind::Runtime, "output with shape %s doesn't match the broadcast shape %s",
          format_sizes(target.shape()).c_str(), format_sizes({sizes, rank}).c_str());
}

const ElementFunction* PointwiseData::found(const OpCall& call, PointwiseKey key) const {
  try {
    return find_element_function(call, key);
  } catch (...) {  // the compiler's refusal, possibly a Python exception
    refuse_shapes(call, key);
    throw;
  }
}

const ElementFunction& PointwiseData::add_entry(const OpCall& call, PointwiseKey key) {
  const ElementFunction* function = found(call, key);
  auto* entry = new Entry{.key = key, .function = function, .statics = {}, .text = {}, .next = nullptr};
  entry->text.reserve(num_arguments);  // short strings must not move once a Value points into them
  for (int i = 0; i < num_arguments; ++i) {
    if (roles[i] != Role::Static) continue;
    Value value = call.args[i];
    if (value.tag == Tag::String) value.string = entry->text.emplace_back(value.string, value.length).data();
    entry->statics.push_back(value);
  }
  std::lock_guard lock(adding);
  if (!function->dense_strides[0]) set_dense_strides(*function);
  entry->next = entries_.load(std::memory_order_relaxed);
  entries_.store(entry, std::memory_order_release);
  return *function;
}

}  // namespace pellucid
