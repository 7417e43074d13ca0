// The socket of one game: it comes back by itself, and the server then says where we are.

const FIRST_WAIT = 400;
const LONGEST_WAIT = 8000;
const UNKNOWN_SESSION = 4404;

export class GameSocket {
  constructor(session, onMessage, onState) {
    this.address = `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}`
      + `/api/games/${encodeURIComponent(session)}`;
    this.onMessage = onMessage;
    this.onState = onState;
    this.wait = FIRST_WAIT;
    this.closed = false;
    this.open();
  }

  open() {
    const socket = new WebSocket(this.address);
    this.socket = socket;
    socket.addEventListener("open", () => {
      this.wait = FIRST_WAIT;
      this.onState("connected");
    });
    socket.addEventListener("message", (event) => this.onMessage(JSON.parse(event.data)));
    socket.addEventListener("close", (event) => {
      if (this.closed) return;
      if (event.code === UNKNOWN_SESSION) {
        this.onState("unknown");
        return;
      }
      this.onState("lost");
      setTimeout(() => this.closed || this.open(), this.wait);
      this.wait = Math.min(2 * this.wait, LONGEST_WAIT);
    });
  }

  send(message) {
    if (this.socket.readyState !== WebSocket.OPEN) return false;
    this.socket.send(JSON.stringify(message));
    return true;
  }

  close() {
    this.closed = true;
    this.socket.close();
  }
}
