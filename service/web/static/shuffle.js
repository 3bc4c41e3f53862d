/**
 * The shuffle, worked out again in the browser from the seed that is published after the game
 * (algorithm `sha256-counter-fisher-yates-1`), and held against all that was seen.
 */

import { cardOf } from "./cards.js";
import { HAND_SIZE, STOCK_SIZE, applyEvent, newDeal } from "./deal.js";

export const ALGORITHM = "sha256-counter-fisher-yates-1";
const CARDS = 56;
const SEATS = 4;
const WORDS = 2 ** 32;
const utf8 = new TextEncoder();

const sha256 = async (text) => new Uint8Array(await crypto.subtle.digest("SHA-256", utf8.encode(text)));
const hex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");

/** What was published before the game: SHA-256 of the seed. */
export const commitmentOf = async (seed) => hex(await sha256(seed));

/** Steps 1 and 2: an endless stream of numbers below 2**32. */
async function* words(seed, label, clientSeed) {
  for (let block = 0; ; block += 1) {
    const digest = await sha256(`${label}:${block}:${hex(utf8.encode(clientSeed))}:${seed}`);
    const view = new DataView(digest.buffer);
    for (let at = 0; at < digest.length; at += 4) yield view.getUint32(at);
  }
}

/** Step 3: the 56 cards shuffled, the top one first. */
export async function shuffledDeck(seed, label, clientSeed = "") {
  const stream = words(seed, label, clientSeed);
  const below = async (bound) => {
    for (;;) {
      const { value } = await stream.next();
      if (value < WORDS - (WORDS % bound)) return value % bound;
    }
  };
  const deck = Array.from({ length: CARDS }, (_, id) => id);
  for (let place = CARDS - 1; place > 0; place -= 1) {
    const other = await below(place + 1);
    [deck[place], deck[other]] = [deck[other], deck[place]];
  }
  return deck.map(cardOf);
}

/** Deal a deck (R5): hands by seat, the upcard, and the stock, its top first. */
export function dealDeck(deck, dealer) {
  const hands = [[], [], [], []];
  for (let place = 0; place < SEATS * HAND_SIZE; place += 1) hands[(dealer + 1 + place) % SEATS].push(deck[place]);
  const rest = deck.slice(SEATS * HAND_SIZE);
  return { hands, upcard: rest[0], stock: rest.slice(1, 1 + STOCK_SIZE) };
}

/**
 * Play a finished game again with all cards open.
 * @param {any} game GAME, finished, with its seed
 * @param {any[]} events its whole log
 * @returns {Promise<{frames: {game: any, event: any}[], faults: string[], drawn: number, left: string[]}>}
 *   each state with the event that led to it; what does not agree with the shuffle
 */
export async function openGame(game, events) {
  const faults = [];
  const frames = [];
  const { seed, client_seed: clientSeed } = game.fairness;
  let shown = null;
  let stock = [];
  let drawn = 0;
  const begin = async (number) => {
    const dealer = (game.seating.dealer + number - 1) % SEATS;
    const dealt = dealDeck(await shuffledDeck(seed, `deal-${number}`, clientSeed ?? ""), dealer);
    ({ stock } = dealt);
    const before = shown ?? { ...game, deal_scores: [], scores: [0, 0] };
    shown = { ...before, viewer: null, status: "playing", winner: null, legal_actions: [], deal: { ...newDeal(number, dealer, dealt.upcard, []), hands: dealt.hands } };
    frames.push({ game: shown, event: null });
  };
  for (const event of events) {
    if (event.type !== "played") continue;
    if (event.deal !== shown?.deal.number) await begin(event.deal);
    const { action, seat } = event;
    const full = { ...event };
    if (action.type === "draw_stock") {
      full.card = stock.shift();
      drawn += 1;
      if (event.card && event.card !== full.card) faults.push(`${event.version}: ${event.card} ≠ ${full.card}`);
    } else checkHeld(shown.deal, action, seat, event.version, faults);
    try {
      shown = applyEvent(shown, full);
    } catch {
      faults.push(`${event.version}: ${action.type}`);
      break;
    }
    frames.push({ game: shown, event: full });
  }
  const left = shown?.deal.hands ?? [[], [], [], []];
  return { frames, faults, drawn, left };
}

function checkHeld(deal, action, seat, version, faults) {
  if (action.type === "take_discards") {
    if (!deal.discard_pile.includes(action.card)) faults.push(`${version}: ${action.card}`);
    return;
  }
  for (const card of action.cards ?? (action.card ? [action.card] : [])) {
    if (!deal.hands[seat].includes(card)) faults.push(`${version}: ${card}`);
  }
}

/** Tell whether the cards drawn for the seats are the shuffle's (R4). */
async function isSeatingRight(game) {
  const seen = game.seating.draws.flat().map((draw) => draw.card);
  const cards = [];
  for (let pack = 1; cards.length < seen.length; pack += 1) {
    cards.push(...(await shuffledDeck(game.fairness.seed, `draw-${pack}`, game.fairness.client_seed ?? "")));
  }
  return seen.every((card, place) => card === cards[place]);
}

/**
 * Check a finished game: one result a question, `{key, isRight, values}`.
 * @param {any} game GAME as the viewer sees it
 * @param {any[]} events its whole log
 * @param {string} commitment what was published before the game, as this page saw it
 */
export async function checkGame(game, events, commitment) {
  const { seed, algorithm } = game.fairness;
  const computed = await commitmentOf(seed);
  const opened = await openGame(game, events);
  const results = [
    { key: "algorithm", isRight: algorithm === ALGORITHM, values: { algorithm } },
    { key: "commitment", isRight: computed === commitment && commitment === game.fairness.commitment, values: { commitment: computed.slice(0, 16) } },
    { key: "seating", isRight: await isSeatingRight(game), values: {} },
    { key: "cards", isRight: opened.faults.length === 0, values: { count: events.filter((event) => event.type === "played").length, drawn: opened.drawn, faults: opened.faults.slice(0, 3).join(", ") } },
  ];
  if (game.viewer !== null) {
    const mine = [...opened.left[game.viewer]].sort().join();
    results.push({ key: "hand", isRight: mine === [...game.deal.hand].sort().join(), values: {} });
  }
  return { results, opened };
}

/** Tell whether the packs that a record names are the shuffle's. */
export async function checkDecks({ deals, fairness }) {
  const shuffled = await Promise.all(
    deals.map(({ number }) => shuffledDeck(fairness.seed, `deal-${number}`, fairness.client_seed ?? "")),
  );
  const isRight = deals.every(({ deck }, place) => deck.join() === shuffled[place].join());
  return { key: "decks", isRight, values: { count: deals.length } };
}
