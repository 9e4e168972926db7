"""The enumerations that Python and C++ share: the names of each member on both sides.

In files and requests a member is encoded as its index. ``headers.py`` writes
runtime/abi/codes.h from these; a decoder refuses a code beyond the last one. Append
members, or rebuild what was frozen (``frozen.bin`` names its format's version).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final


class Codes:
    """One enumeration. ``members``: the Python name of each and its meaning; the C++
    name is the same in CamelCase unless it is given as "python=Cpp".
    """

    def __init__(self, name: str, meaning: str, members: Mapping[str, str]) -> None:
        self.name, self.meaning = name, meaning
        pairs = [text.partition("=")[::2] for text in members]
        self.names = tuple(name for name, _ in pairs)
        self.symbols = tuple(cpp or _camel_case(name) for name, cpp in pairs)
        self.meanings = tuple(members.values())
        self.codes = {name: code for code, name in enumerate(self.names)}

    def __getitem__(self, name: str) -> int:
        """The code of a member; KeyError names the missing one."""
        if name not in self.codes:
            raise KeyError(f"{self.name} has no member {name!r} (abi/codes.py)")
        return self.codes[name]


def _camel_case(name: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in name.split("_"))


# ------------------------------------------------------------------ values and errors

TAG: Final = Codes(
    "Code",
    "The tag byte of an encoded value.",
    {
        "none": "",
        "false": "",
        "true": "",
        "integer": "zigzag, 7 bits per byte",
        "number": "a double",
        "text": "its length, UTF-8",
        "bytes": "its length, the bytes",
        "list": "its length, the values",
        "complex": "two doubles",
    },
)
ERROR: Final = Codes(
    "ErrorKind",
    "The Python exception that an error becomes in the bindings.",
    {
        "RuntimeError=Runtime": "",
        "TypeError=Type": "",
        "ValueError=Value": "",
        "IndexError=Index": "",
        "AttributeError=Attribute": "",
        "NotImplementedError=NotImplemented": "",
        "out of memory=OutOfMemory": "RuntimeError, as PyTorch's CPU allocator raises",
        "ZeroDivisionError=ZeroDivision": "",
        "AssertionError=Assertion": "as PyTorch raises for devices its build lacks",
        "raised in Python=PythonRaised": "an exception is set in the calling thread",
        "LinAlgError=LinearAlgebra": "of pellucid.linalg",
    },
)
STATUS: Final = Codes(
    "KernelStatus",
    "What a kernel returns: code << STATUS_SHIFT | detail.",
    {
        "ok": "",
        "out_of_bounds=IndexOutOfBounds": "detail: the index",
        "zero_division": "",
        "requirement": "detail: the number of the requirement",
        "outside_operand": "only in checked mode; detail: the operand, outputs first,"
        " then the element and the number of elements, OUTSIDE_BITS each",
    },
)

LOSS_REDUCTION: Final = Codes(
    "LossReduction",
    "What a loss makes of its elements, in the order of the numbers that ops take.",
    {"none": "", "mean": "", "sum": ""},
)

# ------------------------------------------------------------------------------- ops

OP_KIND: Final = Codes(
    "OpKind",
    "How an op runs.",
    {
        "view": "shares memory with its operand",
        "factory": "makes a tensor without operands",
        "pointwise": "an ElementFunction over one element of each operand",
        "reduction": "",
        "scan": "",
        "fused": "a Graph of several loops",
        "contraction": "sums of products",
        "loop": "a recurrence",
        "data_dependent": "result sizes depend on elements",
        "random": "pointwise, over random words",
        "foreach": "pointwise, over lists of tensors",
        "join": "concatenates the tensors of a list along a dim",
        "library": "a routine by name",
        "composite": "calls other ops",
    },
)
VARIANT: Final = Codes(
    "Variant",
    "Where an op writes.",
    {"functional": "new tensors", "in_place": "its arguments", "out": "out="},
)
CAST: Final = Codes(
    "CastRule",
    "The dtype to which an autocast region casts floating-point operands.",
    {
        "=None": "none: the op runs in the dtypes of its operands",
        "lower": "the region's dtype: products, which are faster there",
        "float32": "float32: for ops that are too inaccurate in half precision",
        "widest": "the widest among the operands",
    },
)
LAYOUT: Final = Codes(
    "ResultLayout",
    "The memory order of results.",
    {
        "=RowMajor": "",
        "operand": "that of the first operand, if it is dense",
        "images": "channels innermost if those of the operands are",
    },
)
LATE_BODY: Final = Codes(
    "LateBody",
    "How an overload without plans runs (declare/late_forms.py).",
    {
        "redirect": "calls another record, with arguments matched by name",
        "composite": "a Python body",
        "out_of": "a functional record, whose results are written to out=",
        "in_place_of": "a functional record, whose result is written to self",
        "copy_of": "a view, whose result is copied",
    },
)

# ----------------------------------------------------------------------- derivatives

RULE: Final = Codes(
    "Rule",
    "The ops that transforms derive from an op at one key and mask of inputs.",
    {
        "vjp": "gradients of the inputs of the mask",
        "jvp": "tangents of the outputs, given tangents of the inputs of the mask",
        "batch": "the op, with a leading dim on the inputs of the mask and all outputs",
        "saved_vjp": "as vjp, for a call that runs the derivative's forward op",
    },
)
ORIGIN: Final = Codes(
    "ArgumentOrigin",
    "Where an argument of a derivative comes from.",
    {
        "argument": "the forward argument (saved if it is a tensor)",
        "result": "the forward result (saved)",
        "saved": "extra results of the forward op, saved for backward",
        "gradient": "the gradient of a forward result; an undefined one is zeros",
        "gradients": "the gradients of all results, as one list",
        "sizes": "sizes of forward tensors, as integers",
        "tangent": "the tangent of an input, by its number",
        "constant": "a value that the plan holds, by its number",
    },
)

# ------------------------------------------------------------------------------ plans

STEP: Final = Codes(
    "StepKind",
    "What a step of a plan does.",
    {
        "map": "one kernel over every point",
        "reduce": "one kernel that combines along axes",
        "rows": "one kernel per row, which may read the row several times",
        "nest": "a kernel that receives whole values",
        "gemm": "a matrix product",
        "scan": "a running combination along the last axis",
        "recurrence": "a plan, run for each element along a dim",
        "fill": "one number in every element",
        "view": "shares memory",
        "reshape": "shares memory if the strides allow it, else copies",
        "copy": "a value that starts as a copy",
        "library": "a routine by name",
        "nonzero": "the indices of true elements",
        "compute": "runs the next part of the register program",
        "block": "steps that run together, block by block",
    },
)
SLOT: Final = Codes(
    "SlotKind",
    "The contents of a slot of a tile program.",
    {
        "input": "the operand's element",
        "const=Constant": "",
        "param=Parameter": "a number of the call",
        "row": "a result of an earlier pass over the row",
        "axis": "the index along an axis",
        "op": "one scalar op, by its kernel",
        "bitcast": "the same bits",
        "gather": "an operand's element at computed indices",
        "check": "the value of a slot, where another one is true",
    },
)
FORM: Final = Codes(
    "TileForm",
    "The loops that a tile program runs in.",
    {"map": "", "reduce": "", "scan": "", "rows": "", "nest": ""},
)
PASS: Final = Codes(
    "RowPassKind",
    "What one pass over a row does.",
    {
        "reduce": "reduces to one value",
        "map": "stores a row that later passes read",
        "store": "stores one value per row",
        "add": "adds the row to an output",
    },
)
COMBINE: Final = Codes(
    "Combine",
    "How a stored value is combined with the existing one.",
    {
        "assign": "",
        "sum": "",
        "prod": "",
        "max": "",
        "min": "",
        "and": "",
        "or": "",
        "argmax=ArgMax": "",
        "argmin=ArgMin": "",
    },
)

# ------------------------------------------------------------------------------- keys

ITEM: Final = Codes(
    "ItemKind",
    "The items that describe arguments in keys and requests (items.py).",
    {
        "tensor": "",
        "number": "a symbolic number",
        "unit": "a factor that is 1, its default",
        "static": "a value that is part of the key",
        "dtype=DType": "",
        "list": "",
        "ignored": "no plan depends on it",
    },
)
NUMBER: Final = Codes(
    "NumberKind",
    "The type of a Python number.",
    {"int": "", "float": "", "bool": "", "complex": ""},
)
NUMBER_PART: Final = Codes(
    "NumberPart",
    "The part of a number that a kernel's parameter takes.",
    {"whole": "", "real": "of a complex number", "imaginary": "of a complex number"},
)
GRID_ACCESS: Final = Codes(
    "GridAccess",
    "The accesses of a GPU kernel that runs on the CPU.",
    {"read_global": "", "write_global": "", "read_shared": "", "write_shared": ""},
)
GRID_MATRIX: Final = Codes(
    "GridMatrix",
    "The elements of matrices that the lanes of an emulated warp multiply.",
    {"float16": "", "bfloat16=BFloat16": "", "int8": "", "uint8=UInt8": ""},
)

ALL: Final = tuple(value for value in list(vars().values()) if isinstance(value, Codes))
