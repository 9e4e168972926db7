"""``torch.cuda.random``: seeds and states of the devices' generators."""

from pellucid.cuda import get_rng_state as get_rng_state
from pellucid.cuda import get_rng_state_all as get_rng_state_all
from pellucid.cuda import initial_seed as initial_seed
from pellucid.cuda import manual_seed as manual_seed
from pellucid.cuda import manual_seed_all as manual_seed_all
from pellucid.cuda import seed as seed
from pellucid.cuda import seed_all as seed_all
from pellucid.cuda import set_rng_state as set_rng_state
from pellucid.cuda import set_rng_state_all as set_rng_state_all
