"""Score a batch of user vectors against their own candidate items."""

import torch

torch.manual_seed(0)
USERS, CANDS, DIM = 600, 40, 64


def recommend(users, items):
    results = []
    for u in range(users.shape[0]):
        vec = users[u]
        cand = items[u]
        score = torch.mv(cand, vec)
        score = score / cand.norm(dim=1)
        results.append(torch.softmax(score, dim=0))
    return torch.stack(results)


users = torch.randn(USERS, DIM)
items = torch.randn(USERS, CANDS, DIM)
best = None
for trial in range(2):
    probs = recommend(users + 0.01 * trial, items)
    best = probs.argmax(1)
print(best[:10].tolist())
