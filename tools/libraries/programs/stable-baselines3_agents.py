"""Reinforcement learning: five agents after some steps."""

import warnings

from stable_baselines3 import A2C, DQN, PPO, SAC, TD3

warnings.simplefilter("ignore")
AGENTS = {
    PPO: ("CartPole-v1", {"n_steps": 64, "batch_size": 32}),
    A2C: ("CartPole-v1", {}),
    DQN: ("CartPole-v1", {"learning_starts": 50}),
    SAC: ("Pendulum-v1", {"learning_starts": 50}),
    TD3: ("Pendulum-v1", {"learning_starts": 50}),
}
for kind, (environment, options) in AGENTS.items():
    agent = kind("MlpPolicy", environment, seed=0, device="cpu", **options)
    agent.learn(128)
    sizes = [p.detach().double().abs().sum() for p in agent.policy.parameters()]
    print(kind.__name__, " ".join(f"{size.item():.4g}" for size in sizes[:4]))
