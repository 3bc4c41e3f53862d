"""The store of games: Redis for the service, a dictionary for tests.

Implements the port `GameStore` of `service/games/ports.py`. `keys.py` lists every key, `scripts/`
holds what Redis does in one step. Nothing here knows the rules of the game or HTTP.
"""
