/**
 * The page: opens a game by its address, follows it, draws what is shown and carries out what is done.
 *
 * Addresses, all behind `#` so that no server and no log sees a token:
 *   #game=ID&seat=N&token=T   a seat (the token is taken out of the address at once)
 *   #join=ID&seat=N           an open seat
 *   #watch=ID                 looking on
 */

import { Away, Client, Problem } from "./api.js";
import { back, face, spoken } from "./cards.js";
import { botDialog, createGame, dealOverDialog, drawLine, joinDialog, newGameDialog, quickOrder, quickWords, rulesDialog, scoreTable, settingsDialog, waitingPanel } from "./dialogs.js";
import { $, $$, fly, h, icon, isStill, placesOf, set } from "./dom.js";
import { dealStart } from "./deal.js";
import { Drawer } from "./drawer.js";
import { drawResult } from "./end.js";
import { Hints } from "./hints.js";
import { choose, lang, number, start as startWords, t } from "./i18n.js";
import { forgetSeat, games, keep, keepSeat, kept, tokenOf } from "./keep.js";
import { Feed } from "./live.js";
import { badge, eventText, nameOf, teamName } from "./names.js";
import { PACES, Show } from "./pace.js";
import { drawActions, drawTools, turnText, wirePlay } from "./play.js";
import { Replay, openingOf } from "./replay.js";
import { drawPlate, drawTable, layOut } from "./view.js";

const MOST_LOG = 200;
/** Events before the state that a game is opened at. */
const KNOWN_LOG = 40;

/** On the first page: a run and a joker. */
const SHOWN = ["TD", "JD", "QD", "KD", "X1"];

function spreadOut(card, place) {
  const drawn = face(card);
  drawn.style.setProperty("--turn", `${7 * (place - 2)}deg`);
  return drawn;
}

/** What the page knows now. */
const ui = {
  id: null,
  seat: null,
  client: new Client(),
  feed: null,
  show: null,
  game: null,
  selected: new Set(),
  order: kept("order", "suit"),
  stop: null,
  noted: null,
  isMine: false,
  isSending: false,
  live: "none",
  replay: null,
  /** The game that this page has just made. */
  madeNow: null,
};

const say = (text) => {
  const line = $("#said");
  // The same words again are only spoken when the line was empty in between.
  line.textContent = "";
  setTimeout(() => (line.textContent = text), 30);
};

const hints = new Hints(ui, { play: (action) => play(action), say, refuse: (text) => refuse(null, text) });
const drawer = new Drawer(() => ui.client.token);

// ---- drawing

function redraw() {
  const { game } = ui;
  document.body.dataset.state = game === null ? "none" : game.status;
  if (!game) return;
  const focused = document.activeElement;
  const settled = ui.replay === null && ui.show?.isSettled;
  ui.isMine = Boolean(settled) && !ui.isSending && game.status === "playing" && game.viewer !== null && game.legal_actions.length > 0;
  for (const card of ui.selected) if (!game.deal?.hand.includes(card)) ui.selected.delete(card);
  const isOpen = game.deal === null;
  $("#welcome").hidden = !isOpen;
  $("#game").hidden = isOpen;
  $("#dock").hidden = isOpen;
  $("#side").hidden = isOpen;
  if (isOpen) return $("#welcome").replaceChildren(h("div.card-panel", {}, waitingPanel(game)));
  drawTable(ui);
  drawPlate($("#me"), game, game.viewer ?? 0);
  set($("#turn"), { text: ui.replay ? ui.replay.text : turnText(ui) });
  drawClock();
  drawTally();
  drawTools(ui, deeds);
  if (ui.replay === null) drawActions(ui);
  $("#scores").replaceChildren(scoreTable(game), h("p.note", {}, game.seating.draws.length ? t("scores.draw", { draw: drawLine(game), dealer: nameOf(game, game.seating.dealer) }) : ""));
  hints.draw();
  if (ui.replay === null) drawResult(ui, { rematch: playAgain, newGame, replay: openReplay, say });
  // What had the focus went away: go on from the hand.
  if (focused !== document.body && document.activeElement === document.body && !$("dialog")) focusHome();
}

const CLOCK_WARNS_S = 10;

