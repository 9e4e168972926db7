"""Whatever a call can read of Python: a replay detects that it changed.

Each case makes a function and a change. The function is called often enough to be
replayed, then the change is made, and it is called again; eager calls of a second
function of the same case give the expected results.
"""

import array
import builtins
import collections
import functools
import gc
import io
import itertools
import operator
import pathlib
import sys
import tempfile
import types

import pytest

import pellucid as torch
from pellucid._package.lazy import LazyValue

pytestmark = pytest.mark.usefixtures("untraced")
CASES = {}
REFUSED = set()  # cases without replays


def case(make):
    CASES[make.__name__] = make
    return make


def refused(make):
    REFUSED.add(make.__name__)
    return case(make)


def some_ops(x):
    for _ in range(4):
        x = torch.tanh(x) * 0.5
    return x


class Thing:
    def __init__(self, **attributes):
        self.__dict__.update(attributes)


@case
def an_attribute():
    thing = Thing(scale=2.0)
    return lambda x: some_ops(x) * thing.scale, lambda: setattr(thing, "scale", 3.0)


@case
def all_attributes_at_once():
    thing = Thing(scale=2.0)

    def change():
        thing.__dict__ = {"scale": 3.0}

    return lambda x: some_ops(x) * thing.scale, change


@case
def a_class():
    class Double(Thing):
        scale = 2.0

    class Triple(Thing):
        scale = 3.0

    thing = Double()

    def change():
        thing.__class__ = Triple

    return lambda x: some_ops(x) * thing.scale, change


class Slotted:
    __slots__ = ("scale",)

    def __init__(self):
        self.scale = 2.0


@case
def a_slot_replaced_by_a_property():
    class Double(Slotted):
        __slots__ = ("offset",)

    thing = Double()
    thing.offset = 1.0

    def change():
        Double.offset = property(lambda self: 5.0)

    return lambda x: some_ops(x) * thing.scale + thing.offset, change


@case
def a_slot_hidden_by_a_property():
    class Double(Slotted):
        __slots__ = ("factor",)
        scale = property(lambda self: 2 * self.factor, lambda self, value: None)

    thing = Double()
    thing.factor = 2.0
    return lambda x: some_ops(x) * thing.scale, lambda: setattr(thing, "factor", 3.0)


@case
def an_attribute_of_a_class():
    class Double(Thing):
        scale = 2.0

    thing = Double()
    return lambda x: some_ops(x) * thing.scale, lambda: setattr(Double, "scale", 3.0)


@case
def a_property():
    class Double(Thing):
        scale = property(lambda self: 2.0)

    thing = Double()
    other = property(lambda self: 3.0)
    return lambda x: some_ops(x) * thing.scale, lambda: setattr(Double, "scale", other)


@case
def a_cell():
    scale = 2.0

    def function(x):
        return some_ops(x) * scale

    def change():
        nonlocal scale
        scale = 3.0

    return function, change


@case
def a_default():
    def function(x, scale=2.0):
        return some_ops(x) * scale

    return function, lambda: setattr(function, "__defaults__", (3.0,))


@case
def a_default_by_name():
    def function(x, *, scale=2.0):
        return some_ops(x) * scale

    return function, lambda: setattr(function, "__kwdefaults__", {"scale": 3.0})


@case
def an_item_of_the_defaults_by_name():
    def function(x, *, scale=2.0):
        return some_ops(x) * scale

    return function, lambda: function.__kwdefaults__.update(scale=3.0)


@case
def the_code_of_a_function():
    def scale():
        return 2.0

    def other():
        return 3.0

    def function(x):
        return some_ops(x) * scale()

    return function, lambda: setattr(scale, "__code__", other.__code__)


@case
def an_attribute_of_a_function():
    def helper():
        return 0

    def function(x):
        return some_ops(x) * (3.0 if hasattr(helper, "mark") else 2.0)

    return function, lambda: setattr(helper, "mark", 1)


@case
def an_item_of_a_list():
    scales = [1.0, 2.0]
    return lambda x: some_ops(x) * scales[1], lambda: scales.__setitem__(1, 3.0)


@case
def the_length_of_a_list():
    scales = [1.0, 2.0]
    return lambda x: some_ops(x) * len(scales), lambda: scales.append(3.0)


@case
def a_set():
    marks = {1, 2}
    return lambda x: some_ops(x) * len(marks), lambda: marks.add(7)


