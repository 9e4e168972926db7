#include "python/shown_overload.h"

#include <map>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "core/dispatcher.h"
#include "ops/late_ops.h"
#include "ops/op_table.h"

namespace pellucid::python {
namespace {

// Whether `form` has a number parameter exactly where the call has a number.
bool says_numbers(const OpRecord& form, const OpCall& call) {
  const auto &declared = call.op->schema.arguments, &said = form.schema.arguments;
  if (form.schema.name != call.op->schema.name || said.size() != declared.size()) return false;
  for (size_t i = 0; i < said.size(); ++i) {
    const bool is_number = declared[i].type == ArgType::TensorOrScalar && call.args[i].tag != Tag::Tensor;
    const bool fits = is_number ? said[i].type == ArgType::Scalar
                                : said[i].type == declared[i].type ||
                                      (declared[i].type == ArgType::TensorOrScalar && said[i].type == ArgType::Tensor);
    if (!fits || said[i].name != declared[i].name) return false;
  }
  return true;
}

}  // namespace

const OpRecord& shown_overload(const OpCall& call) {
  static const auto* having = [] {
    auto* made = new std::unordered_set<std::string_view>;
    for (const SeenOp& seen : seen_ops())
      if (seen.numbers) made->insert(seen.op.substr(0, seen.op.find('.')));
    return made;
  }();
  const auto& declared = call.op->schema.arguments;
  uint64_t numbers = 0;  // a bit per argument that is a number where a tensor is permitted
  for (size_t i = 0; i < declared.size(); ++i)
    if (declared[i].type == ArgType::TensorOrScalar && call.args[i].tag != Tag::Tensor) numbers |= uint64_t{1} << i;
  if (!numbers) return *call.op;
  std::string_view name = call.op->schema.name;
  if (call.op->variant == Variant::InPlace) name.remove_suffix(1);
  if (!having->contains(name)) return *call.op;
  static auto* forms = new std::map<std::pair<const OpRecord*, uint64_t>, const OpRecord*>;  // under the GIL
  const auto [place, is_new] = forms->try_emplace({call.op, numbers}, call.op);
  if (is_new) {
    struct Search {
      const OpCall& call;
      const OpRecord*& found;
    } search{call, place->second};
    define_missing_ops(call.op->schema.name);
    for_each_op(
        [](OpRecord& op, void* context) {
          auto& [given, found] = *static_cast<Search*>(context);
          if (op.schema.name_space == given.op->schema.name_space && says_numbers(op, given)) found = &op;
        },
        &search);
  }
  return *place->second;
}

}  // namespace pellucid::python
