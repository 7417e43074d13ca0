// A running game: the board or the words, the clocks, the journal.

import { Board } from "./board.js";
import { announce, el, show, toast } from "./dom.js";
import { begin, STORE } from "./home.js";
import { isPiece, kindName, piece } from "./pieces.js";
import { boardPair, showGame } from "./replay.js";
import { GameSocket } from "./socket.js";
import { TextGame } from "./text_game.js";

const COLOUR_NAMES = ["White", "Black"];
const HOW = {
  rules: "", resigned: " by resignation", time: " on time", abandoned: ": the game was left",
  error: ": the game broke off",
};

function atRandom(count) {
  if (!count) return [];
  return [el("p", { class: "hint", id: "at-random" }, `The opponent's program failed at ${count} `
    + `move${count === 1 ? "" : "s"} and moved at random there; the replay says why.`)];
}

export function playScreen(session) {
  let screen = null;
  const waiting = el("p", { class: "card narrow" }, "Connecting …");
  show(waiting);
  const socket = new GameSocket(
    session,
    (message) => {
      if (message.type === "error") {
        toast(message.text);
        if (screen && screen.refused) screen.refused();
        return;
      }
      if (!screen) {
        const kinds = { view: Play, watch: Watch, spectator: Spectator };
        screen = new kinds[message.type](socket);
      }
      screen.update(message);
    },
    (state) => {
      if (state === "unknown") {
        show(el("section", { class: "card narrow" }, el("h1", {}, "This game is gone"),
          el("p", {}, "It was finished some time ago, or the server was started anew. Finished "
            + "games are listed on the start page."),
          el("p", {}, el("a", { class: "button", href: "#/" }, "To the start"))));
      }
      document.body.classList.toggle("offline", state === "lost");
    },
  );
  return () => {
    socket.close();
    document.body.classList.remove("offline");
    if (screen && screen.leave) screen.leave();
  };
}

class ClockFace {
  constructor(label) {
    this.time = el("span", { class: "time", role: "timer", "aria-label": `clock of ${label}` });
    this.element = el("div", { class: "clock" });
  }

  set(seconds, runs) {
    this.seconds = seconds;
    this.since = performance.now();
    this.runs = runs;
    this.draw();
  }

  draw() {
    if (this.seconds === undefined) return;
    const gone = this.runs ? (performance.now() - this.since) / 1000 : 0;
    const left = Math.max(0, this.seconds - gone);
    const minutes = Math.floor(left / 60);
    const rest = left < 20 ? (left % 60).toFixed(1).padStart(4, "0")
      : String(Math.floor(left % 60)).padStart(2, "0");
    this.time.textContent = `${minutes}:${rest}`;
    this.time.classList.toggle("low", left < 20);
    this.time.classList.toggle("runs", Boolean(this.runs));
  }
}

function seat(name, face) {
  const taken = el("span", { class: "taken" });
  const element = el("div", { class: "seat" }, el("span", { class: "name" }, name), taken,
    face.time);
  return { element, taken };
}

function showTaken(box, pieces, whose) {
  box.setAttribute("aria-label", pieces.length ? `captured ${whose}` : "");
  box.replaceChildren(...pieces.map((p) => (isPiece(p) && p.length === 1 ? piece(p)
    : el("span", { class: "unknown-piece" }, p === "pawn" ? "♟" : "?"))));
}

function moveText(entry) {
  if (entry.by === "you") {
    return `${entry.move}${entry.takes ? " ×" : ""}${entry.illegal ? " illegal" : ""}`;
  }
  if (entry.takes && entry.move === "?") return `? ×${entry.at}`;
  return `${entry.move}${entry.takes ? ` ×${entry.at}` : ""}`;
}

