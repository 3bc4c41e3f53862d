/** The review of a finished game: skill and luck apart, and the moves that cost most. */

import { Problem } from "./api.js";
import { $, h, s } from "./dom.js";
import { number, t } from "./i18n.js";
import { actionText, badge, nameOf } from "./names.js";

const LOOK_MS = 700;
const WIDEST = 640;
const NARROWEST = 280;
/** Of the graph: above the margin, below the luck, at the left the numbers, at the top the deals. */
const HEIGHT = 180;
const LUCK_HEIGHT = 74;
const LEFT = 42;
const TOP = 22;
const MOST_LISTED = 5;

const signed = (points) => number(points, { signed: true, digits: 1 });

/** Ask for the review, draw it as far as it has come, and again until it is done. */
export async function drawReview(ui, deeds, extra) {
  const { client, id } = ui;
  const bar = h("progress", { max: 1, "aria-label": t("review.progress") });
  const found = h("div.review");
  extra.replaceChildren(h("h3", {}, t("review.heading")), h("p.note", {}, t("review.text")), bar, found);
  try {
    let review = await client.post(`/games/${id}/review`);
    while (["queued", "running"].includes(review.status) && bar.isConnected) {
      bar.value = review.progress ?? 0;
      drawFound(ui.game, review, deeds, found);
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      review = await client.get(`/games/${id}/review`, { isPoll: true });
    }
    drawFound(ui.game, review, deeds, found);
    if (review.error || !review.decisions?.length) found.append(h("p.note", {}, review.error ?? t("review.none")));
  } catch (error) {
    found.append(h("p.fault", { role: "alert" }, error instanceof Problem ? error.message : t("fault.away")));
  }
  bar.remove();
}

function drawFound(game, review, deeds, found) {
  const { decisions = [], draws = [], players = [] } = review;
  if (!decisions.length) return;
  const width = Math.min(WIDEST, Math.max(NARROWEST, found.clientWidth || WIDEST));
  const isOpen = $("details.blunders-more", found)?.open ?? false;
  found.replaceChildren(graphOf(game, decisions, draws, deeds, width), playersOf(game, players), ...worstOf(game, decisions, deeds, isOpen));
}

/** Points of a seat as points of the viewer's team. */
const ours = (game, seat, points) => (seat % 2 === (game.viewer ?? 0) % 2 ? points : -points);

/**
 * Above the expected margin from decision to decision, below what each draw from the stock gave; a
 * slip or blunder leads to its place in the replay, as the list below does.
 */
function graphOf(game, decisions, draws, deeds, width) {
  const first = decisions[0].version;
  const last = Math.max(decisions.at(-1).version, first + 1);
  const round = (place) => Number(place.toFixed(1));
  const x = (version) => round(LEFT + ((version - first) / (last - first)) * (width - LEFT - 8));
  const margins = decisions.map((one) => ours(game, one.seat, one.expected_margin));
  const most = Math.ceil(Math.max(20, ...margins.map(Math.abs)) / 10) * 10;
  const y = (margin) => round(TOP + (1 - margin / most) * ((HEIGHT - TOP - 6) / 2));
  const line = decisions.map((one, place) => `${place ? "L" : "M"}${x(one.version)} ${y(margins[place])}`).join("");
  const begins = decisions.filter((one, place) => place === 0 || one.deal !== decisions[place - 1].deal);
  const middle = HEIGHT + 16 + (LUCK_HEIGHT - 16) / 2;
  const words = (text, at, more = {}) => s("text", { ...at, ...more, text });
  const marks = decisions.map((one, place) => ["slip", "blunder"].includes(one.word) && markOf(game, one, x(one.version), y(margins[place]), deeds));
  return h(
    "figure",
    {},
    h("figcaption", { id: "review-graph-words" }, t("review.graph")),
    s(
      "svg",
      { viewBox: `0 0 ${width} ${HEIGHT + LUCK_HEIGHT}`, class: "review-graph", role: "img", "aria-labelledby": "review-graph-words" },
      ...[y(0), middle].map((at) => s("path", { class: "zero", d: `M${LEFT} ${at}H${width}` })),
      ...[most, 0, -most].map((points) => words(number(points, { signed: true }), { x: LEFT - 6, y: y(points) + 4 }, { "text-anchor": "end" })),
      ...begins.slice(1).map((one) => s("path", { class: "bend", d: `M${x(one.version)} 0V${HEIGHT + LUCK_HEIGHT}` })),
      ...begins.map((one) => words(t("scores.deal", { number: one.deal }), { x: x(one.version) + 5, y: 14 })),
      words(t("review.luck"), { x: LEFT, y: HEIGHT + 12 }),
      s("path", { class: "line", d: line }),
      ...marks,
      ...luckOf(game, draws, x, middle),
    ),
    h("ul.legend", { "aria-hidden": "true" }, ["slip", "blunder"].map((kind) => h(`li.${kind}`, {}, t(`review.legend_${kind}`)))),
  );
}

