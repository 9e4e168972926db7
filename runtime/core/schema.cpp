#include "core/schema.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <limits>
#include <utility>

#include "core/error.h"

namespace pellucid {
namespace {

struct TypeName {
  std::string_view text;
  ArgType type;
};
constexpr TypeName kScalarTypes[] = {
    {"Tensor", ArgType::Tensor},
    {"Scalar", ArgType::Scalar},
    {"int", ArgType::Int},
    {"SymInt", ArgType::SymInt},
    {"float", ArgType::Float},
    {"bool", ArgType::Bool},
    {"str", ArgType::String},
    {"ScalarType", ArgType::DType},
    {"Device", ArgType::Device},
    {"Layout", ArgType::Layout},
    {"MemoryFormat", ArgType::MemoryFormat},
    {"Generator", ArgType::Generator},
};

// Names that PyTorch's schemas use as default values.
struct NamedDefault {
  std::string_view text;
  Tag tag;
  int64_t integer;
};
constexpr NamedDefault kNamedDefaults[] = {
    {"Mean", Tag::Int, 1},
    {"contiguous_format", Tag::MemoryFormat, 0},
    {"long", Tag::DType, static_cast<int64_t>(DType::Int64)},
};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Schema parse() {
    schema_.text = std::string(text_);
    parse_name();
    expect('(');
    parse_arguments();
    skip();
    if (!at_end()) {
      if (!accept("->")) fail("expected '->' and the result types");
      parse_returns();
    }
    skip();
    if (!at_end()) fail("unexpected text after the result types");
    return std::move(schema_);
  }

 private:
  [[noreturn]] void fail(const char* expectation) const {
    raise(ErrorKind::Value, "cannot read the schema at character %zu: %s\n  %.*s\n  %*s^", position_, expectation,
          static_cast<int>(text_.size()), text_.data(), static_cast<int>(position_), "");
  }
  bool at_end() const { return position_ >= text_.size(); }
  char peek() const { return at_end() ? '\0' : text_[position_]; }
  void skip() {
    while (!at_end() && std::isspace(static_cast<unsigned char>(peek()))) ++position_;
  }
  bool accept(std::string_view token) {
    skip();
    if (text_.substr(position_, token.size()) != token) return false;
    position_ += token.size();
    return true;
  }
  void expect(char token) {
    skip();
    if (peek() != token) {
      const char expectation[] = {'e', 'x', 'p', 'e', 'c', 't', 'e', 'd', ' ', '\'', token, '\'', '\0'};
      fail(expectation);
    }
    ++position_;
  }
  std::string_view word() {
    skip();
    const size_t start = position_;
    while (!at_end() && (std::isalnum(static_cast<unsigned char>(peek())) || peek() == '_')) ++position_;
    return text_.substr(start, position_ - start);
  }

  // "Tensor", "Dict(Tensor, Tensor)".
  std::string_view type_word() {
    skip();
    const size_t start = position_;
    if (word() == "Dict" && peek() == '(') {
      while (!at_end() && peek() != ')') ++position_;
      expect(')');
    }
    return text_.substr(start, position_ - start);
  }

  void parse_name() {
    std::string_view first = word();
    if (first.empty()) fail("expected the op's name");
    if (accept("::")) {
      schema_.name_space = first;
      first = word();
    }
    schema_.name = first;
    if (accept(".")) {
      const std::string_view overload = word();
      if (overload.empty()) fail("expected the overload's name after '.'");
      schema_.overload = overload;
    }
  }

  struct ParsedType {
    ArgType type = ArgType::Object;
    bool optional = false, is_list = false, aliased = false, written = false;
    int8_t list_size = 0;
    std::string text, alias;
  };

  // "(a)", "(a!)", "(a -> *)", "(a|b)": which memory a result shares with an argument, and whether it is written.
  void parse_alias(ParsedType& type) {
    if (peek() != '(') return;
    type.aliased = true;
    const size_t start = ++position_;
    while (peek() != ')') {
      if (at_end()) fail("the alias annotation is not closed");
      type.written |= peek() == '!';
      ++position_;
    }
    type.alias = text_.substr(start, position_++ - start);
  }

