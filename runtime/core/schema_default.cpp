#include "core/schema_default.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/device_names.h"
#include "core/layout.h"

namespace pellucid {
namespace {

constexpr const char* kMisfit = "expected a default of the argument's type";

class DefaultReader {
 public:
  DefaultReader(SchemaReader& reader, std::vector<std::shared_ptr<const void>>& owned)
      : reader_(reader), owned_(owned) {}

  Value read(const Argument& argument) {
    reader_.skip();
    const size_t bracket = argument.type_text.find('[');
    if (bracket == std::string::npos) return read_value(argument.type);
    const ArgType element = element_of(argument.type, std::string_view(argument.type_text).substr(0, bracket));
    if (reader_.peek() == '[') return list_value(argument.type, read_elements(element));
    const size_t begin = reader_.position();
    if (argument.optional && reader_.accept("None")) return Value();
    if (argument.list_size == 0) reader_.fail("expected a list");
    const Value value = read_value(element);
    if (value.is_none()) reader_.fail_at(begin, "expected a list or one element");
    return repeated(argument, value);
  }

 private:
  static ArgType element_of(ArgType list, std::string_view text) {
    if (text.ends_with('?')) text.remove_suffix(1);
    const auto is_element = [&](const ArgTypeFacts& facts) {
      return list == ArgType::Object ? facts.text == text : facts.list == list || facts.list_of_optional == list;
    };
    const auto found = std::ranges::find_if(kArgTypes, is_element);
    return found == std::end(kArgTypes) ? ArgType::Object : static_cast<ArgType>(found - std::begin(kArgTypes));
  }

  std::vector<Value> read_elements(ArgType type) {
    std::vector<Value> elements;
    reader_.expect('[');
    if (reader_.accept("]")) return elements;
    do {
      reader_.skip();
      elements.push_back(read_value(type));
    } while (reader_.accept(","));
    reader_.expect(']');
    return elements;
  }

  Value read_value(ArgType type) {
    const size_t begin = reader_.position();
    const Value read = read_literal();
    const std::optional<Value> value = read.is_none() ? read : converted(read, type);
    if (!value) reader_.fail_at(begin, kMisfit);
    return *value;
  }

  Value read_literal() {
    const char first = reader_.peek();
    if (first == '"' || first == '\'') return read_string();
    if (first == '-' || first == '.' || reader_.at_digit()) return read_number();
    const size_t begin = reader_.position();
    const std::string_view text = reader_.word();
    if (text == "None") return Value();
    if (text == "True" || text == "False") return Value::of_bool(text == "True");
    for (const NamedDefault& named : kNamedDefaults)
      if (named.text == text) return Value::of_int(named.integer);
    reader_.fail_at(begin, "expected a default: a number, True, False, None, a string, a list or a dtype's name");
  }

  Value read_number() {
    const std::string_view text = reader_.rest();
    const size_t sign = text[0] == '-';
    const bool is_number = text.size() > sign && (text[sign] == '.' || (text[sign] >= '0' && text[sign] <= '9'));
    const char *begin = text.data(), *end = begin + text.size();
    int64_t integer = 0;
    double number = 0;
    const auto as_integer = std::from_chars(begin, end, integer);
    const auto as_number = std::from_chars(begin, end, number);
    if (!is_number || as_number.ec != std::errc()) reader_.fail("expected a number");
    if (as_integer.ptr == as_number.ptr && as_integer.ec != std::errc())
      reader_.fail("expected an integer of at most 64 bits");
    reader_.advance(static_cast<size_t>(as_number.ptr - begin));
    if (reader_.peek() == 'j') {
      reader_.advance(1);
      return own_complex(number);
    }
    return as_integer.ptr == as_number.ptr ? Value::of_int(integer) : Value::of_float(number);
  }

  Value own_complex(double imaginary) {
    auto owned = std::make_shared<const Complex>(Complex{0, imaginary});
    Value value;
    value.tag = Tag::Complex;
    value.complex = owned.get();
    owned_.push_back(std::move(owned));
    return value;
  }

  Value read_string() {
    const char quote = reader_.take();
    auto owned = std::make_shared<std::string>();
    while (reader_.peek() != quote) {
      if (reader_.at_end()) reader_.fail("the string is not closed");
      char character = reader_.take();
      if (character == '\\' && !reader_.at_end()) character = unescaped(reader_.take());
      *owned += character;
    }
    reader_.advance(1);
    Value value;
    value.tag = Tag::String;
    value.length = static_cast<uint32_t>(owned->size());
    value.string = owned->c_str();
    owned_.push_back(std::move(owned));
    return value;
  }
  static char unescaped(char character) {
    return character == 'n' ? '\n' : character == 't' ? '\t' : character == 'r' ? '\r' : character;
  }

