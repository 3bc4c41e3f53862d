"""A finished game looked at again: what each decision cost, and what the draws gave.

*Skill.* A decision is one step of a player who had a choice: a draw, a meld, a lay-off, a discard.
It is judged from what the player then knew (R33), never from the cards as they lay: a search for
that view, as a hint's, names its best move; that one and the move played are both played on the
same fresh worlds, for a round at least by the same quick player, and the same learnt value stands
for the rest, so that neither gains from where the search looked more. The loss is the difference of
their margins. The best found is the better of the two, if the figures surely tell them apart;
played equals best means loss 0. A meld of several cards of a run, which the search lays one by one,
is judged step by step and its losses are added. Where the end of the deal can be solved
(`workers/search/endgame.py`) the values are the solution's.

A single loss below nought, which is chance, is shown as nought. The totals add the differences as
they are, so that chance does not make them grow with the number of decisions.

*Luck.* What a card drawn from the stock gave is the value of the position after the draw less the
value before it, both from the drawing seat's view, and valued as decisions are: the unseen cards
are dealt anew many times; each of these worlds is played on once with its own top card drawn
(before) and once with that card and the one really drawn exchanged (after), and the learnt value
stands for the rest. Over all cards that might have been drawn the mean is nought, so luck is not
skill in another dress.

The same game, options and seed give the same figures on any machine, seconds apart."""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from service.rules import deal as rules
from service.rules._jit import lowest_card, popcount
from service.rules.cards import (
    CARD_NAMES,
    FIRST_JOKER,
    JOKER_RANK,
    SUIT_SIZE,
    cards_in,
    mask_of,
    parse_card,
    rank_of,
)
from service.rules.deal import NO_CARD, Action, Deal, play
from service.rules.match import Match, play_in_match, restarted
from service.rules.melds import RUN, meld_kind
from service.rules.notation import action_from_json, action_to_json
from service.rules.view import SeatView, view_deal, view_match
from workers.search import evaluate
from workers.search.endgame import solve_endgame
from workers.search.moves import (
    DISCARD,
    DRAW_STOCK,
    LAY_ON_RUN,
    LAY_ON_SET,
    MELD_RUN,
    MELD_SET,
    PASS,
    RUN_STARTS,
    SET_FORMS,
    TAKE,
    action_of_move,
)
from workers.search.search import ENGINE, Search, difference_half_width

LUCK_WORLDS = 1_500
"""Worlds for each draw: an interval of about 2 points either way, 4 when the stock runs out."""
FEWEST_FRESH = 200
"""Fresh worlds for a decision at least; else as many as iterations."""
FINE_WITHIN = 4.0
"""A loss below so many points is no slip: less than a card."""
BLUNDER_FROM = 15.0
"""A loss from so many points on is a blunder: an ace, a set given away."""
PUBLISH_EVERY_S = 0.5
WORDS = ("best", "fine", "slip", "blunder")

Save = Callable[[dict[str, Any]], bool]


@dataclass(slots=True)
class Tally:
    """A sum of independent estimates, in points."""

    total: float = 0.0
    variance: float = 0.0
    """Of the total, as squared half widths of 95 % intervals."""

    def add(self, value: float, half_width: float) -> None:
        """Add an estimate."""
        self.total += value
        self.variance += half_width * half_width

    @property
    def interval(self) -> list[float]:
        """Where the sum lies with 95 % confidence."""
        half = math.sqrt(self.variance)
        return [round(self.total - half, 1), round(self.total + half, 1)]


@dataclass(slots=True)
class PlayerTally:
    """What one player's decisions and draws come to."""

    words: dict[str, int] = field(default_factory=lambda: dict.fromkeys(WORDS, 0))
    loss: Tally = field(default_factory=Tally)
    luck: Tally = field(default_factory=Tally)
    draws: int = 0


@dataclass(frozen=True, slots=True)
class Judgement:
    """What one step cost."""

    best: Action
    loss: float
    """Best less played, in points; below nought where the fresh worlds liked the played one."""
    half_width: float
    margin: float
    """Expected with the best, own less theirs, at the end of the deal."""
    choices: int
    """Moves to choose from."""