  ParsedType parse_type() {
    ParsedType result;
    const std::string_view base = type_word();
    if (base.empty()) fail("expected a type");
    result.text = base;
    result.type = scalar_type(base);
    parse_alias(result);
    if (result.type == ArgType::Tensor && accept("|Scalar")) {
      result.type = ArgType::TensorOrScalar;
      result.text += "|Scalar";
    }
    if (result.type == ArgType::Int && accept("|SymInt")) {
      result.type = ArgType::SymInt;
      result.text += "|SymInt";
    }
    bool optional_element = false;
    if (peek() == '?') {
      ++position_;
      result.optional = true;
      result.text += '?';
    }
    if (peek() == '[') {
      optional_element = std::exchange(result.optional, false);
      result.is_list = true;
      parse_list_suffix(result, optional_element);
    }
    return result;
  }

  void parse_list_suffix(ParsedType& result, bool optional_element) {
    ++position_;
    int size = 0;
    while (std::isdigit(static_cast<unsigned char>(peek()))) size = size * 10 + (text_[position_++] - '0');
    if (size > std::numeric_limits<int8_t>::max()) fail("a list type has at most 127 elements");
    expect(']');
    result.list_size = static_cast<int8_t>(size);
    result.text += size ? "[" + std::to_string(size) + "]" : "[]";
    result.type = list_type(result.type, optional_element);
    parse_alias(result);
    if (peek() == '?') {
      ++position_;
      result.optional = true;
      result.text += '?';
    }
  }

  ArgType scalar_type(std::string_view base) const {
    for (const TypeName& candidate : kScalarTypes)
      if (candidate.text == base) return candidate.type;
    return ArgType::Object;
  }
  ArgType list_type(ArgType element, bool optional_element) const {
    switch (element) {
      case ArgType::Tensor: return optional_element ? ArgType::OptionalTensorList : ArgType::TensorList;
      case ArgType::Int: return ArgType::IntList;
      case ArgType::SymInt: return ArgType::SymIntList;
      case ArgType::Float: return ArgType::FloatList;
      case ArgType::Bool: return ArgType::BoolList;
      case ArgType::Scalar: return ArgType::ScalarList;
      default: return ArgType::Object;
    }
  }

  void parse_arguments() {
    bool keyword_only = false;
    if (accept(")")) return;
    do {
      if (accept("*")) {
        keyword_only = true;
        continue;
      }
      parse_argument(keyword_only);
    } while (accept(","));
    expect(')');
  }

  void parse_argument(bool keyword_only) {
    if (schema_.arguments.size() == 32) fail("an op has at most 32 arguments; pass lists");
    const ParsedType type = parse_type();
    Argument argument;
    argument.type = type.type;
    argument.type_text = type.text;
    argument.optional = type.optional;
    argument.aliased = type.aliased;
    argument.written = type.written;
    argument.alias = type.alias;
    argument.list_size = type.list_size;
    argument.keyword_only = keyword_only;
    argument.structural = is_structural(type.type);
    argument.name = word();
    if (argument.name.empty()) fail("expected the argument's name");
    if (accept("=")) {
      argument.has_default = true;
      argument.default_value = parse_default(argument);
    }
    if (holds_tensors(type.type)) schema_.tensor_arguments |= 1u << schema_.arguments.size();
    if (!keyword_only) ++schema_.num_positional;
    schema_.arguments.push_back(std::move(argument));
  }

  static bool holds_tensors(ArgType type) {
    return type == ArgType::Tensor || type == ArgType::TensorOrScalar || type == ArgType::TensorList ||
           type == ArgType::OptionalTensorList;
  }
  static bool is_structural(ArgType type) {
    switch (type) {
      case ArgType::Int:
      case ArgType::IntList:
      case ArgType::Bool:
      case ArgType::BoolList:
      case ArgType::String:
      case ArgType::DType:
      case ArgType::Device:
      case ArgType::Layout:
      case ArgType::MemoryFormat:
      case ArgType::Object: return true;
      default: return false;
    }
  }

  Value parse_default(const Argument& argument) {
    skip();
    if (peek() == '[') return parse_list_default(argument.type);
    if (peek() == '"' || peek() == '\'') return parse_string_default();
    if (peek() == '-' || peek() == '.' || std::isdigit(static_cast<unsigned char>(peek())))
      return parse_number(argument);
    const std::string_view text = word();
    if (text == "None") return Value();
    if (text == "True" || text == "False") return Value::of_bool(text == "True");
    for (const NamedDefault& candidate : kNamedDefaults)
      if (candidate.text == text) {
        Value value;
        value.tag = candidate.tag;
        value.integer = candidate.integer;
        return value;
      }
    position_ -= text.size();
    fail("expected a default: a number, True, False, None, a string or a list");
  }

