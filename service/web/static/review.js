/** The review of a finished game: skill and luck apart, and the moves that cost most. */

import { Problem } from "./api.js";
import { h, s } from "./dom.js";
import { number, t } from "./i18n.js";
import { actionText, badge, nameOf } from "./names.js";

const LOOK_MS = 700;
const WIDTH = 640;
const HEIGHT = 170;
const LUCK_HEIGHT = 60;
const MOST_LISTED = 10;

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
  found.replaceChildren(graphOf(game, decisions, draws), playersOf(game, players), worstOf(game, decisions, deeds));
}

/** Points of a seat as points of the viewer's team. */
const ours = (game, seat, points) => (seat % 2 === (game.viewer ?? 0) % 2 ? points : -points);

/** Above the expected margin from decision to decision, below what each draw from the stock gave. */
function graphOf(game, decisions, draws) {
  const first = decisions[0].version;
  const last = Math.max(decisions.at(-1).version, first + 1);
  const x = (version) => Number((((version - first) / (last - first)) * WIDTH).toFixed(1));
  const margins = decisions.map((one) => ours(game, one.seat, one.expected_margin));
  const most = Math.max(20, ...margins.map(Math.abs));
  const y = (margin) => Number((HEIGHT / 2 - (margin / most) * (HEIGHT / 2 - 8)).toFixed(1));
  const line = decisions.map((one, place) => `${place ? "L" : "M"}${x(one.version)} ${y(margins[place])}`).join("");
  const bends = decisions.filter((one, place) => place && one.deal !== decisions[place - 1].deal);
  const middle = HEIGHT + LUCK_HEIGHT / 2;
  const mostLuck = Math.max(20, ...draws.map((draw) => Math.abs(draw.luck)));
  const bars = draws.map((draw) => {
    const size = (Math.abs(draw.luck) / mostLuck) * (LUCK_HEIGHT / 2 - 4);
    const isGood = ours(game, draw.seat, draw.luck) >= 0;
    return s("rect", { class: isGood ? "good" : "bad", x: x(draw.version) - 1.5, width: 3, y: isGood ? middle - size : middle, height: Math.max(size, 0.5) });
  });
  return s(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${HEIGHT + LUCK_HEIGHT}`, class: "review-graph", role: "img", "aria-label": t("review.graph", { last: signed(margins.at(-1)) }) },
    ...[HEIGHT / 2, middle].map((at) => s("path", { class: "zero", d: `M0 ${at}H${WIDTH}` })),
    ...bends.map((one) => s("path", { class: "bend", d: `M${x(one.version)} 0V${HEIGHT + LUCK_HEIGHT}` })),
    s("path", { class: "line", d: line }),
    ...decisions.map((one, place) => ["slip", "blunder"].includes(one.word) && s("circle", { class: one.word, cx: x(one.version), cy: y(margins[place]), r: one.word === "blunder" ? 5 : 3.5 })),
    ...bars,
  );
}

function playersOf(game, players) {
  const head = ["player", "decisions", "slips", "loss", "luck"].map((key) => h("th", { scope: "col" }, t(`review.${key}`)));
  const rows = players.map((one) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, badge(game, one.seat), ` ${nameOf(game, one.seat)}`),
      h("td", {}, number(one.decisions)),
      h("td", {}, number((one.words?.slip ?? 0) + (one.words?.blunder ?? 0))),
      h("td", {}, number(one.loss, { digits: 1 })),
      h("td", {}, signed(one.luck)),
    ),
  );
  return h("table.scores.players", {}, h("caption.unseen", {}, t("review.heading")), h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows));
}

/** The moves that surely cost something, the dearest first; each leads to its place in the replay. */
function worstOf(game, decisions, deeds) {
  const worst = decisions.filter((one) => ["slip", "blunder"].includes(one.word)).sort((a, b) => b.loss - a.loss);
  if (!worst.length) return h("p.note", {}, t("review.no_slips"));
  return h(
    "ol.blunders",
    { "aria-label": t("review.worst") },
    worst.slice(0, MOST_LISTED).map((one) =>
      h(
        "li",
        {},
        badge(game, one.seat),
        h("button.act", { type: "button", onclick: () => deeds.replay(one.version) }, `${nameOf(game, one.seat)}: ${actionText(one.action)}`),
        h("span", {}, `${t(`review.${one.word}`, { points: number(one.loss, { digits: 1 }) })} ${t("review.best", { action: actionText(one.best) })}`),
      ),
    ),
  );
}
