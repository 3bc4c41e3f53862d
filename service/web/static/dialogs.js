/** The page's dialogs: a new game, joining, waiting for others, rules, settings, the end of a deal. */

import { Client, Problem, offers } from "./api.js";
import { short } from "./cards.js";
import { $, $$, copy, h, icon, set } from "./dom.js";
import { lang, number, t } from "./i18n.js";
import { keep, kept } from "./keep.js";
import { levelName, nameOf, teamName } from "./names.js";
import { PACES } from "./pace.js";

const BOT_NAMES = ["Shirin", "Dara", "Mina"];
const FIRST_LEVELS = ["casual", "skilled", "casual"];

/**
 * Open a dialog over the page; it goes when it is closed. The focus returns to where it was.
 * @param {string} heading
 * @param {any[]} content
 */
export function openDialog(heading, content, { name = "", onClose } = {}) {
  const head = h("h2", { id: "dialog-head", tabindex: "-1" }, heading);
  const dialog = h(
    `dialog.dialog${name ? `.dialog-${name}` : ""}`,
    { "aria-labelledby": "dialog-head" },
    h("div.dialog-head", {}, head, h("button.tool", { "data-close": true, "aria-label": t("close"), onclick: () => dialog.close() }, icon("close"))),
    h("div.dialog-body", { tabindex: name === "rules" ? "0" : null }, content),
  );
  dialog.addEventListener("close", () => {
    dialog.remove();
    onClose?.();
  });
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  for (const old of $$("dialog")) old.close();
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

const fault = (error) =>
  h("p.fault", { role: "alert" }, error instanceof Problem ? error.message : t("fault.away"));

/** The control of a form that a member of the request came from: `seats.2.level` from `seat-2`. */
const controlOf = (form, member) =>
  form.elements.namedItem(member.replace(/.*\.(\d)\.level$/, "seat-$1").split(".").pop());

/** Say what is wrong where it is: at the field that it concerns, else above the button. */
function showFaults(form, error) {
  for (const old of $$(".fault", form)) old.remove();
  for (const control of $$("[aria-invalid]", form)) set(control, { "aria-invalid": null, "aria-describedby": null });
  const faults = error instanceof Problem ? (error.body.errors ?? []) : [];
  const found = faults.map(({ field: member, message }) => [controlOf(form, member), message]).filter(([control]) => control);
  for (const [control, message] of found) {
    const id = `fault-${control.name}`;
    $(`#${id}`, form)?.remove();
    control.after(h("small.fault", { id, role: "alert" }, message));
    set(control, { "aria-invalid": "true", "aria-describedby": id });
    const more = control.closest("details");
    if (more) more.open = true;
  }
  if (found.length && found.length === faults.length) return found[0][0].focus();
  $(".form-foot", form).before(fault(error));
  return $("p.fault", form).scrollIntoView({ block: "nearest" });
}

/** A control with its label, and what is to be known of it. */
const field = (label, control, hint) =>
  h("label.field", {}, h("span", {}, label), control, hint ? h("small", {}, hint) : null);

/** A form that calls `onSubmit` and shows what is refused. */
function formOf(children, submitText, onSubmit) {
  const button = h("button.act.main", { type: "submit" }, submitText);
  const form = h("form", { novalidate: true }, children, h("div.form-foot", {}, button));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    button.setAttribute("aria-disabled", "true");
    try {
      await onSubmit(form);
    } catch (error) {
      if (error instanceof Problem && error.status === 401) askForKey(form);
      showFaults(form, error);
    }
    button.removeAttribute("aria-disabled");
  });
  return form;
}

/** Where the service asks for an app key, the form gets a field for it. */
function askForKey(form) {
  if ($("[name=key]", form)) return;
  const control = h("input", { name: "key", type: "password", autocomplete: "off", spellcheck: "false" });
  form.prepend(field(t("new.key"), control, t("new.key_hint")));
  control.focus();
}

const useKey = (form) => {
  const key = $("[name=key]", form)?.value.trim();
  if (key) Client.keepAppKey(key);
};

let levels = null;

/** The bots' levels, weakest first, as the service lists them. */
async function readLevels() {
  levels ??= (await new Client().get("/bots")).bots;
  return levels;
}

