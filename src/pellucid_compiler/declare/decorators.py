"""The decorators that declare ops: one per kind.

The schema is PyTorch's. The schema of an op that PyTorch does not have begins with
``pellucid::``, its namespace in ``torch.ops``: none of its forms is a method, and
functions are in ``_C._pellucid`` unless ``namespace`` says otherwise.

A kind determines how an op runs and is checked against its loops; it never changes the
op's semantics. Keyword options of every decorator:

``int_to_float``   integers compute in the default float dtype (``sin``, ``div``)
``refuses_bools``  RuntimeError if any promoted argument is a bool, before promotion
``unpromoted``     tensor arguments that keep their dtype (``where``'s condition)
``numbers``        tensor arguments that also take a Python number (``other``);
                   for a foreach op: lists of scalar tensors, numbers in the body
``numbers_as_tensors``  dispatch modes see this overload for them too, as of PyTorch's
                   ``mul.Tensor``; else the one whose schema says so, ``gt.Scalar``
``symbolic``       arguments that PyTorch's schema calls ``int`` and the body takes as
                   sizes: numbers known when the op runs, not part of the key
``exact``          numbers that an integer result refuses as floats (``alpha``);
                   others lose their fraction
``nonnegative``    numbers that an integer result refuses below 0 (``exponent``)
``inplace``, ``out``, ``method``, ``function``    which forms exist; the first two may
                   be the overload's name if PyTorch's does not follow the rule,
                   ``out`` its whole schema if the results' names do not either
``forms``          schemas of further overloads, in-place and ``out=`` ones too, whose
                   arguments are the declared ones by name
``aliases``        aliases of the op and of all its forms (``arccos``);
                   ``special_expit`` is a function of the namespace in its prefix
``backward``       the schema of the op that computes the gradient in PyTorch: it runs
                   the op's own derivative, and dispatch modes see it instead. Its
                   arguments are the gradient, those of the op by name, a mask of the
                   wanted gradients, and what ``backward_reads`` says. Or a call of a
                   gradient op that another op declares: see seen.py
``backward_reads`` arguments of that op that the op itself does not have:
                   ``"output=result, input_sizes=sizes(self)"``; see
                   pellucid/_C/_runtime/gradient_arguments.py
``backward_out``   the overload of its ``out=`` form; "" if it has none
``inplace_only``   only the in-place form is public (``uniform_``)
``inplace_method``, ``inplace_function``    where the in-place form appears: as a method
                   where the op is one; as a function, too, if the op is pointwise and
                   of one tensor. Or the names of the forms that are functions, where
                   those of aliases are not
``node``           the name of its node in the backward graph if PyTorch's is not
                   the op's name and 0; or a function of the call's key
``namespace``      where the function appears: ``"special"``; ``"nn"`` is ``_C._nn``,
                   on which nn.functional is built
``also``           additional places of functions: ``"nn.functional.relu_"``
``draws``          for a random op: 32-bit words per element, or a function of the
                   tensors' dtypes; the body gets them as one more argument, a tuple
``inverse``        for a join: the inverse view
``layout``         results' memory layout, row-major by default: ``"operand"``, those
                   of its shape as the first tensor; ``"images"``, channels last if one
                   of the first two tensors is
``autocast``       operands' dtype in an autocast region: ``"lower"``, the region's
                   dtype; ``"float32"``; or ``"widest"``, the widest of them
``copy_method``    for a view: its ``name_copy`` is also a method
``index_error``    the error type of an index out of bounds (IndexError)
``index_message``  its text, with ``{}`` for the index and the size, if it is not to
                   say which dim the index is of
``rare``           the build prepares only the commonest dtypes and forms; the others
                   are traced and compiled at first use
``ranks``          of its tensors that the build prepares, where programs use no others;
                   the last one in all dtypes
``refuses``        dtypes of the first tensor that PyTorch has no kernel for, though
                   the body would compute something: names, or "integers", "complex"
``core``           whether the op is of Core ATen, which PyTorch has backends implement;
                   or the names of those among all that the declaration makes
``tags``           PyTorch's tags that do not follow, between spaces: see tags.py
``domain``         (low, high): where derivatives must meet their error bounds, and
                   where tests draw operands; the whole line without it
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pellucid_compiler.declare.op import REGISTRY, Op, Options

Decorator = Callable[[Callable[..., Any]], Op]


def _kind(kind: str, **defaults: Any) -> Callable[..., Decorator]:
    def with_schema(schema: str, **options: Any) -> Decorator:
        def decorate(function: Callable[..., Any]) -> Op:
            op = Op(function, schema, kind, Options(**{**defaults, **options}))
            if op.full_name in REGISTRY:
                raise ValueError(f"the op {op.full_name} is declared twice")
            REGISTRY[op.full_name] = op
            return op

        return decorate

    return with_schema


pointwise = _kind("pointwise")
reduction_op = _kind("reduction", inplace=False)
fused = _kind("fused", inplace=False)
contraction = _kind("contraction", inplace=False)
loop = _kind("loop", inplace=False)
scan_op = _kind("scan", inplace=False)
view = _kind("view", inplace=False, out=False)
factory = _kind("factory", inplace=False, method=False)
data_dependent = _kind("data_dependent", inplace=False)
random = _kind("random", inplace=False)
foreach = _kind("foreach", inplace=False, out=False, method=False)
join = _kind("join", inplace=False, method=False)
library_op = _kind("library", inplace=False)
