#include "core/tensor.h"

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <new>
#include <type_traits>

#include "core/allocator.h"
#include "core/backend.h"
#include "core/device_names.h"
#include "core/error.h"
#include "core/format.h"
#include "core/geometry.h"
#include "core/hooks.h"
#include "core/inline_storage.h"
#include "core/thread_state.h"
#include "timeline/recorder.h"

namespace pellucid {
namespace {

static_assert(std::is_trivially_destructible_v<TensorImpl>);
constexpr int kTensorClass = size_class(sizeof(TensorImpl));

KeySet backend_keys(Device device) {
  switch (device.type) {
    case DeviceType::CPU: return Key::CPU;
    case DeviceType::CUDA: return Key::CUDA;
    case DeviceType::Meta: return Key::Meta;
    case DeviceType::PrivateUse: return Key::PrivateUse1;
    case DeviceType::PrivateUse2: return Key::PrivateUse2;
    case DeviceType::PrivateUse3: return Key::PrivateUse3;
    default: return {};  // only wrapper subclasses name it, and their handlers choose
  }
}

TensorImpl* init_tensor(void* block, DType dtype, size_t ndim, Device device, KeySet keys) {
  auto* tensor = new (block) TensorImpl;
  tensor->dtype = dtype;
  tensor->ndim = static_cast<uint8_t>(ndim);
  tensor->device = device;
  tensor->keys = keys;
  tensor->sizes = tensor->inline_geometry;
  tensor->strides = tensor->inline_geometry + kInlineDims;
  if (thread_state.inference_mode) [[unlikely]] {
    tensor->flags = TensorImpl::kInference;
    tensor->keys = keys | Key::ViewInPlace;  // its handler refuses writes outside inference mode
  }
  return tensor;
}

bool is_off_host(Device device) { return device.type != DeviceType::CPU && device.type != DeviceType::Meta; }

// Memory for a tensor of `ndim` dimensions with room for its geometry, and no storage yet.
TensorImpl* make_tensor(DType dtype, size_t ndim, Device device) {
  if (ndim > kMaxDims) [[unlikely]]
    raise(ErrorKind::Runtime, "a tensor has at most %d dimensions, not %zu", kMaxDims, ndim);
  if (is_off_host(device)) [[unlikely]]
    device = with_index(device);
  TensorImpl* tensor = init_tensor(allocate_fixed<sizeof(TensorImpl)>(), dtype, ndim, device, backend_keys(device));
  if (is_off_host(device)) [[unlikely]]
    tensor->flags |= TensorImpl::kOffHost;
  if (ndim > kInlineDims) [[unlikely]] {
    auto* heap = static_cast<int64_t*>(std::malloc(2 * ndim * sizeof(int64_t)));
    if (!heap) {
      free_fixed<sizeof(TensorImpl)>(tensor);
      raise(ErrorKind::OutOfMemory, "not enough memory for a tensor's sizes");
    }
    tensor->sizes = heap;
    tensor->strides = heap + ndim;
    tensor->flags |= TensorImpl::kHeapGeometry;
  }
  return tensor;
}

void attach_storage(TensorImpl& tensor, int64_t elements) {
  int64_t nbytes = 0;
  if (__builtin_mul_overflow(elements, static_cast<int64_t>(item_size(tensor.dtype)), &nbytes)) [[unlikely]]
    raise(ErrorKind::Runtime, "a tensor of sizes %s has more bytes than a 64-bit address can reach",
          format_sizes(tensor.shape()).c_str());
  tensor.storage = allocate_storage(static_cast<size_t>(nbytes), tensor.device).leak();
}

}  // namespace

void TensorImpl::find_memory() {
  if (!core_hooks.find_memory) raise(ErrorKind::Runtime, "a tensor without memory of its own was read");
  core_hooks.find_memory(*this);
}

void TensorImpl::find_host_memory() {
  if (flags & kOffHost)
    raise(ErrorKind::Runtime,
          "the CPU cannot read or write the memory of a tensor on %s.\n"
          "Copy the tensor first: tensor.cpu()",
          device_name(device).c_str());
  if (flags & kPending)
    raise(ErrorKind::Runtime,
          "the elements of a tensor whose conjugation or negation is pending are not those in its memory.\n"
          "Compute them first: tensor.resolve_conj().resolve_neg()");
  find_memory();
}

void destroy(TensorImpl* tensor) {
  if (tensor->flags & TensorImpl::kPythonState) [[unlikely]]
    core_hooks.release_python_object(*tensor);
  if (tensor->wrapper) [[unlikely]]
    core_hooks.destroy_wrapper(tensor->wrapper);
  if (tensor->autograd) [[unlikely]]
    core_hooks.destroy_autograd_meta(tensor->autograd);
  if (tensor->base && tensor->base->release()) destroy(tensor->base);
  if (tensor->own_version && tensor->own_version->release()) [[unlikely]]
    delete tensor->own_version;
  if (tensor->flags & TensorImpl::kHeapGeometry) [[unlikely]]
    std::free(tensor->sizes);
  Storage* storage = tensor->storage;
  if (storage && storage->release()) {
    const int klass = storage->header_class;
    if (is_inline_storage(*storage) && free_two(klass, kTensorClass, {storage, tensor})) [[likely]]
      return;
    destroy(storage);
  }
  free_fixed<sizeof(TensorImpl)>(tensor);
}

namespace {

// The general case: zero sizes, many dimensions, large data, other devices, and errors.
[[gnu::noinline]] Tensor empty_general(Sizes sizes, DType dtype, Device device) {
  Tensor tensor = Tensor::adopt(make_tensor(dtype, sizes.size(), device));
  std::copy(sizes.begin(), sizes.end(), tensor->sizes);
  tensor->numel = checked_numel(sizes, item_size(dtype));
  row_major_strides(sizes, tensor->strides);
  tensor->flags |= TensorImpl::kContiguous | TensorImpl::kRowMajor;
  attach_storage(*tensor, tensor->numel);
  return tensor;
}

}  // namespace

namespace {

// Few elements in few dimensions: no product of sizes can overflow, and one block holds the storage.
constexpr int64_t kMostElements = kInlineStorage / 16;
// The flags that follow from sizes and strides.
constexpr uint16_t kLayoutFlags = TensorImpl::kContiguous | TensorImpl::kRowMajor;

// On the CPU, 1 to kMostElements elements, geometry not yet set.
[[gnu::noinline]] TwoBlocks allocate_two_slowly(size_t nbytes, int klass) {
  void* storage = allocate_block(sizeof(Storage) + nbytes, klass);
  try {
    void* tensor = allocate_fixed<sizeof(TensorImpl)>();
    if (is_watched(kWatchMemory)) [[unlikely]]
      record_storage(true, storage, nbytes);
    return {storage, tensor};
  } catch (...) {
    free_block(storage, klass);
    throw;
  }
}

TensorImpl* make_small(DType dtype, size_t ndim, int64_t numel) {
  const size_t nbytes = static_cast<size_t>(numel) * item_size(dtype);
  const int klass = inline_storage_class(nbytes);
  TwoBlocks blocks;
  if (!allocate_two(klass, kTensorClass, blocks)) [[unlikely]]
    blocks = allocate_two_slowly(nbytes, klass);
  TensorImpl* tensor = init_tensor(blocks.second, dtype, ndim, {}, Key::CPU);
  tensor->numel = numel;
  tensor->flags |= TensorImpl::kContiguous | TensorImpl::kRowMajor;
  tensor->storage = make_inline_storage(blocks.first, nbytes, klass);
  return tensor;
}

}  // namespace

Geometry::Geometry(const TensorImpl& tensor)
    : numel(tensor.numel), ndim(tensor.ndim), flags(tensor.flags & kLayoutFlags), words() {
  assert(fits(tensor));
  std::copy_n(tensor.sizes, ndim, words);
  std::copy_n(tensor.strides, ndim, words + kInlineDims);
}

bool Geometry::is_small() const {
  if (static_cast<uint64_t>(numel - 1) >= kMostElements) return false;
  return flags & TensorImpl::kRowMajor || is_non_overlapping_and_dense({words, ndim}, {words + kInlineDims, ndim});
}

Tensor empty(const Geometry& geometry, DType dtype) {
  TensorImpl* tensor = make_small(dtype, geometry.ndim, geometry.numel);
  tensor->flags = static_cast<uint16_t>((tensor->flags & ~kLayoutFlags) | geometry.flags);
  std::memcpy(tensor->inline_geometry, geometry.words, sizeof geometry.words);
  return Tensor::adopt(tensor);
}

Tensor empty_row_major_like(const TensorImpl& like, DType dtype) {
  const bool small = static_cast<uint64_t>(like.numel - 1) < kMostElements && like.ndim <= kInlineDims;
  if (!small || like.device != Device{}) [[unlikely]]
    return empty(like.shape(), dtype, like.device);
  TensorImpl* tensor = make_small(dtype, like.ndim, like.numel);
  std::memcpy(tensor->inline_geometry, like.inline_geometry, sizeof like.inline_geometry);
  return Tensor::adopt(tensor);
}

Tensor empty(Sizes sizes, DType dtype, Device device) {
  int64_t strides[kInlineDims], numel = 1;
  if (sizes.size() > kInlineDims || device.type != DeviceType::CPU) [[unlikely]]
    return empty_general(sizes, dtype, device);
  for (size_t i = sizes.size(); i-- > 0;) {
    const int64_t size = sizes[i];
    if (static_cast<uint64_t>(size) - 1 >= kMostElements) [[unlikely]]
      return empty_general(sizes, dtype, device);
    strides[i] = numel;
    numel *= size;  // at most kMostElements to the fifth power
  }
  if (numel > kMostElements) [[unlikely]]
    return empty_general(sizes, dtype, device);
  TensorImpl* tensor = make_small(dtype, sizes.size(), numel);
  for (size_t i = 0; i < sizes.size(); ++i) {
    tensor->sizes[i] = sizes[i];
    tensor->strides[i] = strides[i];
  }
  return Tensor::adopt(tensor);
}

Tensor empty_strided(Sizes sizes, Sizes strides, DType dtype, Device device) {
  if (sizes.size() != strides.size())
    raise(ErrorKind::Runtime, "sizes %s and strides %s must have the same length", format_sizes(sizes).c_str(),
          format_sizes(strides).c_str());
  for (const int64_t stride : strides)
    if (stride < 0)
      raise(ErrorKind::Runtime, "strides must not be negative: %s was given", format_sizes(strides).c_str());
  Tensor tensor = Tensor::adopt(make_tensor(dtype, sizes.size(), device));
  checked_numel(sizes, item_size(dtype));
  set_geometry(*tensor, sizes, strides);
  attach_storage(*tensor, extent_of(sizes, strides));
  return tensor;
}

Tensor empty_without_memory(Sizes sizes, Sizes strides, DType dtype) {
  Tensor tensor = Tensor::adopt(make_tensor(dtype, sizes.size(), {}));
  set_geometry(*tensor, sizes, strides);
  tensor->storage = make_unfilled_storage(static_cast<size_t>(extent_of(sizes, strides)) * item_size(dtype)).leak();
  tensor->flags |= TensorImpl::kNoMemory;
  return tensor;
}

Tensor empty_without_memory(const Geometry& geometry, DType dtype) {
  TensorImpl* tensor = init_tensor(allocate_fixed<sizeof(TensorImpl)>(), dtype, geometry.ndim, {}, Key::CPU);
  Tensor owner = Tensor::adopt(tensor);
  tensor->numel = geometry.numel;
  tensor->flags |= static_cast<uint16_t>(geometry.flags | TensorImpl::kNoMemory);
  std::memcpy(tensor->inline_geometry, geometry.words, sizeof geometry.words);
  tensor->storage = make_unfilled_storage(static_cast<size_t>(geometry.numel) * item_size(dtype)).leak();
  return owner;
}

Tensor tensor_of(Storage& storage, Sizes sizes, Sizes strides, int64_t offset, DType dtype) {
  Tensor tensor = Tensor::adopt(make_tensor(dtype, sizes.size(), {}));
  set_geometry(*tensor, sizes, strides);
  tensor->storage = Ref<Storage>::share(&storage).leak();
  tensor->offset = offset;
  return tensor;
}

Tensor empty_like_layout(const TensorImpl& like, DType dtype, Device device) {
  if (like.is_contiguous()) return empty(like.shape(), dtype, device);
  if (is_non_overlapping_and_dense(like.shape(), like.stride()))
    return empty_strided(like.shape(), like.stride(), dtype, device);
  int64_t strides[kMaxDims];
  dense_strides_like(like.shape(), like.stride(), strides);
  return empty_strided(like.shape(), {strides, like.ndim}, dtype, device);
}

namespace {

[[noreturn]] void refuse_geometry(TensorImpl& tensor, Sizes sizes) {
  const std::string given = format_sizes(sizes);
  std::fill_n(tensor.sizes, tensor.ndim, 0);
  tensor.numel = 0;
  raise(ErrorKind::Runtime, "a tensor of sizes %s has more elements than 64 bits can count", given.c_str());
}

}  // namespace

void set_geometry(TensorImpl& tensor, Sizes sizes, Sizes strides) {
  if (sizes.size() != tensor.ndim) [[unlikely]] {
    if (sizes.size() > kMaxDims)
      raise(ErrorKind::Runtime, "a tensor has at most %d dimensions, not %zu", kMaxDims, sizes.size());
    int64_t* old = tensor.flags & TensorImpl::kHeapGeometry ? tensor.sizes : nullptr;
    int64_t* heap = nullptr;
    if (sizes.size() > kInlineDims) {
      heap = static_cast<int64_t*>(std::malloc(2 * sizes.size() * sizeof(int64_t)));
      if (!heap) raise(ErrorKind::OutOfMemory, "not enough memory for a tensor's sizes");
    }
    tensor.sizes = heap ? heap : tensor.inline_geometry;
    tensor.strides = heap ? heap + sizes.size() : tensor.inline_geometry + kInlineDims;
    tensor.flags = static_cast<uint16_t>(heap ? tensor.flags | TensorImpl::kHeapGeometry
                                              : tensor.flags & ~TensorImpl::kHeapGeometry);
    tensor.ndim = static_cast<uint8_t>(sizes.size());
    std::free(old);
  }
  int64_t numel = 1;
  uint64_t expected = 1;  // wraps only if a size is 0, when it does not matter
  bool contiguous = true, row_major = true, is_empty = false, overflows = false;
  for (size_t i = sizes.size(); i-- > 0;) {
    tensor.sizes[i] = sizes[i];
    tensor.strides[i] = strides[i];
    overflows |= __builtin_mul_overflow(numel, sizes[i], &numel);
    is_empty |= sizes[i] == 0;
    row_major &= static_cast<uint64_t>(strides[i]) == expected;
    contiguous &= sizes[i] == 1 || static_cast<uint64_t>(strides[i]) == expected;
    expected *= static_cast<uint64_t>(sizes[i]);
  }
  if (overflows && !is_empty) [[unlikely]]
    refuse_geometry(tensor, sizes);
  tensor.numel = is_empty ? 0 : numel;
  tensor.flags &= static_cast<uint16_t>(~(TensorImpl::kContiguous | TensorImpl::kRowMajor));
  if (contiguous || numel == 0) tensor.flags |= TensorImpl::kContiguous;
  if (row_major) tensor.flags |= TensorImpl::kRowMajor;
}

void resize_tensor(TensorImpl& tensor, Sizes sizes) {
  if (std::ranges::equal(tensor.shape(), sizes)) return;
  int64_t strides[kMaxDims];
  const int64_t numel = checked_numel(sizes, item_size(tensor.dtype));
  int64_t end = 0, nbytes = 0;
  if (__builtin_add_overflow(numel, tensor.offset, &end) ||
      __builtin_mul_overflow(end, static_cast<int64_t>(item_size(tensor.dtype)), &nbytes))
    raise(ErrorKind::Runtime, "a tensor of sizes %s has more bytes than a 64-bit address can reach",
          format_sizes(sizes).c_str());
  if (static_cast<size_t>(nbytes) > tensor.storage->nbytes)
    resize_storage(*tensor.storage, static_cast<size_t>(nbytes));
  row_major_strides(sizes, strides);
  set_geometry(tensor, sizes, {strides, sizes.size()});
}

Tensor make_shell(TensorImpl& value, Sizes sizes, Sizes strides) {
  Tensor shell = Tensor::adopt(make_tensor(value.dtype, sizes.size(), value.device));
  set_geometry(*shell, sizes, strides);
  shell->offset = value.offset;
  shell->keys = Key::Transforms;
  shell->flags |= TensorImpl::kNoMemory;
  value.storage->retain();
  shell->storage = value.storage;
  return shell;
}

namespace {

inline void require_memory(const TensorImpl& source) {
  if (source.wrapper) [[unlikely]]
    raise(ErrorKind::NotImplemented,
          "a tensor inside a function transform (vmap, jvp) has no memory of its own to view");
}

// Copies to a view what it takes from its source, and notes how it was made.
inline void make_view_of(TensorImpl& view_tensor, TensorImpl& source, int64_t offset, bool detached) {
  TensorImpl* view = &view_tensor;
  view->offset = offset;
  // A view of a subclass's tensor is not an instance of the subclass.
  view->keys = source.keys - KeySet(Key::Autograd) - KeySet(Key::ViewInPlace) - kWatched;
  constexpr uint16_t kInherited =
      TensorImpl::kNoMemory | TensorImpl::kInference | TensorImpl::kOffHost | TensorImpl::kPending;
  view->flags &= static_cast<uint16_t>(~TensorImpl::kInference);  // follows the memory, wherever the view was made
  view->flags |= source.flags & kInherited;
  if (view->flags & TensorImpl::kInference) [[unlikely]]
    view->keys = view->keys | Key::ViewInPlace;
  if (source.storage) source.storage->retain();
  view->storage = source.storage;
  if (source.own_version) [[unlikely]] {
    source.own_version->retain();
    view->own_version = source.own_version;
    view->flags |= TensorImpl::kOwnVersion;
  }
  if (!detached) {
    TensorImpl* base = source.base ? source.base : &source;
    base->retain();
    view->base = base;
    if (is_differentiable(view->dtype)) view->keys = view->keys | Key::ViewInPlace;
    if (!thread_state.grad_mode) view->flags |= TensorImpl::kNoGradView;
  }
}

}  // namespace

Tensor make_view(TensorImpl& source, Sizes sizes, Sizes strides, int64_t offset, bool detached) {
  require_memory(source);
  Tensor view = Tensor::adopt(make_tensor(source.dtype, sizes.size(), source.device));
  set_geometry(*view, sizes, strides);
  make_view_of(*view, source, offset, detached);
  return view;
}

Tensor make_view(TensorImpl& source, const Geometry& geometry, int64_t offset, bool detached) {
  require_memory(source);
  void* block = allocate_fixed<sizeof(TensorImpl)>();
  TensorImpl* view = init_tensor(block, source.dtype, geometry.ndim, source.device, {});
  view->numel = geometry.numel;
  view->flags |= geometry.flags;
  std::memcpy(view->inline_geometry, geometry.words, sizeof geometry.words);
  make_view_of(*view, source, offset, detached);
  return Tensor::adopt(view);
}

}  // namespace pellucid