  Value parse_number(const Argument& argument) {
    const char* begin = text_.data() + position_;
    const char* end = text_.data() + text_.size();
    int64_t integer = 0;
    double number = 0;
    const auto as_integer = std::from_chars(begin, end, integer);
    const auto as_number = std::from_chars(begin, end, number);
    if (as_number.ec != std::errc()) fail("expected a number");
    position_ += static_cast<size_t>(as_number.ptr - begin);
    const bool integral = as_integer.ec == std::errc() && as_integer.ptr == as_number.ptr;
    if (argument.type == ArgType::Float || argument.type == ArgType::FloatList || !integral)
      return Value::of_float(number);
    Value value = Value::of_int(integer);
    if (argument.type == ArgType::MemoryFormat) value.tag = Tag::MemoryFormat;
    if (argument.type != ArgType::IntList && argument.type != ArgType::SymIntList) return value;
    // `int[2] stride=1`: one number for every element.
    return own_integers(std::vector<int64_t>(std::max<int>(argument.list_size, 1), integer), argument.list_size > 0);
  }

  Value own_integers(std::vector<int64_t> list, bool broadcast) {
    auto owned = std::make_shared<const std::vector<int64_t>>(std::move(list));
    Value value = Value::of(std::span<const int64_t>(*owned));
    value.broadcast_list = broadcast;
    schema_.owned.push_back(std::move(owned));
    return value;
  }

  Value parse_list_default(ArgType type) {
    expect('[');
    std::vector<Value> elements;
    if (!accept("]")) {
      do {
        Argument element;
        element.type = type == ArgType::FloatList ? ArgType::Float : ArgType::Int;
        elements.push_back(parse_default(element));
      } while (accept(","));
      expect(']');
    }
    if (type == ArgType::FloatList) {
      auto owned = std::make_shared<std::vector<double>>();
      for (const Value& element : elements) owned->push_back(element.as_double());
      Value value;
      value.tag = Tag::FloatList;
      value.length = static_cast<uint32_t>(owned->size());
      value.numbers = owned->data();
      schema_.owned.push_back(std::move(owned));
      return value;
    }
    std::vector<int64_t> integers;
    for (const Value& element : elements) integers.push_back(element.integer);
    Value value = own_integers(std::move(integers), false);
    if (type == ArgType::BoolList) value.tag = Tag::BoolList;
    else if (type == ArgType::TensorList || type == ArgType::OptionalTensorList || type == ArgType::ScalarList)
      value.tag = type == ArgType::ScalarList ? Tag::ScalarList : Tag::TensorList;
    return value;
  }

  Value parse_string_default() {
    const char quote = text_[position_++];
    auto owned = std::make_shared<std::string>();
    while (peek() != quote) {
      if (at_end()) fail("the string is not closed");
      if (peek() == '\\') ++position_;
      *owned += text_[position_++];
    }
    ++position_;
    Value value;
    value.tag = Tag::String;
    value.length = static_cast<uint32_t>(owned->size());
    value.string = owned->c_str();
    schema_.owned.push_back(std::move(owned));
    return value;
  }

  void parse_returns() {
    if (!accept("(")) return add_return();
    if (accept(")")) return;
    do add_return();
    while (accept(","));
    expect(')');
  }

  void add_return() {
    const ParsedType type = parse_type();
    Return result;
    result.type = type.type;
    result.is_list = type.is_list;
    result.aliased = type.aliased;
    result.written = type.written;
    result.alias = type.alias;
    result.type_text = type.text;
    skip();
    if (peek() != ',' && peek() != ')') result.name = word();
    if (schema_.returns.size() == 8) fail("an op has at most 8 results; return a list");
    schema_.returns.push_back(std::move(result));
  }

  std::string_view text_;
  size_t position_ = 0;
  Schema schema_;
};

}  // namespace

Schema parse_schema(std::string_view text) { return Parser(text).parse(); }

}  // namespace pellucid