/** The seconds that are left of a turn, where the game has a clock. */
function drawClock() {
  const deadline = ui.replay ? null : ui.game?.deal?.deadline;
  const left = deadline ? Math.max(0, Math.round((Date.parse(deadline) - Date.now()) / 1000)) : null;
  set($("#clock"), { text: left === null ? "" : `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`, "data-soon": left !== null && left <= CLOCK_WARNS_S });
  if (left === CLOCK_WARNS_S && ui.isMine) say(t("clock.soon", { count: left }));
}

/** Points so far, where there is no room for the score sheet. */
function drawTally() {
  const { game } = ui;
  const own = (game.viewer ?? 0) % 2;
  const isOn = game.status === "playing" && game.deal.phase !== "over";
  const lines = [own, 1 - own].map((team) => h("span", {}, `${teamName(game, team)} ${number(game.scores[team] + (isOn ? game.deal.points[team] : 0))}`));
  $("#tally").replaceChildren(...(game.viewer === null ? [] : lines));
}

/** Bring into sight what happened, or the piles to draw from. */
function lookAt({ deal }, event) {
  const table = $("#table");
  if (table.scrollHeight <= table.clientHeight) return;
  const id = event?.action?.meld ?? (event?.action?.type === "meld" && deal.melds.at(-1)?.id);
  if (ui.isMine && deal.phase === "draw") table.scrollTop = 0;
  else if (id) $(`[data-meld="${id}"]`)?.scrollIntoView({ block: "nearest" });
}

const focusHome = () => ($('#hand [tabindex="0"]') ?? $("#actions button") ?? $("#hand")).focus({ preventScroll: true });

/** Draw a new state, its moved cards flying from where they were. */
function stage(game, event) {
  const before = placesOf(document);
  const wasDeal = ui.game?.deal?.number;
  const wasMine = ui.isMine;
  ui.game = game;
  calm();
  if (hints.hint && hints.hint.version !== game.version) hints.clear();
  redraw();
  if (game.deal) lookAt(game, event);
  if (event?.type === "played" && wasDeal === event.deal) flyCards(before, event);
  if (event) tell(event);
  if (ui.isMine && !wasMine) say(turnText(ui));
  keep(`commitment:${game.id}`, kept(`commitment:${game.id}`) ?? game.fairness.commitment);
}

function flyCards(before, event) {
  const isMine = event.seat === ui.game.viewer;
  const stock = $("#stock").getBoundingClientRect();
  const seat = isMine ? $("#hand") : $(`#others [data-seat="${event.seat}"] .fan`);
  const from = event.action.type === "draw_stock" ? stock : handBox(seat);
  fly(document.body, before, (key) => (before.size && !key.startsWith("?") && isNews(event, key) ? from : null));
  if (event.action.type === "draw_stock" && !isMine) flyBack(stock, handBox(seat));
}

const isNews = (event, card) => [event.card, event.action.card, ...(event.action.cards ?? [])].includes(card);

function handBox(element) {
  const box = (element?.lastElementChild ?? element)?.getBoundingClientRect();
  return box ?? null;
}

/** A card's back on its way from the stock to another player. */
function flyBack(from, to) {
  if (isStill() || !to) return;
  const card = h("div.flying", { "aria-hidden": "true" }, back());
  document.body.append(card);
  const at = (box) => `translate(${box.left}px, ${box.top}px) scale(${Math.max(box.width, 20) / 60})`;
  card.animate([{ transform: at(from) }, { transform: at(to) }], { duration: 320, easing: "cubic-bezier(.2,.7,.2,1)" }).finished.finally(() => card.remove());
}

/** Write an event into the log and say it. */
function tell(event) {
  const log = $("#log");
  const text = eventText(ui.game, event);
  log.prepend(logLine(event, text));
  while (log.children.length > MOST_LOG) log.lastChild.remove();
  if (event.seat !== ui.game.viewer || event.by !== "human") say(eventText(ui.game, event, spoken));
}

const logLine = (event, text) =>
  h("li", { "data-version": event.version }, event.seat === null ? null : badge(ui.game, event.seat), h("span", {}, text));

function drawLog(log = ui.show?.log ?? []) {
  const events = log.filter((event) => event.version <= ui.game.version).slice(-MOST_LOG).reverse();
  $("#log").replaceChildren(...events.map((event) => logLine(event, eventText(ui.game, event))));
}