class Play {
  constructor(socket) {
    this.socket = socket;
    this.flipped = null;
    this.input = el("input", {
      type: "text", id: "uci", maxlength: 12, autocomplete: "off", autocapitalize: "off",
      spellcheck: "false", placeholder: "e2e4",
    });
    this.faces = [new ClockFace("the opponent"), new ClockFace("you")];
    this.status = el("p", { class: "status", id: "status" });
    this.journal = el("ol", { class: "journal", "aria-label": "Moves", tabindex: "0" });
    this.umpire = el("div", { class: "umpire", id: "umpire", hidden: true });
    this.ticking = setInterval(() => this.faces.forEach((face) => face.draw()), 200);
    this.above = seat("Opponent", this.faces[0]);
    this.below = seat("You", this.faces[1]);
    this.place = el("div", { class: "place" });
    this.after = el("div", { class: "after", hidden: true });
    this.resign = el("button", { type: "button", id: "resign", onclick: () => this.askResign() },
      "Resign");
    this.flip = el("button", {
      type: "button", id: "flip",
      onclick: () => {
        this.flipped = !this.flipped;
        this.draw();
      },
    }, "Flip board");
    const entry = el("form", {
      class: "entry",
      onsubmit: (event) => {
        event.preventDefault();
        if (this.input.value.trim()) this.move(this.input.value.trim());
        this.input.value = "";
      },
    }, el("label", { for: "uci" }, "Move"), this.input, el("button", { type: "submit" }, "Go"));
    this.entry = entry;
    this.side = el("div", { class: "board-side" }, this.above.element, this.place,
      this.below.element);
    show(el("div", { class: "table" }, this.side,
      el("aside", { class: "panel card" }, this.status, this.after, this.umpire, entry,
        this.journal,
        el("div", { class: "row" }, this.flip, this.resign,
          el("a", { class: "button", href: "#/", id: "new" }, "New game")))));
  }

  leave() {
    clearInterval(this.ticking);
  }

  refused() {
    this.draw();
  }

  move(move) {
    if (!this.message.view.your_turn) {
      toast("It is not your turn.");
      return;
    }
    if (!this.socket.send({ type: "move", move, count: this.message.count })) {
      toast("The connection is lost; the move was not made.");
    }
  }

  askResign() {
    const dialog = el("dialog", { class: "question" }, el("p", {}, "Resign the game?"),
      el("div", { class: "row" },
        el("button", { type: "button", class: "primary", id: "resign-yes",
          onclick: () => dialog.close("yes") }, "Resign"),
        el("button", { type: "button", onclick: () => dialog.close("") }, "Play on")));
    dialog.addEventListener("close", () => {
      if (dialog.returnValue === "yes") this.socket.send({ type: "resign" });
      dialog.remove();
    });
    document.body.append(dialog);
    dialog.showModal();
  }

  update(message) {
    const first = !this.message;
    this.message = message;
    const view = message.view;
    if (first) {
      this.flipped = view.you === 1;
      document.title = `${message.game} – klss_spiel`;
      this.above.element.querySelector(".name").textContent = message.opponent;
      if (view.family === "text") {
        this.text = new TextGame((move) => this.move(move));
        this.place.replaceChildren(this.text.element);
        this.entry.hidden = true;
        this.flip.hidden = true;
        this.journal.hidden = true;
      } else {
        this.below.element.querySelector(".name").textContent = `You, ${COLOUR_NAMES[view.you]}`;
        this.board = new Board({
          label: "Board as you see it",
          fog: view.family === "dark",
          onMove: (move) => this.move(move),
        });
        this.side.style.setProperty("--files", view.width);
        this.side.style.setProperty("--ranks", view.height);
        this.place.replaceChildren(this.board.element);
      }
    }
    this.draw();
  }

  draw() {
    const { view, clock, result } = this.message;
    if (clock) {
      this.faces[0].set(clock.seconds[1 - view.you], clock.running === 1 - view.you);
      this.faces[1].set(clock.seconds[view.you], clock.running === view.you);
    }
    if (this.board) this.drawBoard(view);
    else this.text.update(view);
    this.status.textContent = this.statusText();
    this.status.classList.toggle("yours", view.your_turn);
    this.resign.disabled = Boolean(result);
    this.input.disabled = !view.your_turn;
    if (result) this.drawResult(result);
  }

  drawBoard(view) {
    const made = view.journal.filter((e) => !e.illegal);
    const newest = made[made.length - 1];
    const last = newest && newest.by === "you"
      ? [newest.move.slice(0, 2), newest.move.slice(2, 4)]
      : newest ? [newest.at, ...(newest.move.match(/[a-h][1-8]/g) || [])].filter(Boolean) : [];
    this.board.update({
      rows: view.board.split("/"), flipped: this.flipped, moves: view.moves, last,
    });
    showTaken(this.below.taken, view.taken, "by you");
    showTaken(this.above.taken, view.lost, "by the opponent");
    this.drawJournal(view);
    const said = [];
    if (view.family === "kriegspiel") {
      const tail = [];
      for (const entry of [...view.journal].reverse()) {
        tail.unshift(entry);
        if (!entry.illegal) break;
      }
      for (const entry of tail) {
        if (entry.illegal) said.push(`${entry.move} is illegal. Try another move.`);
        else if (entry.said.length) said.push(`${entry.said.join(". ")}.`);
      }
      this.umpire.hidden = false;
      this.umpire.replaceChildren(el("strong", {}, "Umpire: "),
        said.length ? said.join(" ") : "nothing to announce.");
    }
    const lost = newest && newest.by === "opponent" && newest.takes
      ? ` Your ${kindName(newest.takes)} on ${newest.at} was captured.` : "";
    announce(`${this.statusText()}${lost} ${said.join(" ")}`);
    if (view.family === "dark") {
      this.umpire.hidden = !lost;
      this.umpire.textContent = lost.trim();
    }
  }

