"""Two ways to run the rules: as plain Python on a `Deal`, and compiled on a numpy record.

A test takes the fixture `engine` and is run with both. `engine(kernel, ...)` calls one function of
the rules; a `Deal` or an `ActionList` among its arguments is copied into a record for the compiled
call and back again, so that a test reads the same either way. Lines of play are in notation, the
seat in front: `engine.play(deal, "0 T7H M7S7D7H DKD")`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numba
import numpy as np

from service.rules._jit import register_kernels
from service.rules.cards import Seat
from service.rules.deal import (
    CORE_FIELDS,
    TABLE_FIELDS,
    Action,
    Deal,
    apply_action,
    check_action,
    play,
)
from service.rules.legal import CAPACITY, ActionList, list_actions
from service.rules.notation import read_action
from service.rules.violations import IllegalAction, Violation

Fields = Sequence[tuple[str, int]]
State = Any
"""What an engine keeps a deal in: a `Deal` or a numpy record."""

DEAL_FIELDS: Fields = CORE_FIELDS + TABLE_FIELDS
LIST_FIELDS: Fields = (
    ("count", 0),
    ("types", CAPACITY),
    ("cards", CAPACITY),
    ("melds", CAPACITY),
)


def record_type(fields: Fields) -> np.dtype[Any]:
    """Return the numpy type of a record of 64-bit ints with these names and lengths."""
    columns = [
        (name, np.int64, (length,)) if length else (name, np.int64) for name, length in fields
    ]
    return np.dtype(columns)


DEAL_TYPE = record_type(DEAL_FIELDS)
CORE_TYPE = record_type(CORE_FIELDS)
LIST_TYPE = record_type(LIST_FIELDS)


def to_record(source: object, fields: Fields, dtype: np.dtype[Any]) -> Any:
    """Copy the named fields of `source` into a new record."""
    record = np.zeros(1, dtype)[0]
    for name, _ in fields:
        record[name] = getattr(source, name)
    return record


def from_record(record: Any, target: object, fields: Fields) -> None:
    """Copy the named fields of a record into `target`."""
    for name, _ in fields:
        setattr(target, name, record[name].tolist())


def moves_of(line: str) -> Iterator[tuple[Seat, Action]]:
    """Yield the actions of a line such as `0 T7H M7S7D7H DKD`, each with the seat."""
    seat, *words = line.split()
    for word in words:
        yield int(seat), read_action(word)


class Engine(Protocol):
    """The rules, run one way or the other."""

    name: str

    def __call__(self, kernel: Callable[..., Any], *args: Any) -> Any:
        """Call a function of the rules."""

    def keep(self, deal: Deal) -> State:
        """Return a state of this engine's own that stands as `deal` does and shares nothing."""

    def read(self, state: State) -> Deal:
        """Return the deal that `state` stands for."""

    def judge_action(self, deal: Deal, seat: Seat, action: Action) -> Violation:
        """Return why the action is refused, or NONE."""

    def judge(self, deal: Deal, line: str) -> Violation:
        """Return why the one action of `line` is refused, or NONE."""

    def play(self, deal: Deal, line: str) -> None:
        """Play the actions of `line`; raise IllegalAction at the first that is refused."""

    def legal_actions(self, state: State) -> list[Action]:
        """Return the legal actions of the seat to move."""


class _Common:
    def judge_action(self: Engine, deal: Deal, seat: Seat, action: Action) -> Violation:
        return Violation(self(check_action, deal, seat, action.type, action.cards, action.meld))

    def judge(self: Engine, deal: Deal, line: str) -> Violation:
        ((seat, action),) = moves_of(line)
        return self.judge_action(deal, seat, action)

    def legal_actions(self: Engine, state: State) -> list[Action]:
        out = ActionList()
        self(list_actions, state, out)
        rows = zip(out.types, out.cards, out.melds, strict=True)
        return [Action(*row) for row, _ in zip(rows, range(out.count), strict=False)]


class Interpreted(_Common):
    """The rules as the API runs them."""

    name = "interpreted"

    def __call__(self, kernel: Callable[..., Any], *args: Any) -> Any:
        return kernel(*args)

    def keep(self, deal: Deal) -> State:
        return deal.copy()

    def read(self, state: State) -> Deal:
        assert isinstance(state, Deal)
        return state

    def play(self, deal: Deal, line: str) -> None:
        for seat, action in moves_of(line):
            play(deal, seat, action)


class Compiled(_Common):
    """The rules as the search runs them. Each kernel is compiled once, when first called."""

    name = "compiled"

    def __init__(self) -> None:
        register_kernels()
        self._compiled: dict[Callable[..., Any], Callable[..., Any]] = {}

    def __call__(self, kernel: Callable[..., Any], *args: Any) -> Any:
        if kernel not in self._compiled:
            self._compiled[kernel] = numba.njit(kernel)
        given = [self._as_record(arg) for arg in args]
        result = self._compiled[kernel](*given)
        for arg, record in zip(args, given, strict=True):
            if isinstance(arg, Deal):
                from_record(record, arg, DEAL_FIELDS)
            elif isinstance(arg, ActionList):
                from_record(record, arg, LIST_FIELDS)
        return result

    def keep(self, deal: Deal) -> State:
        return to_record(deal, DEAL_FIELDS, DEAL_TYPE)

    def read(self, state: State) -> Deal:
        deal = Deal()
        from_record(state, deal, DEAL_FIELDS)
        return deal

    def play(self, deal: Deal, line: str) -> None:
        for seat, action in moves_of(line):
            parts = (action.type, action.cards, action.meld)
            violation = Violation(self(check_action, deal, seat, *parts))
            if violation != Violation.NONE:
                raise IllegalAction(violation, action, seat)
            self(apply_action, deal, *parts)

    @staticmethod
    def _as_record(arg: Any) -> Any:
        if isinstance(arg, Deal):
            return to_record(arg, DEAL_FIELDS, DEAL_TYPE)
        if isinstance(arg, ActionList):
            return to_record(arg, LIST_FIELDS, LIST_TYPE)
        return arg


INTERPRETED = Interpreted()
COMPILED = Compiled()
