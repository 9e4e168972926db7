// Runs every test, or those whose names contain the first argument.
#include <cstring>

#include "check.h"

int main(int count, char** arguments) {
  int run = 0;
  for (const checks::Test& test : checks::all_tests()) {
    if (count > 1 && !std::strstr(test.name, arguments[1])) continue;
    std::fprintf(stderr, "%s\n", test.name);  // the last one is where it ended
    test.run();
    ++run;
  }
  std::printf("%d tests passed\n", run);
  return run ? 0 : 1;
}
