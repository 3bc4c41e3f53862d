/**
 * What the list of legal actions says about cards and places. Nothing here knows a rule: what is not
 * in the list cannot be done.
 */

const isSame = (cards, chosen) => cards.length === chosen.size && cards.every((card) => chosen.has(card));
const holds = (cards, chosen) => [...chosen].every((card) => cards.includes(card));

/** Cards of the pile that may be taken. */
export const takesOf = (game) =>
  new Set(game.legal_actions.filter((action) => action.type === "take_discards").map((action) => action.card));

/**
 * Where exactly these cards may go now.
 * @param {any[]} legal
 * @param {Set<string>} chosen
 */
export function targetsOf(legal, chosen) {
  const found = { meld: null, discard: null, layOffs: new Map() };
  if (chosen.size === 0) return found;
  for (const action of legal) {
    if (action.type === "meld" && isSame(action.cards, chosen)) found.meld = action;
    if (action.type === "lay_off" && isSame(action.cards, chosen)) found.layOffs.set(action.meld, action);
    if (action.type === "discard" && chosen.size === 1 && chosen.has(action.card)) found.discard = action;
  }
  return found;
}

/** Cards that lead, with those chosen, to a meld or lay-off. */
export function fitting(legal, chosen) {
  const cards = new Set();
  for (const action of legal) {
    if (action.cards && holds(action.cards, chosen)) for (const card of action.cards) cards.add(card);
  }
  return cards;
}

/** Melds and lay-offs worth a proposal: those that are not a part of a larger one. */
export function proposals(legal, most) {
  const found = legal.filter((action) => action.cards);
  const isPart = (one) =>
    found.some((other) => other.meld === one.meld && other.type === one.type && other.cards.length > one.cards.length && one.cards.every((card) => other.cards.includes(card)));
  return found.filter((action) => !isPart(action)).slice(0, most);
}

/** Tell whether two actions are the same. */
export const isEqual = (one, other) =>
  one.type === other.type && one.card === other.card && one.meld === other.meld &&
  (one.cards ?? []).join() === (other.cards ?? []).join();
