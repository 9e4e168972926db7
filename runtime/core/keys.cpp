#include "core/keys.h"

#include <utility>
#include <vector>

namespace pellucid {
namespace {

constexpr std::pair<Key, std::string_view> kOwnNames[] = {
    {Key::CPU, "CPU"},
    {Key::CUDA, "CUDA"},
    {Key::Meta, "Meta"},
    {Key::PrivateUse1, "PrivateUse1"},
    {Key::PrivateUse2, "PrivateUse2"},
    {Key::PrivateUse3, "PrivateUse3"},
    {Key::Quantized, "Quantized"},
    {Key::Sparse, "Sparse"},
    {Key::Nested, "Nested"},
    {Key::PythonDispatch, "PythonDispatch"},
    {Key::Lazy, "Lazy"},
    {Key::Conjugate, "Conjugate"},
    {Key::Negative, "Negative"},
    {Key::ViewInPlace, "ViewInPlace"},
    {Key::Autograd, "Autograd"},
    {Key::Autocast, "Autocast"},
    {Key::Transforms, "Transforms"},
    {Key::Decompose, "Decompose"},
    {Key::PreDispatch, "PreDispatch"},
};

// PyTorch's backends in its order; the first has the number 49.
struct Backend {
  std::string_view name;
  std::optional<Key> key;
};
constexpr Backend kTorchBackends[] = {{"CPU", Key::CPU},
                                      {"CUDA", Key::CUDA},
                                      {"HIP", {}},
                                      {"XLA", {}},
                                      {"MPS", {}},
                                      {"IPU", {}},
                                      {"XPU", {}},
                                      {"HPU", {}},
                                      {"VE", {}},
                                      {"Lazy", {}},
                                      {"MTIA", {}},
                                      {"MAIA", {}},
                                      {"PrivateUse1", Key::PrivateUse1},
                                      {"PrivateUse2", Key::PrivateUse2},
                                      {"PrivateUse3", Key::PrivateUse3},
                                      {"Meta", Key::Meta}};

// Keys that PyTorch has once per backend: the prefix, the key here, the number of the first.
struct PerBackend {
  std::string_view prefix;
  std::optional<Key> key;
  int first;
};
constexpr PerBackend kPerBackend[] = {{"Quantized", Key::Quantized, 66},
                                      {"Sparse", Key::Sparse, 83},
                                      {"SparseCsr", Key::Sparse, 100},
                                      {"NestedTensor", Key::Nested, 117},
                                      {"Autograd", Key::Autograd, 134}};

struct Single {
  std::string_view name;
  int code;
  std::optional<Key> key;
  std::optional<Key> backend = {};
  bool composite = false;
};
constexpr Single kSingles[] = {
    {"Undefined", 0, {}},
    {"Dense", 1, {}},
    {"Quantized", 5, Key::Quantized},
    {"Sparse", 8, Key::Sparse},
    {"SparseCsr", 9, Key::Sparse},
    {"MkldnnCPU", -1, {}},
    {"FPGA", -1, {}},
    {"Vulkan", -1, {}},
    {"Metal", -1, {}},
    {"NestedTensor", 10, Key::Nested},
    {"BackendSelect", 11, {}},
    {"Python", 13, Key::PythonDispatch},
    {"FuncTorchDynamicLayerBackMode", 14, {}},
    {"Functionalize", 15, {}},
    {"Conjugate", 16, Key::Conjugate},
    {"Negative", 17, Key::Negative},
    {"ZeroTensor", 18, {}},
    {"ADInplaceOrView", 19, Key::ViewInPlace},
    {"AutogradOther", 20, {}},
    {"AutogradFunctionality", 21, {}},
    {"AutogradNestedTensor", 22, {}},
    {"AutocastCPU", 24, Key::Autocast, Key::CPU},
    {"AutocastXPU", 27, {}},
    {"AutocastIPU", 28, {}},
    {"AutocastHPU", 29, {}},
    {"AutocastMPS", 31, {}},
    {"AutocastCUDA", 32, Key::Autocast, Key::CUDA},
    {"AutocastPrivateUse1", 33, Key::Autocast, Key::PrivateUse1},
    {"FuncTorchBatched", 34, Key::Transforms},
    {"FuncTorchVmapMode", 36, {}},
    {"FuncTorchGradWrapper", 39, {}},
    {"PythonTLSSnapshot", 41, {}},
    {"FuncTorchDynamicLayerFrontMode", 42, {}},
    {"PreDispatch", 45, Key::PreDispatch},
    {"PythonDispatcher", 46, {}},
    {"Autograd", 150, Key::Autograd},
    {"CompositeImplicitAutograd", 151, {}, {}, true},
    {"FuncTorchBatchedDecomposition", 152, {}},
    {"CompositeImplicitAutogradNestedTensor", 153, {}},
    {"CompositeExplicitAutograd", 154, {}, {}, true},
    {"CompositeExplicitAutogradNonFunctional", 155, {}, {}, true},
};

std::vector<NamedKey> make_named_keys() {
  std::vector<NamedKey> made;
  for (const Single& single : kSingles)
    made.push_back({std::string(single.name), single.code, single.key, single.backend, single.composite});
  int code = 49;
  for (const Backend& backend : kTorchBackends) made.push_back({std::string(backend.name), code++, backend.key, {}});
  for (const PerBackend& kind : kPerBackend) {
    code = kind.first;
    for (const Backend& backend : kTorchBackends)
      made.push_back(
          {std::string(kind.prefix).append(backend.name), code++, backend.key ? kind.key : std::nullopt, backend.key});
  }
  for (const Key own :
       {Key::PythonDispatch, Key::ViewInPlace, Key::Transforms, Key::Decompose, Key::Autocast, Key::Nested})
    made.push_back({std::string(name(own)), -1, own, {}});
  return made;
}

}  // namespace

std::string_view name(Key key) {
  for (const auto& [candidate, text] : kOwnNames)
    if (candidate == key) return text;
  return "Reserved";
}

std::span<const NamedKey> named_keys() {
  static const auto* made = new std::vector<NamedKey>(make_named_keys());
  return *made;
}

const NamedKey* find_key(std::string_view text) {
  for (const NamedKey& candidate : named_keys())
    if (candidate.name == text) return &candidate;
  return nullptr;
}

std::string key_name(Key key, KeySet backends) {
  const std::optional<Key> backend =
      (backends & kBackends).empty() ? std::nullopt : std::optional((backends & kBackends).highest());
  const NamedKey* general = nullptr;
  for (const NamedKey& candidate : named_keys()) {
    if (candidate.code < 0 || candidate.key != key) continue;
    if (backend && candidate.backend == backend) return candidate.name;
    if (!candidate.backend && !general) general = &candidate;
  }
  return general ? general->name : std::string(name(key));
}

}  // namespace pellucid