def write_review(
    match: Match,
    entries: list[dict[str, Any]],
    options: dict[str, Any],
    document: dict[str, Any],
    save: Save,
    now: Callable[[], str],
    clock: Callable[[], float],
    luck_worlds: int = LUCK_WORLDS,
) -> dict[str, Any]:
    """Judge every decision of the finished `match`, whose actions are the log's `entries`, and fill
    `document`; `save` is called with each state of it and answers False when it was cancelled.
    """
    iterations, seed = options["iterations"], str(options["seed"])
    fresh = max(FEWEST_FRESH, iterations)
    start = published = clock()
    players = [PlayerTally() for _ in range(rules.SEATS)]
    decisions: list[dict[str, Any]] = []
    draws: list[dict[str, Any]] = []
    for number, (entry, before) in enumerate(replayed(match, entries)):
        player = players[entry["seat"]]
        action = action_from_json(entry["action"])
        place = {name: entry[name] for name in ("version", "deal", "seat")}
        decision = judge(before, action, iterations, fresh, seed)
        if decision is not None:
            decisions.append(place | _decision_to_json(action, decision, player))
        if action.type == rules.DRAW_STOCK:
            view = view_match(before, before.deal.turn)
            card = parse_card(entry["drawn"])
            draws.append(place | _draw_to_json(view, card, seed, player, luck_worlds))
        if clock() - published >= PUBLISH_EVERY_S:
            published = clock()
            document |= {
                "progress": round((number + 1) / (len(entries) + 1), 4),
                "decisions": decisions,
                "draws": draws,
                "players": _players_to_json(players),
            }
            if not save(document):
                return {**document, "status": "cancelled"}
    document |= {
        "status": "done",
        "progress": 1.0,
        "decisions": decisions,
        "draws": draws,
        "players": _players_to_json(players),
        "search": {
            "iterations": iterations,
            "fresh_worlds": fresh,
            "seconds": round(clock() - start, 3),
            "seed": seed,
            "engine": ENGINE,
        },
        "finished_at": now(),
    }
    return document if save(document) else {**document, "status": "cancelled"}


def replayed(
    match: Match, entries: Iterable[dict[str, Any]]
) -> Iterator[tuple[dict[str, Any], Match]]:
    """Yield each entry with the match as it was before it."""
    again = restarted(match)
    for entry in entries:
        yield entry, again
        play_in_match(again, entry["seat"], action_from_json(entry["action"]))


# Decisions.


def judge(match: Match, action: Action, iterations: int, fresh: int, seed: str) -> Judgement | None:
    """Return what `action`, about to be played in `match`, costs; None where there was no choice.

    The sum over the steps that the search takes for it; the best named is that of the first step at
    which there was a better one."""
    deal = match.deal.copy()
    judged: list[Judgement] = []
    for code, step in steps_of(deal, action):
        view = view_deal(deal, deal.turn, match.number, match.deals, match.totals)
        found = judge_step(view, code, iterations, fresh, seed)
        if found is not None:
            judged.append(found)
        play(deal, deal.turn, step)
    if not judged:
        return None
    better = next((one for one in judged if one.loss > 0), None)
    return Judgement(
        best=action if better is None else better.best,
        loss=sum(one.loss for one in judged),
        half_width=math.sqrt(sum(one.half_width**2 for one in judged)),
        margin=judged[0].margin,
        choices=judged[0].choices,
    )


def judge_step(
    view: SeatView, code: int, iterations: int, fresh: int, seed: str
) -> Judgement | None:
    """Return what the search's move `code` costs the viewer; None where it is the only one."""
    search = Search(view, seed, iterations)
    moves = search.moves()
    if len(moves) < 2:
        return None
    solution = solve_endgame(view)
    if solution is not None:
        best, margin = solution.best, solution.values[solution.best]
        loss, half = margin - solution.values[code], 0.0
    else:
        search.run(iterations)
        best = search.ranking()[0].code
        # A search that has not searched has no tree to follow: the same quick player for both.
        samples = Search(view, seed, 1).sample([best] if best == code else [best, code], fresh)
        margin = samples[0].mean(evaluate.MARGIN)
        loss = margin - samples[-1].mean(evaluate.MARGIN)
        half = 0.0 if best == code else difference_half_width(samples[0], samples[1])
        if loss < -half:
            best, margin, loss, half = code, margin - loss, 0.0, 0.0
    return Judgement(action_of_move(best, view), loss, half, margin, len(moves))


def steps_of(deal: Deal, action: Action) -> Iterator[tuple[int, Action]]:
    """Yield the moves of the search, as codes, and the actions of the rules that together are
    `action` in `deal`.
    """
    if action.type == rules.LAY_MELD:
        yield from _steps_of_meld(deal, action)
    elif action.type == rules.LAY_OFF:
        yield from _steps_of_lay_off(deal, action)
    else:
        card = lowest_card(action.cards) if action.cards else 0
        bases = {
            rules.DRAW_STOCK: DRAW_STOCK,
            rules.PASS: PASS,
            rules.TAKE_DISCARDS: TAKE + card,
            rules.DISCARD: DISCARD + card,
        }
        yield bases[action.type], action