function drawLive(state = ui.live, seconds = 0) {
  ui.live = state;
  $("#live").dataset.state = state;
  set($("#live-text"), { text: state === "none" ? "" : t(`live.${state}`, { seconds }) });
}

// ---- doing

async function play(action) {
  // A double click is one.
  if (ui.isSending) return undefined;
  if (!ui.isMine) return explain(null);
  ui.isSending = true;
  const { client, feed, show } = ui;
  try {
    const answer = await client.once(`/games/${ui.id}/actions`, action, { "If-Match": `"${ui.game.version}"` });
    ui.selected = new Set();
    ui.isSending = false;
    if (feed.played(answer.action, answer.game)) show.push([answer.action]);
    else redraw();
  } catch (error) {
    ui.isSending = false;
    if (error instanceof Problem && error.slug === "stale-version") await feed.sync().then(() => show.run());
    else refuse(error);
    redraw();
  }
  return undefined;
}

/** Say why something cannot be done: the service's own answer, or the page's where nothing is asked. */
async function explain(guess, key) {
  if (!ui.isMine) return refuse(null, turnText(ui).trim() || t(ui.game.status === "playing" ? "turn.wait" : "live.over"));
  if (!guess) return refuse(null, t(key ?? "refuse.none"));
  try {
    await ui.client.post(`/games/${ui.id}/actions?dry_run=true`, guess);
    return redraw();
  } catch (error) {
    return refuse(error);
  }
}

function refuse(error, text = null) {
  const said = text ?? (error instanceof Problem ? error.message : t("fault.away"));
  const rule = error?.rule;
  $("#refusal").replaceChildren(
    ...[
      rule && h("button.rule-link", { "aria-label": t("rules.show", { rule }), onclick: () => rulesDialog(rule) }, rule),
      h("span", {}, said),
      h("button.tool", { "aria-label": t("close"), onclick: () => { calm(); focusHome(); } }, icon("close")),
    ].filter(Boolean),
  );
}

/** Take back what was refused: something else is tried. */
const calm = () => $("#refusal").replaceChildren();

async function letBotPlay(level, isForGood) {
  const { client, id, seat } = ui;
  if (isForGood) return client.call("PUT", `/games/${id}/seats/${seat}/bot`, { body: { level } });
  return client.once(`/games/${id}/bot-moves`, { level });
}

/** Take the own seat back from the bot that plays it. */
async function takeSeatBack() {
  try {
    await ui.client.call("DELETE", `/games/${ui.id}/seats/${ui.seat}/bot`);
  } catch (error) {
    refuse(error);
  }
}

const deeds = {
  play,
  explain,
  redraw,
  calm,
  sort() {
    ui.order = ui.order === "suit" ? "rank" : "suit";
    keep("order", ui.order);
    redraw();
  },
  hint() {
    if (ui.isMine) openSide("hint");
    return hints.ask();
  },
  back: takeSeatBack,
  bot: () => (ui.isMine ? botDialog(letBotPlay) : explain(null)),
  side: () => openSide($("#side").dataset.open === "none" ? "all" : "none"),
  skip: () => ui.show.hurry(),
};

/** On a narrow screen the side lies over the table. */
function openSide(part) {
  $("#side").dataset.open = part;
  if (part === "hint") $("#panel-hint").scrollIntoView({ block: "nearest" });
}

// ---- games

