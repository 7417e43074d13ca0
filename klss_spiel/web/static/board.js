// A chess board of any size: a grid of buttons, usable by mouse, finger and keyboard.

import { el } from "./dom.js";
import { colourOf, isPiece, kindName, piece, pieceName } from "./pieces.js";

const FILES = "abcdefgh";
const DRAG_DISTANCE = 6;

export class Board {
  // options: label, onMove(uci) for boards that are played on, fog: draw hidden squares so.
  constructor(options) {
    this.options = options;
    this.element = el("div", { class: "board", role: "grid", "aria-label": options.label });
    this.cells = new Map();
    this.shape = "";
    this.selected = null;
    this.moves = [];
    this.drag = null;
    if (options.onMove) this.listen();
  }

  // state: rows (last rank first), flipped, moves (UCI), last (squares), heat (square -> 0..1)
  update(state) {
    const height = state.rows.length;
    const width = state.rows[0].length;
    const shape = `${width}x${height}${Boolean(state.flipped)}`;
    if (shape !== this.shape) this.build(width, height, state.flipped);
    this.shape = shape;
    this.moves = state.moves || [];
    this.rows = state.rows;
    this.hottest = state.heat ? Math.max(1e-9, ...Object.values(state.heat)) : 1;
    if (!this.moves.some((m) => m.startsWith(this.selected))) this.selected = null;
    for (const [name, cell] of this.cells) {
      const mark = state.rows[height - Number(name[1])][FILES.indexOf(name[0])];
      this.paint(cell, name, mark, state);
    }
    this.mark();
  }

  build(width, height, flipped) {
    this.width = width;
    this.height = height;
    this.cells.clear();
    this.element.style.setProperty("--files", width);
    this.element.style.setProperty("--ranks", height);
    const ranks = [...Array(height).keys()].map((i) => height - i);
    const files = [...FILES.slice(0, width)];
    if (flipped) {
      ranks.reverse();
      files.reverse();
    }
    this.order = [];
    const rows = ranks.map((rank, row) =>
      el(
        "div",
        { class: "rank", role: "row" },
        files.map((file, column) => {
          const name = `${file}${rank}`;
          const light = (FILES.indexOf(file) + rank) % 2 === 0;
          const cell = el("button", {
            type: "button",
            role: "gridcell",
            class: `cell ${light ? "light" : "dark"}`,
            "data-square": name,
            tabindex: row === height - 1 && column === 0 ? 0 : -1,
          });
          cell.names = [];
          if (column === 0) cell.names.push(["rank-name", rank]);
          if (row === height - 1) cell.names.push(["file", file]);
          this.cells.set(name, cell);
          this.order.push(name);
          return cell;
        }),
      ),
    );
    this.element.replaceChildren(...rows);
  }

  paint(cell, name, mark, state) {
    const hidden = mark === "?";
    cell.classList.toggle("fog", hidden && this.options.fog !== false);
    cell.classList.toggle("last", (state.last || []).includes(name));
    let label = `${name}, ${hidden ? "not seen" : mark === "." ? "empty" : pieceName(mark)}`;
    const content = isPiece(mark) ? [piece(mark)] : [];
    cell.classList.toggle("heated", Boolean(state.heat));
    if (state.heat) {
      const share = state.heat[name] || 0;
      // Colours compare squares with the likeliest one; the numbers are the shares themselves.
      cell.style.setProperty("--heat", (share / this.hottest).toFixed(3));
      cell.dataset.share = share;
      cell.classList.toggle("hot", share / this.hottest > 0.55);
      if (share > 0) {
        const text = share >= 0.995 ? "100" : share < 0.01 ? "<1" : (share * 100).toFixed(0);
        content.push(el("span", { class: "share", "aria-hidden": "true" }, text));
        label += `, ${text} percent`;
      }
    }
    for (const [place, text] of cell.names) {
      content.push(el("span", { class: `name-tag ${place}`, "aria-hidden": "true" }, String(text)));
    }
    cell.replaceChildren(...content);
    cell.dataset.label = label;
    cell.setAttribute("aria-label", label);
  }

  mark() {
    const targets = new Set(
      this.moves.filter((m) => m.slice(0, 2) === this.selected).map((m) => m.slice(2, 4)),
    );
    for (const [name, cell] of this.cells) {
      const target = targets.has(name);
      cell.classList.toggle("selected", name === this.selected);
      cell.classList.toggle("target", target);
      cell.classList.toggle("own", this.moves.some((m) => m.startsWith(name)));
      cell.setAttribute("aria-selected", name === this.selected ? "true" : "false");
      cell.setAttribute("aria-label", cell.dataset.label + (target ? ", a move" : ""));
    }
  }

