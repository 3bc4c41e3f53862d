"""The players behind the levels."""

from dataclasses import dataclass

import numpy as np

from service.rules import deal as rules
from service.rules._jit import lowest_card
from service.rules.cards import RANK_MASKS, higher, mask_of, rank_of
from service.rules.deal import Action
from service.rules.melds import RUN, SET, cards_to_lay_off, is_meld_of_kind
from service.rules.view import SeatView
from workers.bots.base import Decision
from workers.search.determinize import determinize, unknown_counts, unseen_array
from workers.search.endgame import solve_endgame
from workers.search.moves import MAX_MOVES, action_of_move, list_moves
from workers.search.playout import (
    STEP_DISCARD,
    STEP_DRAW,
    STEP_ON_RUNS,
    STEP_ON_SETS,
    STEP_PASS,
    STEP_RUNS,
    STEP_SETS,
    STEP_TAKE,
    QuickPlayer,
    choose_step,
    learnt_player,
    thumb_player,
)
from workers.search.rng import below, new_rng
from workers.search.search import DEFAULT_SETTINGS, Search, SearchSettings
from workers.search.thumb import DEFAULT_WEIGHTS
from workers.search.world import new_worlds, template_of_view

GREEDY_WEIGHTS = tuple(map(int, DEFAULT_WEIGHTS))


@dataclass(frozen=True, slots=True)
class RandomBot:
    """Plays any move of the search's list, all equally likely."""

    def decide(self, view: SeatView, seed: str) -> Decision:
        """Choose by chance."""
        out = np.zeros(MAX_MOVES, np.int64)
        count = list_moves(template_of_view(view)[0], out)
        code = int(out[below(new_rng(seed, view.seat), count)])
        return Decision(action_of_move(code, view))


@dataclass(frozen=True, slots=True)
class RuleOfThumbBot:
    """Plays by rules of thumb, one action at a time."""

    weights: tuple[int, ...] = GREEDY_WEIGHTS

    def decide(self, view: SeatView, seed: str) -> Decision:
        """Choose by the rules of thumb, with the chance that the weights ask for."""
        return _quick_decision(view, thumb_player(np.array(self.weights, dtype=np.int64)), seed)


@dataclass(frozen=True, slots=True)
class LearntBot:
    """Plays what the learnt policy rates best, without a search."""

    def decide(self, view: SeatView, seed: str) -> Decision:
        """Choose by the learnt policy, nothing left to chance."""
        return _quick_decision(view, learnt_player(heat=0), seed)


def _quick_decision(view: SeatView, player: QuickPlayer, seed: str) -> Decision:
    rng = new_rng(seed, view.seat)
    # A quick player looks at how many cards others hold: fill in any, it sees no faces.
    worlds = new_worlds(1)
    template = template_of_view(view)[0]
    determinize(template, unseen_array(view), unknown_counts(view), worlds[0], rng)
    # A style drawn here would change in mid-turn: the player is no MIXED one.
    kind, cards = choose_step(worlds[0], player, player.style, rng)
    return Decision(first_action(int(kind), int(cards), view))


def first_action(step: int, cards: int, view: SeatView) -> Action:
    """Return the first of the actions that a quick player's step stands for."""
    if step == STEP_SETS:
        return Action(rules.LAY_MELD, cards & RANK_MASKS[rank_of(lowest_card(cards))])
    if step == STEP_RUNS:
        return Action(rules.LAY_MELD, _first_stretch(cards))
    if step in (STEP_ON_SETS, STEP_ON_RUNS):
        return _first_lay_off(cards, SET if step == STEP_ON_SETS else RUN, view)
    return Action(_PLAIN_STEPS[step], cards)


_PLAIN_STEPS = {
    STEP_DRAW: rules.DRAW_STOCK,
    STEP_PASS: rules.PASS,
    STEP_TAKE: rules.TAKE_DISCARDS,
    STEP_DISCARD: rules.DISCARD,
}


def _first_stretch(cards: int) -> int:
    """Return the lowest whole stretch of cards that follow each other."""
    stretch = cards & -cards
    while higher(stretch) & cards & ~stretch:
        stretch |= higher(stretch) & cards
    return stretch


def _first_lay_off(cards: int, kind: int, view: SeatView) -> Action:
    """Return the lay-off of most of `cards` on one meld of that kind, the first meld that takes
    any.
    """
    for row, meld in enumerate(view.melds):
        if meld.kind != kind:
            continue
        on_table = mask_of(meld.cards)
        fitting = (
            cards & RANK_MASKS[rank_of(meld.cards[0])]
            if kind == SET
            else cards_to_lay_off(cards, 0, on_table)
        )
        if fitting and is_meld_of_kind(on_table | fitting, kind):
            return Action(rules.LAY_OFF, fitting, row)
    raise ValueError("no meld takes those cards")


@dataclass(frozen=True, slots=True)
class SearchBot:
    """Plays the most visited moves of a search of fixed length."""

    iterations: int
    settings: SearchSettings = DEFAULT_SETTINGS

    def decide(self, view: SeatView, seed: str) -> Decision:
        """Search, unless there is one move or the deal's end can be solved."""
        search = Search(view, seed, self.iterations, self.settings)
        only = search.moves()
        if len(only) == 1:
            return Decision(action_of_move(only[0], view))
        solution = solve_endgame(view)
        if solution is not None:
            return Decision(action_of_move(solution.best, view))
        search.run(self.iterations)
        best = search.ranking()[0].code
        return Decision(action_of_move(best, view), self.iterations)
