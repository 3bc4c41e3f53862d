"""What is shown of a move: its worth on fresh worlds, with an interval, its parts and its facts.

The search's own averages are biased: the best of several noisy numbers is too high (the winner's
curse), and the poor moves that a tree tries in the mover's later turns make them too low. So the
moves to be shown are played again on worlds that the search never saw, the same worlds for each
move: the mover's own moves down the finished tree, the best average first, and all else by the
quick player's choices. What happens until the mover's next turn is counted as it happens. Then,
once as many turns have been played beyond the tree as in the search, the learnt value that the
search goes by stands for the rest of the deal, part by part, so that the figures value moves as
their order does. With little stock the deal is played to its end and all of it counted.

Nothing is learnt meanwhile, so the samples of a move are independent and equally distributed, and
the usual interval of a mean holds: for what these samples come to on average. How far the learnt
value errs is not in it."""

from service.rules.deal import NO_CARD, OVER, find_in_pile
from workers.search._compile import search_kernel
from workers.search.determinize import determinize
from workers.search.ismcts import value_of
from workers.search.moves import DISCARD, LAY_ON_SET, apply_move, list_moves
from workers.search.playout import goes_on, play_turn
from workers.search.value_net import MARGIN_OF_PARTS, PART_COUNT, net_parts
from workers.search.world import add_laid, add_parts, copy_world

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
chance to go out, of either team; times the next player takes the card discarded (or from below it);
times the deal ends before the mover's next turn; difference to the first move, squared."""
COLUMN_COUNT = 12
MIN_TREE_VISITS = 10
"""A node visited less often says nothing: the playout goes on from there."""
ROUND = 3
"""Turns between two of a seat."""


@search_kernel
def best_known(nodes, parent, sign, legal, stamp):
    """Return the child of `parent` with the best average for the mover (`sign`: 1 for team 0, -1
    for team 1) among the moves marked legal, or 0 when none has enough visits.

    Not the one with most visits: what is legal in few worlds has few, however good it is."""
    best = 0
    best_mean = -1e300
    child = nodes[parent].first_child
    while child:
        node = nodes[child]
        if legal[node.code] == stamp and node.visits >= MIN_TREE_VISITS:
            mean = sign * node.total / node.visits
            if mean > best_mean:
                best, best_mean = child, mean
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
    """Play the best move below `node`; return the child, or 0 when the tree has nothing to
    say.
    """
    moves, listed, _marks, _path, stamps = scratch
    if node == 0:
        return 0
    stamps[0] += 2
    count = list_moves(world, moves)
    for i in range(count):
        listed[moves[i]] = stamps[0]
    sign = 1.0 if world.turn & 1 == 0 else -1.0
    child = best_known(nodes, node, sign, listed, stamps[0])
    if child:
        apply_move(world, int(nodes[child].code))
    return child


@search_kernel
def finish_turn(world, nodes, node, mover, scratch, player, rng):
    """Play what is left of the turn in hand: that of `mover` down the tree from `node`, and where
    the tree ends by the quick player, as the others' turns; return the node reached, or 0.
    """
    seat = world.turn
    if seat != mover:
        play_turn(world, player, rng)
        return node
    while world.turn == seat and world.phase != OVER:
        node = follow_tree(nodes, node, world, scratch)
        if node == 0:
            play_turn(world, player, rng)
    return node


@search_kernel
def play_sample(world, nodes, code, scratch, player, horizon, rng):
    """Play `code` and on, until the mover's next turn at least and until `horizon` turns have been
    played beyond the tree (`goes_on`); return whether the next player took the discard and whether
    the deal ended within the round.
    """
    seat = world.turn
    thrown = code - DISCARD if DISCARD <= code < LAY_ON_SET else -1
    apply_move(world, code)
    node = child_by_code(nodes, 0, code)
    if world.turn == seat:
        node = finish_turn(world, nodes, node, seat, scratch, player, rng)
    taken = 0
    turns = 0
    while goes_on(world, max(ROUND - turns, horizon)):
        if node == 0:
            horizon -= 1
        node = finish_turn(world, nodes, node, seat, scratch, player, rng)
        turns += 1
        if turns == 1 and thrown >= 0 and find_in_pile(world, thrown) < 0:
            taken = 1
    short = 1 if world.phase == OVER and turns <= ROUND else 0
    return taken, short


@search_kernel
def write_parts(world, net, team, laid_before_0, laid_before_1, parts):
    """Write what a deal brings since teams 0 and 1 had laid so much into `parts` (PART_COUNT,), for
    `team` and the other: as it has ended, or as the `net` expects at the start of a turn.
    """
    if world.phase == OVER:
        for part in range(PART_COUNT):
            parts[part] = 0.0
        add_parts(world, team, laid_before_0, laid_before_1, parts)
        return
    net_parts(world, net, parts)
    if world.turn & 1 != team:
        for part in range(0, PART_COUNT, 2):
            parts[part], parts[part + 1] = parts[part + 1], parts[part]
    add_laid(world, team, laid_before_0, laid_before_1, parts)


@search_kernel
def put_on_top(world, card):
    """Let `card`, whose place the viewer does not know, be the stock's next one; what was there
    goes where it was.
    """
    top_place = world.stock_count - 1
    top = world.stock[top_place]
    if top == card:
        return
    for seat in range(4):
        if (world.hands[seat] >> card) & 1:
            world.hands[seat] ^= (1 << card) | (1 << top)
    for place in range(top_place):
        if world.stock[place] == card:
            world.stock[place] = top
    world.stock[top_place] = card


@search_kernel
def sample_moves(
    template,
    unseen,
    counts,
    nodes,
    codes,
    tops,
    samples,
    worlds,
    scratch,
    player,
    horizon,
    net,
    parts,
    wins,
    blurred_wins,
    rng,
    sums,
):
    """Add `samples` fresh worlds to `sums`, each played once with every move of `codes`.

    `tops` has the card that a move finds on the stock, NO_CARD where that is left to chance;
    `worlds` has room for two and `parts` for PART_COUNT; playouts are cut after `horizon` turns at
    the earliest (`play_sample`), and the `net` stands for the rest; `wins` is the mover team's
    chance to win the game by the margin of a deal that has ended, `blurred_wins` by the expected
    one, tables as for `value_of`; `sums` has a row of COLUMN_COUNT a move, float64."""
    start = worlds[0]
    world = worlds[1]
    team = template[0].turn & 1
    offset = len(wins) // 2
    laid_0, laid_1 = template[0].laid[0], template[0].laid[1]
    lead = laid_0 - laid_1 if team == 0 else laid_1 - laid_0
    for _ in range(samples):
        determinize(template[0], unseen, counts, start, rng)
        first = 0.0
        for row in range(len(codes)):
            copy_world(start, world)
            if tops[row] != NO_CARD:
                put_on_top(world, tops[row])
            taken, short = play_sample(world, nodes, codes[row], scratch, player, horizon, rng)
            write_parts(world, net, team, laid_0, laid_1, parts)
            line = sums[row]
            margin = float(lead)
            for part in range(PART_COUNT):
                margin += parts[part] * MARGIN_OF_PARTS[part]
                line[LAID + part] += parts[part]
            if row == 0:
                first = margin
            chances = wins if world.phase == OVER else blurred_wins
            line[MARGIN] += margin
            line[MARGIN_SQUARED] += margin * margin
            line[WIN] += value_of(round(margin), chances, offset)
            line[TAKEN] += taken
            line[SHORT] += short
            line[BEHIND] += (margin - first) * (margin - first)