async function openGame(id, seat, token) {
  leave();
  Object.assign(ui, { id, seat, client: new Client(token) });
  const early = [];
  const feed = new Feed(ui.client, id, {
    onEvents: (events) => (ui.show ? ui.show.push(events) : early.push(...events)),
    onState: drawLive,
    onLost: (problem) => lost(problem),
  });
  ui.feed = feed;
  try {
    const latest = await feed.start();
    const since = Math.max(0, latest.version - KNOWN_LOG);
    const { actions } = await ui.client.get(`/games/${id}/actions?since=${since}`);
    const known = actions.filter((event) => event.version <= latest.version);
    // Of a game that was made this moment nothing is to be missed: bots may have moved already.
    const game = (ui.madeNow === id && since === 0 && latest.deal && dealStart(latest, known)) || latest;
    const isNew = ui.madeNow === id;
    ui.madeNow = null;
    ui.show = new Show(feed, game, {
      pace: () => PACES[kept("pace", "normal")] ?? 0,
      onShow: stage,
      onDealOver: (shown, event) => (ui.seat === null || kept("pace") === "off" ? Promise.resolve() : dealOverDialog(shown, event)),
      onQueue: () => ui.game?.deal && drawTools(ui, deeds),
      onFault: (error) => fault(error),
    });
    if (token && seat !== null) keepSeat(id, seat, token, nameOf(game, seat));
    ui.show.log.push(...known.filter((event) => event.version <= game.version));
    stage(game, null);
    drawLog();
    // The button or link that led here is gone.
    if (isNew || $("#welcome").contains(document.activeElement)) focusHome();
    ui.show.push(actions);
    ui.show.push(early);
  } catch (error) {
    fault(error);
  }
}

function leave() {
  ui.feed?.stop();
  hints.clear();
  $("#log").replaceChildren();
  $("#result").removeAttribute("data-state");
  Object.assign(ui, { feed: null, show: null, game: null, selected: new Set(), replay: null });
}

function lost(problem) {
  if ([401, 404].includes(problem.status) && ui.seat !== null) forgetSeat(ui.id, ui.seat);
  fault(problem);
}

function fault(error) {
  if (!(error instanceof Problem) && !(error instanceof Away)) console.error(error);
  const text = error instanceof Problem ? error.message : t("fault.away");
  if (ui.game === null) welcome(text);
  else refuse(null, text);
}

/** Go to a game that was just made, or that a rematch made. */
function openCreated({ game, seat_tokens: tokens = {}, spectator_token: watching, token, seat }) {
  ui.madeNow = game.id;
  const all = token ? { [seat]: token } : tokens;
  if (watching) keep(`watch:${game.id}`, watching);
  const own = ui.seat in all ? ui.seat : Object.keys(all)[0];
  if (own === undefined) return goTo({ watch: game.id });
  // Who makes a game for several people hands the others their links.
  if (Object.keys(all).length > 1) keep(`tokens:${game.id}`, all);
  keepSeat(game.id, Number(own), all[own], nameOf(game, Number(own)));
  return goTo({ game: game.id, seat: own });
}

function goTo(fields) {
  const hash = `#${new URLSearchParams(fields)}`;
  if (location.hash === hash) openAddress();
  else location.hash = hash;
}

/** The next game with the same seats; only the app that made this one may ask for it. */
async function playAgain() {
  try {
    openCreated(await Client.app().once(`/games/${ui.id}/rematch`, {}));
  } catch (error) {
    refuse(error);
    say(error.message);
  }
}

const newGame = () => newGameDialog(openCreated);

async function quickGame(button) {
  button.setAttribute("aria-disabled", "true");
  try {
    openCreated(await createGame(quickOrder()));
  } catch (error) {
    if (error instanceof Problem && error.status === 401) newGame();
    else fault(error);
  }
  button.removeAttribute("aria-disabled");
}

function welcome(text = null) {
  drawLive("none");
  $("#welcome").hidden = false;
  for (const part of ["#game", "#dock", "#side"]) $(part).hidden = true;
  const quick = h("button.act.main", { "data-do": "quick", onclick: () => quickGame(quick) }, t("welcome.quick"));
  $("#welcome").replaceChildren(
    h(
      "div.card-panel",
      {},
      h("div.spread", { "aria-hidden": "true" }, SHOWN.map(spreadOut)),
      h("h2", {}, t("welcome.heading")),
      h("p", {}, t("welcome.text")),
      text && h("p.fault", { role: "alert" }, text),
      h("div.form-foot", {}, quick, h("button.act", { onclick: newGame }, t("welcome.new"))),
      h("p.note", {}, t("welcome.quick_note", quickWords())),
      games().length ? h("section", {}, h("h3", {}, t("welcome.go_on")), h("ul.games", {}, games().map(({ id, seat, name, at }) => h("li", {}, h("a", { href: `#game=${id}&seat=${seat}` }, t("welcome.game", { name, date: new Date(at).toLocaleString(lang()) })))))) : "",
      h("p.note", {}, h("a", { href: `/docs/guides?lang=${lang()}` }, t("welcome.docs")), " · ", h("a", { href: `/replay?lang=${lang()}` }, t("welcome.replay"))),
    ),
  );
}

