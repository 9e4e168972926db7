"""The in-place and ``out=`` schemas that a declaration implies.

``relu`` implies ``relu_(Tensor(a!) self) -> Tensor(a!)`` and ``relu.out(..., *,
Tensor(a!) out) -> Tensor(a!)``. They need no bodies: the runtime computes the
functional result into the destination. Called by the freezer and by the documentation.
"""

from __future__ import annotations

from pellucid_compiler.abi.codes import VARIANT
from pellucid_compiler.declare.op import REGISTRY, Op
from pellucid_compiler.declare.schema import Argument, Schema, parse_schema

_, _IN_PLACE, _ = VARIANT.names

FACTORY_OPTIONS = ("dtype", "layout", "device", "pin_memory")
_INPLACE_OVERLOADS = {"int": ""}  # ``transpose.int`` has a plain ``transpose_``
_OUT_OVERLOADS = {"": "out", "Tensor": "out", "self": "self_out"}


def inplace_schema(op: Op) -> Schema | None:
    """The schema of ``name_``, or None if the op has no in-place form."""
    if not (op.options.inplace or op.options.inplace_only):
        return None
    return implied_inplace(op.schema, op.options.inplace)


def inplace_is_method(op: Op) -> bool:
    """Whether the in-place form is a method: where the op is, unless declared."""
    declared = op.options.inplace_method
    return op.options.method if declared is None else declared


def inplace_is_function(op: Op, name: str) -> bool:
    """Whether the in-place form ``name``, of the op or of an alias, is a function."""
    declared = op.options.inplace_function
    if isinstance(declared, tuple):
        return name in declared
    if declared is not None:
        return declared
    tensors = sum(argument.is_tensor for argument in op.schema.arguments)
    return op.options.function and op.kind == "pointwise" and tensors == 1


def implied_inplace(schema: Schema, inplace: bool | str = True) -> Schema:
    """``name_``, or the overload of it that ``inplace`` names, which writes its first
    argument.
    """
    first, *rest = schema.arguments
    overload = _INPLACE_OVERLOADS.get(schema.overload, schema.overload)
    if isinstance(inplace, str):
        overload = inplace
    head = f"{schema.op_name}_" + (f".{overload}" if overload else "")
    arguments = [f"Tensor(a!) {first.name}", *_argument_texts(rest)]
    return parse_schema(f"{head}({', '.join(arguments)}) -> Tensor(a!)")


def out_schema(op: Op) -> Schema | None:
    """The schema of the ``out=`` form, or None if the op has none."""
    if (
        not op.options.out
        or op.options.inplace_only
        or any(r.type != "Tensor" or r.is_list for r in op.schema.returns)
    ):
        return None
    overload = op.options.out
    if overload is True and op.schema.overload == "Tensor" and op.name in REGISTRY:
        overload = "Tensor_out"  # next to a plain ``clamp``, whose ``clamp.out`` is
    made = without_options(op.schema) if op.kind == "factory" else op.schema
    return implied_out(made, overload)


def casts_out(schema: Schema, declared: bool | None) -> bool:
    """Whether the ``out=`` forms of an op convert results to the dtypes of the tensors
    they write: as declared, else if there is one result.
    """
    return len(schema.returns) == 1 if declared is None else declared


def casts_written(op: Op, variant: str) -> bool:
    """Whether this form of the op converts results to the dtypes of what it writes."""
    if variant == _IN_PLACE:
        return op.options.casts_inplace
    return casts_out(op.schema, op.options.casts_out)


def without_options(schema: Schema) -> Schema:
    """A factory's schema without what ``out`` determines: device and dtype."""
    arguments = [a for a in schema.arguments if a.name not in FACTORY_OPTIONS]
    _, _, returns = schema.text.rpartition(" -> ")
    texts = ", ".join(_argument_texts(arguments))
    return parse_schema(f"{schema.full_name}({texts}) -> {returns}")


def copy_schema(op: Op) -> Schema | None:
    """The schema of ``name_copy``: a view's elements in memory of their own."""
    if op.kind != "view":
        return None
    text = renamed(op.schema, f"{op.name}_copy").text
    return parse_schema(text.replace("(a)", ""))


def implied_out(schema: Schema, out: bool | str = True) -> Schema:
    """``name.out``, or the overload that ``out`` names or is; it writes its results to
    arguments.
    """
    if isinstance(out, str) and "(" in out:
        return parse_schema(out)
    overload = out if isinstance(out, str) else _out_overload(schema.overload)
    letters = [chr(ord("a") + k) for k in range(len(schema.returns))]
    names = _out_names(schema, overload)
    texts = _argument_texts(list(schema.arguments))
    if "*" not in texts:
        texts.append("*")
    texts += [f"Tensor({a}!) {name}" for a, name in zip(letters, names, strict=True)]
    returns = ", ".join(
        f"Tensor({a}!) {r.name}" if r.name and len(letters) > 1 else f"Tensor({a}!)"
        for a, r in zip(letters, schema.returns, strict=True)
    )
    returns = f"({returns})" if len(letters) > 1 else returns
    return parse_schema(f"{schema.op_name}.{overload}({', '.join(texts)}) -> {returns}")


def renamed(schema: Schema, name: str) -> Schema:
    """The same schema under another name of its namespace."""
    space = schema.op_name.removesuffix(schema.name)
    return parse_schema(space + name + schema.text.removeprefix(schema.op_name))


def _out_overload(overload: str) -> str:
    """PyTorch's rule: ``add.Tensor`` has ``add.out``, ``sum.dim_IntList`` has
    ``sum.IntList_out``.
    """
    return _OUT_OVERLOADS.get(overload, f"{overload.removeprefix('dim_')}_out")


def _out_names(schema: Schema, overload: str) -> list[str]:
    if len(schema.returns) == 1:
        return [overload if overload == "grad_input" else "out"]
    return [r.name or f"out{k}" for k, r in enumerate(schema.returns)]


def _argument_texts(arguments: list[Argument]) -> list[str]:
    """The arguments in the schema language, with ``*`` before keyword-only ones."""
    texts: list[str] = []
    for argument in arguments:
        if argument.keyword_only and "*" not in texts:
            texts.append("*")
        texts.append(argument.text)
    return texts
