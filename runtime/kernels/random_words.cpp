#include "kernels/random_words.h"

#include <map>
#include <mutex>
#include <utility>

#include "core/call_op.h"
#include "core/captured_draws.h"
#include "core/layout.h"
#include "core/named_ops.h"
#include "kernels/host_shadow.h"

namespace pellucid {
namespace {

std::mutex mutex;  // of the numbers below

// Where a stream begins: the kernel adds what memory holds and what the launch says.
struct Start {
  Tensor key, offset;
  PhiloxGenerator::Position added;
};

// Memory of zeros for draws outside of graphs: one per device, which nothing writes again.
Tensor zero_on(Device device) {
  static auto* const known = new std::map<std::pair<DeviceType, int8_t>, Tensor>;
  const std::pair place(device.type, device.index);
  {
    const std::lock_guard lock(mutex);
    if (const auto found = known->find(place); found != known->end()) return found->second;
  }
  const Tensor zero = empty(Sizes{}, DType::Int64, device);
  clear_storage(*zero->storage);
  const std::lock_guard lock(mutex);
  return known->emplace(place, zero).first->second;
}

Start start_of(PhiloxGenerator& generator, Device device) {
  constexpr uint64_t kBlock = PhiloxGenerator::kBlock;
  if (const auto captured = take_captured(generator.shared_state(), device, kBlock))
    return {captured->key, captured->offset, {0, captured->words}};
  const Tensor zero = zero_on(device);
  return {zero, zero, generator.take(kBlock)};
}

Value number(uint64_t word) { return Value::of_int(static_cast<int64_t>(word)); }

}  // namespace

Tensor draw_words(Generator& generator, Device device, int64_t count) {
  if (generator.device.type == DeviceType::CPU) {
    HostGenerator& host = as_host(generator);
    Tensor words = empty(std::array{count}, DType::Int32);
    const std::lock_guard lock(host.mutex);
    host.fill_locked({words->host_as<uint32_t>(), static_cast<size_t>(count)});
    return words;
  }
  constexpr auto kBlock = static_cast<int64_t>(PhiloxGenerator::kBlock);
  const Start start = start_of(static_cast<PhiloxGenerator&>(generator), device);
  return call_op(NamedOp::PhiloxWords,
                 {Value::of(start.key.get()), Value::of(start.offset.get()), number(start.added.seed),
                  number(start.added.offset), Value::of_int((count + kBlock - 1) / kBlock)});
}

RandomWords::RandomWords(const ElementFunction& function, const TensorImpl& result, const OpCall& call) {
  if (!function.num_draws) return;
  dense_strides_like(result.shape(), result.stride(), strides_);
  for (int axis = 0; axis < result.ndim; ++axis) strides_[axis] *= function.num_draws * int64_t{sizeof(uint32_t)};
  Value given;
  for (int i = 0; i < call.num_args; ++i)
    if (call.args[i].tag == Tag::Generator) given = call.args[i];
  words_ = draw_words(generator_for(given, result.device), result.device, result.numel * function.num_draws);
}

RandomWords RandomWords::copied_to(Device device) const {
  RandomWords copy = *this;
  if (words_.get() && words_->device != device) copy.words_ = copy_to_device(*words_, device);
  return copy;
}

static int64_t place_of(const ElementFunction::Input& input) {
  return (input.argument - kFirstDraw) * int64_t{sizeof(uint32_t)};
}

MapOperand RandomWords::operand(const ElementFunction::Input& input) const {
  return {words_->host() + place_of(input), DType::Int32, input.dtype, strides_};
}

LaunchOperand RandomWords::launch_operand(const ElementFunction::Input& input, Sizes shape) const {
  return {words_->address() + static_cast<uint64_t>(place_of(input)), DType::Int32, shape, {strides_, shape.size()}};
}

}  // namespace pellucid
