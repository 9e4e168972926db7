"""linspace and logspace with tensors as ends."""

from pellucid_compiler.composites import api, composite, require

_OPTIONS = (
    "ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None"
)


def _end(name, end):
    if isinstance(end, api.Tensor):
        require(
            end.dim() == 0,
            "{}: an end that is a tensor has no dims, not {}",
            name,
            end.dim(),
        )
        return 1 if end.is_meta else end.item()  # Meta has only sizes
    return end


def _options(ends, options):
    """The factory's options: the result is on the device of the ends; on Meta, even if
    another device is requested.
    """
    device = next(e.device for e in ends if isinstance(e, api.Tensor))
    if options["device"] is None or device.type == "meta":
        options["device"] = device
    return options


def _between(name, base=""):
    """Declares the forms of ``name`` whose ends are tensors."""

    def declare(body):
        for start, end in (
            ("Tensor", "Tensor"),
            ("Tensor", "Scalar"),
            ("Scalar", "Tensor"),
        ):
            arguments = f"{start} start, {end} end, int steps{base}"
            head = f"{name}.{start}_{end}"
            out = f"{head}_out({arguments}, *, Tensor(a!) out) -> Tensor(a!)"
            declared = composite(
                f"{head}({arguments}, *, {_OPTIONS}) -> Tensor",
                forms=(out,),
                method=False,
            )
            body = declared(body)
        return body

    return declare


@_between("linspace")
def linspace(start, end, steps, **options):
    """``steps`` equally spaced numbers from ``start`` to ``end``."""
    ends = _end("linspace", start), _end("linspace", end)
    return api.linspace(*ends, steps, **_options((start, end), options))


@_between("logspace", ", float base=10.0")
def logspace(start, end, steps, base, **options):
    """``base`` to the powers of ``linspace``."""
    ends = _end("logspace", start), _end("logspace", end)
    return api.logspace(*ends, steps, base, **_options((start, end), options))
