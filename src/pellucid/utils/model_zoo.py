"""``torch.utils.model_zoo``: the former name of ``torch.hub``'s downloads."""

from pellucid.hub import load_state_dict_from_url as load_url
from pellucid.hub import tqdm as tqdm

__all__ = ["load_url"]
