// How PyTorch prints a schema: types without the project's extensions, defaults parsed and written again.
#include <algorithm>
#include <cstdio>

#include "core/device_names.h"
#include "core/layout.h"
#include "core/schema.h"

namespace pellucid {
namespace {

// Accepted beyond PyTorch's types: a number for a tensor, a symbolic size for an int.
constexpr std::string_view kExtensions[] = {"|Scalar", "|SymInt"};

// Seventeen digits, and a point after an integer.
std::string float_text(double number) {
  char digits[40];
  std::snprintf(digits, sizeof digits, "%.17g", number);
  std::string text = digits;
  if (text.find_first_of(".en") == std::string::npos) text += '.';
  return text;
}

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char character : text) {
    const char* escape = character == '\n' ? "\\n" : character == '\t' ? "\\t" : character == '\r' ? "\\r" : nullptr;
    if (escape) result += escape;
    else (character == '\\' || character == '"' || character == '\'' ? result += '\\' : result) += character;
  }
  return result + '"';
}

std::string value_text(const Value& value);

template <class Item>
std::string list_text(uint32_t length, Item&& item) {
  std::string result = "[";
  for (uint32_t k = 0; k < length; ++k) result.append(k ? ", " : "").append(item(k));
  return result + "]";
}

std::string value_text(const Value& value) {
  switch (value.tag) {
    case Tag::None: return "None";
    case Tag::Bool: return value.integer ? "True" : "False";
    case Tag::Int:
    case Tag::Layout:
    case Tag::MemoryFormat: return std::to_string(value.integer);
    case Tag::Float: return float_text(value.number);
    case Tag::Complex: {
      const std::string imaginary = float_text(value.complex->imag);
      return float_text(value.complex->real) + (imaginary[0] == '-' ? "" : "+") + imaginary + "j";
    }
    case Tag::IntList: return list_text(value.length, [&](uint32_t k) { return std::to_string(value.integers[k]); });
    case Tag::BoolList:
      return list_text(value.length, [&](uint32_t k) { return value.integers[k] ? "True" : "False"; });
    case Tag::FloatList: return list_text(value.length, [&](uint32_t k) { return float_text(value.numbers[k]); });
    case Tag::ScalarList: return list_text(value.length, [&](uint32_t k) { return value_text(value.values[k]); });
    case Tag::DType: return std::to_string(kScalarTypes[value.integer]);
    case Tag::Device: return device_name(decode_device(value.integer));
    case Tag::String: return quoted({value.string, value.length});
    default: return "";  // a schema has no other defaults
  }
}

// "int[2] n=1" of two equal elements; a single one, and sizes, are printed as lists.
bool prints_one(const Argument& argument) {
  const std::span<const int64_t> list = argument.default_value.ints();
  return argument.type_text.starts_with("int") && argument.list_size > 1 && std::ssize(list) == argument.list_size &&
         std::ranges::all_of(list, [&](int64_t element) { return element == list[0]; });
}

std::string default_text(const Argument& argument) {
  if (argument.default_value.tag == Tag::IntList && prints_one(argument))
    return std::to_string(argument.default_value.integers[0]);
  return value_text(argument.default_value);
}

std::string type_text(const Schema& schema, const Argument& argument) {
  const TextRange range = argument.written_type;
  std::string text = schema.text.substr(range.begin, range.end - range.begin);
  for (const std::string_view extension : kExtensions)
    if (const size_t place = text.find(extension); place != std::string::npos) text.erase(place, extension.size());
  return text;
}

}  // namespace

std::string print_schema(const Schema& schema) {
  std::string text = "(";
  int number = 0;
  for (const Argument& argument : schema.arguments) {
    if (number) text += ", ";
    if (number++ == schema.num_positional) text += "*, ";
    text += type_text(schema, argument) + " " + argument.name;
    if (argument.has_default) text += "=" + default_text(argument);
  }
  const std::string_view returns = std::string_view(schema.text).substr(schema.returns_begin);
  const size_t begin = returns.find_first_not_of(" \t\n"), end = returns.find_last_not_of(" \t\n");
  return text.append(") -> ").append(returns.substr(begin, end - begin + 1));
}

}  // namespace pellucid
