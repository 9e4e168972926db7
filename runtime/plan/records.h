// The encoded records of plans and of frozen.bin.
//
// Generated from src/pellucid_compiler/abi/plan.py and abi/records.py by tools/build.py: change it there.
// clang-format off
#pragma once

#include <optional>
#include <utility>
#include <variant>
#include <vector>
#include "abi/opcodes.h"
#include "plan/decode.h"

namespace pellucid {
namespace encoded {

struct Instruction {
  static constexpr size_t kFields = 5;
  Opcode op;
  uint16_t a;
  uint16_t b;
  uint16_t c;
  std::optional<Literal> value;
  static Instruction read(Decoder& in);
};
inline Instruction Instruction::read(Decoder& in) {
  return {
      .op = in.code<Opcode>(),
      .a = in.register_number(),
      .b = in.register_number(),
      .c = in.register_number(),
      .value = in.optional<Literal>([&] { return in.literal(); }),
  };
}

struct Message {
  static constexpr size_t kFields = 2;
  ErrorKind error;
  std::vector<Literal> parts;
  static Message read(Decoder& in);
};
inline Message Message::read(Decoder& in) {
  return {
      .error = in.code<ErrorKind>(),
      .parts = in.list_of<Literal>([&] { return in.literal(); }),
  };
}

struct PlanValue {
  static constexpr size_t kFields = 2;
  DType dtype;
  std::vector<uint16_t> sizes;
  static PlanValue read(Decoder& in);
};
inline PlanValue PlanValue::read(Decoder& in) {
  return {
      .dtype = in.code<DType>(),
      .sizes = in.list_of<uint16_t>([&] { return in.register_number(); }),
  };
}

struct DimMap {
  static constexpr size_t kFields = 2;
  uint16_t offset;
  std::vector<std::pair<uint8_t, uint16_t>> terms;
  static DimMap read(Decoder& in);
};
inline DimMap DimMap::read(Decoder& in) {
  return {
      .offset = in.register_number(),
      .terms = in.flat_pairs<std::pair<uint8_t, uint16_t>>([&] { return in.integer_as<uint8_t>(); }, [&] { return in.register_number(); }),
  };
}

struct Operand {
  static constexpr size_t kFields = 2;
  uint16_t value;
  std::vector<DimMap> dims;
  static Operand read(Decoder& in);
};
inline Operand Operand::read(Decoder& in) {
  return {
      .value = in.integer_as<uint16_t>(),
      .dims = in.list_of<DimMap>([&] { return in.record<DimMap>(); }),
  };
}

struct KernelUse {
  static constexpr size_t kFields = 4;
  KernelId id;
  std::vector<uint16_t> params;
  std::string_view label;
  std::vector<Message> messages;
  static KernelUse read(Decoder& in);
};
inline KernelUse KernelUse::read(Decoder& in) {
  return {
      .id = in.kernel_id(),
      .params = in.list_of<uint16_t>([&] { return in.register_number(); }),
      .label = in.text(),
      .messages = in.list_of<Message>([&] { return in.record<Message>(); }),
  };
}

struct LocalValue {
  static constexpr size_t kFields = 2;
  uint16_t value;
  uint16_t slot;
  static LocalValue read(Decoder& in);
};
inline LocalValue LocalValue::read(Decoder& in) {
  return {
      .value = in.integer_as<uint16_t>(),
      .slot = in.integer_as<uint16_t>(),
  };
}

struct AnyStep;

struct NestStep {
  static constexpr size_t kFields = 9;
  KernelUse kernel;
  std::vector<uint16_t> extents;
  uint8_t num_stored;
  std::vector<Operand> outputs;
  std::vector<Operand> inputs;
  std::optional<KernelUse> combine;
  std::optional<DType> accumulator;
  bool indexed;
  std::vector<uint8_t> sums;
  static NestStep read(Decoder& in);
};

struct GeneralStep {
  static constexpr size_t kFields = 8;
  KernelUse kernel;
  std::vector<uint16_t> extents;
  std::vector<uint16_t> outputs;
  std::vector<uint16_t> inputs;
  bool parallel;
  std::optional<Literal> identity;
  bool channels_innermost;
  bool begins;
  static GeneralStep read(Decoder& in);
};

struct GemmStep {
  static constexpr size_t kFields = 6;
  KernelUse kernel;
  std::vector<uint16_t> extents;
  std::vector<uint8_t> groups;
  Operand output;
  std::vector<Operand> inputs;
  std::vector<uint8_t> padded;
  static GemmStep read(Decoder& in);
};

struct ScanStep {
  static constexpr size_t kFields = 4;
  KernelUse kernel;
  std::vector<uint16_t> extents;
  std::vector<Operand> outputs;
  std::vector<Operand> inputs;
  static ScanStep read(Decoder& in);
};

struct RecurrenceStep {
  static constexpr size_t kFields = 13;
  std::span<const uint8_t> body;
  std::vector<std::pair<uint16_t, uint16_t>> bound;
  uint16_t length;
  bool reverse;
  std::vector<uint16_t> carries;
  std::vector<uint16_t> sequences;
  std::vector<int8_t> shifts;
  std::vector<uint16_t> edges;
  std::vector<uint16_t> constants;
  std::vector<std::vector<uint16_t>> orders;
  std::vector<uint16_t> outputs;
  std::vector<bool> stacked;
  std::vector<int8_t> lanes;
  static RecurrenceStep read(Decoder& in);
};

struct FillStep {
  static constexpr size_t kFields = 2;
  uint16_t output;
  Literal value;
  static FillStep read(Decoder& in);
};

struct ViewStep {
  static constexpr size_t kFields = 2;
  uint16_t output;
  Operand source;
  static ViewStep read(Decoder& in);
};

struct ReshapeStep {
  static constexpr size_t kFields = 2;
  uint16_t output;
  uint16_t source;
  static ReshapeStep read(Decoder& in);
};

struct CopyStep {
  static constexpr size_t kFields = 2;
  uint16_t output;
  uint16_t source;
  static CopyStep read(Decoder& in);
};

struct LibraryStep {
  static constexpr size_t kFields = 5;
  std::string_view name;
  std::vector<uint16_t> outputs;
  std::vector<uint16_t> inputs;
  std::vector<std::pair<std::string_view, Literal>> options;
  std::vector<std::pair<std::string_view, uint16_t>> numbers;
  static LibraryStep read(Decoder& in);
};

struct NonzeroStep {
  static constexpr size_t kFields = 3;
  uint16_t output;
  uint16_t source;
  uint16_t count;
  static NonzeroStep read(Decoder& in);
};

struct ComputeStep {
  static constexpr size_t kFields = 1;
  uint16_t end;
  static ComputeStep read(Decoder& in);
};

struct BlockStep {
  static constexpr size_t kFields = 8;
  std::vector<AnyStep> steps;
  std::vector<std::vector<uint8_t>> axes;
  std::vector<uint16_t> extents;
  uint8_t parallel;
  uint8_t sequential;
  bool cut_is_sequential;
  std::vector<LocalValue> locals;
  int8_t triangle;
  static BlockStep read(Decoder& in);
};

struct AnyStep {
  StepKind kind;
  std::variant<NestStep, GeneralStep, GemmStep, ScanStep, RecurrenceStep, FillStep, ViewStep, ReshapeStep, CopyStep, LibraryStep, NonzeroStep, ComputeStep, BlockStep> fields;
  static AnyStep read(Decoder& in);
};
inline NestStep NestStep::read(Decoder& in) {
  return {
      .kernel = in.record<KernelUse>(),
      .extents = in.list_of<uint16_t>([&] { return in.register_number(); }),
      .num_stored = in.integer_as<uint8_t>(),
      .outputs = in.list_of<Operand>([&] { return in.record<Operand>(); }),
      .inputs = in.list_of<Operand>([&] { return in.record<Operand>(); }),
      .combine = in.optional<KernelUse>([&] { return in.record<KernelUse>(); }),
      .accumulator = in.optional<DType>([&] { return in.code<DType>(); }),
      .indexed = in.boolean(),
      .sums = in.list_of<uint8_t>([&] { return in.integer_as<uint8_t>(); }),
  };
}
inline GeneralStep GeneralStep::read(Decoder& in) {
  return {
      .kernel = in.record<KernelUse>(),
      .extents = in.list_of<uint16_t>([&] { return in.register_number(); }),
      .outputs = in.list_of<uint16_t>([&] { return in.integer_as<uint16_t>(); }),
      .inputs = in.list_of<uint16_t>([&] { return in.integer_as<uint16_t>(); }),
      .parallel = in.boolean(),
      .identity = in.optional<Literal>([&] { return in.literal(); }),
      .channels_innermost = in.boolean(),
      .begins = in.boolean(),
  };
}
inline GemmStep GemmStep::read(Decoder& in) {
  return {
      .kernel = in.record<KernelUse>(),
      .extents = in.list_of<uint16_t>([&] { return in.register_number(); }),
      .groups = in.list_of<uint8_t>([&] { return in.integer_as<uint8_t>(); }),
      .output = in.record<Operand>(),
      .inputs = in.list_of<Operand>([&] { return in.record<Operand>(); }),
      .padded = in.list_of<uint8_t>([&] { return in.integer_as<uint8_t>(); }),
  };
}
inline ScanStep ScanStep::read(Decoder& in) {
  return {
      .kernel = in.record<KernelUse>(),
      .extents = in.list_of<uint16_t>([&] { return in.register_number(); }),
      .outputs = in.list_of<Operand>([&] { return in.record<Operand>(); }),
      .inputs = in.list_of<Operand>([&] { return in.record<Operand>(); }),
  };
}
inline RecurrenceStep RecurrenceStep::read(Decoder& in) {
  return {
      .body = in.bytes(),
      .bound = in.flat_pairs<std::pair<uint16_t, uint16_t>>([&] { return in.register_number(); }, [&] { return in.register_number(); }),
      .length = in.register_number(),
      .reverse = in.boolean(),
      .carries = in.list_of<uint16_t>([&] { return in.integer_as<uint16_t>(); }),
      .sequences = in.list_of<uint16_t>([&] { return in.integer_as<uint16_t>(); }),
      .shifts = in.list_of<int8_t>([&] { return in.integer_as<int8_t>(); }),
      .edges = in.list_of<uint16_t>([&] { return in.integer_as<uint16_t>(); }),
      .constants = in.list_of<uint16_t>([&] { return in.integer_as<uint16_t>(); }),
      .orders = in.list_of<std::vector<uint16_t>>([&] { return in.list_of<uint16_t>([&] { return in.integer_as<uint16_t>(); }); }),
      .outputs = in.list_of<uint16_t>([&] { return in.integer_as<uint16_t>(); }),
      .stacked = in.list_of<bool>([&] { return in.boolean(); }),
      .lanes = in.list_of<int8_t>([&] { return in.integer_as<int8_t>(); }),
  };
}
inline FillStep FillStep::read(Decoder& in) {
  return {
      .output = in.integer_as<uint16_t>(),
      .value = in.literal(),
  };
}
inline ViewStep ViewStep::read(Decoder& in) {
  return {
      .output = in.integer_as<uint16_t>(),
      .source = in.record<Operand>(),
  };
}
inline ReshapeStep ReshapeStep::read(Decoder& in) {
  return {
      .output = in.integer_as<uint16_t>(),
      .source = in.integer_as<uint16_t>(),
  };
}
inline CopyStep CopyStep::read(Decoder& in) {
  return {
      .output = in.integer_as<uint16_t>(),
      .source = in.integer_as<uint16_t>(),
  };
}
inline LibraryStep LibraryStep::read(Decoder& in) {
  return {
      .name = in.text(),
      .outputs = in.list_of<uint16_t>([&] { return in.integer_as<uint16_t>(); }),
      .inputs = in.list_of<uint16_t>([&] { return in.integer_as<uint16_t>(); }),
      .options = in.list_of<std::pair<std::string_view, Literal>>([&] { return in.pair<std::pair<std::string_view, Literal>>([&] { return in.text(); }, [&] { return in.literal(); }); }),
      .numbers = in.list_of<std::pair<std::string_view, uint16_t>>([&] { return in.pair<std::pair<std::string_view, uint16_t>>([&] { return in.text(); }, [&] { return in.register_number(); }); }),
  };
}
inline NonzeroStep NonzeroStep::read(Decoder& in) {
  return {
      .output = in.integer_as<uint16_t>(),
      .source = in.integer_as<uint16_t>(),
      .count = in.register_number(),
  };
}
inline ComputeStep ComputeStep::read(Decoder& in) {
  return {
      .end = in.integer_as<uint16_t>(),
  };
}
inline BlockStep BlockStep::read(Decoder& in) {
  return {
      .steps = in.list_of<AnyStep>([&] { return AnyStep::read(in); }),
      .axes = in.list_of<std::vector<uint8_t>>([&] { return in.list_of<uint8_t>([&] { return in.integer_as<uint8_t>(); }); }),
      .extents = in.list_of<uint16_t>([&] { return in.register_number(); }),
      .parallel = in.integer_as<uint8_t>(),
      .sequential = in.integer_as<uint8_t>(),
      .cut_is_sequential = in.boolean(),
      .locals = in.list_of<LocalValue>([&] { return in.record<LocalValue>(); }),
      .triangle = in.integer_as<int8_t>(),
  };
}
inline AnyStep AnyStep::read(Decoder& in) {
  const size_t count = in.list();
  const auto kind = in.code<StepKind>();
  switch (kind) {
    case StepKind::Map: return {kind, in.fields<NestStep>(count - 1)};
    case StepKind::Reduce: return {kind, in.fields<NestStep>(count - 1)};
    case StepKind::Rows: return {kind, in.fields<NestStep>(count - 1)};
    case StepKind::Nest: return {kind, in.fields<GeneralStep>(count - 1)};
    case StepKind::Gemm: return {kind, in.fields<GemmStep>(count - 1)};
    case StepKind::Scan: return {kind, in.fields<ScanStep>(count - 1)};
    case StepKind::Recurrence: return {kind, in.fields<RecurrenceStep>(count - 1)};
    case StepKind::Fill: return {kind, in.fields<FillStep>(count - 1)};
    case StepKind::View: return {kind, in.fields<ViewStep>(count - 1)};
    case StepKind::Reshape: return {kind, in.fields<ReshapeStep>(count - 1)};
    case StepKind::Copy: return {kind, in.fields<CopyStep>(count - 1)};
    case StepKind::Library: return {kind, in.fields<LibraryStep>(count - 1)};
    case StepKind::Nonzero: return {kind, in.fields<NonzeroStep>(count - 1)};
    case StepKind::Compute: return {kind, in.fields<ComputeStep>(count - 1)};
    case StepKind::Block: return {kind, in.fields<BlockStep>(count - 1)};
  }
  in.refuse_code();
}

struct IndexedDim {
  static constexpr size_t kFields = 5;
  uint16_t index;
  uint8_t dim;
  uint16_t size_of;
  int8_t size_dim;
  bool wraps;
  static IndexedDim read(Decoder& in);
};
inline IndexedDim IndexedDim::read(Decoder& in) {
  return {
      .index = in.integer_as<uint16_t>(),
      .dim = in.integer_as<uint8_t>(),
      .size_of = in.integer_as<uint16_t>(),
      .size_dim = in.integer_as<int8_t>(),
      .wraps = in.boolean(),
  };
}

struct Plan {
  static constexpr size_t kFields = 12;
  std::string_view name;
  uint16_t num_inputs;
  std::vector<Instruction> program;
  uint16_t start;
  std::vector<Message> messages;
  std::vector<PlanValue> values;
  std::vector<AnyStep> steps;
  std::vector<uint16_t> outputs;
  std::vector<std::vector<uint16_t>> releases;
  ErrorKind index_error;
  std::string_view index_message;
  std::vector<IndexedDim> indexed;
  static Plan read(Decoder& in);
};
inline Plan Plan::read(Decoder& in) {
  return {
      .name = in.text(),
      .num_inputs = in.integer_as<uint16_t>(),
      .program = in.list_of<Instruction>([&] { return in.record<Instruction>(); }),
      .start = in.integer_as<uint16_t>(),
      .messages = in.list_of<Message>([&] { return in.record<Message>(); }),
      .values = in.list_of<PlanValue>([&] { return in.record<PlanValue>(); }),
      .steps = in.list_of<AnyStep>([&] { return AnyStep::read(in); }),
      .outputs = in.list_of<uint16_t>([&] { return in.integer_as<uint16_t>(); }),
      .releases = in.list_of<std::vector<uint16_t>>([&] { return in.list_of<uint16_t>([&] { return in.integer_as<uint16_t>(); }); }),
      .index_error = in.code<ErrorKind>(),
      .index_message = in.text(),
      .indexed = in.list_of<IndexedDim>([&] { return in.record<IndexedDim>(); }),
  };
}

struct OpRow {
  static constexpr size_t kFields = 17;
  std::string_view schema;
  OpKind kind;
  Variant variant;
  int32_t functional;
  bool is_method;
  bool is_function;
  std::string_view module;
  bool int_to_float;
  bool refuses_bools;
  uint32_t promoted;
  std::string_view inverse;
  ResultLayout layout;
  CastRule autocast;
  bool saves;
  std::string_view tags;
  std::span<const uint8_t> keys;
  std::span<const uint8_t> derivatives;
  static OpRow read(Decoder& in);
};
inline OpRow OpRow::read(Decoder& in) {
  return {
      .schema = in.text(),
      .kind = in.code<OpKind>(),
      .variant = in.code<Variant>(),
      .functional = in.integer_as<int32_t>(),
      .is_method = in.boolean(),
      .is_function = in.boolean(),
      .module = in.text(),
      .int_to_float = in.boolean(),
      .refuses_bools = in.boolean(),
      .promoted = in.integer_as<uint32_t>(),
      .inverse = in.text(),
      .layout = in.code<ResultLayout>(),
      .autocast = in.code<CastRule>(),
      .saves = in.boolean(),
      .tags = in.text(),
      .keys = in.bytes(),
      .derivatives = in.bytes(),
  };
}

struct ConversionRow {
  static constexpr size_t kFields = 3;
  DType target;
  DType source;
  KernelId kernel;
  static ConversionRow read(Decoder& in);
};
inline ConversionRow ConversionRow::read(Decoder& in) {
  return {
      .target = in.code<DType>(),
      .source = in.code<DType>(),
      .kernel = in.kernel_id(),
  };
}

struct Program {
  static constexpr size_t kFields = 2;
  KernelId kernel;
  std::span<const uint8_t> encoded;
  static Program read(Decoder& in);
};
inline Program Program::read(Decoder& in) {
  return {
      .kernel = in.kernel_id(),
      .encoded = in.bytes(),
  };
}

struct BindingRow {
  static constexpr size_t kFields = 4;
  std::string_view module;
  std::string_view original;
  bool is_method;
  bool is_function;
  static BindingRow read(Decoder& in);
};
inline BindingRow BindingRow::read(Decoder& in) {
  return {
      .module = in.text(),
      .original = in.text(),
      .is_method = in.boolean(),
      .is_function = in.boolean(),
  };
}

struct LateOpRow {
  static constexpr size_t kFields = 3;
  std::string_view name;
  std::vector<BindingRow> bindings;
  std::span<const uint8_t> records;
  static LateOpRow read(Decoder& in);
};
inline LateOpRow LateOpRow::read(Decoder& in) {
  return {
      .name = in.text(),
      .bindings = in.list_of<BindingRow>([&] { return in.record<BindingRow>(); }),
      .records = in.bytes(),
  };
}

struct LateRow {
  static constexpr size_t kFields = 13;
  std::string_view schema;
  Variant variant;
  LateBody body;
  std::string_view named;
  CastRule autocast;
  std::string_view module;
  bool is_method;
  bool is_function;
  bool is_seen;
  bool is_variadic;
  bool gives_view;
  bool takes_parts;
  std::string_view tags;
  static LateRow read(Decoder& in);
};
inline LateRow LateRow::read(Decoder& in) {
  return {
      .schema = in.text(),
      .variant = in.code<Variant>(),
      .body = in.code<LateBody>(),
      .named = in.text(),
      .autocast = in.code<CastRule>(),
      .module = in.text(),
      .is_method = in.boolean(),
      .is_function = in.boolean(),
      .is_seen = in.boolean(),
      .is_variadic = in.boolean(),
      .gives_view = in.boolean(),
      .takes_parts = in.boolean(),
      .tags = in.text(),
  };
}

struct SeenRow {
  static constexpr size_t kFields = 7;
  std::string_view op;
  std::string_view gradient;
  std::string_view given;
  bool reads_results;
  bool composed;
  bool composed_gradients;
  bool numbers;
  static SeenRow read(Decoder& in);
};
inline SeenRow SeenRow::read(Decoder& in) {
  return {
      .op = in.text(),
      .gradient = in.text(),
      .given = in.text(),
      .reads_results = in.boolean(),
      .composed = in.boolean(),
      .composed_gradients = in.boolean(),
      .numbers = in.boolean(),
  };
}

struct SourceRow {
  static constexpr size_t kFields = 3;
  ArgumentOrigin origin;
  int16_t index;
  int16_t element;
  static SourceRow read(Decoder& in);
};
inline SourceRow SourceRow::read(Decoder& in) {
  return {
      .origin = in.code<ArgumentOrigin>(),
      .index = in.integer_as<int16_t>(),
      .element = in.integer_as<int16_t>(),
  };
}

struct IntrinsicRow {
  static constexpr size_t kFields = 13;
  std::string_view schema;
  OpKind kind;
  Variant variant;
  bool is_method;
  bool is_function;
  std::string_view module;
  bool is_seen;
  bool is_transparent;
  std::string_view instead;
  CastRule autocast;
  std::string_view tags;
  std::string_view gradient;
  std::vector<SourceRow> sources;
  static IntrinsicRow read(Decoder& in);
};
inline IntrinsicRow IntrinsicRow::read(Decoder& in) {
  return {
      .schema = in.text(),
      .kind = in.code<OpKind>(),
      .variant = in.code<Variant>(),
      .is_method = in.boolean(),
      .is_function = in.boolean(),
      .module = in.text(),
      .is_seen = in.boolean(),
      .is_transparent = in.boolean(),
      .instead = in.text(),
      .autocast = in.code<CastRule>(),
      .tags = in.text(),
      .gradient = in.text(),
      .sources = in.list_of<SourceRow>([&] { return in.record<SourceRow>(); }),
  };
}

struct DocumentationRow {
  static constexpr size_t kFields = 3;
  std::string_view name;
  uint32_t function;
  uint32_t method;
  static DocumentationRow read(Decoder& in);
};
inline DocumentationRow DocumentationRow::read(Decoder& in) {
  return {
      .name = in.text(),
      .function = in.integer_as<uint32_t>(),
      .method = in.integer_as<uint32_t>(),
  };
}

struct FrozenFile {
  static constexpr size_t kFields = 8;
  std::vector<OpRow> ops;
  std::vector<IntrinsicRow> intrinsics;
  std::vector<ConversionRow> conversions;
  std::span<const uint8_t> programs;
  std::span<const uint8_t> late;
  std::vector<SeenRow> seen;
  std::vector<DocumentationRow> documentation;
  std::span<const uint8_t> texts;
  static FrozenFile read(Decoder& in);
};
inline FrozenFile FrozenFile::read(Decoder& in) {
  return {
      .ops = in.list_of<OpRow>([&] { return in.record<OpRow>(); }),
      .intrinsics = in.list_of<IntrinsicRow>([&] { return in.record<IntrinsicRow>(); }),
      .conversions = in.list_of<ConversionRow>([&] { return in.record<ConversionRow>(); }),
      .programs = in.bytes(),
      .late = in.bytes(),
      .seen = in.list_of<SeenRow>([&] { return in.record<SeenRow>(); }),
      .documentation = in.list_of<DocumentationRow>([&] { return in.record<DocumentationRow>(); }),
      .texts = in.bytes(),
  };
}

struct KeyedPlan {
  static constexpr size_t kFields = 2;
  Decoder key;
  std::span<const uint8_t> plan;
  static KeyedPlan read(Decoder& in);
};
inline KeyedPlan KeyedPlan::read(Decoder& in) {
  return {
      .key = in.nested(),
      .plan = in.bytes(),
  };
}

struct PointwiseKey {
  static constexpr size_t kFields = 2;
  DType common;
  Decoder items;
  static PointwiseKey read(Decoder& in);
};
inline PointwiseKey PointwiseKey::read(Decoder& in) {
  return {
      .common = in.code<DType>(),
      .items = in.nested(),
  };
}

struct KeyedFunction {
  static constexpr size_t kFields = 2;
  PointwiseKey key;
  std::span<const uint8_t> function;
  static KeyedFunction read(Decoder& in);
};
inline KeyedFunction KeyedFunction::read(Decoder& in) {
  return {
      .key = in.record<PointwiseKey>(),
      .function = in.bytes(),
  };
}

struct KeyedDerivative {
  static constexpr size_t kFields = 4;
  Rule rule;
  uint64_t mask;
  Decoder key;
  std::span<const uint8_t> derivative;
  static KeyedDerivative read(Decoder& in);
};
inline KeyedDerivative KeyedDerivative::read(Decoder& in) {
  return {
      .rule = in.code<Rule>(),
      .mask = in.bits(),
      .key = in.nested(),
      .derivative = in.bytes(),
  };
}

struct FunctionInput {
  static constexpr size_t kFields = 2;
  uint8_t argument;
  DType dtype;
  static FunctionInput read(Decoder& in);
};
inline FunctionInput FunctionInput::read(Decoder& in) {
  return {
      .argument = in.integer_as<uint8_t>(),
      .dtype = in.code<DType>(),
  };
}

struct FunctionParameter {
  static constexpr size_t kFields = 6;
  uint8_t argument;
  DType dtype;
  bool exact;
  bool nonnegative;
  std::optional<DType> range;
  NumberPart part;
  static FunctionParameter read(Decoder& in);
};
inline FunctionParameter FunctionParameter::read(Decoder& in) {
  return {
      .argument = in.integer_as<uint8_t>(),
      .dtype = in.code<DType>(),
      .exact = in.boolean(),
      .nonnegative = in.boolean(),
      .range = in.optional<DType>([&] { return in.code<DType>(); }),
      .part = in.code<NumberPart>(),
  };
}

struct NumberChecks {
  static constexpr size_t kFields = 2;
  std::vector<Instruction> program;
  std::vector<Message> messages;
  static NumberChecks read(Decoder& in);
};
inline NumberChecks NumberChecks::read(Decoder& in) {
  return {
      .program = in.list_of<Instruction>([&] { return in.record<Instruction>(); }),
      .messages = in.list_of<Message>([&] { return in.record<Message>(); }),
  };
}

struct Function {
  static constexpr size_t kFields = 7;
  KernelId kernel;
  std::vector<FunctionInput> inputs;
  std::vector<DType> outputs;
  std::vector<FunctionParameter> params;
  uint8_t draws;
  std::optional<NumberChecks> checks;
  std::vector<Message> requirements;
  static Function read(Decoder& in);
};
inline Function Function::read(Decoder& in) {
  return {
      .kernel = in.kernel_id(),
      .inputs = in.list_of<FunctionInput>([&] { return in.record<FunctionInput>(); }),
      .outputs = in.list_of<DType>([&] { return in.code<DType>(); }),
      .params = in.list_of<FunctionParameter>([&] { return in.record<FunctionParameter>(); }),
      .draws = in.integer_as<uint8_t>(),
      .checks = in.optional<NumberChecks>([&] { return in.record<NumberChecks>(); }),
      .requirements = in.list_of<Message>([&] { return in.record<Message>(); }),
  };
}

struct DerivedOp {
  static constexpr size_t kFields = 5;
  std::string_view schema;
  OpKind kind;
  uint32_t promoted;
  std::span<const uint8_t> origin;
  std::span<const uint8_t> keys;
  static DerivedOp read(Decoder& in);
};
inline DerivedOp DerivedOp::read(Decoder& in) {
  return {
      .schema = in.text(),
      .kind = in.code<OpKind>(),
      .promoted = in.integer_as<uint32_t>(),
      .origin = in.bytes(),
      .keys = in.bytes(),
  };
}

struct SizeRow {
  static constexpr size_t kFields = 3;
  int16_t argument;
  int16_t element;
  int16_t dim;
  static SizeRow read(Decoder& in);
};
inline SizeRow SizeRow::read(Decoder& in) {
  return {
      .argument = in.integer_as<int16_t>(),
      .element = in.integer_as<int16_t>(),
      .dim = in.integer_as<int16_t>(),
  };
}

struct PassedRow {
  static constexpr size_t kFields = 2;
  int16_t gradient;
  int16_t input;
  static PassedRow read(Decoder& in);
};
inline PassedRow PassedRow::read(Decoder& in) {
  return {
      .gradient = in.integer_as<int16_t>(),
      .input = in.integer_as<int16_t>(),
  };
}

struct DerivativeRow {
  static constexpr size_t kFields = 10;
  std::optional<DerivedOp> op;
  std::vector<SourceRow> arguments;
  std::vector<SizeRow> sizes;
  std::vector<int16_t> results;
  bool broadcasts;
  uint64_t saved_arguments;
  uint32_t saved_results;
  std::string_view node;
  std::vector<PassedRow> passed;
  std::optional<DerivedOp> forward;
  static DerivativeRow read(Decoder& in);
};
inline DerivativeRow DerivativeRow::read(Decoder& in) {
  return {
      .op = in.optional<DerivedOp>([&] { return in.record<DerivedOp>(); }),
      .arguments = in.list_of<SourceRow>([&] { return in.record<SourceRow>(); }),
      .sizes = in.list_of<SizeRow>([&] { return in.record<SizeRow>(); }),
      .results = in.list_of<int16_t>([&] { return in.integer_as<int16_t>(); }),
      .broadcasts = in.boolean(),
      .saved_arguments = in.bits(),
      .saved_results = in.integer_as<uint32_t>(),
      .node = in.text(),
      .passed = in.list_of<PassedRow>([&] { return in.record<PassedRow>(); }),
      .forward = in.optional<DerivedOp>([&] { return in.record<DerivedOp>(); }),
  };
}

struct GuardedDerivative {
  static constexpr size_t kFields = 2;
  std::vector<Instruction> guards;
  std::optional<DerivativeRow> derivative;
  static GuardedDerivative read(Decoder& in);
};
inline GuardedDerivative GuardedDerivative::read(Decoder& in) {
  return {
      .guards = in.list_of<Instruction>([&] { return in.record<Instruction>(); }),
      .derivative = in.optional<DerivativeRow>([&] { return in.record<DerivativeRow>(); }),
  };
}

struct AnySlot;

struct NumberedSlot {
  static constexpr size_t kFields = 2;
  DType dtype;
  int32_t number;
  static NumberedSlot read(Decoder& in);
};

struct ConstantSlot {
  static constexpr size_t kFields = 2;
  DType dtype;
  Literal value;
  static ConstantSlot read(Decoder& in);
};

struct OpSlot {
  static constexpr size_t kFields = 3;
  DType dtype;
  KernelId kernel;
  std::vector<int32_t> arguments;
  static OpSlot read(Decoder& in);
};

struct BitcastSlot {
  static constexpr size_t kFields = 2;
  DType dtype;
  int32_t argument;
  static BitcastSlot read(Decoder& in);
};

struct GatherSlot {
  static constexpr size_t kFields = 5;
  DType dtype;
  int32_t operand;
  int32_t mask;
  int32_t fill;
  std::vector<int32_t> indices;
  static GatherSlot read(Decoder& in);
};

struct CheckSlot {
  static constexpr size_t kFields = 5;
  DType dtype;
  int32_t number;
  int32_t mask;
  int32_t value;
  int32_t condition;
  static CheckSlot read(Decoder& in);
};

struct AnySlot {
  SlotKind kind;
  std::variant<NumberedSlot, ConstantSlot, OpSlot, BitcastSlot, GatherSlot, CheckSlot> fields;
  static AnySlot read(Decoder& in);
};
inline NumberedSlot NumberedSlot::read(Decoder& in) {
  return {
      .dtype = in.code<DType>(),
      .number = in.integer_as<int32_t>(),
  };
}
inline ConstantSlot ConstantSlot::read(Decoder& in) {
  return {
      .dtype = in.code<DType>(),
      .value = in.literal(),
  };
}
inline OpSlot OpSlot::read(Decoder& in) {
  return {
      .dtype = in.code<DType>(),
      .kernel = in.kernel_id(),
      .arguments = in.list_of<int32_t>([&] { return in.integer_as<int32_t>(); }),
  };
}
inline BitcastSlot BitcastSlot::read(Decoder& in) {
  return {
      .dtype = in.code<DType>(),
      .argument = in.integer_as<int32_t>(),
  };
}
inline GatherSlot GatherSlot::read(Decoder& in) {
  return {
      .dtype = in.code<DType>(),
      .operand = in.integer_as<int32_t>(),
      .mask = in.integer_as<int32_t>(),
      .fill = in.integer_as<int32_t>(),
      .indices = in.list_of<int32_t>([&] { return in.integer_as<int32_t>(); }),
  };
}
inline CheckSlot CheckSlot::read(Decoder& in) {
  return {
      .dtype = in.code<DType>(),
      .number = in.integer_as<int32_t>(),
      .mask = in.integer_as<int32_t>(),
      .value = in.integer_as<int32_t>(),
      .condition = in.integer_as<int32_t>(),
  };
}
inline AnySlot AnySlot::read(Decoder& in) {
  const size_t count = in.list();
  const auto kind = in.code<SlotKind>();
  switch (kind) {
    case SlotKind::Input: return {kind, in.fields<NumberedSlot>(count - 1)};
    case SlotKind::Constant: return {kind, in.fields<ConstantSlot>(count - 1)};
    case SlotKind::Parameter: return {kind, in.fields<NumberedSlot>(count - 1)};
    case SlotKind::Row: return {kind, in.fields<NumberedSlot>(count - 1)};
    case SlotKind::Axis: return {kind, in.fields<NumberedSlot>(count - 1)};
    case SlotKind::Op: return {kind, in.fields<OpSlot>(count - 1)};
    case SlotKind::Bitcast: return {kind, in.fields<BitcastSlot>(count - 1)};
    case SlotKind::Gather: return {kind, in.fields<GatherSlot>(count - 1)};
    case SlotKind::Check: return {kind, in.fields<CheckSlot>(count - 1)};
  }
  in.refuse_code();
}

struct ScalarProgram {
  static constexpr size_t kFields = 2;
  std::vector<AnySlot> slots;
  std::vector<int32_t> results;
  static ScalarProgram read(Decoder& in);
};
inline ScalarProgram ScalarProgram::read(Decoder& in) {
  return {
      .slots = in.list_of<AnySlot>([&] { return AnySlot::read(in); }),
      .results = in.list_of<int32_t>([&] { return in.integer_as<int32_t>(); }),
  };
}

struct AnyPass;

struct ReducePass {
  static constexpr size_t kFields = 4;
  ScalarProgram program;
  KernelId first;
  KernelId again;
  DType accumulator;
  static ReducePass read(Decoder& in);
};

struct StoringPass {
  static constexpr size_t kFields = 2;
  ScalarProgram program;
  int32_t output;
  static StoringPass read(Decoder& in);
};

struct AnyPass {
  RowPassKind kind;
  std::variant<ReducePass, StoringPass> fields;
  static AnyPass read(Decoder& in);
};
inline ReducePass ReducePass::read(Decoder& in) {
  return {
      .program = in.record<ScalarProgram>(),
      .first = in.kernel_id(),
      .again = in.kernel_id(),
      .accumulator = in.code<DType>(),
  };
}
inline StoringPass StoringPass::read(Decoder& in) {
  return {
      .program = in.record<ScalarProgram>(),
      .output = in.integer_as<int32_t>(),
  };
}
inline AnyPass AnyPass::read(Decoder& in) {
  const size_t count = in.list();
  const auto kind = in.code<RowPassKind>();
  switch (kind) {
    case RowPassKind::Reduce: return {kind, in.fields<ReducePass>(count - 1)};
    case RowPassKind::Map: return {kind, in.fields<StoringPass>(count - 1)};
    case RowPassKind::Store: return {kind, in.fields<StoringPass>(count - 1)};
    case RowPassKind::Add: return {kind, in.fields<StoringPass>(count - 1)};
  }
  in.refuse_code();
}

struct StoreRow {
  static constexpr size_t kFields = 2;
  int32_t rank;
  bool drops;
  static StoreRow read(Decoder& in);
};
inline StoreRow StoreRow::read(Decoder& in) {
  return {
      .rank = in.integer_as<int32_t>(),
      .drops = in.boolean(),
  };
}

struct AnyProgram;

struct MapProgram {
  static constexpr size_t kFields = 1;
  ScalarProgram program;
  static MapProgram read(Decoder& in);
};

struct CombiningProgram {
  static constexpr size_t kFields = 2;
  ScalarProgram program;
  KernelId whole;
  static CombiningProgram read(Decoder& in);
};

struct RowsProgram {
  static constexpr size_t kFields = 1;
  std::vector<AnyPass> passes;
  static RowsProgram read(Decoder& in);
};

struct NestProgram {
  static constexpr size_t kFields = 5;
  ScalarProgram program;
  int32_t rank;
  std::vector<int32_t> operand_ranks;
  Combine combine;
  std::vector<StoreRow> stores;
  static NestProgram read(Decoder& in);
};

struct AnyProgram {
  TileForm kind;
  std::variant<MapProgram, CombiningProgram, RowsProgram, NestProgram> fields;
  static AnyProgram read(Decoder& in);
};
inline MapProgram MapProgram::read(Decoder& in) {
  return {
      .program = in.record<ScalarProgram>(),
  };
}
inline CombiningProgram CombiningProgram::read(Decoder& in) {
  return {
      .program = in.record<ScalarProgram>(),
      .whole = in.kernel_id(),
  };
}
inline RowsProgram RowsProgram::read(Decoder& in) {
  return {
      .passes = in.list_of<AnyPass>([&] { return AnyPass::read(in); }),
  };
}
inline NestProgram NestProgram::read(Decoder& in) {
  return {
      .program = in.record<ScalarProgram>(),
      .rank = in.integer_as<int32_t>(),
      .operand_ranks = in.list_of<int32_t>([&] { return in.integer_as<int32_t>(); }),
      .combine = in.code<Combine>(),
      .stores = in.list_of<StoreRow>([&] { return in.record<StoreRow>(); }),
  };
}
inline AnyProgram AnyProgram::read(Decoder& in) {
  const size_t count = in.list();
  const auto kind = in.code<TileForm>();
  switch (kind) {
    case TileForm::Map: return {kind, in.fields<MapProgram>(count - 1)};
    case TileForm::Reduce: return {kind, in.fields<CombiningProgram>(count - 1)};
    case TileForm::Scan: return {kind, in.fields<CombiningProgram>(count - 1)};
    case TileForm::Rows: return {kind, in.fields<RowsProgram>(count - 1)};
    case TileForm::Nest: return {kind, in.fields<NestProgram>(count - 1)};
  }
  in.refuse_code();
}

struct TileProgram {
  static constexpr size_t kFields = 4;
  AnyProgram body;
  std::vector<DType> outputs;
  std::vector<DType> inputs;
  std::vector<DType> params;
  static TileProgram read(Decoder& in);
};
inline TileProgram TileProgram::read(Decoder& in) {
  return {
      .body = AnyProgram::read(in),
      .outputs = in.list_of<DType>([&] { return in.code<DType>(); }),
      .inputs = in.list_of<DType>([&] { return in.code<DType>(); }),
      .params = in.list_of<DType>([&] { return in.code<DType>(); }),
  };
}
}  // namespace encoded
}  // namespace pellucid
