"""The quick player inside the search: plays a world on, or to the end of its deal.

Its choices are learnt (`policy.py`), or rules of thumb (`thumb.py`), which two of the levels play
by. The search's player goes each turn by the one or the other, as chance has it, for the others and
where it ends the mover's turn: who the others are it does not know. Against rule players and
against searchers no result surely worse than with the better of the two was seen (figures in
README.md). Without a stock both take by the rule of thumb: there is little to choose, since whoever
cannot take passes. It melds many cards in one step (`table_cards` takes any number of melds of one
kind), which is the same play as one after another."""

from typing import NamedTuple

import numpy as np

from service.rules._jit import lowest_card, popcount
from service.rules.cards import RANK_MASKS, higher, rank_of
from service.rules.deal import (
    DRAW,
    NO_CARD,
    OVER,
    apply_discard,
    apply_draw_stock,
    apply_pass,
    apply_take_from,
    find_in_pile,
    table_cards,
)
from service.rules.melds import (
    NO_MELD,
    RUN,
    SET,
    cards_in_runs,
    cards_in_sets,
    cards_to_lay_off,
    set_places,
)
from service.rules.score import points
from workers.search._compile import search_kernel
from workers.search.moves import chain_to_run
from workers.search.policy import (
    HOLD_LAY_OFFS,
    HOLD_MELDS,
    Policy,
    learnt_hold,
    learnt_take,
    learnt_throw,
    load_policy,
)
from workers.search.rng import below
from workers.search.thumb import DEFAULT_WEIGHTS, held_back, thumb_take, thumb_throw

LAST_STOCK = 3
"""With so few cards of stock the end is near: playing on to it costs little, and it hangs on who
can still go out before the stock is gone, which the learnt value knows least."""


LEARNT, BY_THUMB, MIXED = range(3)
"""Styles of a quick player: by the learnt policy, by rules of thumb, or each turn by one of the
two, equally likely."""


class QuickPlayer(NamedTuple):
    """Who plays, and how."""

    style: int
    """LEARNT, BY_THUMB or MIXED."""
    weights: np.ndarray
    """Of the rules of thumb, int64 (WEIGHT_COUNT,); the learnt player too takes by them when there
    is no stock."""
    policy: Policy


def learnt_player(heat: int = 1) -> QuickPlayer:
    """Return a player by the learnt policy: its choices as likely as they were when they were
    learnt, or, with `heat` 0, the best rated.
    """
    return QuickPlayer(LEARNT, DEFAULT_WEIGHTS, load_policy(heat))


def thumb_player(weights: np.ndarray = DEFAULT_WEIGHTS) -> QuickPlayer:
    """Return a player by rules of thumb of such weights."""
    return QuickPlayer(BY_THUMB, weights, load_policy())


def mixed_player() -> QuickPlayer:
    """Return the player of the search: each turn by the learnt policy or by rules of thumb."""
    return QuickPlayer(MIXED, DEFAULT_WEIGHTS, load_policy())


@search_kernel
def _table_sets(world, cards):
    """Table every set in `cards`, a union of whole sets; those of four count double."""
    while cards:
        same = cards & RANK_MASKS[rank_of(lowest_card(cards))]
        cards &= ~same
        table_cards(world, same, SET, popcount(same) == 4)


@search_kernel
def _best_meld(sets, runs, needed):
    """Return the single meld of most points among whole ranks of `sets` and whole stretches of
    `runs` that contains `needed`, negative for a set.
    """
    best = 0
    best_points = -1
    is_best_set = False
    while sets:
        same = sets & RANK_MASKS[rank_of(lowest_card(sets))]
        sets &= ~same
        worth = points(same)
        if popcount(same) == 4:
            worth *= 2
        if needed & ~same == 0 and worth > best_points:
            best, best_points, is_best_set = same, worth, True
    while runs:
        stretch = runs & -runs
        while higher(stretch) & runs & ~stretch:
            stretch |= higher(stretch) & runs
        runs &= ~stretch
        worth = points(stretch)
        if needed & ~stretch == 0 and worth > best_points:
            best, best_points, is_best_set = stretch, worth, False
    return -best if is_best_set else best


@search_kernel
def _due_tabling(world):
    """Return the way of most points to table the card of R11: a meld or a lay-off."""
    held = world.hands[world.turn]
    due = 1 << world.due
    meld = _best_meld(cards_in_sets(held), cards_in_runs(held), due)
    if meld < 0:
        return -meld, SET, True
    if meld > 0:
        return meld, RUN, True
    if set_places(world.table_sets) & due:
        return due, SET, False
    return chain_to_run(world.due, held, world.table_runs), RUN, False


