// A finished game with the fog lifted: the truth between both players' views.

import { BeliefPanel } from "./belief.js";
import { Board } from "./board.js";
import { announce, ask, el } from "./dom.js";
import { hexRows, withTiles } from "./text_game.js";

const NUMBERS = {
  value: "value", nash_gap: "gap", depth: "depth", nodes: "nodes", new_nodes: "new nodes",
  iterations: "iterations", belief_size: "positions held possible", gadget: "gadget",
  support: "moves in the mix",
};

// Three boards (or texts) for one step.
export function boardPair(family) {
  const chess = family !== "text";
  const titles = chess ? ["White sees", "The truth", "Black sees"]
    : ["Player 0 is told", "The truth", "Player 1 is told"];
  const boards = titles.map((title, i) => {
    const board = chess ? new Board({ label: title, fog: family === "dark" || i !== 1 }) : null;
    return { board, box: chess ? board.element : el("div", { class: "told card" }), title };
  });
  const element = el("div", { class: "three" },
    boards.map(({ box, title }, i) =>
      el("figure", { class: i === 1 ? "truth" : "" }, el("figcaption", {}, title), box)));
  return {
    element,
    update(step) {
      const shown = [step.views[0], step.truth, step.views[1]];
      const last = step.move && chess ? [step.move.slice(0, 2), step.move.slice(2, 4)] : [];
      boards.forEach(({ board, box }, i) => {
        if (board) {
          board.update({ rows: shown[i].split("/"), last: i === 1 ? last : [] });
        } else if (shown[i].length && shown[i].every((line) => /^[xo.pqyz]+$/i.test(line))) {
          box.replaceChildren(...hexRows(shown[i]));
        } else {
          box.replaceChildren(...shown[i].map((line) => el("p", {}, ...withTiles(line || "\u00a0"))));
        }
      });
    },
  };
}

function resultText(game) {
  const [own, other] = game.returns;
  if (own === null || own === undefined) return "unfinished";
  const names = game.family === "text" ? game.players : ["White", "Black"];
  const score = own === other ? "drawn" : own > other ? `${names[0]} won` : `${names[1]} won`;
  return game.termination && game.termination !== "rules" ? `${score} (${game.termination})` : score;
}

// Who moved at random because the program failed: that is no game to judge a bot by.
function failures(game) {
  return game.players.flatMap((name, player) => {
    const failed = (step) => step.player === player && step.report && step.report.failed;
    const count = game.steps.filter(failed).length;
    return count ? [el("p", { class: "hint", role: "note" }, `${name} failed at ${count} move${
      count === 1 ? "" : "s"} and moved at random there; the reports say why.`)] : [];
  });
}

function reportOf(step) {
  const report = step.report;
  if (!report) return [el("p", { class: "hint" }, "No report for this move.")];
  const said = report.said;
  const parts = [];
  if (said && typeof said === "object") {
    if (said.forced) parts.push(el("p", {}, "There was only one move."));
    const rows = Object.entries(NUMBERS)
      .filter(([key]) => said[key] !== undefined && !said.forced)
      .map(([key, title]) => el("tr", {}, el("th", { scope: "row" }, title),
        el("td", {}, typeof said[key] === "number" && !Number.isInteger(said[key])
          ? said[key].toFixed(3) : String(said[key]))));
    if (rows.length) parts.push(el("table", { class: "numbers" }, el("tbody", {}, rows)));
    if (said.degraded && said.degraded.length) {
      parts.push(el("p", { class: "hint" }, said.degraded.join("; ")));
    }
  } else if (said) {
    parts.push(el("p", {}, String(said)));
  }
  if (report.candidates && report.candidates.length) {
    parts.push(el("table", { class: "numbers bars" },
      el("caption", {}, "Moves considered"),
      el("tbody", {}, report.candidates.map(([move, share]) => {
        const bar = el("span", { class: "bar" });
        bar.style.width = `${(100 * share).toFixed(1)}%`;
        return el("tr", {}, el("th", { scope: "row" }, move),
          el("td", {}, `${(100 * share).toFixed(1)}%`), el("td", { class: "bar-cell" }, bar));
      }))));
  }
  if (!parts.length) {
    parts.push(el("p", { class: "hint" }, "The bot says nothing of this move."));
  }
  if (typeof report.seconds === "number") {
    parts.push(el("p", { class: "hint" }, `${report.seconds.toFixed(2)} s`));
  }
  return parts;
}