  drawJournal(view) {
    const lines = [];
    let number = 1;
    let side = view.first;
    let line = null;
    for (const entry of view.journal) {
      if (!line) {
        line = el("li", {}, el("span", { class: "number" }, `${number}.`),
          side === 1 ? el("span", { class: "ply" }, "…") : null);
        lines.push(line);
      }
      const said = entry.said.length && !entry.illegal ? entry.said.join(", ") : "";
      line.append(el("span", {
        class: `ply ${entry.by}${entry.illegal ? " illegal" : ""}`, title: said,
      }, moveText(entry), said ? el("small", {}, ` ${said}`) : null));
      if (entry.illegal) continue;
      if (side === 1) {
        line = null;
        number += 1;
      }
      side = 1 - side;
    }
    this.journal.replaceChildren(...lines);
    this.journal.scrollTop = this.journal.scrollHeight;
  }

  statusText() {
    const { view, result, preparing } = this.message;
    if (result) {
      const own = result.returns[view.you];
      const other = result.returns[1 - view.you];
      const points = view.family === "text" && result.termination === "rules"
        ? ` (${own > 0 ? "+" : ""}${own})` : "";
      if (own === other) return `Drawn${HOW[result.termination] ?? ""}.`;
      return `${own > other ? "You win" : "You lose"}${points}${HOW[result.termination] ?? ""}.`;
    }
    if (preparing) return "The opponent takes a seat …";
    return view.your_turn ? "Your turn." : "The opponent thinks …";
  }

  drawResult(result) {
    if (!this.after.hidden) return;
    this.after.hidden = false;
    const again = el("button", {
      type: "button", id: "again",
      onclick: () => {
        try {
          const last = JSON.parse(localStorage.getItem(STORE)) || {};
          delete last.seed;
          delete last.opponent;
          begin({ ...last, colour: this.message.view.you ? "first" : "second" })
            .catch((error) => toast(error.message));
        } catch {
          location.hash = "#/";
        }
      },
    }, "Again, sides swapped");
    this.after.replaceChildren(
      el("a", { class: "button primary", id: "replay", href: `#/record/${result.record}` },
        "Lift the fog: replay"), again,
      ...atRandom(result.moves_at_random[1 - this.message.view.you]));
  }
}

class Watch {
  constructor() {
    this.steps = [];
    this.status = el("p", { class: "status", id: "status" });
    this.title = el("h1", {});
    this.place = el("div", {});
    this.head = el("section", { class: "card" }, this.title, this.status);
    show(this.head, this.place);
  }

  update(message) {
    this.steps.splice(message.from, this.steps.length, ...message.steps);
    document.title = `${message.game} – klss_spiel`;
    this.title.textContent = `${message.players.join(" against ")}: ${message.game}`;
    const newest = this.steps[this.steps.length - 1];
    const move = newest.move ? `Move ${this.steps.length - 1}: ${newest.move}.` : "";
    this.status.textContent = message.preparing ? "The bots take their seats …"
      : message.result ? "The game is over." : move;
    if (!this.pair) {
      this.pair = boardPair(message.family);
      this.place.replaceChildren(this.pair.element);
    }
    this.pair.update(newest);
    if (message.result && !this.over) {
      this.over = true;
      this.head.hidden = true;
      showGame(message.result.record, this.place).then((close) => {
        if (this.gone) close();
        else this.close = close;
      }, (error) => toast(error.message));
    }
  }

  leave() {
    this.gone = true;
    if (this.close) this.close();
  }
}

class Spectator {
  update(message) {
    if (message.over) {
      location.replace(`#/record/${message.record}`);
      return;
    }
    show(el("section", { class: "card narrow" }, el("h1", {}, "A game is being played"),
      el("p", {}, "Spectators see nothing until the end: the fog is for everybody. "
        + "This page then shows the whole game.")));
  }
}
