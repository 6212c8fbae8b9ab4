// The connection to the server: requests with replies by id, events of searches, reconnection.

import type { BestMoveEvent, InfoEvent, MovesEvent, NoteEvent, RbcTurnEvent, SearchEvent } from './messages';

const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 8000;
/** The server refuses longer messages without reading their id. */
const MAX_MESSAGE_BYTES = 65_536;

interface Pending {
  resolve: (reply: unknown) => void;
  reject: (error: Error) => void;
}

interface Reply {
  type: string;
  id?: number | null;
  message?: string;
}

/** An error reply of the server, or a request that it would refuse. The connection is intact. */
export class RequestError extends Error {}

/** The connection was lost before the reply. */
export class ConnectionError extends Error {}

export class Socket {
  onOpen: () => void = () => {};
  onClose: () => void = () => {};
  onRefused: (message: string) => void = () => {};
  onRbcTurn: (event: RbcTurnEvent) => void = () => {};

  private socket: WebSocket | null = null;
  private nextId = 1;
  private retryMs = FIRST_RETRY_MS;
  private readonly pending = new Map<number, Pending>();
  private readonly searches = new Map<number, (event: SearchEvent) => void>();

  constructor(private readonly url: string) {}

  get connected(): boolean {
    return this.socket?.readyState === WebSocket.OPEN;
  }

  connect(): void {
    const socket = new WebSocket(this.url);
    this.socket = socket;
    socket.addEventListener('open', () => {
      this.retryMs = FIRST_RETRY_MS;
      this.onOpen();
    });
    socket.addEventListener('message', event => this.receive(String(event.data)));
    socket.addEventListener('close', () => this.closed());
  }

  /** Sends a request and returns its reply. */
  request<T>(type: string, body: object = {}): Promise<T> {
    const id = this.nextId++;
    return this.send<T>(id, type, body);
  }

  /** Starts a search. `onEvent` gets its events, the last of which is `bestmove`. Returns the id of the search. */
  search(body: object, onEvent: (event: SearchEvent) => void): Promise<number> {
    const id = this.nextId++;
    this.searches.set(id, onEvent);
    return this.send<unknown>(id, 'go', body).then(
      () => id,
      error => {
        this.searches.delete(id);
        throw error;
      },
    );
  }

  private send<T>(id: number, type: string, body: object): Promise<T> {
    const socket = this.socket;
    if (socket === null || socket.readyState !== WebSocket.OPEN) {
      return Promise.reject(new ConnectionError('no connection to the server'));
    }
    const text = JSON.stringify({ type, id, ...body });
    const bytes = new TextEncoder().encode(text).length;
    if (bytes > MAX_MESSAGE_BYTES) {
      return Promise.reject(new RequestError(`the request has ${bytes} bytes, at most ${MAX_MESSAGE_BYTES} are possible`));
    }
    return new Promise<T>((resolve, reject) => {
      this.pending.set(id, { resolve: reply => resolve(reply as T), reject });
      socket.send(text);
    });
  }

  private receive(text: string): void {
    const message = JSON.parse(text) as Reply;
    const id = typeof message.id === 'number' ? message.id : null;
    switch (message.type) {
      case 'info':
      case 'moves':
      case 'note':
      case 'bestmove': {
        if (id === null) return;
        const listener = this.searches.get(id);
        if (message.type === 'bestmove') this.searches.delete(id);
        listener?.(message as unknown as InfoEvent | MovesEvent | NoteEvent | BestMoveEvent);
        return;
      }
      case 'rbc.turn':
        this.onRbcTurn(message as unknown as RbcTurnEvent);
        return;
      case 'error': {
        const error = new RequestError(message.message ?? 'unknown error');
        if (id === null) {
          this.onRefused(error.message);
          return;
        }
        this.pending.get(id)?.reject(error);
        this.pending.delete(id);
        return;
      }
      default:
        if (id === null) return;
        this.pending.get(id)?.resolve(message);
        this.pending.delete(id);
    }
  }

  private closed(): void {
    this.socket = null;
    for (const { reject } of this.pending.values()) reject(new ConnectionError('the connection was lost'));
    this.pending.clear();
    const searches = [...this.searches.values()];
    this.searches.clear();
    for (const listener of searches) listener({ type: 'bestmove', move: null, ponder: null });
    this.onClose();
    setTimeout(() => this.connect(), this.retryMs);
    this.retryMs = Math.min(2 * this.retryMs, LONGEST_RETRY_MS);
  }
}
