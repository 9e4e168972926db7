// A separate extension module with a function that has its own gradient; built by test_extension.py.
#include <pellucid/extension.h>

using namespace pellucid::extension;

namespace {

struct Cube : Function<Cube> {
  static constexpr const char* name = "CubeBackward";

  static std::vector<Tensor> forward(Context& context, const std::vector<Tensor>& inputs) {
    context.saved = {inputs[0]};
    const Tensor square = call("aten::mul.Tensor", {inputs[0], inputs[0]});
    return {call("aten::mul.Tensor", {square, inputs[0]})};
  }
  static std::vector<Tensor> backward(Context& context, const std::vector<Tensor>& grads) {
    const Tensor& x = context.saved[0];
    const Tensor slope = call("aten::mul.Tensor", {call("aten::mul.Tensor", {x, x}), 3.0});
    return {call("aten::mul.Tensor", {grads[0], slope})};
  }
};

struct Wrong : Function<Wrong> {
  static constexpr const char* name = "WrongBackward";
  static std::vector<Tensor> forward(Context&, const std::vector<Tensor>& inputs) {
    return {call("aten::exp", {inputs[0]})};
  }
  static std::vector<Tensor> backward(Context&, const std::vector<Tensor>&) { return {}; }
};

template <class F>
PyObject* apply(PyObject*, PyObject* object) {
  return guarded([&] { return F::apply({Tensor::from_python(object)})[0].to_python(); });
}

PyObject* unknown_op(PyObject*, PyObject* object) {
  return guarded([&] { return call("aten::no_such_op", {Tensor::from_python(object)}).to_python(); });
}

PyMethodDef methods[] = {
    {"cube", apply<Cube>, METH_O, nullptr},
    {"wrong", apply<Wrong>, METH_O, nullptr},
    {"unknown_op", unknown_op, METH_O, nullptr},
    {},
};
PyModuleDef module = {PyModuleDef_HEAD_INIT, "extension_module", nullptr, -1, methods};

}  // namespace

PyMODINIT_FUNC PyInit_extension_module() { return connect() ? PyModule_Create(&module) : nullptr; }