@case
def the_order_of_a_dict():
    scales = collections.OrderedDict(a=2.0, b=3.0)

    def function(x):
        for scale in scales.values():
            x = some_ops(x) * scale + 1
        return x

    return function, lambda: scales.move_to_end("a")


@case
def a_builtin_function():
    def change():
        builtins.round = lambda number: 3.0

    def function(x):
        return some_ops(x) * round(2.2)

    def undo():
        builtins.round = ROUND

    return function, change, undo


ROUND = round


@case
def a_global_in_place_of_a_builtin_function():
    space = {"some_ops": some_ops}
    exec("def function(x): return some_ops(x) * abs(-2.0)", space)
    return space["function"], lambda: space.update(abs=lambda number: 3.0)


@case
def an_imported_module():
    def put(scale):
        module = types.ModuleType("pellucid_test_scales")
        module.scale = scale
        sys.modules["pellucid_test_scales"] = module

    put(2.0)

    def function(x):
        import pellucid_test_scales

        return some_ops(x) * pellucid_test_scales.scale

    undo = functools.partial(sys.modules.pop, "pellucid_test_scales")
    return function, lambda: put(3.0), undo


def _package(scale):
    """A package whose part is a module, both with a ``scale``."""
    names = "pellucid_test_pack", "pellucid_test_pack.part"
    package, part = map(types.ModuleType, names)
    package.__path__ = []
    package.scale, package.part, part.scale = scale, part, scale
    sys.modules.update(zip(names, (package, part), strict=True))
    return package, lambda: [sys.modules.pop(name) for name in names]


@case
def the_package_of_an_imported_module():
    package, undo = _package(2.0)

    def function(x):
        import pellucid_test_pack.part

        return some_ops(x) * pellucid_test_pack.scale

    return function, lambda: setattr(package, "scale", 3.0), undo


@case
def a_module_imported_by_another_name():
    package, undo = _package(2.0)
    other = types.SimpleNamespace(scale=3.0)

    def function(x):
        import pellucid_test_pack.part as part

        return some_ops(x) * part.scale

    return function, lambda: setattr(package, "part", other), undo


@refused
def a_module_that_its_package_does_not_name():
    package, undo = _package(2.0)
    part = package.part
    del package.part

    def function(x):
        from pellucid_test_pack import part

        return some_ops(x) * part.scale

    return function, lambda: setattr(part, "scale", 3.0), undo


@refused
def a_module_imported_from_its_own_package():
    package, undo = _package(2.0)
    space = {"__package__": package.__name__, "some_ops": some_ops}
    exec(
        """
def function(x):
    from .part import scale

    return some_ops(x) * scale
""",
        space,
    )
    return space["function"], lambda: setattr(package.part, "scale", 3.0), undo


@refused
def a_list_behind_a_bound_method():
    seen = []
    append = seen.append

    def function(x):
        append(1)
        return some_ops(x)

    function.seen = seen
    return function, lambda: None


@refused
def state_of_c_behind_a_class_of_python():
    class Numbers(array.array):
        pass

    numbers = Numbers("d", [2.0])
    return lambda x: some_ops(x) * numbers[0], lambda: numbers.__setitem__(0, 3.0)


@case
def what_is_imported_at_its_first_use():
    name = torch.nn.functional.__name__.removeprefix("pellucid.")
    space = {"some_ops": some_ops, "torch": torch}
    space["relu"] = LazyValue({}, name, "relu", False)
    exec("def function(x): return some_ops(x) * (2 if relu else 3)", space)
    return space["function"], lambda: space.update(relu=None)


@case
def a_set_that_grows_and_shrinks():
    marks = {1, 2}

    def change():
        marks.update(range(40))
        marks.difference_update(range(3, 40))

    return lambda x: some_ops(x) * len(marks), change


@case
def a_set_that_was_empty():
    marks = set()
    return lambda x: some_ops(x) * (2 + len(marks)), lambda: marks.add(1)


@case
def a_decorated_function():
    scales = [2.0]

    @torch.no_grad()
    def function(x):
        return some_ops(x) * scales[0]

    return function, lambda: scales.append(scales.pop() + 1)


@refused
def a_proxy_of_a_class():
    class Proxy:
        __class__ = property(lambda self: type)

        def __getattr__(self, name):
            return getattr(Thing, name)

    proxy = Proxy()

    def function(x):
        return some_ops(x) * (2.0 if hasattr(proxy, "mark") else 3.0)

    return function, lambda: setattr(Thing, "mark", 1), lambda: delattr(Thing, "mark")