/** Make a game of three bots and one person. */
export const quickOrder = () => ({
  seats: [
    { player: "human", name: kept("name") ?? t("new.guest") },
    ...BOT_NAMES.map((name, place) => ({ player: "bot", level: FIRST_LEVELS[place], name })),
  ],
});

/** The levels of that game in words: the partner's and the opponents'. */
export const quickWords = () => ({ partner: levelName(FIRST_LEVELS[1]), others: levelName(FIRST_LEVELS[0]) });

/** Ask the service for a game. */
export const createGame = (order) =>
  Client.app().once("/games", order);

/** @param {(created: any) => void} onCreated */
export async function newGameDialog(onCreated) {
  const bots = await readLevels().catch(() => []);
  const form = formOf(newGameFields(bots), t("new.start"), async () => {
    useKey(form);
    const created = await createGame(orderOf(form));
    dialog.close();
    onCreated(created);
  });
  const dialog = openDialog(t("new.heading"), form, { name: "new" });
  $("[name=name]", form).focus();
}

const nameInput = () =>
  h("input", { name: "name", maxlength: 40, value: kept("name") ?? "", placeholder: t("new.guest"), autocomplete: "nickname" });

function newGameFields(bots) {
  const name = nameInput();
  const seat = (place) => {
    const select = h("select", { name: `seat-${place}` }, botOptions(bots), h("option", { value: "open" }, t("new.open")));
    select.value = kept(`seat-${place}`) ?? FIRST_LEVELS[place - 1];
    return field(t(`new.place_${place}`), select);
  };
  const seed = (of) => h("input", { name: of, maxlength: 100, autocomplete: "off", spellcheck: "false" });
  const seating = h("select", { name: "seating" }, ["fixed", "draw"].map((mode) => h("option", { value: mode }, t(`new.seating_${mode}`))));
  return [
    field(t("new.name"), name),
    h("fieldset.seats", {}, h("legend", {}, t("new.seats")), seat(2), seat(1), seat(3), h("p.you", {}, t("new.you")), h("small.about-ratings", {}, t("new.rating"))),
    field(t("new.seating"), seating),
    h(
      "details.more",
      {},
      h("summary", {}, t("new.more")),
      field(t("new.deals"), h("input", { name: "deals", type: "number", min: 1, max: 10, value: 2 }), t("new.deals_hint")),
      field(t("new.clock"), h("input", { name: "turn_seconds", type: "number", min: 5, max: 86400 }), t("new.clock_hint")),
      field(t("new.seed"), seed("seed"), t("new.seed_hint")),
      field(t("new.client_seed"), seed("client_seed"), t("new.client_seed_hint")),
    ),
  ];
}

const botOptions = (bots) =>
  bots.map((bot) => {
    const rating = bot.rating === null ? "" : ` · ${number(bot.rating)}`;
    return h("option", { value: bot.level }, t("new.bot", { level: levelName(bot.level) }) + rating);
  });

function orderOf(form) {
  const given = Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, String(value).trim()]));
  if (given.name) keep("name", given.name);
  const seats = [1, 2, 3].map((place) => {
    const choice = given[`seat-${place}`];
    keep(`seat-${place}`, choice);
    return choice === "open" ? { player: "open" } : { player: "bot", level: choice, name: BOT_NAMES[place - 1] };
  });
  const order = { seats: [{ player: "human", name: given.name || t("new.guest") }, ...seats], seating: given.seating };
  if (given.deals && given.deals !== "2") order.deals = Number(given.deals);
  if (given.turn_seconds) order.turn_seconds = Number(given.turn_seconds);
  if (given.seed) order.seed = given.seed;
  if (given.client_seed) order.client_seed = given.client_seed;
  return order;
}

/** @param {string} id @param {number} seat @param {(joined: any) => void} onJoined */
export function joinDialog(id, seat, onJoined) {
  const name = nameInput();
  const form = formOf([h("p", {}, t("join.text", { seat })), field(t("new.name"), name)], t("join.take"), async () => {
    useKey(form);
    if (name.value.trim()) keep("name", name.value.trim());
    const joined = await Client.app().once(`/games/${id}/seats/${seat}/join`, { name: name.value.trim() || t("new.guest") });
    dialog.close();
    onJoined(joined);
  });
  const dialog = openDialog(t("join.heading"), form, { name: "join" });
  name.focus();
}