/** A bar for each draw from the stock: up what was good for the viewer's team, down what was not. */
function luckOf(game, draws, x, middle) {
  const most = Math.max(20, ...draws.map((draw) => Math.abs(draw.luck)));
  return draws.map((draw) => {
    const size = (Math.abs(draw.luck) / most) * ((LUCK_HEIGHT - 16) / 2 - 4);
    const isGood = ours(game, draw.seat, draw.luck) >= 0;
    return s("rect", { class: isGood ? "good" : "bad", x: x(draw.version) - 1.5, width: 3, y: isGood ? middle - size : middle, height: Math.max(size, 0.5) });
  });
}

/** A point on the line that can be clicked. */
function markOf(game, one, x, y, deeds) {
  const text = `${nameOf(game, one.seat)}: ${actionText(one.action)}. ${t(`review.${one.word}`, { points: number(one.loss, { digits: 1 }) })}`;
  return s(
    "g",
    { class: "spot", onclick: () => deeds.replay(one.version) },
    s("title", { text }),
    s("circle", { class: "hit", cx: x, cy: y, r: 12 }),
    s("circle", { class: one.word, cx: x, cy: y, r: one.word === "blunder" ? 5 : 3.5 }),
  );
}

function playersOf(game, players) {
  const head = ["player", "slips", "loss", "luck"].map((key) => h("th", { scope: "col" }, t(`review.${key}`)));
  const rows = players.map((one) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, h("span.who", {}, badge(game, one.seat), nameOf(game, one.seat))),
      h("td", {}, `${number((one.words?.slip ?? 0) + (one.words?.blunder ?? 0))} / ${number(one.decisions)}`),
      h("td", {}, number(one.loss, { digits: 1 })),
      h("td", {}, signed(one.luck)),
    ),
  );
  return h("table.scores.players", {}, h("caption.unseen", {}, t("review.heading")), h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows));
}

/**
 * The moves that surely cost something, the dearest first; each leads to its place in the replay.
 * The viewer's own come first.
 */
function worstOf(game, decisions, deeds, isOpen) {
  const worst = decisions.filter((one) => ["slip", "blunder"].includes(one.word)).sort((a, b) => b.loss - a.loss);
  if (!worst.length) return [h("p.note", {}, t("review.no_slips"))];
  const own = worst.filter((one) => one.seat === game.viewer);
  const others = worst.filter((one) => one.seat !== game.viewer);
  const list = (heading, moves) => moves.length ? [h("h4", {}, heading), h("ol.blunders", { "aria-label": heading }, moves.map((one) => moveOf(game, one, deeds)))] : [];
  const more = others.slice(MOST_LISTED);
  return [
    ...(game.viewer === null ? [] : own.length ? list(t("review.own"), own) : [h("h4", {}, t("review.own")), h("p.note", {}, t("review.no_slips"))]),
    ...list(t(game.viewer === null ? "review.worst" : "review.others"), others.slice(0, MOST_LISTED)),
    ...(more.length ? [h("details.blunders-more", { open: isOpen }, h("summary", {}, t("review.more", { count: more.length })), h("ol.blunders", {}, more.map((one) => moveOf(game, one, deeds))))] : []),
  ];
}

const moveOf = (game, one, deeds) =>
  h(
    "li",
    {},
    badge(game, one.seat),
    h("button.act", { onclick: () => deeds.replay(one.version) }, `${nameOf(game, one.seat)}: ${actionText(one.action)}`),
    h("span", {}, `${t(`review.${one.word}`, { points: number(one.loss, { digits: 1 }) })} ${t("review.best", { action: actionText(one.best) })}`),
  );
