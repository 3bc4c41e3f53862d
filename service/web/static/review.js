/** The review of a finished game: the expected margin over the game, and the moves that cost most. */

import { h, s } from "./dom.js";
import { number, t } from "./i18n.js";
import { actionText, nameOf } from "./names.js";

const LOOK_MS = 700;
const WIDTH = 640;
const HEIGHT = 180;
const MOST_LISTED = 8;

/** Ask for the review, wait for it, draw it. */
export async function drawReview(ui, deeds, extra) {
  const { client, id, game } = ui;
  const bar = h("progress", { max: 1, "aria-label": t("review.progress") });
  extra.replaceChildren(h("h3", {}, t("review.heading")), bar);
  let review = await client.post(`/games/${id}/review`);
  while (["queued", "running"].includes(review.status)) {
    bar.value = review.progress ?? 0;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    review = await client.get(`/games/${id}/review`, { isPoll: true });
  }
  const decisions = review.decisions ?? review.moves ?? [];
  extra.replaceChildren(h("h3", {}, t("review.heading")));
  if (!decisions.length) return extra.append(h("p.note", {}, review.error ?? t("review.none")));
  const sign = (game.viewer ?? 0) % 2 ? -1 : 1;
  extra.append(graphOf(decisions, sign), listOf(game, decisions, deeds));
  return undefined;
}

const marginOf = (decision, sign) => (decision.expected_margin ?? decision.margin ?? 0) * (decision.seat % 2 ? -sign : sign);

function graphOf(decisions, sign) {
  const margins = decisions.map((decision) => marginOf(decision, sign));
  const most = Math.max(20, ...margins.map(Math.abs));
  const x = (place) => (place / Math.max(margins.length - 1, 1)) * WIDTH;
  const y = (margin) => HEIGHT / 2 - (margin / most) * (HEIGHT / 2 - 8);
  const line = margins.map((margin, place) => `${place ? "L" : "M"}${x(place).toFixed(1)} ${y(margin).toFixed(1)}`).join("");
  return s(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "review-graph", role: "img", "aria-label": t("review.graph", { last: number(margins.at(-1), { signed: true }) }) },
    s("path", { class: "zero", d: `M0 ${HEIGHT / 2}H${WIDTH}` }),
    s("path", { class: "line", d: line }),
  );
}

function listOf(game, decisions, deeds) {
  const lost = (decision) => decision.points_lost ?? decision.lost ?? 0;
  const worst = [...decisions].filter((decision) => lost(decision) > 0).sort((a, b) => lost(b) - lost(a)).slice(0, MOST_LISTED);
  return h("ol.blunders", {}, worst.map((decision) =>
    h("li", {}, h("button.act", { type: "button", onclick: () => deeds.replay(decision.version) }, `${nameOf(game, decision.seat)}: ${actionText(decision.action)}`), ` ${t("review.lost", { points: number(lost(decision), { digits: 1 }) })}`, decision.best ? ` ${t("review.best", { action: actionText(decision.best) })}` : "")));
}