@refused
def a_cached_function():
    scales = [2.0]

    @functools.lru_cache
    def scale():
        return scales[0]

    def change():
        scales[0] = 3.0
        scale.cache_clear()

    return lambda x: some_ops(x) * scale(), change


@refused
def a_counter():
    numbers = itertools.count()
    return lambda x: some_ops(x) * next(numbers), lambda: None


@case
def the_gradient_of_a_weight():
    weight = torch.ones(3, requires_grad=True)

    def function(x):
        return some_ops(x) * (2.0 if weight.grad is None else 3.0)

    return function, lambda: setattr(weight, "grad", torch.ones(3))


@case
def a_gradient_that_becomes_a_known_tensor():
    weight, other = torch.ones(3, requires_grad=True), torch.full((3,), 2.0)
    weight.grad = torch.full((3,), 3.0)

    def function(x):
        y = some_ops(x) * weight.grad
        other.mul_(2)
        return y * weight.grad

    return function, lambda: setattr(weight, "grad", other)


@case
def a_gradient_that_is_no_longer_a_known_tensor():
    weight, other = torch.ones(3, requires_grad=True), torch.full((3,), 2.0)
    weight.grad = other

    def function(x):
        return some_ops(x) * weight.grad

    return function, lambda: setattr(weight, "grad", torch.full((3,), 3.0))


@case
def an_attribute_of_a_gradient():
    weight = torch.ones(3, requires_grad=True)
    weight.grad = torch.ones(3)

    def function(x):
        return some_ops(x) * (3.0 if hasattr(weight.grad, "mark") else 2.0)

    return function, lambda: setattr(weight.grad, "mark", 1)


@case
def an_attribute_of_a_tensor():
    weight = torch.ones(3)

    def function(x):
        return some_ops(x) * weight * (3.0 if hasattr(weight, "mark") else 2.0)

    return function, lambda: setattr(weight, "mark", 1)


@case
def other_elements_of_a_weight():
    whole = torch.arange(6.0)
    weight = torch.nn.Parameter(whole[:3], requires_grad=False)
    return lambda x: some_ops(x) * weight[1], lambda: setattr(weight, "data", whole[3:])


def nested(scale=2.0):
    """An object, and a change of an attribute of its attribute."""
    thing = Thing(inner=Thing(scale=scale))
    return thing, lambda: setattr(thing.inner, "scale", 3.0)


@refused
def a_position_of_a_class_pattern():
    thing, change = nested()

    class Pair(Thing):
        __match_args__ = ("inner",)

    thing.__class__ = Pair

    def function(x):
        match thing:
            case Pair(inner):
                return some_ops(x) * inner.scale

    return function, change


@refused
def a_keyword_of_a_class_pattern():
    thing, change = nested()

    def function(x):
        match thing:
            case Thing(inner=part):
                return some_ops(x) * part.scale

    return function, change


@refused
def a_getter_of_attributes():
    thing, change = nested()
    path = "inner.scale"
    return lambda x: some_ops(x) * operator.attrgetter(path)(thing), change


@refused
def a_getter_by_another_name():
    thing, change = nested()
    get, name = getattr, ["inner", "scale"]
    return lambda x: some_ops(x) * get(get(thing, name[0]), name[1]), change


@refused
def attributes_in_a_format():
    thing, change = nested()
    form = "{0.inner.scale}"
    return lambda x: some_ops(x) * float(form.format(thing)), change


@refused
def a_name_of_a_module_that_is_computed():
    module, kind = types.ModuleType("module"), "fast"

    def function(x):
        return some_ops(x) * (3.0 if hasattr(module, "use_" + kind) else 2.0)

    return function, lambda: setattr(module, "use_fast", True)


@refused
def a_name_of_a_module_or_a_constant():
    module, name = types.ModuleType("module"), "".join(["a", "b"])

    def function(x):
        return some_ops(x) * (3.0 if hasattr(module, name or "c") else 2.0)

    return function, lambda: setattr(module, "ab", True)


@case
def an_iterator_of_a_list():
    scales = [2.0]
    return lambda x: some_ops(x) * next(iter(scales)), lambda: scales.insert(0, 3.0)


@refused
def a_function_of_c_that_reads_a_module():
    module = types.ModuleType("module")
    module.__getattr__ = {"scale": 2.0}.get
    return lambda x: some_ops(x) * module.scale, lambda: setattr(module, "scale", 3.0)


