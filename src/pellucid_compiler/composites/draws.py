"""Random tensors with ``out=``, in the shape of a given tensor, and by functional
fills.
"""

from pellucid_compiler.composites import any_true, api, composite, require

_OPTIONS = (
    "ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None, MemoryFormat? memory_format=None"
)
_FORMAT = "MemoryFormat? memory_format=None"
_OUT = "Tensor(a!) out) -> Tensor(a!)"


def _into(plain, seeded, arguments, options=""):
    """Declares an ``out=`` form, and the same with a generator."""

    def declare(body):
        with_generator = composite(
            f"{seeded}({arguments}, *, Generator? generator, {options}{_OUT}",
            method=False,
        )
        without = composite(
            f"{plain}({arguments}, *, {options}{_OUT}",
            method=False,
            tags="nondeterministic_seeded",
        )
        return with_generator(without(body))

    return declare


def _sized(out, size):
    return out if list(out.shape) == list(size) else out.resize_(size)


@_into("rand.out", "rand.generator_out", "SymInt[] size")
def rand_into(size, *, generator=None, out):
    """Uniform numbers."""
    return _sized(out, size).uniform_(generator=generator)


@_into("randn.out", "randn.generator_out", "SymInt[] size")
def randn_into(size, *, generator=None, out):
    """Normal numbers."""
    return _sized(out, size).normal_(generator=generator)


@_into("randint.out", "randint.generator_out", "SymInt high, SymInt[] size")
def randint_into(high, size, *, generator=None, out):
    """Integers from 0 to ``high - 1``."""
    return _sized(out, size).random_(0, high, generator=generator)


@_into(
    "randint.low_out",
    "randint.low_generator_out",
    "SymInt low, SymInt high, SymInt[] size",
)
def randint_from_into(low, high, size, *, generator=None, out):
    """Integers from ``low`` to ``high - 1``."""
    return _sized(out, size).random_(low, high, generator=generator)


@_into("randperm.out", "randperm.generator_out", "SymInt n")
def randperm_into(n, *, generator=None, out):
    """The numbers from 0 to ``n - 1`` in random order."""
    return _sized(out, [n]).copy_(
        api.randperm(n, generator=generator, device=out.device)
    )


# Like a given tensor


@composite(
    f"rand_like.generator(Tensor self, *, Generator? generator, {_OPTIONS}) -> Tensor",
    method=False,
)
def rand_like(x, *, generator, **options):
    """Uniform numbers in the shape of ``x``."""
    return api.empty_like(x, **options).uniform_(generator=generator)


@composite(
    f"randn_like.generator(Tensor self, *, Generator? generator, {_OPTIONS}) -> Tensor",
    method=False,
)
def randn_like(x, *, generator, **options):
    """Normal numbers in the shape of ``x``."""
    return api.empty_like(x, **options).normal_(generator=generator)


@composite(
    "randint_like.generator(Tensor self, SymInt high, *, Generator? generator, "
    f"{_OPTIONS}) -> Tensor",
    method=False,
)
@composite(
    "randint_like.Tensor_generator(Tensor self, Tensor high, *, Generator? generator, "
    f"{_OPTIONS}) -> Tensor",
    method=False,
)
@composite(
    f"randint_like.Tensor(Tensor self, Tensor high, *, {_OPTIONS}) -> Tensor",
    method=False,
    tags="nondeterministic_seeded",
)
def randint_like(x, high, *, generator=None, **options):
    """Integers from 0 to ``high - 1`` in the shape of ``x``."""
    limit = 1 if x.is_meta else int(high)
    return api.empty_like(x, **options).random_(0, limit, generator=generator)


@composite(
    "randint_like.low_generator_dtype(Tensor self, SymInt low, SymInt high, *, "
    f"Generator? generator, {_OPTIONS}) -> Tensor",
    method=False,
)
def randint_like_from(x, low, high, *, generator, **options):
    """Integers from ``low`` to ``high - 1`` in the shape of ``x``."""
    return api.empty_like(x, **options).random_(low, high, generator=generator)


@_into("rand_like.out", "rand_like.generator_out", "Tensor self", f"{_FORMAT}, ")
def rand_like_into(x, *, generator=None, memory_format, out):
    """Uniform numbers in the shape of ``x``."""
    return rand_into(x.shape, generator=generator, out=out)


@_into("randn_like.out", "randn_like.generator_out", "Tensor self", f"{_FORMAT}, ")
def randn_like_into(x, *, generator=None, memory_format, out):
    """Normal numbers in the shape of ``x``."""
    return randn_into(x.shape, generator=generator, out=out)


@_into(
    "randint_like.out",
    "randint_like.generator_out",
    "Tensor self, SymInt high",
    f"{_FORMAT}, ",
)
@_into(
    "randint_like.Tensor_out",
    "randint_like.Tensor_generator_out",
    "Tensor self, Tensor high",
    f"{_FORMAT}, ",
)
def randint_like_into(x, high, *, generator=None, memory_format, out):
    """Integers from 0 to ``high - 1`` in the shape of ``x``."""
    limit = 1 if out.is_meta else int(high)
    return randint_into(limit, x.shape, generator=generator, out=out)


