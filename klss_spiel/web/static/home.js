// The start page: choose a game, look at old ones.

import { ask, el, options, send, show, toast } from "./dom.js";

const FAMILIES = [
  { name: "dark", title: "Dark chess" },
  { name: "kriegspiel", title: "Kriegspiel" },
  { name: "text", title: "Cards, dice and hex" },
];
const COLOURS = [
  { name: "random", title: "either" },
  { name: "first", title: "White, or first" },
  { name: "second", title: "Black, or second" },
];
const ABOUT = {
  dark: "You see your own pieces and the squares they can move to. Capture the king to win: "
    + "nobody says check.",
  kriegspiel: "You see only your own pieces. An umpire says what was captured, announces checks "
    + "and refuses illegal moves; then you try another.",
  text: "You see what your player is told, and buttons for what you may do.",
};

export const STORE = "klss_spiel.choice";

function remembered() {
  try {
    return JSON.parse(localStorage.getItem(STORE)) || {};
  } catch {
    return {};
  }
}

function field(title, control, id, more = {}) {
  control.id = id;
  return el("div", { class: "field", ...more }, el("label", { for: id }, title), control);
}

export async function begin(choice) {
  localStorage.setItem(STORE, JSON.stringify({ ...remembered(), ...choice }));
  const { session } = await send("/api/games", choice);
  location.hash = `#/game/${session}`;
}

export function home(catalogue) {
  const last = remembered();
  const lastGame = catalogue.games.find((g) => g.name === last.game);
  const family = options(el("select"), FAMILIES, lastGame ? lastGame.family : "dark");
  const game = el("select");
  const bot = el("select");
  const second = el("select");
  const strength = options(el("select"), catalogue.strengths, last.strength || "normal");
  const colour = options(el("select"), COLOURS, last.colour || "random");
  const clock = options(el("select"), catalogue.clocks, last.clock || catalogue.default_clock);
  const fen = el("input", { type: "text", placeholder: "k2r/4/4/R2K w - - 0 1", maxlength: 120 });
  const seed = el("input", { type: "number", min: 0, max: 2147483647, placeholder: "by chance" });
  const fenField = field("Position (FEN)", fen, "fen", { class: "field wide" });
  const about = el("p", { class: "hint", id: "about" });

  function showBots() {
    const chosen = catalogue.games.find((g) => g.name === game.value);
    fenField.hidden = !chosen.takes_fen;
    const bots = catalogue.bots.filter((b) => chosen.bots.includes(b.name));
    options(bot, bots, last.bot);
    options(second, bots, bots.length > 1 ? bots[1].name : bots[0].name);
  }

  function showGames() {
    const games = catalogue.games.filter((g) => g.family === family.value);
    options(game, games.map((g) => ({ ...g, title: g.title.replace(/^[^,]*, (?=.)/, (start) =>
      family.value === "text" ? start : "") })), last.game);
    about.textContent = ABOUT[family.value];
    showBots();
  }

  function wanted() {
    const choice = {
      game: game.value, bot: bot.value, strength: strength.value,
      colour: colour.value, clock: clock.value,
    };
    if (!fenField.hidden) choice.fen = fen.value.trim();
    if (seed.value !== "") choice.seed = Number(seed.value);
    return choice;
  }

  async function start(choice) {
    try {
      await begin(choice);
    } catch (error) {
      toast(error.message);
    }
  }

  family.addEventListener("change", showGames);
  game.addEventListener("change", showBots);
  showGames();

  const form = el(
    "form",
    {
      class: "card",
      onsubmit: (event) => {
        event.preventDefault();
        start(wanted());
      },
    },
    el("h1", {}, "New game"),
    about,
    el(
      "div",
      { class: "fields" },
      field("Game", family, "family"),
      field("Board", game, "game"),
      fenField,
      field("Opponent", bot, "bot"),
      field("Strength", strength, "strength"),
      field("You play", colour, "colour"),
      field("Clock", clock, "clock"),
      field("Seed", seed, "seed"),
    ),
    el("div", { class: "row" }, el("button", { class: "primary", type: "submit" }, "Play")),
    el(
      "div",
      { class: "row watch" },
      el("button", {
        type: "button",
        id: "watch",
        onclick: () => start({ ...wanted(), opponent: second.value }),
      }, "Watch bots"),
      el("label", { class: "inline", for: "second" }, "opponent against"),
      Object.assign(second, { id: "second" }),
    ),
  );
  show(el("div", { class: "columns" }, form, el("div", {}, records(catalogue), loader())));
  document.title = "klss_spiel";
}

function outcome(record) {
  if (record.return_0 === null || record.return_0 === undefined) return "";
  return record.return_0 === 0 ? "draw" : record.return_0 > 0 ? "1-0" : "0-1";
}

function records(catalogue) {
  const items = catalogue.records.map((record) =>
    el("li", {}, el("a", { href: `#/record/${record.id}` },
      `${record.player_0} – ${record.player_1}`), el("span", { class: "quiet" },
      ` ${outcome(record)} · ${record.title || ""} · ${record.plies} moves`)));
  return el("section", { class: "card" }, el("h2", {}, "Games played here"),
    items.length ? el("ul", { class: "records" }, items)
      : el("p", { class: "hint" }, "None yet. Every finished game can be looked at here, "
        + "with the fog lifted."));
}

function loader() {
  const text = el("textarea", { id: "text", rows: 4, spellcheck: "false",
    placeholder: "PGN, or a record of the match runner (JSON)" });
  const file = el("input", { type: "file", id: "file", accept: ".pgn,.json,.jsonl,.txt" });
  const found = el("ul", { class: "records" });
  file.addEventListener("change", async () => {
    if (file.files[0]) text.value = await file.files[0].text();
  });
  async function load() {
    try {
      const { games } = await ask("/api/replays", {
        method: "POST", headers: { "Content-Type": "text/plain" }, body: text.value,
      });
      if (games.length === 1) location.hash = `#/record/${games[0].id}`;
      found.replaceChildren(...games.map((g, i) => el("li", {},
        el("a", { href: `#/record/${g.id}` }, `${i + 1}. ${g.players.join(" – ")}`))));
    } catch (error) {
      toast(error.message);
    }
  }
  return el("section", { class: "card" }, el("h2", {}, "Open a game"),
    el("div", { class: "field" }, el("label", { for: "text" }, "Text of the game"), text),
    el("div", { class: "field" }, el("label", { for: "file" }, "or a file"), file),
    el("div", { class: "row" }, el("button", { type: "button", id: "load", onclick: load }, "Open")),
    found);
}
