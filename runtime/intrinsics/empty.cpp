// empty and similar ops: uninitialised memory.
#include "core/backend.h"
#include "core/defaults.h"
#include "core/dispatcher.h"
#include "core/geometry.h"
#include "core/pinned_memory.h"
#include "core/recording.h"
#include "intrinsics/give.h"
#include "intrinsics/kernels.h"
#include "intrinsics/layout.h"
#include "intrinsics/repeat.h"
#include "kernels/host_shadow.h"
#include "transforms/wrapper.h"

namespace pellucid::intrinsics {
namespace {

// The four options of every factory, in schema order.
struct Options {
  DType dtype;
  Device device;  // Meta for a pinned tensor: `give_new` adds its memory
  bool is_pinned;
};

Options read_options(const Value* options, DType dtype, Device device) {
  if (!options[0].is_none()) dtype = static_cast<DType>(options[0].integer);
  if (!options[1].is_none() && static_cast<Layout>(options[1].integer) != Layout::Strided)
    raise(ErrorKind::NotImplemented, "only the layout torch.strided is supported");
  if (!options[2].is_none()) device = decode_device(options[2].integer);
  require_device(device);
  const bool is_pinned = options[3].tag == Tag::Bool && options[3].integer;
  if (!is_pinned) return {dtype, with_index(device), false};
  require_pinnable(device);
  return {dtype, {DeviceType::Meta}, true};
}

// Returns the new tensor, of which a captured call knows that no op made it.
void give_new(OpCall& call, Tensor made, const Options& options) {
  if (options.is_pinned) return give(call, empty_pinned(*made));
  if (!made->wrapper && made->device == Device{}) note_made(*made, false);
  give(call, std::move(made));
}

}  // namespace

void empty_sizes(OpCall& call, void*) {
  if (ran_elsewhere(call)) return;
  const Options options = read_options(call.args + 1, default_dtype(), {});
  const Sizes sizes = call.args[0].ints();
  const MemoryFormat format = format_or(call.args[5], MemoryFormat::Contiguous);
  if (format == MemoryFormat::Contiguous || format == MemoryFormat::Preserve) {
    give_new(call, empty(sizes, options.dtype, options.device), options);
    if (options.is_pinned) return;
    return prepare_factory(call, [&] {
      return [shape = std::vector<int64_t>(sizes.begin(), sizes.end()), options](auto) {
        return empty(shape, options.dtype, options.device);
      };
    });
  }
  const Tensor like = empty(sizes, options.dtype, Device{DeviceType::Meta});
  give_new(call, empty_in_format(*like, options.dtype, format, options.device), options);
}

void empty_like(OpCall& call, void*) {
  if (ran_elsewhere(call)) return;
  const TensorImpl& self = *call.args[0].tensor;
  const Options options = read_options(call.args + 1, self.dtype, self.device);
  const MemoryFormat format = format_or(call.args[5], MemoryFormat::Preserve);
  give_new(call, empty_in_format(self, options.dtype, format, options.device), options);
}

void new_empty(OpCall& call, void*) {
  if (ran_elsewhere(call)) return;
  const TensorImpl& self = *call.args[0].tensor;
  const Options options = read_options(call.args + 2, self.dtype, self.device);
  if (self.wrapper) return give(call, empty_wrapped(self, call.args[1].ints(), options.dtype));
  give_new(call, empty(call.args[1].ints(), options.dtype, options.device), options);
}

void empty_with_strides(OpCall& call, void*) {
  if (ran_elsewhere(call)) return;
  const Options options = read_options(call.args + 2, default_dtype(), {});
  const Sizes sizes = call.args[0].ints(), strides = call.args[1].ints();
  if (sizes.size() != strides.size())
    raise(ErrorKind::Runtime, "empty_strided(): got %zu sizes but %zu strides; the numbers must be equal", sizes.size(),
          strides.size());
  give_new(call, empty_strided(sizes, strides, options.dtype, options.device), options);
}

}  // namespace pellucid::intrinsics
