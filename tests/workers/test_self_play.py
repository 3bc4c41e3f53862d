"""Self-play in one kernel: it knows no more than a seat may, and plays as the search does."""

import numpy as np

from service.rules.deal import OVER
from service.rules.view import view_deal
from tests.workers.search.positions import positions
from workers.search.determinize import unknown_counts, unseen_array
from workers.search.search import Search
from workers.search.world import new_worlds, template_of_view, world_of_deal
from workers.self_play import SelfPlay, hide, most_visited_move

SEEN = (
    *("hands", "known", "laid", "table_sets", "table_runs", "turn", "dealer", "phase", "due"),
    *("passes", "went_out", "stock_count", "pile_count"),
)


def test_the_searcher_is_told_what_the_seat_to_move_sees() -> None:
    for deal in positions(40):
        view = view_deal(deal, deal.turn)
        template, room, counts = new_worlds(1)[0], np.zeros(56, np.int64), np.zeros(4, np.int64)

        length = hide(world_of_deal(deal)[0], template, room, counts)

        expected = template_of_view(view)[0]
        for name in SEEN:
            assert (template[name] == expected[name]).all(), name
        pile = slice(0, template.pile_count)
        assert (template.pile[pile] == expected.pile[pile]).all()
        assert (room[:length] == unseen_array(view)).all()
        assert (counts == unknown_counts(view)).all()


def test_the_most_visited_move_is_the_one_that_a_search_ranks_first() -> None:
    compared = 0
    for deal in positions(8):
        search = Search(view_deal(deal, deal.turn), "visits", 400)
        search.run(400)
        first, *others = search.ranking()

        if all(other.visits < first.visits for other in others):
            assert most_visited_move(search._arrays["nodes"]) == first.code
            compared += 1
    assert compared >= 4


def test_deals_are_played_to_their_end_and_repeat() -> None:
    one, two = (SelfPlay(30, 20, "same") for _ in range(2))
    ends = []
    for dealer in range(4):
        starts, end = one.play(dealer)
        assert starts[0].turn == (dealer + 1) % 4
        assert starts[0].stock_count == 27
        assert (np.diff(starts.stock_count) <= 0).all()
        assert end.phase == OVER
        ends.append(end.laid.tolist())
        again = two.play(dealer)[1]
        assert ends[-1] == again.laid.tolist()
    assert len({tuple(laid) for laid in ends}) > 1
