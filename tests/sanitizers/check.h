// A test runner of one page: TEST(name) { ... CHECK(...); } and main() in main.cpp.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/error.h"

namespace checks {

struct Test {
  const char* name;
  void (*run)();
};
inline std::vector<Test>& all_tests() {
  static std::vector<Test> tests;
  return tests;
}
struct Register {
  Register(const char* name, void (*run)()) { all_tests().push_back({name, run}); }
};

[[noreturn]] inline void fail(const char* file, int line, const std::string& what) {
  std::fprintf(stderr, "%s:%d: %s\n", file, line, what.c_str());
  std::exit(1);
}

// The message of the error that `body` raises; fails when it raises none.
template <class Body>
std::string message_of(const char* file, int line, Body&& body) {
  try {
    body();
  } catch (const pellucid::Error& error) { return error.what(); }
  fail(file, line, "no error was raised");
}

}  // namespace checks

#define TEST(name)                                            \
  static void name();                                         \
  static const checks::Register register_##name(#name, name); \
  static void name()
#define CHECK(condition) \
  if (!(condition)) checks::fail(__FILE__, __LINE__, "not true: " #condition)
#define CHECK_RAISES(part, ...)                                                              \
  if (const std::string text = checks::message_of(__FILE__, __LINE__, [&] { __VA_ARGS__; }); \
      text.find(part) == std::string::npos)                                                  \
  checks::fail(__FILE__, __LINE__, "the message lacks '" part "': " + text)
