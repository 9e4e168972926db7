#include "ops/documentation.h"

#include <algorithm>
#include <mutex>

#include "core/error.h"
#include "threads/fork_safe_mutex.h"

namespace pellucid {

namespace {

struct Documentation {
  std::vector<encoded::DocumentationRow> rows;
  Compressed encoded;
  std::vector<uint8_t> texts;  // inflated at first use
};
FORK_SAFE ForkSafeMutex mutex;
Documentation& documentation() {
  static auto* made = new Documentation;
  return *made;
}

const Documentation& inflated() {
  std::lock_guard lock(mutex);
  Documentation& found = documentation();
  if (!found.texts.empty() || !found.encoded.size) return found;
  std::vector<uint8_t> texts = found.encoded.inflate();
  const auto is_inside = [&](const encoded::DocumentationRow& row) {
    return std::max(row.function, row.method) < texts.size();
  };
  if (!std::ranges::all_of(found.rows, is_inside) || texts.back() != 0)
    raise(ErrorKind::Value, "the texts of ops are damaged.\nRebuild or reinstall pellucid.");
  found.texts = std::move(texts);
  return found;
}

}  // namespace

void install_documentation(std::vector<encoded::DocumentationRow> rows, Compressed texts) {
  documentation() = {std::move(rows), texts, {}};
}

OpTexts op_texts(std::string_view name) {
  const auto& [rows, encoded, texts] = inflated();
  const auto row = std::ranges::lower_bound(rows, name, {}, &encoded::DocumentationRow::name);
  if (row == rows.end() || row->name != name) return {};
  const char* start = reinterpret_cast<const char*>(texts.data());
  return {start + row->function, start + row->method};
}

}  // namespace pellucid
