"""The options of a declaration besides its schema and body: keyword arguments of every
decorator, by what they describe.

What operands may be:

``int_to_float``   integers compute in the default float dtype (``sin``, ``div``)
``refuses_bools``  RuntimeError if any promoted argument is a bool, before promotion
``refuses``        dtypes of the first tensor that PyTorch has no kernel for, though
                   the body would compute something: names, or "integers", "complex"
``unpromoted``     tensor arguments that keep their dtype (``where``'s condition)
``numbers``        tensor arguments that also take a Python number (``other``);
                   for a foreach op: lists of scalar tensors, numbers in the body
``numbers_as_tensors``  dispatch modes see this overload for them too, as of PyTorch's
                   ``mul.Tensor``; else the one whose schema says so, ``gt.Scalar``
``optional_lists``  lists of a foreach op that may be empty: None in the body
``symbolic``       arguments that PyTorch's schema calls ``int`` and the body takes as
                   sizes: numbers known when the op runs, not part of the key
``exact``          numbers that an integer result refuses as floats (``alpha``);
                   others lose their fraction
``nonnegative``    numbers that an integer result refuses below 0 (``exponent``)
``autocast``       operands' dtype in an autocast region: ``"lower"``, the region's
                   dtype; ``"float32"``; or ``"widest"``, the widest of them

Which forms there are, under which names:

``inplace``, ``out``    which forms exist; they may be the overload's name if PyTorch's
                   does not follow the rule, ``out`` its whole schema if the results'
                   names do not either
``inplace_only``   only the in-place form is public (``uniform_``)
``forms``          schemas of further overloads, in-place and ``out=`` ones too, whose
                   arguments are the declared ones by name
``casts_out``      whether ``out=`` forms convert results to the dtypes of the tensors
                   they write, which else must be the results'; by default those with
                   one result
``out_dtypes``     the only dtypes that ``out=`` may have, whatever the result's: it is
                   converted to them even where no cast exists (``any`` of uint8)
``casts_inplace``  whether the in-place form converts its result to the dtype of the
                   tensor that it writes (``abs_`` of complex numbers does not)
``writes_shared``  whether the in-place form also writes tensors whose elements share
                   memory (``expand``): those that it changes get equal values
``aliases``        aliases of the op and of all its forms (``arccos``);
                   ``special_expit`` is a function of the namespace in its prefix

Where forms are public:

``method``, ``function``    whether they are methods and functions
``namespace``      where the function appears: ``"special"``; ``"nn"`` is ``_C._nn``,
                   on which nn.functional is built
``also``           additional places of functions: ``"nn.functional.relu_"``
``inplace_method``, ``inplace_function``    where the in-place form appears: as a method
                   where the op is one; as a function, too, if the op is pointwise and
                   of one tensor. Or the names of the forms that are functions, where
                   those of aliases are not
``copy_method``    for a view: its ``name_copy`` is also a method

The backward graph, and what dispatch modes see:

``backward``       the schema of the op that computes the gradient in PyTorch: it runs
                   the op's own derivative, and dispatch modes see it instead. Its
                   arguments are the gradient, those of the op by name, a mask of the
                   wanted gradients, and what ``backward_reads`` says. Or a call of a
                   gradient op that another op declares: see seen.py
``backward_reads`` arguments of that op that the op itself does not have:
                   ``"output=result, input_sizes=sizes(self)"``; see
                   pellucid/_C/_runtime/gradient_arguments.py
``backward_out``   the overload of its ``out=`` form; "" if it has none
``backward_casts``  whether that form converts, as ``casts_out`` says of the op's; by
                   default if the op is elementwise
``node``           the name of its node in the backward graph if PyTorch's is not
                   the op's name and 0; or a function of the call's key
``unrecorded``     numbers of the results that PyTorch records no gradient for; of
                   all of them: also writes in place, so that leaves may be written
``core``           whether the op is of Core ATen, which PyTorch has backends implement;
                   or the names of those among all that the declaration makes
``tags``           PyTorch's tags that do not follow, between spaces: see tags.py

How it runs:

``layout``         results' memory layout, row-major by default: ``"operand"``, those
                   of its shape as the first tensor; ``"images"``, channels last if one
                   of the first two tensors is
``index_error``    the error type of an index out of bounds (IndexError)
``index_message``  its text, with ``{}`` for the index and the size, if it is not to
                   say which dim the index is of
``draws``          for a random op: 32-bit words per element, or a function of the
                   tensors' dtypes; the body gets them as one more argument, a tuple
``inverse``        for a join: the inverse view

What the build prepares and tests draw:

``rare``           the build prepares only the commonest dtypes and forms; the others
                   are traced and compiled at first use
``ranks``          of its tensors that the build prepares, where programs use no others;
                   the last one in all dtypes
``domain``         (low, high): where derivatives must meet their error bounds, and
                   where tests draw operands; the whole line without it
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Options(NamedTuple):
    """The options of one declaration; see the module's docstring."""

    # What operands may be
    int_to_float: bool = False
    refuses_bools: bool = False
    refuses: tuple[str, ...] = ()
    unpromoted: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    numbers_as_tensors: bool = False
    optional_lists: tuple[str, ...] = ()
    symbolic: tuple[str, ...] = ()
    exact: tuple[str, ...] = ()
    nonnegative: tuple[str, ...] = ()
    autocast: str = ""
    # Which forms there are, under which names
    inplace: bool | str = True
    out: bool | str = True
    inplace_only: bool = False
    forms: tuple[str, ...] = ()
    casts_out: bool | None = None
    out_dtypes: tuple[str, ...] = ()
    casts_inplace: bool = True
    writes_shared: bool = False
    aliases: tuple[str, ...] = ()
    # Where forms are public
    method: bool = True
    function: bool = True
    namespace: str = ""
    also: tuple[str, ...] = ()
    inplace_method: bool | None = None
    inplace_function: bool | tuple[str, ...] | None = None
    copy_method: bool = False
    # The backward graph, and what dispatch modes see
    backward: str = ""
    backward_reads: str = ""
    backward_out: str = "grad_input"
    backward_casts: bool | None = None
    node: str | Callable[..., str] = ""
    unrecorded: tuple[int, ...] = ()
    core: bool | tuple[str, ...] = False
    tags: str = ""
    # How it runs
    layout: str = ""
    index_error: type[Exception] = IndexError
    index_message: str = ""
    draws: int | Callable[..., int] = 0
    inverse: str = ""
    # What the build prepares and tests draw
    rare: bool = False
    ranks: tuple[int, ...] = ()
    domain: tuple[float, float] | None = None

    def within(self, name_space: str) -> Options:
        """The options for an op of this namespace, if it is not PyTorch's: functions
        are in its module unless another one is declared, and no form is a method.
        """
        if not name_space:
            return self
        return self._replace(namespace=self.namespace or name_space, method=False)
