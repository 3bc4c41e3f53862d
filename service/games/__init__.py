"""Use cases: what can be done with games, seats and advice, without a framework.

They know the rules and two ports (`ports.py`); they do not know HTTP, Redis or RQ. Time, secrets
and ids are arguments."""
