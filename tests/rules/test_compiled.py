"""The rules as compiled kernels (decision 1): what may be in them, and the core on its own."""

from __future__ import annotations

import ast
import inspect
import random
import subprocess
import sys
import textwrap
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from service.rules._jit import KERNELS, register_kernels
from service.rules.deal import (
    CORE_FIELDS,
    DISCARD,
    DRAW_STOCK,
    LAY_MELD,
    LAY_OFF,
    OVER,
    TABLE_FIELDS,
    TAKE_DISCARDS,
    Action,
    Deal,
    apply_discard,
    apply_draw_stock,
    apply_pass,
    apply_take_from,
    check_draw_stock,
    check_pass,
    check_take,
    deal_cards,
    find_in_pile,
    is_doubled_meld,
    play,
    table_cards,
)
from service.rules.melds import meld_kind
from tests.rules.engines import CORE_TYPE, DEAL_TYPE, Compiled, Engine, Interpreted, to_record
from tests.strategies import LIKINGS, choose


def test_the_service_never_loads_numba() -> None:
    """Decision 1: importing all of the rules leaves numba and numpy out of the process."""
    script = """
        import pkgutil, sys
        import service.rules as rules
        for module in pkgutil.iter_modules(rules.__path__, "service.rules."):
            __import__(module.name)
        print(sorted({"numba", "numpy", "llvmlite"} & set(sys.modules)))
    """

    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True
    )

    assert run.stdout.strip() == "[]"


FORBIDDEN = (
    ast.Raise,
    ast.Try,
    ast.With,
    ast.List,
    ast.Dict,
    ast.Set,
    ast.ListComp,
    ast.DictComp,
    ast.SetComp,
    ast.GeneratorExp,
    ast.JoinedStr,
    ast.Lambda,
    ast.Yield,
    ast.Global,
    ast.Assert,
)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: str(kernel.__name__))
def test_a_kernel_raises_nothing_and_allocates_nothing(kernel: Callable[..., Any]) -> None:
    """Decision 1: so that one body serves both engines."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(kernel)))

    found = [type(node).__name__ for node in ast.walk(tree) if isinstance(node, FORBIDDEN)]

    assert found == []


def test_kernels_are_registered_once_however_often_it_is_asked() -> None:
    """A worker and its warm-up may both ask."""
    register_kernels()
    register_kernels()

    assert len(set(KERNELS)) == len(KERNELS) > 40


def test_the_fields_of_a_deal_are_those_of_its_record() -> None:
    """Decision 1: core and meld rows together, by the names and lengths of the dataclass."""
    deal = Deal()
    declared = {
        name: len(getattr(deal, name)) if isinstance(getattr(deal, name), list) else 0
        for name in Deal.__slots__
    }

    assert dict(CORE_FIELDS + TABLE_FIELDS) == declared
    assert DEAL_TYPE.itemsize == 8 * sum(max(length, 1) for length in declared.values())
    assert CORE_TYPE.itemsize < 900


def core_of(engine: Engine, deal: Deal) -> Any:
    """Return a state that has the core fields and nothing else."""
    if isinstance(engine, Compiled):
        return to_record(deal, CORE_FIELDS, CORE_TYPE)
    assert isinstance(engine, Interpreted)
    twin = deal.copy()
    return SimpleNamespace(**{name: getattr(twin, name) for name, _ in CORE_FIELDS})


def core_fields(state: Any) -> dict[str, Any]:
    """Return the core of a deal, a namespace or a record as plain values."""
    if isinstance(state, (Deal, SimpleNamespace)):
        return {name: getattr(state, name) for name, _ in CORE_FIELDS}
    return {name: state[name].tolist() for name, _ in CORE_FIELDS}


def play_in_core(engine: Engine, core: Any, action: Action, kind: int) -> None:
    """Play a legal action with the kernels that need no meld rows; `kind` is the meld's."""
    if action.type == DRAW_STOCK:
        assert engine(check_draw_stock, core) == 0
        engine(apply_draw_stock, core)
    elif action.type == TAKE_DISCARDS:
        card = action.cards.bit_length() - 1
        assert engine(check_take, core, card) == 0
        engine(apply_take_from, core, engine(find_in_pile, core, card))
    elif action.type == LAY_MELD:
        doubled = engine(is_doubled_meld, action.cards)
        engine(table_cards, core, action.cards, engine(meld_kind, action.cards), doubled)
    elif action.type == LAY_OFF:
        engine(table_cards, core, action.cards, kind, False)
    elif action.type == DISCARD:
        engine(apply_discard, core, action.cards.bit_length() - 1)
    else:
        assert engine(check_pass, core) == 0
        engine(apply_pass, core)


@pytest.mark.parametrize("seed", range(60))
def test_the_core_alone_stays_equal_to_the_core_of_the_whole_deal(
    engine: Engine, seed: int
) -> None:
    """Decision 1: all of the play follows from it, so that a search need not copy the meld rows."""
    rng = random.Random(seed)
    deal = deal_cards(rng.sample(range(56), 56), seed % 4)
    core = core_of(engine, deal)

    while deal.phase != OVER:
        action = choose(rng, deal, LIKINGS[seed % len(LIKINGS)])
        play_in_core(engine, core, action, deal.meld_kinds[action.meld])
        play(deal, deal.turn, action)
        assert core_fields(core) == core_fields(deal)
