"""Calls ``stack_class.cpp``."""

import copy
import pickle

LIBRARY = True


def run(torch, _):
    MyStackClass = torch.classes.my_classes.MyStackClass
    s = MyStackClass(["foo", "bar"])
    s.push("pushed")
    assert s.pop() == "pushed"
    t = MyStackClass(["a"])
    s.merge(t)
    print(s.top(), s.clone().pop(), s.pop())
    print(torch.ops.my_classes.manipulate_instance(s).top())
    print(pickle.loads(pickle.dumps(s)).top(), copy.deepcopy(s).top())
    counter = torch.classes.my_classes.Counter()
    print(counter.last(), counter.add(torch.ones(2)), counter.count)
    counter.count = 7
    print(counter.add(torch.ones(2), times=3), counter.count, counter.last())
    print(torch.ops.my_classes.count_twice(counter, torch.zeros(1)), counter.count)
    print(torch.classes.my_classes.Counter.zero().count)
    for call in (
        lambda: torch.classes.my_classes.Missing,
        lambda: torch.classes.absent.Counter(),
        lambda: s.nothing(),
        lambda: counter.add(3),
    ):
        try:
            call()
        except (RuntimeError, AttributeError, TypeError) as error:
            print("refused", bool(str(error)))
