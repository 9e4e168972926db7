// Errors that the runtime raises. Each kind maps to one Python exception type in the bindings.
//
// A message says what was given, what was expected and what to do, in at most ten lines.
#pragma once

#include <stdexcept>
#include <string>

#include "abi/codes.h"

namespace pellucid {

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind(kind) {}
  ErrorKind kind;
};

// A device has no memory left, which programs catch as torch.OutOfMemoryError; the CPU's allocator raises plain errors.
class DeviceMemoryError : public Error {
 public:
  explicit DeviceMemoryError(const std::string& message) : Error(ErrorKind::OutOfMemory, message) {}
};

// printf-style, and out of line so that hot paths stay small.
[[noreturn]] [[gnu::cold]] [[gnu::format(printf, 2, 3)]] void raise(ErrorKind kind, const char* format, ...);

}  // namespace pellucid
