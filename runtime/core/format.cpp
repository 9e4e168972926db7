#include "core/format.h"

#include <cstdarg>
#include <cstdio>

#include "core/hooks.h"

namespace pellucid {

std::string format_sizes(std::span<const int64_t> sizes) {
  std::string text = "[";
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (i) text += ", ";
    text += std::to_string(sizes[i]);
  }
  return text + "]";
}

const char* type_word(DType dtype) { return facts_of(dtype).word; }

CoreHooks core_hooks;

void warn(const char* format, ...) {
  char message[2048];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  if (core_hooks.warn) core_hooks.warn(message);
  else std::fprintf(stderr, "warning: %s\n", message);
}

}  // namespace pellucid