def _steps_of_meld(deal: Deal, action: Action) -> Iterator[tuple[int, Action]]:
    """Yield a set whole, and of a run three cards and then one at a time, the due one first."""
    cards = action.cards
    lowest, count = lowest_card(cards), popcount(cards)
    if meld_kind(cards) != RUN:
        rank = rank_of(lowest)
        yield MELD_SET + SET_FORMS * rank + _set_form(cards, rank), action
        return
    first = lowest if deal.due == NO_CARD else min(max(deal.due - 1, lowest), lowest + count - 3)
    code = MELD_RUN + first // SUIT_SIZE * RUN_STARTS + first % SUIT_SIZE
    row = deal.meld_count
    yield code, Action(rules.LAY_MELD, mask_of(range(first, first + 3)))
    yield from _one_by_one(
        [*range(first + 3, lowest + count), *range(first - 1, lowest - 1, -1)], row
    )


def _set_form(cards: int, rank: int) -> int:
    """Return which card of the rank a set leaves out, or 4 for none."""
    if popcount(cards) == 4:
        return 4
    places = (
        range(FIRST_JOKER, FIRST_JOKER + 4)
        if rank == JOKER_RANK
        else range(rank, 4 * SUIT_SIZE, SUIT_SIZE)
    )
    return next(form for form, card in enumerate(places) if not cards >> card & 1)


def _one_by_one(cards: Iterable[int], row: int) -> Iterator[tuple[int, Action]]:
    for card in cards:
        yield LAY_ON_RUN + card, Action(rules.LAY_OFF, 1 << card, row)


def _steps_of_lay_off(deal: Deal, action: Action) -> Iterator[tuple[int, Action]]:
    """Yield the card that joins a set, or the cards that join a run from its ends outwards; the due
    one first, with those between it and the run.
    """
    row = action.meld
    if deal.meld_kinds[row] != RUN:
        yield LAY_ON_SET + lowest_card(action.cards), action
        return
    low = lowest_card(deal.meld_cards[row])
    above = [card for card in cards_in(action.cards) if card > low]
    below = [card for card in reversed(list(cards_in(action.cards))) if card < low]
    for side in sorted((above, below), key=lambda side: deal.due not in side):
        if deal.due in side:
            chain = side[: side.index(deal.due) + 1]
            yield LAY_ON_RUN + deal.due, Action(rules.LAY_OFF, mask_of(chain), row)
            side = side[len(chain) :]
        yield from _one_by_one(side, row)


def _decision_to_json(action: Action, found: Judgement, player: PlayerTally) -> dict[str, Any]:
    word = word_for(found.loss, found.half_width)
    player.words[word] += 1
    player.loss.add(found.loss, found.half_width)
    return {
        "action": action_to_json(action),
        "best": action_to_json(found.best),
        "choices": found.choices,
        "expected_margin": round(found.margin, 1),
        "loss": max(0.0, round(found.loss, 1)),
        "loss_interval": [
            round(found.loss - found.half_width, 1),
            round(found.loss + found.half_width, 1),
        ],
        "word": word,
    }


def word_for(loss: float, half_width: float) -> str:
    """Return a word for a loss: a slip or a blunder only where the figures surely tell it from the
    best.
    """
    if loss <= 0:
        return "best"
    if loss < FINE_WITHIN or loss <= half_width:
        return "fine"
    return "slip" if loss < BLUNDER_FROM else "blunder"


# Luck.


def value_draw(
    view: SeatView, card: int, seed: str, worlds: int = LUCK_WORLDS
) -> tuple[float, float, float]:
    """Return what the position is worth to the viewer, about to draw `card`, before and after the
    draw, and half of the 95 % interval of the difference.
    """
    search = Search(view, f"{seed}/luck", 1)
    before, after = search.sample([DRAW_STOCK, DRAW_STOCK], worlds, [NO_CARD, card])
    half = difference_half_width(before, after)
    return before.mean(evaluate.MARGIN), after.mean(evaluate.MARGIN), half


def _draw_to_json(
    view: SeatView, card: int, seed: str, player: PlayerTally, worlds: int
) -> dict[str, Any]:
    before, after, half = value_draw(view, card, seed, worlds)
    player.draws += 1
    player.luck.add(after - before, half)
    return {
        "card": CARD_NAMES[card],
        "before": round(before, 1),
        "after": round(after, 1),
        "luck": round(after - before, 1),
        "luck_interval": [round(after - before - half, 1), round(after - before + half, 1)],
    }


def _players_to_json(players: list[PlayerTally]) -> list[dict[str, Any]]:
    return [
        {
            "seat": seat,
            "decisions": sum(player.words.values()),
            "words": dict(player.words),
            "loss": max(0.0, round(player.loss.total, 1)),
            "loss_interval": player.loss.interval,
            "draws": player.draws,
            "luck": round(player.luck.total, 1),
            "luck_interval": player.luck.interval,
        }
        for seat, player in enumerate(players)
    ]
