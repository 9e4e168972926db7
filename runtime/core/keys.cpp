#include "core/keys.h"

#include <utility>

namespace pellucid {
namespace {

constexpr std::pair<Key, std::string_view> kKeyNames[] = {
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
    {Key::BackendSelect, "BackendSelect"},
    {Key::ViewInPlace, "ViewInPlace"},
    {Key::Autograd, "Autograd"},
    {Key::Autocast, "Autocast"},
    {Key::Tracing, "Tracing"},
    {Key::Transforms, "Transforms"},
    {Key::Decompose, "Decompose"},
};

}  // namespace

std::string_view name(Key key) {
  for (const auto& [candidate, text] : kKeyNames)
    if (candidate == key) return text;
  return "Reserved";
}

bool parse_key(std::string_view text, Key& out) {
  for (const auto& [candidate, candidate_text] : kKeyNames)
    if (candidate_text == text) return out = candidate, true;
  return false;
}

}  // namespace pellucid
