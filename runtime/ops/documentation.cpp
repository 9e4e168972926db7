#include "ops/documentation.h"

#include <algorithm>

#include "core/error.h"

namespace pellucid {

namespace {

struct Documentation {
  std::vector<encoded::DocumentationRow> rows;
  std::span<const uint8_t> texts;
};
Documentation& documentation() {
  static auto* made = new Documentation;
  return *made;
}

}  // namespace

void install_documentation(std::vector<encoded::DocumentationRow> rows, std::span<const uint8_t> texts) {
  const auto is_inside = [&](const encoded::DocumentationRow& row) {
    return std::max(row.function, row.method) < texts.size();
  };
  if (!std::ranges::all_of(rows, is_inside) || (!texts.empty() && texts.back() != 0))
    raise(ErrorKind::Value, "the texts of ops are damaged.\nRebuild or reinstall pellucid.");
  documentation() = {std::move(rows), texts};
}

OpTexts op_texts(std::string_view name) {
  const auto& [rows, texts] = documentation();
  const auto row = std::ranges::lower_bound(rows, name, {}, &encoded::DocumentationRow::name);
  if (row == rows.end() || row->name != name) return {};
  const char* start = reinterpret_cast<const char*>(texts.data());
  return {start + row->function, start + row->method};
}

}  // namespace pellucid
