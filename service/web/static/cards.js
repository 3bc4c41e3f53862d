/** Cards: their names, order and worth, and how they are drawn. */

import { s } from "./dom.js";
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

// The places of the pips, as on every pack: columns at 20, 30, 40 of 60, rows between 20 and 64 of 84.
const PIPS = {
  2: [[30, 20], [30, 64]],
  3: [[30, 20], [30, 42], [30, 64]],
  4: [[20, 20], [40, 20], [20, 64], [40, 64]],
  5: [[20, 20], [40, 20], [30, 42], [20, 64], [40, 64]],
  6: [[20, 20], [40, 20], [20, 42], [40, 42], [20, 64], [40, 64]],
  7: [[20, 20], [40, 20], [30, 31], [20, 42], [40, 42], [20, 64], [40, 64]],
  8: [[20, 20], [40, 20], [30, 31], [20, 42], [40, 42], [30, 53], [20, 64], [40, 64]],
  9: [[20, 20], [40, 20], [20, 34.7], [40, 34.7], [30, 42], [20, 49.3], [40, 49.3], [20, 64], [40, 64]],
  T: [[20, 20], [40, 20], [30, 27], [20, 34.7], [40, 34.7], [20, 49.3], [40, 49.3], [30, 57], [20, 64], [40, 64]],
};

const use = (symbol, x, y, size, turned = false) =>
  s("use", {
    href: `#s-${symbol}`,
    x: x - size / 2,
    y: y - size / 2,
    width: size,
    height: size,
    transform: turned ? `rotate(180 ${x} ${y})` : null,
  });

function middleOf(card) {
  const [rank, suit] = card;
  if (rank === "X") return [use("star", 30, 42, 40), use("jester", 30, 42, 22)];
  if (rank === "A") return [use("star", 30, 42, 42), use(suit, 30, 42, 22)];
  if ("JQK".includes(rank)) {
    return [use("arch", 30, 42, 56), use(rank, 30, 31, 17), use(suit, 30, 50, 19)];
  }
  return PIPS[rank].map(([x, y]) => use(suit, x, y, 10, y > 43));
}

const corner = (card) => {
  const isLong = card[0] === "T";
  const text = isJoker(card) ? card[1] : isLong ? "10" : card[0];
  return s(
    "g",
    {},
    s("text", { x: 9, y: 18, "text-anchor": "middle", class: isLong ? "index long" : "index", text }),
    use(isJoker(card) ? "jester" : card[1], 9, 27, 11),
  );
};

const drawn = new Map();

/** Draw a card face up. Colours and sizes are the style sheet's. */
export function face(card) {
  if (!drawn.has(card)) {
    const other = corner(card);
    other.setAttribute("transform", "rotate(180 30 42)");
    const colour = isJoker(card) ? "joker" : `suit-${card[1]}`;
    drawn.set(
      card,
      s(
        "svg",
        { viewBox: "0 0 60 84", class: `face ${colour}`, "aria-hidden": "true" },
        s("rect", { x: 0.5, y: 0.5, width: 59, height: 83, rx: 5.5, class: "paper" }),
        s("g", { class: "middle" }, middleOf(card)),
        corner(card),
        s("g", { class: "other" }, other),
      ),
    );
  }
  return drawn.get(card).cloneNode(true);
}

/** Draw the back of a card. */
export const back = () =>
  s("svg", { viewBox: "0 0 60 84", class: "face back", "aria-hidden": "true" }, s("use", { href: "#s-back" }));
