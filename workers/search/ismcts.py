"""Monte Carlo tree search over information sets, the mover's moves alone in the tree.

After Cowling, Powley and Whitehouse, "Information Set Monte Carlo Tree Search", IEEE TCIAIG 4(2),
2012, section IV. One tree from the searcher's view; every iteration deals the unknown cards anew
(`determinize`), goes down by upper confidence bounds over the moves that are legal in this world,
adds one node, ends the turn, and credits the path with what the deal ends with or what a learnt
value expects of it. A move's bound counts how often it was available, not how often its parent was
visited.

The others play as the quick player does, from the cards that the world gives them. In the paper
their moves are nodes too. But one node stands for all their hands, so that it finds what is best on
average over these, and no hand is played well: between searchers that makes no difference, and
against anybody who looks at his own cards the quick player tells better what comes (figures in
README.md).

Nodes are keyed by the sequence of the mover's moves. The tree is a flat array of records; nothing
is allocated after the start."""

import math

import numpy as np

from service.rules.deal import OVER
from workers.search._compile import search_kernel
from workers.search.determinize import determinize
from workers.search.moves import CODE_COUNT, MAX_MOVES, apply_move, is_reordered, list_moves
from workers.search.playout import LAST_STOCK, play_turn, play_turns
from workers.search.rng import below
from workers.search.value_net import net_value
from workers.search.world import margin_of

NODE = np.dtype(
    [
        ("total", np.float64),
        ("visits", np.int32),
        ("available", np.int32),
        ("first_child", np.int32),
        ("next_sibling", np.int32),
        ("code", np.int16),
    ],
    align=True,
)
"""One node: the sum of values for team 0, visits, how often its move was legal when its parent was
passed, links (0: none) and the move that leads to it."""

LATE_STOCK = LAST_STOCK + 4
"""With so few cards of stock, at most a round before the net is not asked any more, most iterations
play to the end of the deal: what they bring is spread twice as wide as what the net says, and moves
differ by more."""
LATE_EXPLORATION = 2.0
"""So the bounds are wider then, by this factor; else the first move that finds its good sequel has
all further visits, whatever the others are worth (figures in README.md)."""
MAX_DEPTH = 400
"""More moves of one seat than a search gets to: with 27 cards of stock it has a few turns more than
seven, and each of a path's nodes took an iteration of its own to be added.
"""

_LOG_TABLE_SIZE = 4096
_LOG_GRID = 2**-32
LOGS = np.array(
    [0.0] + [round(math.log(n) / _LOG_GRID) * _LOG_GRID for n in range(1, _LOG_TABLE_SIZE)]
)
"""Natural logarithms on a grid coarser than any library's error, so that every machine has the same
ones.
"""
LOG_2 = round(math.log(2) / _LOG_GRID) * _LOG_GRID


@search_kernel
def log_of(count):
    """Return the natural logarithm of a positive int, within 2**-12."""
    doublings = 0
    while count >= _LOG_TABLE_SIZE:
        count >>= 1
        doublings += 1
    return LOGS[count] + doublings * LOG_2


@search_kernel
def value_of(margin, values, offset):
    """Return the value of a margin (points for team 0) from the table `values`, whose middle
    `offset` is margin 0.
    """
    place = margin + offset
    if place < 0:
        place = 0
    if place >= len(values):
        place = len(values) - 1
    return values[place]


@search_kernel
def keep_ordered(moves, count, previous, listed, marks, stamp):
    """Drop the moves that belong in front of `previous` (`is_reordered`) from `moves`; return how
    many are left.

    `listed[code]` is the stamp of the step that last listed the move, `marks[code]` that of the
    step that kept it."""
    kept = 0
    for i in range(count):
        code = moves[i]
        was_listed = listed[code] == stamp - 1
        listed[code] = stamp
        if not (was_listed and is_reordered(code, previous)):
            marks[code] = stamp
            moves[kept] = code
            kept += 1
    return kept


