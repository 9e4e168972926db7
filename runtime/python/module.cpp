// The extension module pellucid._C: each binding file adds its types and functions.
#include "python/object.h"

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
}  // namespace pellucid::python

PyMODINIT_FUNC PyInit__C() {
  using namespace pellucid::python;
  return guarded([] {
    Object module = own(PyModule_Create(&module_definition));
    return module.leak();
  });
}
