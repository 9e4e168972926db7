"""``torch.distributed.flight_recorder``: what ranks called last, from their dumps.

``torch._C._distributed_c10d._dump_fr_trace`` makes a dump (``_group/flight.py``).
"""