@case
def a_name_of_a_function():
    def helper():
        return 0

    def function(x):
        return some_ops(x) * len(f"{helper.__name__} {helper!r}")

    return function, lambda: setattr(helper, "__name__", "other")


@case
def a_name_of_a_class():
    class Other:
        pass

    def function(x):
        return some_ops(x) * len(f"{Other.__name__} {Other}")

    return function, lambda: setattr(Other, "__name__", "a longer name")


@refused
def a_docstring():
    def helper():
        "ab"

    def function(x):
        return some_ops(x) * len(helper.__doc__)

    return function, lambda: setattr(helper, "__doc__", "abc")


@refused
def annotations_of_a_function():
    def helper(scale: 2.0):
        pass

    def function(x):
        return some_ops(x) * helper.__annotations__["scale"]

    return function, lambda: helper.__annotations__.update(scale=3.0)


@refused
def annotations_of_a_class():
    thing, change = nested()

    class Typed:
        __annotations__ = {"thing": thing}

    def function(x):
        return some_ops(x) * Typed.__annotations__["thing"].inner.scale

    return function, change


@refused
def the_cell_of_another_function():
    scale = 2.0

    def change():
        nonlocal scale
        scale = 3.0

    def helper():
        return scale

    def function(x):
        return some_ops(x) * helper.__closure__[0].cell_contents

    return function, change


@refused
def what_an_iterator_of_a_class_of_c_reads():
    path = pathlib.Path(tempfile.mkstemp()[1])
    path.write_text("2.0")

    def function(x):
        with io.FileIO(path) as lines:
            for line in lines:
                x = some_ops(x) * float(line)
        return x

    return function, lambda: path.write_text("3.0"), path.unlink


@refused
def what_a_subclass_of_a_class_of_c_reads():
    path = pathlib.Path(tempfile.mkstemp()[1])
    path.write_text("2.0")

    class File(io.FileIO):
        pass

    def function(x):
        with File(path) as lines:
            for line in lines:
                x = some_ops(x) * float(line)
        return x

    return function, lambda: path.write_text("3.0"), path.unlink


@case
def a_method_of_tensors():
    tanh = torch.Tensor.tanh

    def function(x):
        for _ in range(8):
            x = x.tanh()
        return x

    def change():
        torch.Tensor.tanh = lambda tensor: tensor * 2

    return function, change, lambda: setattr(torch.Tensor, "tanh", tanh)


def results_of(make, *, compiles):
    """The results of calls before and after the change, and the number of replays."""
    function, change, *undo = make()
    seen = getattr(function, "seen", [])
    step = function
    if compiles:
        step = torch.compile(function, options={"replay": "always"})
    replays = {}
    actual = []
    try:
        for number in range(24):
            if number == 12:
                change()
            actual.append(step(torch.full((3,), 0.5)).tolist())
            if compiles:
                known = step._pellucid_compilation.replays or ()
                replays |= {replay: replay.facts()[3] for replay in known}
    finally:
        for action in undo:
            action()
    reason = compiles and step._pellucid_compilation.replayer.reason
    return [*actual, len(seen)], sum(replays.values()), reason


@pytest.mark.parametrize("name", CASES)
def test_a_change_is_noticed(name):
    make = CASES[name]
    expected, *_ = results_of(make, compiles=False)
    actual, runs, reason = results_of(make, compiles=True)
    assert actual == expected
    assert (runs == 0) == (name in REFUSED), reason


def compiled(function):
    return torch.compile(function, options={"replay": "always"})


def runs_of(function):
    replays = function._pellucid_compilation.replays or ()
    return sum(replay.facts()[3] for replay in replays)


def reason_of(function):
    return function._pellucid_compilation.replayer.reason


def test_a_parameter_is_not_taken_for_a_tensor():
    @compiled
    def function(x):
        return some_ops(x.detach() * 1) * (isinstance(x, torch.nn.Parameter) + 2.0)

    plain = torch.ones(3)
    first = [function(plain).tolist() for _ in range(8)][-1]
    with torch.no_grad():
        actual = function(torch.nn.Parameter(plain, requires_grad=False))
    assert runs_of(function) > 0, reason_of(function)
    assert actual.tolist() == (torch.tensor(first) / 2 * 3).tolist()