@search_kernel
def next_tabling(world, hold):
    """Return what to table next: cards, SET or RUN (NO_MELD: nothing), and whether they are new
    melds or lay-offs.

    The cards are one or more melds, or lay-offs, of that kind.
    """
    if world.due != NO_CARD:
        return _due_tabling(world)
    held = world.hands[world.turn]
    sets = cards_in_sets(held)
    runs = cards_in_runs(held)
    if hold & HOLD_MELDS == 0 and sets | runs:
        if sets & runs:
            meld = _best_meld(sets, runs, 0)
            return (-meld, SET, True) if meld < 0 else (meld, RUN, True)
        return (sets, SET, True) if sets else (runs, RUN, True)
    if hold & HOLD_LAY_OFFS:
        return 0, NO_MELD, False
    loose = held & ~(sets | runs)
    on_sets = set_places(world.table_sets) & loose
    if on_sets:
        return on_sets, SET, False
    on_runs = cards_to_lay_off(loose, 0, world.table_runs)
    if on_runs:
        return on_runs, RUN, False
    return 0, NO_MELD, False


(
    STEP_DRAW,
    STEP_PASS,
    STEP_TAKE,
    STEP_SETS,
    STEP_RUNS,
    STEP_ON_SETS,
    STEP_ON_RUNS,
    STEP_DISCARD,
) = range(8)
"""What `choose_step` returns beside the cards."""


@search_kernel
def draw_style(player, rng):
    """Return LEARNT or BY_THUMB for a turn of the player."""
    if player.style != MIXED:
        return player.style
    return BY_THUMB if below(rng, 2) else LEARNT


@search_kernel
def _choose_draw(world, player, style, rng):
    """Return the place in the pile to take from, or -1 for the stock or a pass."""
    if style == LEARNT and world.stock_count > 0:
        return learnt_take(world, player.policy, rng)
    return thumb_take(world, player.weights, rng)


@search_kernel
def choose_step(world, player, style, rng):
    """Return the next step of a turn that goes by `style`, LEARNT or BY_THUMB (`draw_style`): a
    STEP and its cards.
    """
    if world.phase == DRAW:
        place = _choose_draw(world, player, style, rng)
        if place >= 0:
            return STEP_TAKE, 1 << world.pile[place]
        return (STEP_DRAW if world.stock_count > 0 else STEP_PASS), 0
    hold = 0
    if world.due == NO_CARD:
        if style == LEARNT:
            hold = learnt_hold(world, player.policy, rng)
        else:
            hold = held_back(world, player.weights)
    cards, kind, is_new = next_tabling(world, hold)
    if kind == NO_MELD:
        if style == LEARNT:
            return STEP_DISCARD, 1 << learnt_throw(world, player.policy, rng)
        return STEP_DISCARD, 1 << thumb_throw(world, player.weights, rng)
    if is_new:
        return (STEP_SETS if kind == SET else STEP_RUNS), cards
    return (STEP_ON_SETS if kind == SET else STEP_ON_RUNS), cards


@search_kernel
def apply_step(world, step, cards):
    """Carry out what `choose_step` returned."""
    if step == STEP_DRAW:
        apply_draw_stock(world)
    elif step == STEP_PASS:
        apply_pass(world)
    elif step == STEP_TAKE:
        apply_take_from(world, find_in_pile(world, lowest_card(cards)))
    elif step == STEP_DISCARD:
        apply_discard(world, lowest_card(cards))
    elif step == STEP_SETS:
        _table_sets(world, cards)
    else:
        table_cards(world, cards, SET if step == STEP_ON_SETS else RUN, False)


@search_kernel
def play_turn(world, player, rng):
    """Play the rest of the turn of the seat to move, step by step."""
    seat = world.turn
    style = draw_style(player, rng)
    while world.phase != OVER and world.turn == seat:
        step, cards = choose_step(world, player, style, rng)
        apply_step(world, step, cards)


@search_kernel
def play_out(world, player, rng):
    """Play to the end of the deal, all four seats in this way."""
    while world.phase != OVER:
        play_turn(world, player, rng)


@search_kernel
def goes_on(world, turns):
    """Tell whether a playout that is to have `turns` more turns has another one: the end of the
    deal ends it, and with LAST_STOCK cards of stock or fewer nothing else does.
    """
    return world.phase != OVER and (turns > 0 or world.stock_count <= LAST_STOCK)


@search_kernel
def play_turns(world, turns, player, rng):
    """Play the turn in hand to its end, and then as many as `turns` (`goes_on`)."""
    if world.phase != DRAW and world.phase != OVER:
        play_turn(world, player, rng)
    while goes_on(world, turns):
        play_turn(world, player, rng)
        turns -= 1
