"""The overloads of ops of two tensors that take a number for one of them."""


def number_forms(name, overload="Scalar", extra="", *, out="", inplace=True):
    """``name.Scalar(Tensor self, Scalar other)``, in place, and with ``out=``.

    ``extra`` are further arguments; ``out`` names the overload that does not add
    ``_out``.
    """
    rest = f"Scalar other{extra}"
    separator = ", " if "*" in extra else ", *, "
    inputs = f"{rest}{separator}Tensor(a!) out"
    forms = (
        f"{name}.{overload}(Tensor self, {rest}) -> Tensor",
        f"{name}_.{overload}(Tensor(a!) self, {rest}) -> Tensor(a!)",
        f"{name}.{out or f'{overload}_out'}(Tensor self, {inputs}) -> Tensor(a!)",
    )
    return forms if inplace else (forms[0], forms[2])


def number_first_forms(name, overload="Scalar_Tensor", *, out=""):
    """``name.Scalar_Tensor(Scalar self, Tensor other)``, and with ``out=``."""
    inputs = "Scalar self, Tensor other"
    return (
        f"{name}.{overload}({inputs}) -> Tensor",
        f"{name}.{out or f'{overload}_out'}({inputs}, *, Tensor(a!) out) -> Tensor(a!)",
    )
