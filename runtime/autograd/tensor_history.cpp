#include "autograd/tensor_history.h"

#include <algorithm>
#include <mutex>
#include <new>

#include "autograd/accumulate_grad.h"
#include "autograd/hooks.h"
#include "autograd/view_history.h"
#include "core/allocator.h"
#include "core/error.h"
#include "core/format.h"
#include "core/hooks.h"
#include "core/pending.h"
#include "core/recording.h"
#include "core/thread_state.h"

namespace pellucid {
namespace {

constexpr int kMetaClass = size_class(sizeof(AutogradMeta));

void stop_retaining(AutogradMeta& meta) {
  if (!meta.retains_grad || !meta.grad_fn || !meta.grad_fn->extras) return;
  NodeExtras& extras = *meta.grad_fn->extras;
  std::lock_guard lock(extras.retained_mutex);
  std::erase_if(extras.retained, [&](const auto& entry) { return entry.meta == &meta; });
}

void start_retaining(AutogradMeta& meta) {
  NodeExtras& extras = extras_of(*meta.grad_fn);
  std::lock_guard lock(extras.retained_mutex);
  extras.retained.push_back({meta.output_number, &meta});
}

void destroy_autograd_meta(AutogradMeta* meta) {
  stop_retaining(*meta);
  if (AccumulateGrad* node = meta->accumulator.load(std::memory_order_relaxed)) node->free_memory();
  delete meta->hooks;
  meta->~AutogradMeta();
  free_block(meta, kMetaClass);
}

void check_grad(const TensorImpl& tensor, const TensorImpl& grad) {
  if (&tensor == &grad) raise(ErrorKind::Runtime, "a tensor cannot be its own gradient: assign a copy");
  if (!std::ranges::equal(tensor.shape(), grad.shape()))
    raise(ErrorKind::Runtime, "a gradient of size %s was assigned to a tensor of size %s: the two must be equal",
          format_sizes(grad.shape()).c_str(), format_sizes(tensor.shape()).c_str());
  const std::optional<DType> wanted = grad_dtype_of(tensor);
  if (wanted && *wanted != grad.dtype)
    raise(ErrorKind::Runtime,
          "a gradient of dtype %s was assigned to a tensor of dtype %s whose gradients are %s (grad_dtype):\n"
          "convert it with grad.to(%s), or set grad_dtype, to None for any dtype.",
          std::string(name(grad.dtype)).c_str(), std::string(name(tensor.dtype)).c_str(),
          std::string(name(*wanted)).c_str(), std::string(name(*wanted)).c_str());
  if (tensor.device.type != grad.device.type)
    raise(ErrorKind::Runtime, "a gradient was assigned to a tensor on another device: move it there first");
}

// Shares memory, and the version cell unless `own_version`.
Tensor without_history(TensorImpl& tensor, bool own_version) {
  Tensor alias = make_view(tensor, tensor.shape(), tensor.stride(), tensor.offset, true);
  alias->flags |= tensor.flags & TensorImpl::kWrappedNumber;
  if (!own_version) return alias;
  if (alias->own_version && alias->own_version->release()) delete alias->own_version;
  alias->own_version = new VersionCell;
  alias->flags |= TensorImpl::kOwnVersion;
  return alias;
}

}  // namespace

AutogradMeta& autograd_meta(TensorImpl& tensor) {
  if (!tensor.autograd) tensor.autograd = new (allocate_block(sizeof(AutogradMeta), kMetaClass)) AutogradMeta;
  return *tensor.autograd;
}

void set_requires_grad(TensorImpl& tensor, bool value) {
  if (value) {
    autograd_meta(tensor);
    tensor.flags |= TensorImpl::kRequiresGrad;
    tensor.keys = tensor.keys | Key::Autograd;
  } else {
    tensor.flags &= static_cast<uint16_t>(~TensorImpl::kRequiresGrad);
    tensor.keys = tensor.keys - KeySet(Key::Autograd);
  }
}

void refuse_flag_of_result(TensorImpl& tensor) {
  raise(ErrorKind::Runtime,
        "requires_grad of a tensor that an op computed (grad_fn=<%s>) cannot be changed: only leaves have\n"
        "it as a flag. Use tensor.detach() for a tensor outside the graph.",
        grad_fn(tensor)->name().c_str());
}

void set_requires_grad_checked(TensorImpl& tensor, bool value) {
  if (tensor.wrapper)
    raise(ErrorKind::Runtime,
          "requires_grad of a tensor inside a function transform cannot be set: use torch.func.grad or vjp there");
  if (value && !is_differentiable(tensor.dtype))
    raise(ErrorKind::Runtime,
          "only Tensors of floating point dtype can require gradients, real or complex; this one is %s.\n"
          "Convert it first, e.g. tensor.float().requires_grad_().",
          std::string(name(tensor.dtype)).c_str());
  if (!is_leaf(tensor)) {
    if (value) return;
    refuse_flag_of_result(tensor);
  }
  if (value && thread_state.inference_mode == false && tensor.flags & TensorImpl::kInference)
    raise(ErrorKind::Runtime, "an inference tensor cannot require gradients outside inference mode: clone it first");
  set_requires_grad(tensor, value);
}

Node* grad_fn(TensorImpl& tensor) {
  if (tensor.base) [[unlikely]]
    return view_grad_fn(tensor);
  return tensor.autograd ? tensor.autograd->grad_fn.get() : nullptr;
}

Edge gradient_edge(TensorImpl& tensor) {
  if (!requires_grad(tensor)) return {};
  if (Node* node = grad_fn(tensor)) return {node, tensor.autograd->output_number};
  return {&accumulator_of(tensor), 0};
}

void set_history(TensorImpl& tensor, Ref<Node> node, uint32_t output) {
  AutogradMeta& meta = autograd_meta(tensor);
  if (meta.retains_grad) [[unlikely]]
    stop_retaining(meta);
  meta.grad_fn = std::move(node);
  meta.output_number = output;
  if (tensor.base) meta.view_version = tensor.version().load(std::memory_order_relaxed);
  if (meta.retains_grad) [[unlikely]]
    start_retaining(meta);
  tensor.flags |= TensorImpl::kRequiresGrad;
  tensor.keys = tensor.keys | Key::Autograd;
}

std::optional<DType> grad_dtype_of(const TensorImpl& leaf) {
  return leaf.autograd && leaf.autograd->has_grad_dtype ? leaf.autograd->grad_dtype : leaf.dtype;
}

void set_grad_dtype(TensorImpl& leaf, std::optional<DType> dtype) {
  const Tensor grad = grad_of(leaf);
  if (grad && dtype && grad->dtype != *dtype)
    raise(ErrorKind::Runtime,
          "grad_dtype cannot become %s: there is a gradient of dtype %s.\n"
          "Set .grad = None first, or choose the gradient's dtype.",
          std::string(name(*dtype)).c_str(), std::string(name(grad->dtype)).c_str());
  AutogradMeta& meta = autograd_meta(leaf);
  meta.has_grad_dtype = true;
  meta.grad_dtype = dtype;
  if (AccumulateGrad* node = meta.accumulator.load()) node->refresh_info();
}

Tensor grad_of(TensorImpl& tensor) {
  AutogradMeta* meta = tensor.autograd;
  if (!meta) return {};
  std::lock_guard lock(meta->lock);
  return meta->grad;
}

void set_grad(TensorImpl& tensor, Tensor grad) {
  if (!grad && !tensor.autograd) return;
  if (grad) check_grad(tensor, *grad);
  AutogradMeta& meta = autograd_meta(tensor);
  note_gradient(tensor, grad.get());
  std::lock_guard lock(meta.lock);
  std::swap(meta.grad, grad);
}

void retain_grad(TensorImpl& tensor) {
  if (!requires_grad(tensor))
    raise(ErrorKind::Runtime, "retain_grad() needs a tensor that requires gradients; this one has requires_grad=False");
  if (is_leaf(tensor)) return;  // leaves always retain theirs
  AutogradMeta& meta = autograd_meta(tensor);
  if (std::exchange(meta.retains_grad, true)) return;
  start_retaining(meta);
}

bool retains_grad(const TensorImpl& tensor) { return tensor.autograd && tensor.autograd->retains_grad; }

Tensor detach(TensorImpl& tensor) {
  if (tensor.wrapper) [[unlikely]]
    return Tensor::adopt(core_hooks.detach_wrapped(tensor));
  return without_history(tensor, false);
}
Tensor tensor_data(TensorImpl& tensor) {
  if (tensor.wrapper) [[unlikely]]
    return Tensor::adopt(core_hooks.detach_wrapped(tensor));
  return without_history(tensor, true);
}

void detach_in_place(TensorImpl& tensor) {
  if (tensor.base)
    raise(ErrorKind::Runtime,
          "detach_() was called on a view; the tensor it views would keep its history.\n"
          "Use detach(), or detach_() on the viewed tensor before making the view.");
  if (AutogradMeta* meta = tensor.autograd) {
    stop_retaining(*meta);
    meta->retains_grad = false;
    meta->output_number = 0;
    meta->grad_fn = nullptr;
  }
  set_requires_grad(tensor, false);
}

void set_data(TensorImpl& tensor, TensorImpl& source) {
  if (tensor.device.type != source.device.type) raise(ErrorKind::Runtime, "`.data` needs a tensor on the same device");
  if (requires_grad(tensor) && !is_differentiable(source.dtype))
    raise(ErrorKind::Runtime,
          "`.data` of a tensor that requires gradients needs a floating-point or complex tensor, not %s",
          std::string(name(source.dtype)).c_str());
  static_cast<void>(source.address());  // raises if it has no memory to share
  source.storage->retain();
  Storage* old = std::exchange(tensor.storage, source.storage);
  if (old->release()) destroy(old);
  tensor.dtype = source.dtype;
  tensor.device = source.device;  // possibly another device of the same type
  tensor.offset = source.offset;
  set_geometry(tensor, source.shape(), source.stride());
  set_pending(tensor, pending_of(source));
  if (!tensor.own_version) {  // keep the tensor's version counter: the storage's belongs to other tensors
    tensor.own_version = new VersionCell;
    tensor.flags |= TensorImpl::kOwnVersion;
  }
  if (tensor.autograd)
    if (AccumulateGrad* node = tensor.autograd->accumulator.load()) node->refresh_info();
}

std::string type_and_shape(DType dtype, std::span<const int64_t> sizes) {
  return "torch." + std::string(type_word(dtype)) + "Tensor " + format_sizes(sizes);
}

void install_history_hooks() { core_hooks.destroy_autograd_meta = destroy_autograd_meta; }

}  // namespace pellucid
