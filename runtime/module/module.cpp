// The extension module pellucid._C: each binding file adds its types and functions.
#include "module/module.h"

#include "module/start.h"
#include "python/autograd/autograd.h"
#include "python/boundary.h"
#include "python/compiled_function.h"
#include "python/contexts.h"
#include "python/data_in.h"
#include "python/derivation.h"
#include "python/dispatch_keys.h"
#include "python/dispatch_protocol.h"
#include "python/function_protocol.h"
#include "python/generator_object.h"
#include "python/module_base.h"
#include "python/op_overload.h"
#include "python/overload_sets.h"
#include "python/overridable.h"
#include "python/part_calls.h"
#include "python/plain_values.h"
#include "python/pre_dispatch.h"
#include "python/reductions.h"
#include "python/replays.h"
#include "python/storage_object.h"
#include "python/tensor_object.h"
#include "python/types.h"
#include "python/wrapper_subclass.h"

namespace pellucid::python {
namespace {

PyModuleDef module_definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "pellucid._C",
    .m_doc = "Pellucid's runtime: tensors, op callables and the base of nn.Module.",
    .m_size = -1,
    .m_methods = nullptr,
    .m_slots = nullptr,
    .m_traverse = nullptr,
    .m_clear = nullptr,
    .m_free = nullptr,
};

}  // namespace

PyObject* make_module() {
  return guarded([] {
    Object module = own(PyModule_Create(&module_definition));
    add_types(module.get());
    add_tensor_type(module.get());
    add_function_protocol(module.get());
    add_overridable(module.get());
    add_reductions(module.get());
    add_generator(module.get());
    add_data_functions(module.get());
    add_dlpack(module.get());
    add_storage(module.get());
    add_plain_values(module.get());
    add_module_base(module.get());
    add_grad_modes(module.get());
    add_regions(module.get());
    add_boundary(module.get());
    add_compiled_function(module.get());
    add_replays(module.get());
    add_settings(module.get());
    add_autocast(module.get());
    add_backends(module.get());
    add_grid_runs(module.get());
    add_cuda(module.get());
    add_autograd(module.get());
    add_op_callables(module.get());
    add_dispatch_keys(module.get());
    add_python_kernels(module.get());
    add_library(module.get());
    add_op_listing(module.get());
    add_transforms(module.get());
    add_kinds(module.get());
    add_patterns(module.get());
    add_timeline(module.get());
    add_op_overload(module.get());
    add_dispatch_protocol(module.get());
    add_wrapper_subclass(module.get());
    add_derivation(module.get());
    add_pre_dispatch(module.get());
    add_part_calls(module.get());
    add_start(module.get());
    return module.leak();
  });
}

}  // namespace pellucid::python