function openWatched(id, token) {
  if (token) {
    keep(`watch:${id}`, token);
    hideToken({ watch: id });
  }
  return openGame(id, null, kept(`watch:${id}`) ?? kept("app-key"));
}

const hideToken = (fields) =>
  history.replaceState(null, "", `${location.pathname}${location.search}#${new URLSearchParams(fields)}`);

async function openAddress() {
  const address = new URLSearchParams(location.hash.slice(1));
  const token = address.get("token");
  if (location.pathname === "/replay") return replayPage(address);
  if (address.get("join")) {
    leave();
    welcome();
    return joinDialog(address.get("join"), Number(address.get("seat")), openCreated);
  }
  if (address.get("watch")) return openWatched(address.get("watch"), token);
  const id = address.get("game");
  if (!id) {
    leave();
    redraw();
    return welcome();
  }
  const seat = Number(address.get("seat") ?? 0);
  if (token) {
    keepSeat(id, seat, token, String(seat));
    hideToken({ game: id, seat });
  }
  return openGame(id, seat, tokenOf(id, seat));
}

// ---- replay

/** @param {number} [version] begin just before it */
function openReplay(version) {
  const fields = ui.seat === null ? { game: ui.id } : { game: ui.id, seat: ui.seat };
  if (version) fields.at = version;
  location.href = `/replay#${new URLSearchParams(fields)}`;
}

async function replayPage(address) {
  document.documentElement.dataset.page = "replay";
  ui.replay?.pause();
  ui.replay = new Replay(
    (game, event, isNext) => {
      const before = placesOf(document);
      ui.game = game;
      $("#welcome").hidden = true;
      redraw();
      drawLog(ui.replay.eventsSoFar());
      if (event && isNext) flyCards(before, event);
    },
    () => (location.href = ui.id ? `/#${new URLSearchParams(ui.seat === null ? { watch: ui.id } : { game: ui.id, seat: ui.seat })}` : "/"),
  );
  ui.id = address.get("game");
  ui.seat = address.get("seat");
  try {
    await openingOf(address, (record, at) => ui.replay.open(record, at));
  } catch (error) {
    ui.replay = null;
    fault(error);
  }
}

// ---- the page itself

async function changeLanguage(wanted) {
  await choose(wanted);
  calm();
  drawPage();
  await hints.retell();
}

/** Draw everything anew: the language or a setting has changed. */
function drawPage() {
  document.body.dataset.fourColours = kept("four-colours", false);
  drawLive();
  $("#hint").replaceChildren();
  $("#dock-tools").replaceChildren();
  if (ui.replay) return ui.replay.frames.length ? ui.replay.show(ui.replay.at) : undefined;
  if (ui.game) {
    redraw();
    drawLog();
  } else welcome();
  if (drawer.isOpen) drawer.draw();
  return undefined;
}

const seatLink = () => (ui.seat !== null && ui.client.token ? `${location.origin}/#${new URLSearchParams({ game: ui.id, seat: ui.seat, token: ui.client.token })}` : null);

function wirePage() {
  const language = $("#language");
  language.value = lang();
  language.addEventListener("change", () => changeLanguage(language.value));
  const tools = {
    new: newGame,
    rules: () => rulesDialog(),
    settings: () => settingsDialog({ onChange: drawPage, game: ui.replay ? null : ui.game, seatLink: seatLink() }),
    api: () => drawer.toggle(),
  };
  for (const button of $$(".bar [data-do]")) button.addEventListener("click", tools[button.dataset.do]);
  $("#drawer").addEventListener("keydown", (event) => event.key === "Escape" && drawer.toggle(false));
  $("#side").prepend(h("button.tool.side-close", { "aria-label": t("close"), onclick: () => openSide("none") }, icon("close")));
  wirePlay(ui, deeds);
  new ResizeObserver(layOut).observe($("#hand"));
  addEventListener("hashchange", () => openAddress());
  setInterval(drawClock, 1000);
}

async function begin() {
  await startWords();
  wirePage();
  document.body.dataset.fourColours = kept("four-colours", false);
  document.body.dataset.ready = "";
  await openAddress();
}

begin();

