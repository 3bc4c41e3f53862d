/** Play a game with the types that openapi-typescript made: `node play.js URL`. */

import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

type Game = components["schemas"]["Game"];
type Action = components["schemas"]["Action"];

const client = createClient<paths>({ baseUrl: process.argv[2]! });

/** Return the data of an answer, or stop with the problem that came instead. */
function must<T>(answer: { data?: T; error?: unknown }): T {
  if (answer.data === undefined) throw new Error(JSON.stringify(answer.error));
  return answer.data;
}

/** An action in words; the union is told apart by `type`. */
function words(action: Action): string {
  switch (action.type) {
    case "draw_stock":
    case "pass":
      return action.type;
    case "take_discards":
    case "discard":
      return `${action.type} ${action.card}`;
    case "meld":
      return `meld ${action.cards.join(" ")}`;
    case "lay_off":
      return `lay off ${action.cards.join(" ")} on ${action.meld}`;
  }
}

const made = must(
  await client.POST("/games", {
    body: {
      seats: ["Ana", "Bo", "Cy", "Di"].map((name) => ({ player: "human" as const, name })),
      seating: "fixed",
      seed: "generated",
      deals: 1,
      spectators: true,
    },
  }),
);
let game: Game = made.game;
const lines: string[] = [];
while (game.status === "playing") {
  const path = { game_id: game.id };
  const seat = game.deal!.turn;
  const legal = must(
    await client.GET("/games/{game_id}/legal-actions", { params: { path, query: { seat } } }),
  );
  const action = legal.actions[(7 * lines.length) % legal.actions.length]!;
  const answer = await client.POST("/games/{game_id}/actions", {
    params: {
      path,
      header: { "If-Match": `"${game.version}"`, "Idempotency-Key": `${lines.length}` },
    },
    body: action,
  });
  lines.push(words(action));
  game = must(answer).game;
}
const over = await client.POST("/games/{game_id}/actions", {
  params: { path: { game_id: game.id } },
  body: { type: "draw_stock", seat: 0 },
});
if (over.error?.type !== "/docs/problems/game-over") throw new Error("the game is not over");
const record = must(
  await client.GET("/games/{game_id}/record", { params: { path: { game_id: game.id } } }),
);
if (typeof record === "string") throw new Error("text was not asked for");
if (record.deals[0]!.actions.length !== lines.length) throw new Error("an action is missing");
console.log(JSON.stringify({ played: lines.length, scores: record.scores }));
