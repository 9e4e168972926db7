#include "python/autograd/function_output.h"

#include "autograd/tensor_history.h"
#include "autograd/view_history.h"
#include "core/error.h"

namespace pellucid::python {

Tensor give_history(TensorImpl& output, Ref<Node> node, const FunctionOutput& facts) {
  if (!facts.differentiable) {
    if (facts.written || !requires_grad(output)) return Tensor::share(&output);
    return detach(output);
  }
  if (facts.written) {
    check_in_place(node->name().c_str(), output, true);
    if (output.base) {
      if (!facts.single)
        raise(ErrorKind::Runtime, "%s writes a view in place, so that it can return only one tensor",
              node->name().c_str());
      rebase_history(output, std::move(node), facts.argument);
    } else {
      set_history(output, std::move(node), facts.number);
    }
    return Tensor::share(&output);
  }
  Tensor result =
      facts.is_argument ? make_view(output, output.shape(), output.stride(), output.offset) : Tensor::share(&output);
  if (result->base) {
    result->flags &= static_cast<uint16_t>(~TensorImpl::kNoGradView);
    result->flags |= TensorImpl::kFunctionView;
  }
  set_history(*result, std::move(node), facts.number);
  return result;
}

}  // namespace pellucid::python
