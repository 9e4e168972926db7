"""PyTorch's tags: what is known of an op overload without running it.

Most follow from the declaration: its kind, an argument that is a generator, a view that
is written in place. The declaration states the others,
``tags="data_dependent_output"``, for all of its forms. Called by ``late_forms.py``,
``intrinsics.py`` and ``tools/freeze.py``; shown as
``torch.ops.aten.relu.default.tags``.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from pellucid_compiler.declare.schema import Schema

OF_KINDS: Final = {
    "pointwise": "pointwise",
    "random": "nondeterministic_seeded",
    "data_dependent": "dynamic_output_shape",
    "reduction": "reduction",
}
DECLARED: Final = (
    *("data_dependent_output", "dynamic_output_shape", "inplace_view"),
    *("maybe_aliasing_or_mutating", "nondeterministic_seeded", "pointwise"),
    *("reduction", "view_copy"),
)


class Known(NamedTuple):
    """The facts of a declaration about its forms: its kind, ``tags=`` and ``core=``."""

    declared: Schema
    kind: str = ""
    tags: str = ""
    core: bool | tuple[str, ...] = False

    def tags_of(self, schema: Schema) -> str:
        """The tags of one form, ``schema``, sorted and space-separated."""
        found = set(self.tags.split())
        if unknown := found.difference(DECLARED):
            raise ValueError(
                f"{self.declared.full_name}: tags={self.tags!r} names "
                f"{', '.join(sorted(unknown))}, which is none of {', '.join(DECLARED)}"
            )
        if self.kind in OF_KINDS:
            found.add(OF_KINDS[self.kind])
        if any(a.type == "Generator" for a in schema.arguments):
            found.add("nondeterministic_seeded")
        is_in_place = any(a.mutated and not a.keyword_only for a in schema.arguments)
        if self.kind == "view" and is_in_place:
            found.add("inplace_view")
        if self._is_core(schema):
            found.add("core")
        return " ".join(sorted(found))

    def of_gradient(self) -> Known:
        """The facts of the op that computes the gradient: pointwise if this op is."""
        kind = self.kind if self.kind == "pointwise" else ""
        return self._replace(kind=kind, tags="")

    def _is_core(self, schema: Schema) -> bool:
        if isinstance(self.core, tuple):
            return schema.full_name in self.core
        return self.core and schema.full_name == self.declared.full_name
