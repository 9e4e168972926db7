// TensorImpl: geometry over a Storage, plus the facts that dispatch, autograd and recording need.
//
// Sizes and strides (in elements) are stored inline up to five dimensions. The CPU reaches memory through `host()`
// alone, which raises for a tensor of another device; `address()` is where the memory is on any device. A tensor owns
// one count of its storage; a view also keeps its base alive so that an in-place write can rebase history.
//
// A wrapper of a transform never has memory of its own. A recorded value that has not been computed yet
// (Key::Lazy, record/) gets memory when `host()` or `address()` is first called.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

#include "abi/limits.h"
#include "core/dtype.h"
#include "core/keys.h"
#include "core/storage.h"

namespace pellucid {

struct AutogradMeta;  // autograd/tensor_history.h
struct Wrapper;       // transforms/wrapper.h
struct TensorImpl;
using Tensor = Ref<TensorImpl>;

constexpr int kInlineDims = 5;

struct TensorImpl : RefCounted {
  enum Flag : uint16_t {
    kContiguous = 1,     // row-major without gaps
    kRequiresGrad = 2,   // set on leaves by the user, on results by the Autograd handler
    kWrappedNumber = 4,  // converted from a Python number: weak in promotion
    kHeapGeometry = 8,
    kPythonState = 16,  // owns its Python object, which carries state and outlived its last reference
    kNoMemory = 32,     // a wrapper or a recorded value: host() calls the hook
    kInference = 64,    // made in inference mode
    kOwnVersion = 128,  // has a version cell of its own (`.data`)
    kOffHost = 256,     // on a device whose memory the CPU must not touch: host() raises
    kPending = 512,     // conjugation or negation is pending (core/pending.h): host() raises
    kRowMajor = 1024,   // contiguous, with row-major strides even for dims of size 1
    // of views, by how they were made: an in-place write with gradients is refused
    kNoGradView = 2048,    // in no_grad mode
    kMultiView = 4096,     // by an op that returns several views
    kFunctionView = 8192,  // by a custom Function
  };

  DType dtype;
  uint8_t ndim = 0;
  uint16_t flags = 0;
  Device device;
  KeySet keys;
  int64_t numel = 1;
  int64_t offset = 0;  // elements from the start of the storage
  int64_t* sizes;
  int64_t* strides;
  Storage* storage = nullptr;  // owned
  void* python = nullptr;      // borrowed: the live wrapper object, or null
  AutogradMeta* autograd = nullptr;
  TensorImpl* base = nullptr;  // owned: the tensor that this is a view of (never itself a view)
  VersionCell* own_version = nullptr;
  Wrapper* wrapper = nullptr;  // owned; what a function transform sees instead of this tensor
  int64_t inline_geometry[2 * kInlineDims];

  // One load reads all three: they are adjacent.
  uint32_t facts() const { return static_cast<uint32_t>(dtype) | uint32_t{ndim} << 8 | uint32_t{flags} << 16; }
  std::span<const int64_t> shape() const { return {sizes, ndim}; }
  std::span<const int64_t> stride() const { return {strides, ndim}; }
  bool is_contiguous() const { return flags & kContiguous; }
  bool is_row_major() const { return flags & kRowMajor; }
  bool requires_grad() const { return flags & kRequiresGrad; }
  std::atomic<uint32_t>& version() const { return own_version ? own_version->value : storage->version; }
  void bump_version() { count_up(version()); }

  // The address of the first element, for code that runs on the CPU.
  char* host() {
    if (flags & (kNoMemory | kOffHost | kPending)) [[unlikely]]
      find_host_memory();
    return static_cast<char*>(storage->host) + offset * static_cast<int64_t>(item_size(dtype));
  }
  template <class T>
  T* host_as() {
    return reinterpret_cast<T*>(host());
  }
  // The address of the first element, on the tensor's device.
  uint64_t address() {
    if (flags & kNoMemory) [[unlikely]]
      find_memory();
    return storage->address() + static_cast<uint64_t>(offset * static_cast<int64_t>(item_size(dtype)));
  }
  bool is_off_host() const { return flags & kOffHost; }

 private:
  void find_memory();       // of a recorded value or wrapper; raises if it has none
  void find_host_memory();  // likewise; raises for memory off the host
};

void destroy(TensorImpl* tensor);

// The sizes and strides of a tensor of at most kInlineDims dimensions, with what follows from them: for repeated
// calls, which copy it to their results.
struct Geometry {
  static bool fits(const TensorImpl& tensor) { return tensor.ndim <= kInlineDims; }
  explicit Geometry(const TensorImpl& tensor);  // requires `fits`
  // Whether `empty` accepts it: dense, on the CPU, with few elements and at least one.
  bool is_small() const;

  int64_t numel;
  uint8_t ndim;
  uint16_t flags;  // those that follow from sizes and strides
  int64_t words[2 * kInlineDims];
};

// A new tensor. Empty `strides`: row-major. Raises on negative or overflowing sizes.
Tensor empty(std::span<const int64_t> sizes, DType dtype, Device device = {});
Tensor empty_strided(std::span<const int64_t> sizes, std::span<const int64_t> strides, DType dtype, Device device = {});
Tensor empty(const Geometry& geometry, DType dtype);
// A tensor with the geometry of `like`, which is row-major.
Tensor empty_row_major_like(const TensorImpl& like, DType dtype);
// The layout of PyTorch's elementwise results for `like`: dense, in the same dimension order.
Tensor empty_like_layout(const TensorImpl& like, DType dtype, Device device);
inline Tensor empty_like_layout(const TensorImpl& like, DType dtype) {
  return empty_like_layout(like, dtype, like.device);
}
// A tensor whose storage has its size but no memory yet (kNoMemory).
Tensor empty_without_memory(std::span<const int64_t> sizes, std::span<const int64_t> strides, DType dtype);
Tensor empty_without_memory(const Geometry& geometry, DType dtype);  // row-major
// A tensor over the CPU storage, without a base.
Tensor tensor_of(Storage& storage, std::span<const int64_t> sizes, std::span<const int64_t> strides, int64_t offset,
                 DType dtype);
// A tensor of the same storage with another geometry. Records the base unless `detached`.
Tensor make_view(TensorImpl& source, std::span<const int64_t> sizes, std::span<const int64_t> strides, int64_t offset,
                 bool detached = false);
Tensor make_view(TensorImpl& source, const Geometry& geometry, int64_t offset, bool detached = false);
// A tensor over the memory of `value` that only function transforms may compute with: it carries their key alone.
// The caller must give it its Wrapper.
Tensor make_shell(TensorImpl& value, std::span<const int64_t> sizes, std::span<const int64_t> strides);
// For code that builds tensors in place: sets the arrays of sizes and strides, numel and contiguity.
void set_geometry(TensorImpl& tensor, std::span<const int64_t> sizes, std::span<const int64_t> strides);
// `resize_`: row-major sizes over the same storage, which grows as needed. Preserves the leading elements.
void resize_tensor(TensorImpl& tensor, std::span<const int64_t> sizes);
// Strides for viewing (sizes, strides) as `new_sizes` (no -1 left), or false if a copy is needed.
bool view_strides(std::span<const int64_t> sizes, std::span<const int64_t> strides, std::span<const int64_t> new_sizes,
                  int64_t* new_strides);

}  // namespace pellucid