@search_kernel
def best_child(nodes, parent, sign, marks, stamp, exploration):
    """Return the child with the highest bound for the mover (`sign`: 1 for team 0, -1 for team 1),
    or 0; count availability.

    Only children whose move is legal in this world (`marks`) take part; their marks are cleared, so
    that what stays marked is untried."""
    best = 0
    best_bound = -1e300
    child = nodes[parent].first_child
    while child:
        node = nodes[child]
        if marks[node.code] == stamp:
            marks[node.code] = 0
            node.available += 1
            spread = math.sqrt(log_of(node.available) / node.visits)
            bound = sign * node.total / node.visits + exploration * spread
            if bound > best_bound:
                best, best_bound = child, bound
        child = node.next_sibling
    return best


@search_kernel
def add_node(nodes, used, parent, code):
    """Write node number `used` as the first child of `parent`."""
    node = nodes[used]
    node.total = 0.0
    node.visits = 0
    node.available = 1
    node.first_child = 0
    node.next_sibling = nodes[parent].first_child
    node.code = code
    nodes[parent].first_child = used


@search_kernel
def descend(nodes, used, world, scratch, exploration, player, rng):
    """Go from the root to a new node or to the end of the deal, playing in `world`, the others as
    `player`; return the nodes used and the path's length.

    `scratch` is the tuple (moves, listed, marks, path, stamp); stamp is an array of one.
    """
    moves, listed, marks, path, stamps = scratch
    stamps[0] += 1
    mover = world.turn
    sign = 1.0 if mover & 1 == 0 else -1.0
    node = 0
    depth = 0
    previous = -1
    path[0] = 0
    while world.phase != OVER:
        if world.turn != mover:
            play_turn(world, player, rng)
            continue
        stamps[0] += 1
        stamp = stamps[0]
        count = keep_ordered(moves, list_moves(world, moves), previous, listed, marks, stamp)
        child = best_child(nodes, node, sign, marks, stamp, exploration)
        untried = 0
        for i in range(count):
            if marks[moves[i]] == stamp:
                moves[untried] = moves[i]
                untried += 1
        is_new = untried > 0 and used < len(nodes)
        if is_new:
            child = used
            add_node(nodes, used, node, moves[below(rng, untried)])
            used += 1
        if child == 0:
            break
        previous = int(nodes[child].code)
        apply_move(world, previous)
        depth += 1
        path[depth] = child
        node = child
        if is_new or depth == MAX_DEPTH - 1:
            break
    return used, depth + 1


@search_kernel
def run_iterations(
    template,
    unseen,
    counts,
    nodes,
    used,
    iterations,
    worlds,
    scratch,
    player,
    horizon,
    net,
    values,
    blurred_values,
    exploration,
    rng,
):
    """Run `iterations` of the search; return how many nodes are used then.

    `template`, `unseen`, `counts` describe what is known (`determinize.py`); `worlds` has room for
    one world; playouts are cut after `horizon` turns (`play_turns`), and the `net` stands for the
    rest (`value_net.py`);
    `values` is the table of `value_of` for margins of deals that have ended, `blurred_values` that
    for expected margins; `exploration` is in points, and late in the deal it counts more
    (LATE_EXPLORATION). Root statistics stand in the children of node 0.
    """
    world = worlds[0]
    path = scratch[3]
    offset = len(values) // 2
    if template[0].stock_count <= LATE_STOCK:
        exploration *= LATE_EXPLORATION
    for _ in range(iterations):
        determinize(template[0], unseen, counts, world, rng)
        used, length = descend(nodes, used, world, scratch, exploration, player, rng)
        play_turns(world, horizon, player, rng)
        if world.phase == OVER:
            value = value_of(margin_of(world), values, offset)
        else:
            value = value_of(round(net_value(world, net)), blurred_values, offset)
        for i in range(length):
            node = nodes[path[i]]
            node.visits += 1
            node.total += value
    return used


def new_scratch() -> tuple[np.ndarray, ...]:
    """Return the working arrays of one search."""
    return (
        np.zeros(MAX_MOVES, np.int64),
        np.zeros(CODE_COUNT, np.int64),
        np.zeros(CODE_COUNT, np.int64),
        np.zeros(MAX_DEPTH, np.int64),
        np.zeros(1, np.int64),
    )


def new_tree(capacity: int) -> np.ndarray:
    """Return room for `capacity` nodes, the root at 0."""
    return np.zeros(capacity, NODE).view(np.recarray)
