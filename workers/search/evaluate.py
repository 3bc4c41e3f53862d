"""What is shown of a move: its worth on fresh worlds, with an interval, its parts and its facts.

The search's own averages are biased: the best of several noisy numbers is too high (the winner's
curse), and a tree samples what it likes. So the moves to be shown are played again on worlds that
the search never saw, the same worlds for each move, down the finished tree (most visits first) and
then by the playout's rules of thumb. Nothing is learnt meanwhile, so the samples of a move are
independent and equally distributed, and the usual interval of a mean holds."""

from service.rules.deal import DRAW, OVER, find_in_pile
from service.rules.score import points
from workers.search._compile import search_kernel
from workers.search.determinize import determinize
from workers.search.moves import DISCARD, LAY_ON_SET, apply_move, list_moves
from workers.search.playout import play_turn
from workers.search.world import copy_world, margin_of

# Columns of the sums, one row a move. Own and theirs are the mover's team and the other.
(
    MARGIN,
    MARGIN_SQUARED,
    WIN,
    LAID,
    LAID_THEIRS,
    HAND,
    HAND_THEIRS,
    OUT,
    OUT_THEIRS,
    TAKEN,
    SHORT,
    BEHIND,
) = range(12)
"""Margin and its square; chance to win the game; points laid from now on; points left in hand;
times gone out; times the next player takes the card discarded (or from below it); times the deal
ends before the mover's next turn; difference to the first move, squared."""
COLUMN_COUNT = 12
MIN_TREE_VISITS = 20
"""A node visited less often says nothing: the playout goes on from there."""


@search_kernel
def most_visited(nodes, parent, legal, stamp):
    """Return the child of `parent` with most visits among the moves marked legal, or 0 when none
    has enough.
    """
    best = 0
    best_visits = MIN_TREE_VISITS - 1
    child = nodes[parent].first_child
    while child:
        node = nodes[child]
        if legal[node.code] == stamp and node.visits > best_visits:
            best, best_visits = child, node.visits
        child = node.next_sibling
    return best


@search_kernel
def child_by_code(nodes, parent, code):
    """Return the child of `parent` for the move `code`, or 0."""
    child = nodes[parent].first_child
    while child and nodes[child].code != code:
        child = nodes[child].next_sibling
    return child


@search_kernel
def follow_tree(nodes, node, world, scratch):
    """Play the most visited move below `node`; return the child, or 0 when the tree has nothing to
    say.
    """
    moves, listed, _marks, _path, stamps = scratch
    if node == 0:
        return 0
    stamps[0] += 2
    count = list_moves(world, moves)
    for i in range(count):
        listed[moves[i]] = stamps[0]
    child = most_visited(nodes, node, listed, stamps[0])
    if child:
        apply_move(world, int(nodes[child].code))
    return child


@search_kernel
def play_sample(world, nodes, node, code, scratch, weights, rng):
    """Play `code` and then to the end of the deal; return whether the next player took the discard
    and whether the deal ended within the round.
    """
    seat = world.turn
    thrown = code - DISCARD if DISCARD <= code < LAY_ON_SET else -1
    taken = 0
    short = 1
    apply_move(world, code)
    node = child_by_code(nodes, node, code)
    before = world.turn
    while world.phase != OVER:
        if world.phase == DRAW and world.turn != before:
            before = world.turn
            if before == seat:
                short = 0
            is_after_next = before == (seat + 2) & 3 and short == 1
            if is_after_next and thrown >= 0 and find_in_pile(world, thrown) < 0:
                taken = 1
        node = follow_tree(nodes, node, world, scratch)
        if node == 0:
            play_turn(world, weights, rng)
    if (
        thrown >= 0
        and world.turn == (seat + 1) & 3
        and short == 1
        and find_in_pile(world, thrown) < 0
    ):
        taken = 1
    return taken, short


@search_kernel
def sample_moves(
    template, unseen, counts, nodes, codes, samples, worlds, scratch, weights, wins, rng, sums
):
    """Add `samples` fresh worlds to `sums`, each played once with every move of `codes`.

    `worlds` has room for two; `wins[margin + len // 2]` is the mover team's chance to win the game;
    `sums` has a row of COLUMN_COUNT a move, float64."""
    start = worlds[0]
    world = worlds[1]
    seat = template[0].turn
    team = seat & 1
    offset = len(wins) // 2
    laid_before = template[0].laid[team]
    theirs_before = template[0].laid[1 - team]
    for _ in range(samples):
        determinize(template[0], unseen, counts, start, rng)
        first = 0
        for row in range(len(codes)):
            copy_world(start, world)
            taken, short = play_sample(world, nodes, 0, codes[row], scratch, weights, rng)
            margin = margin_of(world) if team == 0 else -margin_of(world)
            if row == 0:
                first = margin
            line = sums[row]
            line[MARGIN] += margin
            line[MARGIN_SQUARED] += margin * margin
            line[WIN] += wins[margin + offset]
            line[LAID] += world.laid[team] - laid_before
            line[LAID_THEIRS] += world.laid[1 - team] - theirs_before
            line[HAND] += points(world.hands[team]) + points(world.hands[team + 2])
            line[HAND_THEIRS] += points(world.hands[1 - team]) + points(world.hands[3 - team])
            if world.went_out >= 0:
                line[OUT if world.went_out & 1 == team else OUT_THEIRS] += 1
            line[TAKEN] += taken
            line[SHORT] += short
            line[BEHIND] += (margin - first) * (margin - first)
