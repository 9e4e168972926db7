#include "kernels/shared_elements.h"

#include <cstring>

#include "core/geometry.h"
#include "kernels/copy.h"

namespace pellucid {
namespace {

struct Written {
  const TensorImpl &destination, &before, &result;
  size_t item;

  void visit(char* to, const char* old, const char* made, int dim) const {
    if (dim == destination.ndim) {
      if (std::memcmp(old, made, item) != 0) std::memcpy(to, made, item);
      return;
    }
    const auto step = [&](const TensorImpl& tensor) { return tensor.stride()[dim] * static_cast<int64_t>(item); };
    for (int64_t k = 0; k < destination.shape()[dim]; ++k)
      visit(to + k * step(destination), old + k * step(before), made + k * step(result), dim + 1);
  }
};

}  // namespace

bool writes_shared_elements(const OpCall& call, const TensorImpl& destination) {
  return call.op->writes_shared && internal_overlap(destination) != Overlap::No;
}

void write_changed(TensorImpl& destination, TensorImpl& result) {
  if (destination.device.type == DeviceType::Meta || destination.numel == 0) return;
  if (destination.device.type != DeviceType::CPU) require_no_internal_overlap(destination);
  const Tensor before = clone_elements(destination);
  const Written written{destination, *before, result, item_size(destination.dtype)};
  written.visit(destination.host(), before->host(), result.host(), 0);
}

}  // namespace pellucid