  // `value` as a value of `type`; nullopt if it is none.
  static std::optional<Value> converted(const Value& value, ArgType type) {
    switch (type) {
      case ArgType::Int:
      case ArgType::SymInt:
        return value.tag == Tag::Int || value.tag == Tag::Bool ? std::optional(value) : std::nullopt;
      case ArgType::Float:
        if (value.tag == Tag::Int) return Value::of_float(static_cast<double>(value.integer));
        return value.tag == Tag::Float || value.tag == Tag::Bool ? std::optional(value) : std::nullopt;
      case ArgType::Bool:
        if (value.tag == Tag::Int) return Value::of_bool(value.integer != 0);
        return value.tag == Tag::Bool ? std::optional(value) : std::nullopt;
      case ArgType::Scalar: return value.is_number() ? std::optional(value) : std::nullopt;
      case ArgType::String: return value.tag == Tag::String ? std::optional(value) : std::nullopt;
      case ArgType::DType: return numbered(value, Tag::DType);
      case ArgType::Layout: return numbered(value, Tag::Layout);
      case ArgType::MemoryFormat: return numbered(value, Tag::MemoryFormat);
      case ArgType::Device: return device_value(value);
      case ArgType::Object: return value;
      default: return std::nullopt;  // of a tensor or a generator only None
    }
  }

  // The dtype, layout or memory format with PyTorch's number `value`.
  static std::optional<Value> numbered(Value value, Tag tag) {
    if (value.tag != Tag::Int) return std::nullopt;
    value.tag = tag;
    if (tag == Tag::DType) {
      const auto found = std::ranges::find(kScalarTypes, value.integer);
      if (found == std::end(kScalarTypes)) return std::nullopt;
      value.integer = found - std::begin(kScalarTypes);
      return value;
    }
    const auto last =
        tag == Tag::Layout ? static_cast<int>(Layout::Jagged) : static_cast<int>(MemoryFormat::ChannelsLast3d);
    return value.integer >= 0 && value.integer <= last ? std::optional(value) : std::nullopt;
  }

  static std::optional<Value> device_value(const Value& value) {
    if (value.tag != Tag::String) return std::nullopt;
    Value device;
    device.tag = Tag::Device;
    device.integer = encode_device(parse_device({value.string, value.length}));
    return device;
  }

  // `int[2] stride=1`: one value for every element.
  Value repeated(const Argument& argument, const Value& value) {
    Value list = list_value(argument.type, std::vector<Value>(static_cast<size_t>(argument.list_size), value));
    list.broadcast_list = list.tag == Tag::IntList;
    return list;
  }

  Value list_value(ArgType type, const std::vector<Value>& elements) {
    switch (type) {
      case ArgType::IntList:
      case ArgType::SymIntList: return integers(elements, Tag::IntList);
      case ArgType::BoolList: return integers(elements, Tag::BoolList);
      case ArgType::FloatList: return floats(elements);
      case ArgType::TensorList:
      case ArgType::OptionalTensorList: reader_.fail("a list of tensors has no default but None");
      default: return values(elements);
    }
  }

  template <class Item>
  Value list_of(std::vector<Item> items, Tag tag, const Item* Value::* pointer) {
    auto owned = std::make_shared<const std::vector<Item>>(std::move(items));
    Value value;
    value.tag = tag;
    value.length = static_cast<uint32_t>(owned->size());
    value.*pointer = owned->data();
    owned_.push_back(std::move(owned));
    return value;
  }
  Value integers(const std::vector<Value>& elements, Tag tag) {
    std::vector<int64_t> list;
    for (const Value& element : elements) {
      if (element.is_none()) reader_.fail("expected a number in the list");
      list.push_back(element.integer);
    }
    return list_of(std::move(list), tag, &Value::integers);
  }
  Value floats(const std::vector<Value>& elements) {
    std::vector<double> list;
    for (const Value& element : elements) {
      if (element.is_none()) reader_.fail("expected a number in the list");
      list.push_back(element.as_double());
    }
    return list_of(std::move(list), Tag::FloatList, &Value::numbers);
  }
  Value values(const std::vector<Value>& elements) { return list_of(elements, Tag::ScalarList, &Value::values); }

  SchemaReader& reader_;
  std::vector<std::shared_ptr<const void>>& owned_;
};

}  // namespace

Value read_default(SchemaReader& reader, const Argument& argument, std::vector<std::shared_ptr<const void>>& owned) {
  return DefaultReader(reader, owned).read(argument);
}

}  // namespace pellucid
