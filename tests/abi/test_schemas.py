"""Both parsers read schemas alike: the engine's, which needs no built runtime,
and the runtime's, which needs no Python.
"""

import pytest

import pellucid as torch
from pellucid import _C
from pellucid_compiler.abi.dtypes import ALIASES, CODES, NUMBERS
from pellucid_compiler.abi.schema_types import NAMED_DEFAULTS
from pellucid_compiler.declare.schema import parse_schema

ODD = (
    "f() -> ()",
    "f(Tensor x)->  Tensor out",
    "a::f.b(Tensor(a!)[] x, *, int  n) -> Tensor(a)[]",
    "f(Tensor(a -> *)? x, Tensor?[] y, Tensor?[]? z=None) -> (Tensor(a) p, Tensor[] q)",
    "f(int[2] a=1, int[1] b=0, SymInt[3] c=2, float[2] d=1, bool[2] e=True) -> Tensor",
    "f(int[] a=[], int[] b=[1, -2], float[] c=[1, 2.5], bool[] d=[True]) -> Tensor",
    "f(int a=-3, float b=1, float c=.5, float d=-1e-5, float? e=None) -> Tensor",
    "f(Scalar a=1, Scalar b=2.5, Scalar c=True, Scalar? d=None) -> Tensor",
    "f(int reduction=Mean, int a=long, SymInt b=half) -> Tensor",
    "f(ScalarType a=6, ScalarType b=float32, ScalarType? c=long) -> Tensor",
    "f(ScalarType[] a=[6, long], str[] b=['x', 'y']) -> Tensor",
    "f(Layout a=0, Layout b=strided, Layout? c=2) -> Tensor",
    "f(MemoryFormat a=contiguous_format, MemoryFormat? b=3) -> Tensor",
    """f(Device a="cpu", Device b='cuda:1', Device? c=None) -> Tensor""",
    """f(str a="x, y)", str b='(', str c="a\\"b", str d='\\n') -> Tensor""",
    "f(Storage s, Stream t, complex c, QScheme q, Generator? g=None) -> (int, bool)",
)
REFUSED = (
    *("", "f", "f(Tensor x)", "f(Tensor x -> Tensor", "f(Tensor) -> Tensor"),
    *("f(int a=1, int b) -> Tensor", "f(int a=1, Tensor? b) -> Tensor"),
    *("f(Int n) -> Tensor", "f(tensor x) -> Tensor", "f(Tensor(a x) -> Tensor"),
)
UNFIT = (
    *("Tensor x=1", "Tensor[] x=[]", "Generator g=1", "str s=1", "int n=1.5"),
    *("int n=9223372036854775808", "int n=a", "int[] n=1", "int[] n=[1.5]"),
    *("int[] n=None", "int[] n=[None]", 'Scalar s="a"'),
    *("ScalarType d=99", "ScalarType d=-1", "ScalarType d=6.5", "ScalarType d=True"),
    *('ScalarType d="float"', "Layout a=99", "MemoryFormat m=9", "Device d=0"),
    *('Device d="nonsense"', "Device d=cpu", "float f=-inf", "int n=[1]", "int n=+1"),
    *('str s="a', "int 1n", "int[200] n=1"),
)


def runtime_view(text):
    """A schema as the runtime reads it."""
    space, name, overload, arguments, returns, _ = _C._parse_schema(text)
    actual = [argument_view(*entry) for entry in arguments]
    # The engine does not read which results may be None.
    results = [(a or None, b.replace("?", ""), c or None) for a, b, c in returns]
    return space, name, overload, actual, results


def argument_view(
    name, kind, alias, optional, size, _number, default, has_default, keyword_only
):
    kind = kind.replace("int|SymInt", "SymInt")
    default = default_view(default)
    return name, kind, "!" in alias, optional, size, has_default, default, keyword_only


def default_view(value):
    if isinstance(value, (list, tuple)):
        return [default_view(item) for item in value]
    if isinstance(value, torch.dtype):
        return str(value).partition(".")[2]
    for kind, names in (
        (torch.layout, _LAYOUTS),
        (torch.memory_format, _FORMATS),
    ):
        if isinstance(value, kind):
            return names.index(value)
    return str(value) if isinstance(value, torch.device) else value


_LAYOUTS = [
    *(torch.strided, torch.sparse_coo, torch.sparse_csr, _C._mkldnn),
    *(torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc, torch.jagged),
]
_FORMATS = [
    *(torch.contiguous_format, torch.preserve_format),
    *(torch.channels_last, torch.channels_last_3d),
]


