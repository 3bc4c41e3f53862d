/**
 * Carry out events on a GAME that is shown, so that each can be watched. Cards are moved, nothing is
 * judged: the service did that. Whatever comes of it is replaced by the service's own view as soon as
 * that has the same version.
 */

import { byId, isJoker, worthOf } from "./cards.js";

const SEATS = 4;
export const HAND_SIZE = 7;
export const STOCK_SIZE = 27;

const without = (cards, gone) => cards.filter((card) => !gone.includes(card));

/** Tell whether cards that lie together are a set. */
const isSet = (cards) => isJoker(cards[0]) || cards.every((card) => card[0] === cards[0][0]);

/** R26 to R28: points on the table by team. */
export function pointsOf(melds) {
  const points = [0, 0];
  for (const meld of melds) {
    meld.cards.forEach((card, index) => {
      points[meld.laid_by[index] % 2] += worthOf(card) * (meld.doubled ? 2 : 1);
    });
  }
  return points;
}

/** Return the game after `event`; `game` stays as it is. */
export function applyEvent(game, event) {
  const after = structuredClone(game);
  after.version = event.version;
  after.legal_actions = [];
  if (event.type === "joined") {
    Object.assign(after.seats[event.seat], { player: "human", name: event.name });
  }
  if (event.type === "abandoned") after.status = "abandoned";
  if (event.type !== "played" || !after.deal) return after;
  MOVES[event.action.type](after.deal, event, after.viewer);
  after.deal.points = pointsOf(after.deal.melds);
  if (event.deal_score) {
    after.deal.phase = "over";
    after.deal_scores.push(event.deal_score);
    after.scores = after.scores.map((score, team) => score + event.deal_score.total[team]);
  }
  return after;
}

const MOVES = {
  draw_stock(deal, event, viewer) {
    deal.stock_count -= 1;
    deal.hand_counts[event.seat] += 1;
    deal.phase = "meld";
    if (event.card && event.seat === viewer) deal.hand = [...deal.hand, event.card].sort(byId);
    deal.hands?.[event.seat].push(event.card);
  },
  take_discards(deal, event, viewer) {
    const taken = deal.discard_pile.splice(deal.discard_pile.indexOf(event.action.card));
    deal.hand_counts[event.seat] += taken.length;
    deal.known_cards[event.seat] = [...deal.known_cards[event.seat], ...taken].sort(byId);
    if (event.seat === viewer) deal.hand = [...deal.hand, ...taken].sort(byId);
    deal.hands?.[event.seat].push(...taken);
    Object.assign(deal, { due: event.action.card, phase: "meld", passes: 0 });
  },
  meld(deal, event) {
    const cards = [...event.action.cards].sort(byId);
    leaveHand(deal, event.seat, cards);
    deal.melds.push({
      id: `m${deal.melds.length + 1}`,
      kind: isSet(cards) ? "set" : "run",
      cards,
      laid_by: cards.map(() => event.seat),
      doubled: isSet(cards) && cards.length === 4,
    });
  },
  lay_off(deal, event) {
    const meld = deal.melds.find((one) => one.id === event.action.meld);
    leaveHand(deal, event.seat, event.action.cards);
    const layers = new Map(meld.cards.map((card, index) => [card, meld.laid_by[index]]));
    for (const card of event.action.cards) layers.set(card, event.seat);
    meld.cards = [...layers.keys()].sort(byId);
    meld.laid_by = meld.cards.map((card) => layers.get(card));
  },
  discard(deal, event) {
    leaveHand(deal, event.seat, [event.action.card]);
    deal.discard_pile.push(event.action.card);
    endTurn(deal);
  },
  pass(deal) {
    deal.passes += 1;
    endTurn(deal);
  },
};

function leaveHand(deal, seat, cards) {
  deal.hand_counts[seat] -= cards.length;
  deal.known_cards[seat] = without(deal.known_cards[seat], cards);
  deal.hand = without(deal.hand, cards);
  if (deal.hands) deal.hands[seat] = without(deal.hands[seat], cards);
  deal.due = null;
}

function endTurn(deal) {
  Object.assign(deal, { turn: (deal.turn + 1) % SEATS, phase: "draw", due: null });
}

/** A deal before its first turn. */
export function newDeal(number, dealer, upcard, hand) {
  return {
    number,
    dealer,
    turn: (dealer + 1) % SEATS,
    phase: "draw",
    due: null,
    passes: 0,
    deadline: null,
    stock_count: STOCK_SIZE,
    discard_pile: [upcard],
    hand,
    hand_counts: Array(SEATS).fill(HAND_SIZE),
    known_cards: [[], [], [], []],
    melds: [],
    points: [0, 0],
  };
}

/**
 * Return `latest` as it was when its deal began, worked out from what happened in it since; null if
 * that cannot be done.
 * @param {any} latest GAME
 * @param {any[]} events all events of this deal, up to `latest`
 */
export function dealStart(latest, events) {
  const { deal } = latest;
  const played = events.filter((event) => event.type === "played" && event.deal === deal.number);
  const upcard = firstUpcard(deal, played);
  const hand = firstHand(latest, played, upcard);
  if (!upcard || (latest.viewer !== null && hand.length !== HAND_SIZE)) return null;
  return {
    ...structuredClone(latest),
    version: (played[0]?.version ?? latest.version + 1) - 1,
    legal_actions: [],
    deal: newDeal(deal.number, deal.dealer, upcard, hand),
  };
}

/** The upcard never leaves the bottom of the pile unless somebody takes it by its name. */
function firstUpcard(deal, played) {
  const discarded = new Set();
  for (const { action } of played) {
    if (action.type === "take_discards" && !discarded.has(action.card)) return action.card;
    if (action.type === "discard") discarded.add(action.card);
  }
  return deal.discard_pile[0];
}

/** What the viewer holds now, and laid and discarded since, less what came since. */
function firstHand(latest, played, upcard) {
  const pile = [upcard];
  const came = new Set();
  const went = new Set(latest.deal.hand);
  for (const { action, seat, card } of played) {
    const isMine = seat === latest.viewer;
    if (action.type === "draw_stock" && isMine) came.add(card);
    if (action.type === "take_discards") {
      for (const taken of pile.splice(pile.indexOf(action.card))) if (isMine) came.add(taken);
    }
    if (action.type === "discard") pile.push(action.card);
    if (isMine) for (const gone of action.cards ?? []) went.add(gone);
    if (isMine && action.type === "discard") went.add(action.card);
  }
  return [...went].filter((card) => !came.has(card)).sort(byId);
}