  choose(name) {
    if (this.selected && this.selected !== name) {
      const found = this.moves.filter((m) => m.startsWith(this.selected + name));
      if (found.length) {
        this.finish(found);
        return;
      }
    }
    this.selected = this.moves.some((m) => m.startsWith(name)) && this.selected !== name
      ? name : null;
    this.mark();
  }

  async finish(found) {
    const letter = this.rows[this.height - Number(found[0][1])][FILES.indexOf(found[0][0])];
    this.selected = null;
    this.mark();
    const promotions = found.filter((m) => m.length === 5);
    let move = found[0];
    if (promotions.length > 1) move = await askPromotion(promotions, colourOf(letter));
    else if (promotions.length === 1) move = promotions[0];
    if (move) this.options.onMove(move);
  }

  listen() {
    const board = this.element;
    const squareAt = (event) => {
      const under = document.elementFromPoint(event.clientX, event.clientY);
      const cell = under && under.closest("[data-square]");
      return cell && board.contains(cell) ? cell.dataset.square : null;
    };
    board.addEventListener("pointerdown", (event) => {
      const cell = event.target.closest("[data-square]");
      if (!cell || event.button !== 0) return;
      const name = cell.dataset.square;
      const movable = this.moves.some((m) => m.startsWith(name));
      this.drag = { name, x: event.clientX, y: event.clientY, movable, ghost: null };
      if (movable) cell.setPointerCapture(event.pointerId);
    });
    board.addEventListener("pointermove", (event) => {
      const drag = this.drag;
      if (!drag || !drag.movable) return;
      const far = Math.hypot(event.clientX - drag.x, event.clientY - drag.y) > DRAG_DISTANCE;
      if (!drag.ghost && far) {
        const cell = this.cells.get(drag.name);
        drag.ghost = cell.querySelector(".piece").cloneNode(true);
        drag.ghost.classList.add("ghost");
        drag.ghost.style.width = `${cell.clientWidth}px`;
        cell.classList.add("lifted");
        document.body.append(drag.ghost);
        this.selected = drag.name;
        this.mark();
      }
      if (drag.ghost) {
        drag.ghost.style.left = `${event.clientX}px`;
        drag.ghost.style.top = `${event.clientY}px`;
      }
    });
    const drop = (event) => {
      const drag = this.drag;
      this.drag = null;
      if (!drag) return;
      if (!drag.ghost) {
        if (event.type === "pointerup" && squareAt(event) === drag.name) this.choose(drag.name);
        return;
      }
      drag.ghost.remove();
      this.cells.get(drag.name).classList.remove("lifted");
      const target = event.type === "pointerup" ? squareAt(event) : null;
      if (target && target !== drag.name) this.choose(target);
      else this.mark();
    };
    board.addEventListener("pointerup", drop);
    board.addEventListener("pointercancel", drop);
    board.addEventListener("click", (event) => {
      const cell = event.target.closest("[data-square]");
      // Enter and space; the pointer has been dealt with above.
      if (cell && event.detail === 0) this.choose(cell.dataset.square);
    });
    board.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -this.width, ArrowDown: this.width };
      const cell = event.target.closest("[data-square]");
      if (!cell) return;
      if (event.key === "Escape") {
        this.selected = null;
        this.mark();
      }
      if (!(event.key in step)) return;
      const at = this.order.indexOf(cell.dataset.square);
      const next = at + step[event.key];
      const wraps = Math.abs(step[event.key]) === 1
        && Math.floor(at / this.width) !== Math.floor(next / this.width);
      if (next >= 0 && next < this.order.length && !wraps) {
        cell.tabIndex = -1;
        const other = this.cells.get(this.order[next]);
        other.tabIndex = 0;
        other.focus();
      }
      event.preventDefault();
      event.stopPropagation();
    });
  }
}

function askPromotion(moves, colour) {
  return new Promise((resolve) => {
    const order = "qrbn";
    const sorted = [...moves].sort((a, b) => order.indexOf(a[4]) - order.indexOf(b[4]));
    const dialog = el(
      "dialog",
      { class: "promotion", "aria-label": "Promote to" },
      sorted.map((move) => {
        const letter = colour ? move[4] : move[4].toUpperCase();
        return el(
          "button",
          {
            type: "button",
            "aria-label": kindName(letter),
            "data-promotion": move[4],
            onclick: () => dialog.close(move),
          },
          piece(letter),
        );
      }),
    );
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue || null);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}