export async function showGame(id, place) {
  const game = await ask(`/api/records/${encodeURIComponent(id)}`);
  document.title = `${game.players.join(" – ")} – klss_spiel`;
  const steps = game.steps;
  let at = 0;
  const pair = boardPair(game.family);
  const slider = el("input", {
    type: "range", min: 0, max: steps.length - 1, value: 0, id: "step", "aria-label": "Move",
  });
  const label = el("output", { class: "status", for: "step", id: "step-label" });
  const report = el("div", { id: "report" });
  const moves = el("ol", { class: "moves", "aria-label": "Moves", tabindex: "0" });
  const buttons = steps.map((step, i) => el("button", {
    type: "button", class: `ply side-${step.player}${step.illegal ? " illegal" : ""}`,
    onclick: () => go(i),
  }, i === 0 ? "Start" : `${step.move}${step.illegal ? "?" : ""}`));
  moves.append(...buttons.map((b) => el("li", {}, b)));
  const belief = game.family === "text" ? null
    : new BeliefPanel(game, (i) => go(i));

  function go(i) {
    at = Math.max(0, Math.min(steps.length - 1, i));
    const step = steps[at];
    pair.update(step);
    slider.value = at;
    const who = step.player === null ? "" : `${game.players[step.player]}: `;
    label.textContent = at === 0 ? `Start, ${steps.length - 1} moves follow`
      : `${at} of ${steps.length - 1}. ${who}${step.move}${step.illegal ? ", illegal try" : ""}`;
    report.replaceChildren(...(at === 0 ? [el("p", { class: "hint" },
      "Step through the game with the arrow keys.")] : reportOf(step)));
    buttons.forEach((b, j) => {
      if (j === at) b.setAttribute("aria-current", "step");
      else b.removeAttribute("aria-current");
    });
    const current = buttons[at];
    moves.scrollTop = current.offsetTop - moves.offsetTop - moves.clientHeight / 2;
    announce(label.textContent);
    if (belief) belief.go(at, step);
  }

  const keys = (event) => {
    if (event.target.matches("input[type=text], textarea, select, input[type=radio]")) return;
    const next = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: steps.length - 1 };
    if (!(event.key in next) || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    go(next[event.key]);
  };
  document.addEventListener("keydown", keys);
  slider.addEventListener("input", () => go(Number(slider.value)));
  const jump = (text, name, target) => el("button", {
    type: "button", "aria-label": name, onclick: () => go(target()),
  }, text);
  place.replaceChildren(
    el("section", { class: "card replay-head" },
      el("h1", {}, `${game.players[0]} – ${game.players[1]}`),
      el("p", { class: "hint" }, `${resultText(game)} · ${game.game} · `,
        el("a", { href: `#/record/${game.id}`, id: "permalink" }, "link to this game")),
      ...failures(game)),
    pair.element,
    el("section", { class: "card controls" },
      el("div", { class: "row" },
        jump("|◀", "To the start", () => 0), jump("◀", "One back", () => at - 1),
        jump("▶", "One on", () => at + 1), jump("▶|", "To the end", () => steps.length - 1), label),
      slider),
    el("div", { class: "columns" },
      el("div", {}, el("section", { class: "card" }, el("h2", {}, "Moves"), moves),
        el("section", { class: "card" }, el("h2", {}, "The bot's report"), report)),
      belief ? belief.element : null),
    el("p", { class: "row" }, el("a", { class: "button", href: "#/" }, "New game")),
  );
  go(0);
  return () => {
    document.removeEventListener("keydown", keys);
    if (belief) belief.leave();
  };
}
