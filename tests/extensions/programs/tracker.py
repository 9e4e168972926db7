"""Calls ``tracker.cpp``."""

import pickle
import sys


def run(torch, module):
    print(module.__doc__, module.__version__, module.LIMIT, module.sub.twice(1.5))
    print(module.Mode.Last, int(module.Mode.Last), module.Last == module.Mode.Last)
    d = module.Detection(3, 0.5)
    d.score = 0.75
    print(
        d, d.id, d.score, d == module.Detection(3, 0.75), d == module.Detection(2, 0.75)
    )
    found = [d, module.Detection(1, 0.25), module.Detection(3, 0.1, ignore=True)]
    print(module.by_class(found, {3: "cat", 1: "dog"}))
    t = module.Tracker(torch.zeros(2))
    t.update(torch.ones(2))
    print(
        t.update(x=torch.full((2,), 3.0)), t(torch.zeros(2)), t.steps, len(t), t.state
    )
    t.state, t.name = torch.tensor([5.0, 6.0]), "mine"
    sys.modules[module.__name__] = module
    again = pickle.loads(pickle.dumps(t))
    print(again.state, again.name, again.steps, module.steps_of(t))
    print(module.Tracker(torch.zeros(1), mode=module.Mode.Last).update(torch.ones(1)))
    print(module.Tracker.zeros(2).state, module.Tracker.__doc__)
    print(module.summary([torch.ones(2), torch.ones(3)]), module.summary([], 3))
    print(module.apply_twice(lambda x: x + 1, torch.zeros(2)))
    print(module.call_python(lambda x, k: x * k, torch.ones(2), scale=3))
    print(module.without_lock(torch.ones(2)), module.released(torch.ones(1)))
    print(module.over(1), module.over(torch.ones(1)), module.over("x"))
    for kind in range(5):
        try:
            module.fail(kind)
        except Exception as error:
            print(type(error).__name__, error)
    for call in (
        lambda: module.Detection("x"),
        lambda: module.over([]),
        lambda: setattr(d, "id", 4),
        lambda: module.by_class(found, {}),
        lambda: module.Tracker(3),
    ):
        try:
            call()
        except Exception as error:
            print(type(error).__name__)