/** A line with a link and a button that copies it. */
export function linkLine(label, link) {
  const button = h("button.act", {}, icon("link"), h("span", {}, t("copy")));
  const input = h("input", { readonly: true, value: link, "aria-label": label });
  button.addEventListener("click", async () => {
    input.select();
    const isCopied = (await copy(link)) || document.execCommand?.("copy");
    button.lastChild.textContent = t(isCopied ? "copied" : "copy_failed");
    setTimeout(() => (button.lastChild.textContent = t("copy")), 2000);
  });
  return h("div.link-line", {}, h("span", {}, label), h("div.link-row", {}, input, button));
}

/** The links that bring others to the table. */
export function inviteLinks(game) {
  const base = `${location.origin}/#`;
  const watching = kept(`watch:${game.id}`);
  const open = game.seats.filter((seat) => seat.player === "open");
  return [
    ...open.map(({ seat }) => linkLine(t("invite.seat", { seat, team: teamName(game, seat % 2) }), `${base}join=${game.id}&seat=${seat}`)),
    ...Object.entries(kept(`tokens:${game.id}`, {}))
      .filter(([seat]) => Number(seat) !== game.viewer)
      .map(([seat, token]) => linkLine(nameOf(game, Number(seat)), `${base}${new URLSearchParams({ game: game.id, seat, token })}`)),
    ...(game.spectators === false ? [] : [linkLine(t("invite.watch"), `${base}${new URLSearchParams({ watch: game.id, ...(watching && { token: watching }) })}`)]),
  ];
}

/** Waiting for others to take their seats. */
export function waitingPanel(game) {
  return [
    h("h2", {}, t("invite.heading")),
    h("p", {}, t("invite.text", { count: game.seats.filter((seat) => seat.player === "open").length })),
    h("ol.waiting", {}, game.seats.map((seat) => h("li", { "data-open": seat.player === "open" }, nameOf(game, seat.seat), seat.player === "bot" ? ` (${levelName(seat.level)})` : ""))),
    ...inviteLinks(game),
  ];
}

let rules = {};

/** The rules, at the rule `id` if one is named. @param {string | null} id */
export async function rulesDialog(id = null) {
  const body = h("div.rules", {}, h("p.note", {}, t("loading")));
  const dialog = openDialog(t("rules.heading"), body, { name: "rules" });
  try {
    rules[lang()] ??= await new Client().get("/rules");
  } catch (error) {
    body.replaceChildren(fault(error));
    return;
  }
  body.lang = rules[lang()].language;
  let section = null;
  const parts = rules[lang()].rules.flatMap((rule) => {
    const head = rule.section === section ? [] : [h("h3", {}, (section = rule.section))];
    return [...head, h("p.rule", { id: `rule-${rule.id}`, tabindex: "-1" }, h("strong", {}, rule.id), ` ${rule.text}`)];
  });
  body.replaceChildren(...parts);
  if (id && dialog.open) {
    const rule = $(`#rule-${id}`, body);
    rule?.setAttribute("data-cited", "");
    rule?.focus();
    rule?.scrollIntoView({ block: "center" });
  }
}

/** @param {{onChange: () => void, game: any, seatLink: string | null}} page */
export function settingsDialog({ onChange, game, seatLink }) {
  const choice = (label, name, values, otherwise, textOf) => {
    const select = h("select", { name, onchange: () => { keep(name, select.value); onChange(); } }, values.map((value) => h("option", { value }, textOf(value))));
    select.value = kept(name, otherwise);
    return field(label, select);
  };
  const check = (label, name, otherwise) => {
    const box = h("input", { type: "checkbox", name, onchange: () => { keep(name, box.checked); onChange(); } });
    box.checked = kept(name, otherwise);
    return h("label.check", {}, box, h("span", {}, label));
  };
  openDialog(
    t("settings.heading"),
    [
      choice(t("settings.pace"), "pace", Object.keys(PACES), "normal", (pace) => t(`pace.${pace}`)),
      check(t("settings.four_colours"), "four-colours", false),
      check(t("settings.keys"), "keys", true),
      h("p.note", {}, t("settings.keys_list")),
      ...(game ? [h("h3", {}, t("settings.links")), ...(seatLink ? [linkLine(t("settings.own_link"), seatLink), h("p.note", {}, t("settings.own_link_hint"))] : []), ...inviteLinks(game)] : []),
    ],
    { name: "settings" },
  );
}

