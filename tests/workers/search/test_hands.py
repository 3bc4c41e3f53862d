"""What cards are to each other, against the words of the definitions."""

import random

from service.rules.cards import JOKER_RANK, cards_in, rank_of
from workers.search.hands import cards_beside, paired_cards, same_rank

PLAIN = 52


def hands() -> list[int]:
    chance = random.Random(7)
    return [
        sum(1 << card for card in chance.sample(range(56), chance.randrange(0, 24)))
        for _ in range(300)
    ]


def test_paired_cards_have_another_of_their_rank() -> None:
    for held in hands():
        ranks = [rank_of(card) for card in cards_in(held)]
        expected = {card for card in cards_in(held) if ranks.count(rank_of(card)) > 1}

        assert set(cards_in(int(paired_cards(held)))) == expected


def test_cards_of_the_same_rank() -> None:
    for held in hands():
        ranks = {rank_of(card) for card in cards_in(held)}
        expected = {card for card in range(56) if rank_of(card) in ranks}

        assert set(cards_in(int(same_rank(held)))) == expected
    assert set(cards_in(int(same_rank(1 << 53)))) == set(range(PLAIN, 56))


def test_cards_beside_are_next_in_their_suit() -> None:
    for held in hands():
        expected = {
            other
            for card in cards_in(held)
            for other in (card - 1, card + 1)
            if rank_of(card) != JOKER_RANK and 0 <= other < PLAIN and other // 13 == card // 13
        }

        assert set(cards_in(int(cards_beside(held)))) == expected
