#include "autograd/root_gradient.h"

#include <algorithm>
#include <string>

#include "autograd/gradient_ops.h"
#include "core/error.h"
#include "core/format.h"

namespace pellucid {

Tensor root_gradient(const Target& root, const Tensor& given, size_t number) {
  const GradientInfo& info = root.edge.node->infos[root.edge.input];
  if (!given) {
    if (std::ranges::any_of(info.shape(), [](int64_t size) { return size != 1; }))
      raise(ErrorKind::Runtime,
            "grad can be implicitly created only for scalar outputs; output %zu has the shape %s.\n"
            "Reduce it first (e.g. .sum()), or pass a gradient of its shape.",
            number, format_sizes(info.shape()).c_str());
    if (category(info.dtype) == DTypeCategory::Complex)
      raise(ErrorKind::Runtime,
            "grad can be implicitly created only for real scalar outputs; output %zu is %s.\n"
            "Differentiate a real function of it (e.g. .abs()), or pass a gradient.",
            number, std::string(name(info.dtype)).c_str());
    return root.tensor && dispatches_to_python(root.tensor->keys) ? one_like(*root.tensor) : one_like(info);
  }
  if (root.tensor && !std::ranges::equal(given->shape(), root.tensor->shape()))
    raise(ErrorKind::Runtime,
          "Mismatch in shape: the gradient given for output %zu has the shape %s, the output has %s", number,
          format_sizes(given->shape()).c_str(), format_sizes(root.tensor->shape()).c_str());
  if ((category(given->dtype) == DTypeCategory::Complex) != (category(info.dtype) == DTypeCategory::Complex))
    raise(ErrorKind::Runtime,
          "the gradient given for output %zu is %s, the output %s: for complex tensors, both must\n"
          "have the same dtype",
          number, std::string(name(given->dtype)).c_str(), std::string(name(info.dtype)).c_str());
  return fits(*given, info) ? given : fit_gradient(given, info, nullptr, 0);
}

}  // namespace pellucid
