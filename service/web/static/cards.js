/** Cards: their names, order and worth, and how they are drawn. */

import { $, $$, s, set } from "./dom.js";
import { t } from "./i18n.js";

const RANKS = "23456789TJQKA";
const SUITS = "CDHS";
const SIGNS = { C: "♣", D: "♦", H: "♥", S: "♠", X: "★" };

/** Place of a card in the API's order: clubs, diamonds, hearts, spades, jokers. */
export const idOf = (card) =>
  card[0] === "X" ? 51 + Number(card[1]) : SUITS.indexOf(card[1]) * 13 + RANKS.indexOf(card[0]);

/** The card with that place. */
export const cardOf = (id) => (id > 51 ? `X${id - 51}` : RANKS[id % 13] + SUITS[Math.floor(id / 13)]);

export const isJoker = (card) => card[0] === "X";
export const byId = (a, b) => idOf(a) - idOf(b);

/** R26: what a card is worth. */
export const worthOf = (card) =>
  isJoker(card) ? 20 : card[0] === "A" ? 15 : "TJQK".includes(card[0]) ? 10 : Number(card[0]);

export const worthOfAll = (cards) => cards.reduce((sum, card) => sum + worthOf(card), 0);

/** A card in a few letters: `7♥`, `10♠`, `★1`. */
export const short = (card) =>
  isJoker(card) ? `★${card[1]}` : (card[0] === "T" ? "10" : card[0]) + SIGNS[card[1]];

/** A text of the API with its cards as signs: `7H` is `7♥`. */
export const inSigns = (text) => text.replace(/\b(?:[2-9TJQKA][CDHS]|X[1-4])\b/g, short);

/** A card in words, in the reader's language. */
export const spoken = (card) =>
  isJoker(card)
    ? t("card.joker", { number: card[1] })
    : t("card.of", { rank: t(`rank.${card[0]}`), suit: t(`suit.${card[1]}`) });

/** Sort a hand by suit (black and red in turn) or by rank. */
export function sorted(cards, order) {
  const suitPlace = (card) => (isJoker(card) ? 9 : "SHCD".indexOf(card[1]));
  const rankPlace = (card) => (isJoker(card) ? 13 : RANKS.indexOf(card[0]));
  const key = order === "rank"
    ? (card) => rankPlace(card) * 10 + suitPlace(card)
    : (card) => suitPlace(card) * 20 + rankPlace(card);
  return [...cards].sort((a, b) => key(a) - key(b) || byId(a, b));
}

const drawn = new Map();

/**
 * Draw a card face up: the frame and its rank's middle, both from the page's own drawings, with rank
 * and suit put in. Colours and sizes are the style sheet's.
 */
export function face(card) {
  if (!drawn.has(card)) {
    const [rank, suit] = isJoker(card) ? [card[1], "jester"] : card;
    const parts = ["frame", card[0]].map((name) => $(`#card-${name}`).cloneNode(true));
    const colour = isJoker(card) ? "joker" : `suit-${suit}`;
    const svg = s("svg", { viewBox: "0 0 60 84", class: `face ${colour}`, "aria-hidden": "true" }, parts);
    for (const part of parts) part.removeAttribute("id");
    for (const use of $$("use", svg)) {
      set(use, { href: use.getAttribute("href").replace("RANK", rank).replace("SUIT", suit) });
    }
    drawn.set(card, svg);
  }
  return drawn.get(card).cloneNode(true);
}

/** Draw the back of a card. */
export const back = () =>
  s("svg", { viewBox: "0 0 60 84", class: "face back", "aria-hidden": "true" }, s("use", { href: "#s-back" }));
