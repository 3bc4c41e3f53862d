"""Plain SO-ISMCTS as it was first measured.

Uniform determinizations, tuned greedy playouts with a tenth of the moves random, most visits
decide, a search for each action. Frozen: copied from `workers/search` and not kept in step with it.
Only the rules are shared, which do not change.
"""
