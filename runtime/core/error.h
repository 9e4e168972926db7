// Errors the runtime raises. Each maps to one Python exception type at the border.
//
// A message says what was given, what was expected and what to do, in at most ten lines.
#pragma once

#include <stdexcept>
#include <string>

namespace pellucid {

enum class ErrorKind {
  Runtime,         // RuntimeError
  Type,            // TypeError
  Value,           // ValueError
  Index,           // IndexError
  Attribute,       // AttributeError
  NotImplemented,  // NotImplementedError
  OutOfMemory,     // RuntimeError, as PyTorch's CPU allocator raises it
  ZeroDivision,    // ZeroDivisionError
  Assertion,       // AssertionError, which PyTorch raises for a device that its build lacks
  PythonRaised,    // a Python exception is already set in the calling thread
  LinearAlgebra,   // pellucid.linalg.LinAlgError
};

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind(kind) {}
  ErrorKind kind;
};

// printf-style construction, kept out of line so that hot paths stay small.
[[noreturn]] [[gnu::cold]] [[gnu::format(printf, 2, 3)]] void raise(ErrorKind kind, const char* format, ...);

}  // namespace pellucid
