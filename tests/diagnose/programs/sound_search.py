"""A search: what is made of an item is searched next, by way of a method."""

import torch


class Frontier:
    def __init__(self):
        self.items, self.made = [torch.ones(8)], 1

    def pop(self):
        return self.items.pop()

    def offer(self, x):
        if self.made < 150:
            self.items.append(x)
            self.made += 1


frontier, w, scores = Frontier(), torch.ones(8, 8), []
offer = frontier.offer
while frontier.items:
    x = frontier.pop()
    y = torch.cos(x @ w * 3)
    offer(y)
    scores.append(y.norm())
print(len(scores), sum(scores).item())