def engine_view(text):
    """The same as the engine reads it."""
    schema = parse_schema(text)
    arguments = [
        (
            *(a.name, type_text(a), a.mutated, a.optional, a.length or 0),
            *(a.has_default, engine_default(a), a.keyword_only),
        )
        for a in schema.arguments
    ]
    returns = [(r.name, r.type + "[]" * r.is_list, r.alias) for r in schema.returns]
    return schema.name_space, schema.name, schema.overload, arguments, returns


def type_text(argument):
    text = argument.type + "?" * argument.element_optional
    if argument.is_list:
        text += f"[{argument.length or ''}]"
    return text + "?" * argument.optional


def engine_default(argument):
    value = argument.default
    if argument.length and not isinstance(value, list) and value is not None:
        value = [value] * argument.length
    if argument.type in ("Layout", "MemoryFormat"):
        return NAMED_DEFAULTS.get(value, value)
    return value


def texts_of_the_runtime():
    for name, *_ in _C._list_ops():
        space, called, overload, *_, text = _C._op_schema(name)
        yield f"{space}::{called}{'.' * bool(overload)}{overload}{text}"


def test_both_read_the_schemas_of_all_ops_alike():
    texts = list(texts_of_the_runtime())
    assert len(texts) > 2000
    differing = [text for text in texts if engine_view(text) != runtime_view(text)]
    assert differing == []


@pytest.mark.parametrize("text", ODD)
def test_both_read_an_odd_schema_alike(text):
    assert engine_view(text) == runtime_view(text)


@pytest.mark.parametrize("text", REFUSED)
def test_both_refuse_what_is_no_schema(text):
    with pytest.raises(RuntimeError, match="cannot read the schema"):
        _C._parse_schema(text)
    with pytest.raises(ValueError, match="not a"):
        parse_schema(text)


@pytest.mark.parametrize("argument", UNFIT)
def test_a_default_must_fit_its_argument(argument):
    with pytest.raises(RuntimeError):
        _C._parse_schema(f"f({argument}) -> Tensor")


# What PyTorch prints of these arguments.
PRINTED = [
    ("ScalarType dt=float32", "ScalarType dt=6"),
    ("ScalarType[] dt=[6,long]", "ScalarType[] dt=[6, 4]"),
    ("Layout l=strided", "Layout l=0"),
    ("MemoryFormat m=contiguous_format", "MemoryFormat m=0"),
    ("Device d='cuda:1'", "Device d=cuda:1"),
    ("float f=1", "float f=1."),
    ("float f=1e-5", "float f=1.0000000000000001e-05"),
    ("float[] f=[1, 2.5]", "float[] f=[1., 2.5]"),
    ("float[2] f=1", "float[2] f=[1., 1.]"),
    ("bool[2] b=True", "bool[2] b=[True, True]"),
    ("Scalar s=1e3", "Scalar s=1000."),
    ("Scalar s=2j", "Scalar s=0.+2.j"),
    ("Scalar s=-2j", "Scalar s=0.-2.j"),
    ("int n = 01", "int n=1"),
    ("int[2] n=1", "int[2] n=1"),
    ("int[2] n=[1,1]", "int[2] n=1"),
    ("int[2] n=[1,2]", "int[2] n=[1, 2]"),
    ("int[1] n=1", "int[1] n=[1]"),
    ("SymInt[2] n=3", "SymInt[2] n=[3, 3]"),
    ("int|SymInt[2] n=3", "int[2] n=3"),
    ("int reduction=Mean", "int reduction=1"),
    ("int n=long", "int n=4"),
    ("str s='it\"s'", 'str s="it\\"s"'),
    ("str s='\\n'", 'str s="\\n"'),
    ("*, Tensor(a!)[] x", "*, Tensor(a!)[] x"),
    ("*", ""),
]


@pytest.mark.parametrize(("argument", "printed"), PRINTED)
def test_schemas_are_printed_as_in_pytorch(argument, printed):
    text = _C._parse_schema(f"f(Tensor x, {argument})->Tensor")[5]
    expected = f"(Tensor x, {printed}) -> Tensor" if printed else "(Tensor x) -> Tensor"
    assert text == expected


@pytest.mark.parametrize("name", CODES)
def test_defaults_name_dtypes_by_pytorchs_numbers(name):
    number = NUMBERS[name]
    for text in (name, str(number)):
        ((*_, default, _, _),) = _C._parse_schema(f"f(ScalarType d={text}) -> Tensor")[
            3
        ]
        assert default is getattr(torch, name)
    assert _C._parse_schema(f"f(ScalarType d={name}) -> ()")[5].endswith(
        f"d={number}) -> ()"
    )


@pytest.mark.parametrize("alias", ALIASES)
def test_aliases_are_those_of_the_package(alias):
    assert getattr(torch, alias) is getattr(torch, ALIASES[alias])
