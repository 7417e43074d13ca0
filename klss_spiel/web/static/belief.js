// What a player could know: where enemy pieces may stand, how many positions are possible.

import { Board } from "./board.js";
import { ask, el, svg } from "./dom.js";
import { KINDS, kindName } from "./pieces.js";

const FILES = "abcdefgh";
const WIDTH = 320;
const HEIGHT = 120;
const PAD = 28;
const POLL = 500;

export class BeliefPanel {
  constructor(game, onGo) {
    this.game = game;
    this.onGo = onGo;
    this.player = 0;
    this.kind = "K";
    this.at = 0;
    this.board = new Board({ label: "Where enemy pieces may stand", fog: false });
    this.note = el("p", { class: "hint", id: "belief-note" });
    this.chart = el("div", { class: "chart" });
    this.reveals = el("div", {});
    this.element = el("section", { class: "card belief" },
      el("h2", {}, "What a player could know"),
      this.choice("side", "Player", ["0", "1"], ["White", "Black"], "0", (value) => {
        this.player = Number(value);
        this.known = null;
        this.load();
      }),
      this.choice("kind", "Enemy", [...KINDS, "any"], [...KINDS.map(kindName), "any"], "K",
        (value) => {
          this.kind = value;
          this.draw();
        }),
      el("div", { class: "belief-board" }, this.board.element), this.note,
      el("h3", {}, "Positions held possible"), this.chart,
      el("h3", {}, "What each move would reveal"), this.reveals);
  }

  choice(name, legend, values, titles, chosen, onChange) {
    return el("fieldset", { class: "choice" }, el("legend", {}, legend),
      values.map((value, i) => el("label", {}, el("input", {
        type: "radio", name: `belief-${name}`, value, checked: value === chosen,
        onchange: () => onChange(value),
      }), el("span", {}, titles[i]))));
  }

  go(at, step) {
    this.at = at;
    this.step = step;
    this.load();
  }

  leave() {
    this.gone = true;
    clearTimeout(this.timer);
  }

  async load() {
    clearTimeout(this.timer);
    const { player, at } = this;
    let found;
    try {
      found = await ask(`/api/records/${this.game.id}/beliefs?player=${player}&step=${at}`);
    } catch (error) {
      this.note.textContent = error.message;
      return;
    }
    if (this.gone || player !== this.player || at !== this.at) return;
    this.known = found;
    this.draw();
    if (!found.done) this.timer = setTimeout(() => this.load(), POLL);
  }

  draw() {
    const found = this.known;
    if (!found || !this.step) return;
    const rows = this.step.views[this.player].split("/");
    const own = rows.map((row) => [...row].map((mark) =>
      (/[A-Za-z]/.test(mark) && (mark === mark.toUpperCase()) === (this.player === 0)
        ? mark : ".")).join(""));
    const belief = found.belief;
    const heat = {};
    if (belief && belief.size) {
      const kinds = this.kind === "any" ? KINDS : [this.kind];
      own.forEach((row, r) => [...row].forEach((_, c) => {
        const square = (own.length - 1 - r) * row.length + c;
        heat[`${FILES[c]}${own.length - r}`] = kinds.reduce((sum, k) =>
          sum + belief.heat[k][square], 0);
      }));
    }
    this.board.update({ rows: own, flipped: this.player === 1, heat });
    this.note.textContent = this.noteText(found, belief);
    this.drawChart(found);
    this.drawReveals(belief);
  }

  noteText(found, belief) {
    if (found.error) return found.error;
    if (!belief) return found.done ? "Not followed this far." : "Working it out …";
    if (belief.size === null) {
      if (belief.between) return "The sample is followed from one turn of this player to the next.";
      return belief.complete ? "The game is over: there is nothing left to guess."
        : "Too many positions to follow any further.";
    }
    const count = belief.size.toLocaleString("en");
    const all = belief.complete ? "exactly" : "a sample of";
    return `${all} ${count} position${belief.size === 1 ? "" : "s"}; numbers are percent of them, ${
      belief.weighted ? "weighted by how likely they are" : "each counted once"}.`;
  }

  drawChart(found) {
    const count = this.game.steps.length;
    const sizes = found.sizes.map((s) => (s === null ? null : Math.log10(Math.max(1, s))));
    const top = Math.max(1, ...sizes.filter((s) => s !== null));
    const x = (i) => PAD + ((WIDTH - PAD - 6) * i) / Math.max(1, count - 1);
    const y = (s) => HEIGHT - 18 - ((HEIGHT - 26) * s) / top;
    const points = sizes.map((s, i) => (s === null ? null : `${x(i)},${y(s)}`)).filter(Boolean);
    const lines = [];
    for (let power = 0; power <= top; power += 1) {
      lines.push(svg("line", { x1: PAD, x2: WIDTH - 6, y1: y(power), y2: y(power), class: "grid" }),
        svg("text", { x: PAD - 4, y: y(power) + 3, "text-anchor": "end" },
          ["1", "10", "100", "1k", "10k", "100k", "1M", "10M"][power]));
    }
    const picture = svg("svg", {
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img",
      "aria-label": `Positions held possible after each move, at most ${
        Math.max(0, ...found.sizes.filter((s) => s !== null))}`,
    }, lines,
    svg("polyline", { points: points.join(" "), class: "line" }),
    svg("line", { x1: x(this.at), x2: x(this.at), y1: 8, y2: HEIGHT - 18, class: "now" }),
    svg("text", { x: PAD, y: HEIGHT - 4 }, "start"),
    svg("text", { x: WIDTH - 6, y: HEIGHT - 4, "text-anchor": "end" }, `move ${count - 1}`));
    picture.addEventListener("click", (event) => {
      const box = picture.getBoundingClientRect();
      const place = ((event.clientX - box.left) / box.width) * WIDTH;
      this.onGo(Math.round(((place - PAD) / (WIDTH - PAD - 6)) * (count - 1)));
    });
    this.chart.replaceChildren(picture);
  }

  drawReveals(belief) {
    const reveals = belief ? belief.reveals : [];
    if (!reveals.length) {
      this.reveals.replaceChildren(el("p", { class: "hint" }, "It is not this player's turn here."));
      return;
    }
    const played = this.game.steps[this.at + 1];
    this.reveals.replaceChildren(el("div", { class: "scroll" }, el("table", { class: "numbers" },
      el("thead", {}, el("tr", {}, ["Move", "Bits", "Still possible", "Captures"].map((title) =>
        el("th", { scope: "col" }, title)))),
      el("tbody", {}, reveals.map((reveal) => el("tr", {
        class: played && played.move === reveal.move ? "played" : "",
      }, el("th", { scope: "row" }, reveal.move), el("td", {}, reveal.bits.toFixed(2)),
      el("td", {}, `${(100 * reveal.left).toFixed(0)}%`),
      el("td", {}, `${(100 * reveal.takes).toFixed(0)}%`)))))));
  }
}
