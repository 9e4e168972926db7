#include "kernels/host_shadow.h"

#include <algorithm>

#include "core/backend.h"
#include "core/geometry.h"
#include "core/pending.h"
#include "core/pinned_memory.h"
#include "kernels/conversion.h"
#include "kernels/copy.h"
#include "kernels/device_launch.h"
#include "kernels/layout.h"

namespace pellucid {
namespace {

constexpr int64_t kAlignment = 64;  // of a shadow within its storage, so that elements stay aligned

int64_t item_of(const TensorImpl& tensor) { return static_cast<int64_t>(item_size(tensor.dtype)); }

int64_t extent_bytes(const TensorImpl& tensor) { return extent_of(tensor.shape(), tensor.stride()) * item_of(tensor); }

// A tensor over existing memory.
Tensor tensor_over(const Ref<Storage>& storage, const TensorImpl& like, int64_t offset) {
  const int64_t none[] = {0};
  Tensor tensor = empty(none, like.dtype);
  Ref<Storage>::adopt(std::exchange(tensor->storage, Ref<Storage>(storage).leak()));
  tensor->offset = offset;
  set_geometry(*tensor, like.shape(), like.stride());
  tensor->flags |= like.flags & TensorImpl::kWrappedNumber;
  return tensor;
}

// With the sizes and strides of the tensor, made dense if they have gaps.
Tensor empty_pinned_like(const TensorImpl& tensor) {
  const Tensor like = empty_like_layout(tensor, tensor.dtype, {DeviceType::Meta});
  const auto nbytes = static_cast<size_t>(like->numel * item_of(*like));
  return tensor_over(allocate_pinned_storage(nbytes), *like, 0);
}

}  // namespace

HostShadows::Block* HostShadows::block_of(const Storage& storage) {
  const auto found = std::ranges::find(blocks_, &storage, [](const Block& block) { return block.tensor->storage; });
  return found == blocks_.end() ? nullptr : &*found;
}

const HostShadows::Block* HostShadows::block_of(const Storage& storage) const {
  return const_cast<HostShadows*>(this)->block_of(storage);
}

void HostShadows::add(TensorImpl& tensor, bool written) {
  if (!tensor.is_off_host()) return;
  static_cast<void>(tensor.address());  // raises if it has no memory of its own
  const int64_t begin = tensor.offset * item_of(tensor), end = begin + extent_bytes(tensor);
  Block* block = block_of(*tensor.storage);
  if (!block) block = &blocks_.emplace_back(Block{&tensor, begin, end, false, {}});
  if (end > begin) {
    const bool is_empty = block->begin == block->end;
    block->begin = is_empty ? begin : std::min(block->begin, begin);
    block->end = is_empty ? end : std::max(block->end, end);
  }
  block->written |= written;
}

void HostShadows::copy() {
  for (Block& block : blocks_) {
    const Storage& storage = *block.tensor->storage;
    block.begin &= ~(kAlignment - 1);
    const auto nbytes = static_cast<size_t>(block.end - block.begin);
    block.host = allocate_storage(nbytes);
    if (nbytes)
      backend_of(storage.device)
          .to_host(storage.device, block.host->host, storage.address() + static_cast<uint64_t>(block.begin), nbytes);
  }
}

Tensor HostShadows::shadow(TensorImpl& tensor) const {
  if (!tensor.is_off_host()) return Tensor::share(&tensor);
  const Block& block = *block_of(*tensor.storage);
  return tensor_over(block.host, tensor, tensor.numel ? tensor.offset - block.begin / item_of(tensor) : 0);
}

void HostShadows::write_back() const {
  for (const Block& block : blocks_) {
    const Storage& storage = *block.tensor->storage;
    if (block.written && block.end > block.begin)
      backend_of(storage.device)
          .from_host(storage.device, storage.address() + static_cast<uint64_t>(block.begin), block.host->host,
                     static_cast<size_t>(block.end - block.begin));
  }
}

Tensor HostShadows::view_of_original(TensorImpl& result) const {
  const auto found = std::ranges::find(blocks_, result.storage, [](const Block& block) { return block.host.get(); });
  if (found == blocks_.end() || !result.storage) return {};
  Tensor view = make_view(*found->tensor, result.shape(), result.stride(), 0);
  view->dtype = result.dtype;
  view->offset = result.offset + found->begin / item_of(result);
  return view;
}

Tensor on_host(TensorImpl& tensor) {
  if (tensor.flags & TensorImpl::kPending) [[unlikely]]
    return on_host(*resolved(tensor));
  HostShadows shadows;
  shadows.add(tensor);
  shadows.copy();
  return shadows.shadow(tensor);
}

namespace {

void copy_bytes_across(TensorImpl& to, TensorImpl& from, bool non_blocking) {
  const auto nbytes = static_cast<size_t>(to.numel * item_of(to));
  // The host's side of the copy, and whether it may run later.
  const auto may_run_later = [&](const TensorImpl& there, const TensorImpl& here) {
    if (!non_blocking || !is_pinned(*here.storage)) return false;
    note_pinned_use(*here.storage, there.device, current_stream(there.device));
    return true;
  };
  if (!to.is_off_host()) {
    Backend& backend = backend_of(from.device);
    if (may_run_later(from, to)) return backend.start_to_host(from.device, to.host(), from.address(), nbytes);
    return backend.to_host(from.device, to.host(), from.address(), nbytes);
  }
  if (!from.is_off_host()) {
    Backend& backend = backend_of(to.device);
    if (may_run_later(to, from)) return backend.start_from_host(to.device, to.address(), from.host(), nbytes);
    return backend.from_host(to.device, to.address(), from.host(), nbytes);
  }
  if (to.device == from.device) {
    if (to.address() != from.address())
      backend_of(to.device).copy_within(to.device, to.address(), from.address(), nbytes);
    return;
  }
  const Tensor between = on_host(from);
  backend_of(to.device).from_host(to.device, to.address(), between->host(), nbytes);
}

// Whether both are dense with the same layout, so that one block copy suffices.
bool are_equal_blocks(const TensorImpl& to, const TensorImpl& from) {
  if (to.dtype != from.dtype || !std::ranges::equal(to.shape(), from.shape())) return false;
  if (to.is_contiguous() && from.is_contiguous()) return true;
  return std::ranges::equal(to.stride(), from.stride()) && is_non_overlapping_and_dense(to.shape(), to.stride());
}

bool is_gapless(const TensorImpl& tensor) {
  return tensor.is_contiguous() || is_non_overlapping_and_dense(tensor.shape(), tensor.stride());
}

// Runs the map kernel that converts between the dtypes; false: the device does not launch it.
bool launch_conversion(TensorImpl& to, TensorImpl& from) {
  if (!to.is_off_host()) return false;
  Backend& backend = backend_of(to.device);
  if (!backend.launches_kernels() || (from.device != to.device && !is_gapless(from))) return false;
  const Tensor here = from.device == to.device ? Tensor::share(&from) : copy_to_device(from, to.device);
  int64_t strides[2][kMaxDims];
  const auto rank = static_cast<size_t>(to.ndim);
  broadcast_strides(*here, to.shape(), strides[1]);
  for (size_t axis = 0; axis < rank; ++axis) {
    strides[0][axis] = to.strides[axis] * item_of(to);
    strides[1][axis] *= item_of(*here);
  }
  const LaunchOperand operands[] = {{to.address(), to.dtype, to.shape(), {strides[0], rank}},
                                    {here->address(), here->dtype, to.shape(), {strides[1], rank}}};
  const Launch copy{"copy", conversion_kernel(to.dtype, from.dtype), to.device, to.shape(), to.ndim, operands, 1, {}};
  if (!backend.launch(copy)) return false;
  backend.launches.fetch_add(1, std::memory_order_relaxed);
  return true;
}

}  // namespace

void copy_across_devices(TensorImpl& to, TensorImpl& from, bool non_blocking) {
  const bool may_meet = to.storage == from.storage && to.address() != from.address();
  if (!may_meet && are_equal_blocks(to, from)) return copy_bytes_across(to, from, non_blocking);
  if (!may_meet && launch_conversion(to, from)) return;
  HostShadows shadows;
  shadows.add(to, true);
  shadows.add(from);
  shadows.copy();
  copy_elements(*shadows.shadow(to), *shadows.shadow(from));
  shadows.write_back();
}

Tensor copy_to_device(TensorImpl& tensor, Device device, bool non_blocking) {
  const bool is_pinned = non_blocking && device.type == DeviceType::CPU && tensor.is_off_host() && tensor.numel &&
                         backend_of(tensor.device).has_pinned_memory();
  Tensor copy = is_pinned ? empty_pinned_like(tensor) : empty_like_layout(tensor, tensor.dtype, device);
  if (non_blocking && tensor.numel && (copy->is_off_host() || tensor.is_off_host()))
    copy_across_devices(*copy, tensor, true);
  else copy_elements(*copy, tensor);
  return copy;
}

Tensor empty_pinned(const TensorImpl& like) {
  return tensor_over(allocate_pinned_storage(like.storage->nbytes), like, 0);
}

Tensor pinned_copy(TensorImpl& tensor) {
  Tensor copy = empty_pinned_like(tensor);
  copy_elements(*copy, tensor);
  return copy;
}

}  // namespace pellucid