@_into(
    "randint_like.low_dtype_out",
    "randint_like.low_generator_dtype_out",
    "Tensor self, SymInt low, SymInt high",
    f"{_FORMAT}, ",
)
def randint_like_from_into(x, low, high, *, generator=None, memory_format, out):
    """Integers from ``low`` to ``high - 1`` in the shape of ``x``."""
    return randint_from_into(low, high, x.shape, generator=generator, out=out)


# Functional forms of fills


def _functional_fill(schema):
    """Declares a fill of a new tensor like ``self``, and its ``out=`` form."""
    return composite(schema, out=True, method=False, function=False, seen=True)


@_functional_fill(
    "uniform(Tensor self, float from=0, float to=1, *, Generator? generator=None) "
    "-> Tensor"
)
def uniform(x, low, high, *, generator):
    """Uniform numbers from ``low`` to ``high``."""
    return api.empty_like(x).uniform_(low, high, generator=generator)


@_functional_fill("random(Tensor self, *, Generator? generator=None) -> Tensor")
def random(x, *, generator):
    """Integers over the whole range of the dtype."""
    return api.empty_like(x).random_(generator=generator)


@composite(
    "random.from(Tensor self, int from, int? to, *, Generator? generator=None) "
    "-> Tensor",
    out="from_out",
    method=False,
    function=False,
    seen=True,
)
def random_from(x, low, high, *, generator):
    """Integers from ``low`` to ``high - 1``."""
    return api.empty_like(x).random_(low, high, generator=generator)


@composite(
    "random.to(Tensor self, int to, *, Generator? generator=None) -> Tensor",
    out="to_out",
    method=False,
    function=False,
    seen=True,
)
def random_to(x, high, *, generator):
    """Integers from 0 to ``high - 1``."""
    return api.empty_like(x).random_(high, generator=generator)


@composite(
    "log_normal_(Tensor(a!) self, float mean=1, float std=2, *, "
    "Generator? generator=None) -> Tensor(a!)",
    function=False,
    seen=True,
)
def log_normal_(x, mean, std, *, generator):
    """Numbers whose logarithms are normal with this mean and deviation."""
    require(std > 0, "log_normal_: std must be greater than 0, not {}", std)
    return x.normal_(mean, std, generator=generator).exp_()


@_functional_fill(
    "log_normal(Tensor self, float mean=1, float std=2, *, Generator? generator=None) "
    "-> Tensor"
)
def log_normal(x, mean, std, *, generator):
    """Numbers whose logarithms are normal with this mean and deviation."""
    return log_normal_(api.empty_like(x), mean, std, generator=generator)


@composite(
    "normal_functional(Tensor self, float mean=0, float std=1, *, "
    "Generator? generator=None) -> Tensor",
    forms=(
        "normal.out(Tensor self, float mean=0, float std=1, *, "
        "Generator? generator=None, Tensor(a!) out) -> Tensor(a!)",
    ),
    method=False,
    function=False,
    seen=True,
)
def normal_like(x, mean, std, *, generator):
    """Normal numbers in the shape of ``x``."""
    return api.empty_like(x).normal_(mean, std, generator=generator)


# Normal numbers with one mean and one deviation per element


@composite(
    "normal.Tensor_float(Tensor mean, float std=1, *, Generator? generator=None) "
    "-> Tensor",
    out="Tensor_float_out",
    method=False,
)
@composite(
    "normal.float_Tensor(float mean, Tensor std, *, Generator? generator=None) "
    "-> Tensor",
    out="float_Tensor_out",
    method=False,
)
@composite(
    "normal.Tensor_Tensor(Tensor mean, Tensor std, *, Generator? generator=None) "
    "-> Tensor",
    out="Tensor_Tensor_out",
    method=False,
)
def normal(mean, std, *, generator):
    """A normal number for each mean and deviation. Draws have no history."""
    tensors = [t.detach() for t in (mean, std) if isinstance(t, api.Tensor)]
    negative = any_true(std < 0) if isinstance(std, api.Tensor) else std < 0
    require(not negative, "normal: std is negative, or one of its elements is")
    shape = api.broadcast_shapes(*(t.shape for t in tensors))
    with api.no_grad():
        like = {"dtype": tensors[0].dtype, "device": tensors[0].device}
        drawn = api.randn(shape, generator=generator, **like)
        return drawn.mul_(std).add_(mean)


@composite(
    "normal.float_float_out(float mean, float std, SymInt[] size, *, "
    "Generator? generator=None, Tensor(a!) out) -> Tensor(a!)",
    method=False,
)
def normal_into(mean, std, size, *, generator, out):
    """Normal numbers."""
    return _sized(out, size).normal_(mean, std, generator=generator)
