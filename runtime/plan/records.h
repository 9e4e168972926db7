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

struct Message {
  static constexpr size_t kFields = 2;
  ErrorKind error;
  std::vector<Literal> parts;
  static Message read(Decoder& in);
};

struct PlanValue {
  static constexpr size_t kFields = 2;
  DType dtype;
  std::vector<uint16_t> sizes;
  static PlanValue read(Decoder& in);
};

struct DimMap {
  static constexpr size_t kFields = 2;
  uint16_t offset;
  std::vector<std::pair<uint8_t, uint16_t>> terms;
  static DimMap read(Decoder& in);
};

struct Operand {
  static constexpr size_t kFields = 2;
  uint16_t value;
  std::vector<DimMap> dims;
  static Operand read(Decoder& in);
};

struct KernelUse {
  static constexpr size_t kFields = 4;
  KernelId id;
  std::vector<uint16_t> params;
  std::string_view label;
  std::vector<Message> messages;
  static KernelUse read(Decoder& in);
};

struct LocalValue {
  static constexpr size_t kFields = 2;
  uint16_t value;
  uint16_t slot;
  static LocalValue read(Decoder& in);
};

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
  static constexpr size_t kFields = 11;
  std::vector<AnyStep> steps;
  std::vector<std::vector<uint8_t>> axes;
  std::vector<uint16_t> extents;
  uint8_t parallel;
  uint8_t sequential;
  bool cut_is_sequential;
  std::vector<LocalValue> locals;
  int8_t triangle;
  std::optional<KernelUse> kernel;
  std::vector<Operand> outputs;
  std::vector<Operand> inputs;
  static BlockStep read(Decoder& in);
};

struct AnyStep {
  StepKind kind;
  std::variant<NestStep, GeneralStep, GemmStep, ScanStep, RecurrenceStep, FillStep, ViewStep, ReshapeStep, CopyStep, LibraryStep, NonzeroStep, ComputeStep, BlockStep> fields;
  static AnyStep read(Decoder& in);
};

struct IndexedDim {
  static constexpr size_t kFields = 5;
  uint16_t index;
  uint8_t dim;
  uint16_t size_of;
  int8_t size_dim;
  bool wraps;
  static IndexedDim read(Decoder& in);
};

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

struct OpRow {
  static constexpr size_t kFields = 21;
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
  bool casts_out;
  std::vector<DType> out_dtypes;
  bool writes_shared;
  bool saves;
  uint32_t unrecorded;
  std::string_view tags;
  Compressed keys;
  Compressed derivatives;
  static OpRow read(Decoder& in);
};

struct ConversionRow {
  static constexpr size_t kFields = 3;
  DType target;
  DType source;
  KernelId kernel;
  static ConversionRow read(Decoder& in);
};

struct Program {
  static constexpr size_t kFields = 2;
  KernelId kernel;
  std::span<const uint8_t> encoded;
  static Program read(Decoder& in);
};

struct BindingRow {
  static constexpr size_t kFields = 4;
  std::string_view module;
  std::string_view original;
  bool is_method;
  bool is_function;
  static BindingRow read(Decoder& in);
};

struct LateOpRow {
  static constexpr size_t kFields = 3;
  std::string_view name;
  std::vector<BindingRow> bindings;
  std::span<const uint8_t> records;
  static LateOpRow read(Decoder& in);
};

struct LateRow {
  static constexpr size_t kFields = 14;
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
  bool casts_out;
  std::string_view tags;
  static LateRow read(Decoder& in);
};

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

struct SourceRow {
  static constexpr size_t kFields = 3;
  ArgumentOrigin origin;
  int16_t index;
  int16_t element;
  static SourceRow read(Decoder& in);
};

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

struct DocumentationRow {
  static constexpr size_t kFields = 3;
  std::string_view name;
  uint32_t function;
  uint32_t method;
  static DocumentationRow read(Decoder& in);
};

struct FrozenFile {
  static constexpr size_t kFields = 8;
  std::vector<OpRow> ops;
  std::vector<IntrinsicRow> intrinsics;
  std::vector<ConversionRow> conversions;
  Compressed programs;
  std::span<const uint8_t> late;
  std::vector<SeenRow> seen;
  std::vector<DocumentationRow> documentation;
  Compressed texts;
  static FrozenFile read(Decoder& in);
};

struct KeyedPlan {
  static constexpr size_t kFields = 2;
  Decoder key;
  std::span<const uint8_t> plan;
  static KeyedPlan read(Decoder& in);
};

struct PointwiseKey {
  static constexpr size_t kFields = 2;
  DType common;
  Decoder items;
  static PointwiseKey read(Decoder& in);
};

struct KeyedFunction {
  static constexpr size_t kFields = 2;
  PointwiseKey key;
  std::span<const uint8_t> function;
  static KeyedFunction read(Decoder& in);
};

struct KeyedDerivative {
  static constexpr size_t kFields = 4;
  Rule rule;
  uint64_t mask;
  Decoder key;
  std::span<const uint8_t> derivative;
  static KeyedDerivative read(Decoder& in);
};

struct FunctionInput {
  static constexpr size_t kFields = 2;
  uint8_t argument;
  DType dtype;
  static FunctionInput read(Decoder& in);
};

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

struct NumberChecks {
  static constexpr size_t kFields = 2;
  std::vector<Instruction> program;
  std::vector<Message> messages;
  static NumberChecks read(Decoder& in);
};

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

struct DerivedOp {
  static constexpr size_t kFields = 5;
  std::string_view schema;
  OpKind kind;
  uint32_t promoted;
  std::span<const uint8_t> origin;
  std::span<const uint8_t> keys;
  static DerivedOp read(Decoder& in);
};

struct SizeRow {
  static constexpr size_t kFields = 3;
  int16_t argument;
  int16_t element;
  int16_t dim;
  static SizeRow read(Decoder& in);
};

struct PassedRow {
  static constexpr size_t kFields = 2;
  int16_t gradient;
  int16_t input;
  static PassedRow read(Decoder& in);
};

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

struct GuardedDerivative {
  static constexpr size_t kFields = 2;
  std::vector<Instruction> guards;
  std::optional<DerivativeRow> derivative;
  static GuardedDerivative read(Decoder& in);
};

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

struct ScalarProgram {
  static constexpr size_t kFields = 2;
  std::vector<AnySlot> slots;
  std::vector<int32_t> results;
  static ScalarProgram read(Decoder& in);
};

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

struct StoreRow {
  static constexpr size_t kFields = 2;
  int32_t rank;
  bool drops;
  static StoreRow read(Decoder& in);
};

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

struct TileProgram {
  static constexpr size_t kFields = 4;
  AnyProgram body;
  std::vector<DType> outputs;
  std::vector<DType> inputs;
  std::vector<DType> params;
  static TileProgram read(Decoder& in);
};
}  // namespace encoded
}  // namespace pellucid
