// HostShadows: CPU copies of device tensors, for ops that run on the CPU instead of the device.
//
// A shadow has its tensor's sizes and strides over host memory; shadows share memory as their tensors do. One
// object serves one call or step on one thread: add every tensor, copy, use the shadows, write back.
#pragma once

#include <vector>

#include "core/tensor.h"

namespace pellucid {

class HostShadows {
 public:
  // Tensors whose memory the CPU can access are their own shadows and are not copied.
  void add(TensorImpl& tensor, bool written = false);
  void copy();  // allocates host memory, and reads the devices'
  Tensor shadow(TensorImpl& tensor) const;
  void write_back() const;  // the tensors added as written
  // For a tensor over a shadow's memory, the same view of the device memory; null for other memory.
  Tensor view_of_original(TensorImpl& result) const;

 private:
  struct Block {
    TensorImpl* tensor;  // one of the tensors over it
    int64_t begin, end;  // the range of bytes of its storage that is shadowed
    bool written;
    Ref<Storage> host;
  };
  Block* block_of(const Storage& storage);
  const Block* block_of(const Storage& storage) const;

  std::vector<Block> blocks_;
};

// A copy in host memory, or the tensor itself if the CPU can access it.
Tensor on_host(TensorImpl& tensor);
// A copy on another device with the tensor's sizes and strides, made dense if they have gaps. `non_blocking`: it may
// return before the copy has run, if the host's memory is pinned; a result on the host then is.
Tensor copy_to_device(TensorImpl& tensor, Device device, bool non_blocking = false);

// Copies the elements of `from`, broadcast and converted, to `to`; at least one of them is not on the host.
void copy_across_devices(TensorImpl& to, TensorImpl& from, bool non_blocking = false);

// Tensors in pinned memory (core/pinned_memory.h).
Tensor empty_pinned(const TensorImpl& like);  // with its dtype, sizes and strides
Tensor pinned_copy(TensorImpl& tensor);

}  // namespace pellucid