def test_an_argument_with_a_gradient_is_another_argument():
    @compiled
    def function(x):
        return some_ops(x) * (2.0 if x.grad is None else 4.0)

    with torch.no_grad():
        x = torch.ones(3, requires_grad=True)
        first = [function(x).tolist() for _ in range(8)][-1]
        assert runs_of(function) > 0
        x.grad = torch.ones(3)
        assert function(x).tolist() == [2 * number for number in first]


def test_an_object_given_only_later_is_read_too():
    first, second = Thing(scale=2.0), Thing(scale=3.0)

    @compiled
    def function(x, thing):
        return some_ops(x) * thing.scale

    def call(thing):
        return function(torch.ones(3), thing).tolist()

    known = {id(first): call(first)}
    for _ in range(2):
        call(first)
    known[id(second)] = call(second)
    for _ in range(8):
        assert call(second) == known[id(second)]
    assert runs_of(function) > 0, reason_of(function)
    second.scale = 2.0
    assert call(second) == call(first) == known[id(first)]


def test_a_change_before_a_capture_is_noticed():
    scales = [Thing(scale=2.0)]

    @compiled
    def function(x):
        return some_ops(x) * scales[0].scale

    def call():
        return function(torch.ones(3)).tolist()

    expected = [call() for _ in range(3)][-1]
    scales[0] = Thing(scale=2.0)
    assert [call() for _ in range(8)] == [expected] * 8
    assert runs_of(function) > 0, reason_of(function)
    scales[0].scale = 4.0
    assert call() == [2 * number for number in expected]


def test_attributes_of_results_are_made_by_python():
    @compiled
    def function(x):
        y = some_ops(x)
        y.mark = 1
        return y

    assert all(function(torch.ones(3)).mark == 1 for _ in range(8))
    assert runs_of(function) == 0


def test_what_handles_an_error_is_run():
    table, state = torch.ones(4, 3), torch.zeros(3)

    @compiled
    def function(index):
        state.add_(1)
        try:
            return some_ops(torch.nn.functional.embedding(index, table))
        except IndexError:
            state.add_(10)
            return state

    for _ in range(8):
        function(torch.tensor([1]))
    function(torch.tensor([9]))
    assert state.tolist() == [19.0] * 3


class Mapped:
    call = print.__call__


BY_PRINT = {"key": print}
SLOT, METHOD = type(print).__call__, types.MethodType(print, "seen")
ALIAS = types.GenericAlias(map, int)
HIDDEN_CALLS = {
    "map": lambda: list(map(print, ["seen"])),
    "map by another name": lambda apply=map: list(apply(print, ["seen"])),
    "call": lambda: operator.call(print, "seen"),
    "sort": lambda: sorted(["seen"], key=print, reverse=True),
    "sort of a list": lambda: ["seen"].sort(key=print),
    "sort with a dict": lambda: sorted(["seen"], **BY_PRINT),
    "most": lambda most=max: most(["seen"], key=print),
    "iterator": lambda: next(iter(lambda: print("seen"), 1)),
    "iterator of C": lambda: next(iter(functools.partial(print, "seen"), 1)),
    "slot": lambda call=print.__call__: call("seen"),
    "slot of the type": lambda call=SLOT: call(print, "seen"),
    "slot of a class": lambda: Mapped.call("seen"),
    "slot by name": lambda: print.__call__("seen"),
    "method": lambda call=METHOD, none=(): call(*none),
    "class of a generic": lambda apply=ALIAS: list(apply(print, ["seen"])),
    "default": lambda: collections.defaultdict(lambda: 1, a=print("seen"))["b"],
}


@pytest.mark.parametrize("name", HIDDEN_CALLS)
def test_functions_of_c_that_are_called_by_others_run(name, capsys):
    call = HIDDEN_CALLS[name]

    @compiled
    def function(x):
        call()
        return some_ops(x)

    for _ in range(12):
        function(torch.ones(3))
    assert capsys.readouterr().out.count("seen") == 12
    assert runs_of(function) == 0


def test_finalizers_of_garbage_are_no_part_of_a_call():
    class Garbage:
        def __init__(self):
            self.own = self

        def __del__(self):
            seen.append(1)

    seen = []

    def function(x):
        parts = [[k] for k in range(2000)]  # leads to collections
        return some_ops(x) * len(parts)

    step = compiled(function)
    threshold = gc.get_threshold()
    gc.set_threshold(50, 2, 2)
    try:
        for _ in range(12):
            Garbage()
            step(torch.ones(3))
    finally:
        gc.set_threshold(*threshold)
    assert seen
    assert runs_of(step) > 0