/** The parts of the deals' scores as a table. */
export function scoreTable(game, { withNow = true } = {}) {
  // The own team stands first.
  const teams = (game.viewer ?? 0) % 2 ? [1, 0] : [0, 1];
  const row = (label, values, kind = "") =>
    h(`tr${kind}`, {}, h("th", { scope: "row" }, label), teams.map((team) => values[team]).map((value) => h("td", {}, typeof value === "number" ? number(value) : value)));
  const signed = (values) => values.map((value) => number(value, { signed: true }));
  const deals = game.deal_scores.map((score, index) =>
    h(
      "tbody",
      {},
      h("tr.deal-row", {}, h("th", { scope: "rowgroup", colspan: 3 }, t("scores.deal", { number: index + 1 }), score.went_out === null ? ` · ${t("scores.nobody_out")}` : ` · ${t("scores.out", { name: nameOf(game, score.went_out) })}`)),
      row(t("scores.laid"), score.laid),
      row(t("scores.bonus"), signed(score.bonus)),
      row(t("scores.hands"), signed(score.hands.map((points) => -Math.abs(points)))),
      row(t("scores.total"), score.total, ".total"),
    ),
  );
  const isOn = withNow && game.status === "playing" && game.deal && game.deal.phase !== "over";
  const now = isOn && h("tbody", {}, h("tr.deal-row", {}, h("th", { scope: "rowgroup", colspan: 3 }, t("scores.now", { number: game.deal.number, count: game.deals }))), row(t("scores.table"), game.deal.points));
  return h(
    "table.scores",
    {},
    h("caption.unseen", {}, t("scores.heading")),
    h("thead", {}, h("tr", {}, h("td"), teams.map((team) => h(`th.team-${team}`, { scope: "col" }, teamName(game, team))))),
    ...deals,
    ...(now ? [now] : []),
    h("tfoot", {}, row(t("scores.game"), game.scores, ".total")),
  );
}

/** Show how a deal ended; resolves when the reader goes on. */
export function dealOverDialog(game, event) {
  return new Promise((resolve) => {
    const score = event.deal_score;
    const text = score.went_out === null ? t("deal.over_passes") : t("deal.over_out", { name: nameOf(game, score.went_out) });
    const next = h("button.act.main", { onclick: () => dialog.close() }, t("deal.next"));
    const dialog = openDialog(t("deal.over", { number: event.deal }), [h("p", {}, text), scoreTable(game, { withNow: false }), h("div.form-foot", {}, next)], { name: "deal", onClose: resolve });
    next.focus();
  });
}

/** Ask which bot is to play the turn. @param {(level: string, isForGood: boolean) => Promise<any>} onChosen */
export async function botDialog(onChosen) {
  const bots = await readLevels().catch(() => []);
  const select = h("select", { name: "level" }, botOptions(bots));
  select.value = kept("bot-level", "expert");
  const isForGood = h("input", { type: "checkbox", name: "for-good" });
  const canStay = await offers("/games/{game_id}/seats/{seat}/bot");
  const stay = canStay ? h("label.check", {}, isForGood, h("span", {}, t("bot.for_good"))) : null;
  const form = formOf([h("p", {}, t("bot.text")), field(t("bot.level"), select), stay].filter(Boolean), t("bot.play"), async () => {
    keep("bot-level", select.value);
    await onChosen(select.value, isForGood.checked);
    dialog.close();
  });
  const dialog = openDialog(t("bot.heading"), form, { name: "bot" });
  select.focus();
}

/** What is drawn for the seats before the first deal (R4), as one line. */
export const drawLine = (game) =>
  game.seating.draws.map((round) => round.map(({ player, card }) => `${nameOf(game, game.seating.order.indexOf(player))} ${short(card)}`).join(", ")).join("; ");

