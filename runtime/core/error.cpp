#include "core/error.h"

#include <cstdarg>
#include <cstdio>

namespace pellucid {

void raise(ErrorKind kind, const char* format, ...) {
  va_list arguments, measured;
  va_start(arguments, format);
  va_copy(measured, arguments);
  const int length = std::vsnprintf(nullptr, 0, format, measured);
  va_end(measured);
  std::string message(static_cast<size_t>(length > 0 ? length : 0), '\0');
  std::vsnprintf(message.data(), message.size() + 1, format, arguments);
  va_end(arguments);
  throw Error(kind, message);
}

}  // namespace pellucid
