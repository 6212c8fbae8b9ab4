// Reconnaissance blind chess: sense, move, what the side sees, and the truth after the game.

import { BoardView, pieceName } from './boardview';
import { byId, create, formatClock } from './dom';
import type { BoardState, Color, Legal, RbcLogEntry, RbcReply, RbcView, VariantInfo } from './messages';
import type { NewRbcGame } from './newgame';
import { readTabJson, writeTabJson } from './settings';
import { RequestError, type Socket } from './socket';
import { squareName, squaresAround, type Size } from './squares';

const KEY = 'menagerie.rbc';
const SIZE: Size = { files: 8, ranks: 8 };

interface Stored {
  token: string;
  game: NewRbcGame;
}

export class RbcGame {
  onStatus: (text: string) => void = () => {};
  onAgain: () => void = () => {};
  private view: RbcView | null = null;
  private token = '';
  private game: NewRbcGame = { color: 'white', seconds: 900, preset: 'fast' };
  private board: BoardView | null = null;
  private column: HTMLElement | null = null;
  private clocks: HTMLElement[] = [];
  private truthIndex = 0;
  private received = 0;
  private flipped = false;
  private busy = false;
  private flagChecked = false;
  private readonly text = byId<HTMLInputElement>('rbc-text');

  constructor(
    private readonly socket: Socket,
    private readonly variant: VariantInfo,
  ) {
    socket.onRbcTurn = event => {
      if (event.token === this.token) this.accept(event.view);
    };
    byId('rbc-pass').addEventListener('click', () => void this.pass());
    byId('rbc-resign').addEventListener('click', () => void this.send('rbc.resign', {}));
    byId('rbc-again').addEventListener('click', () => this.onAgain());
    byId<HTMLFormElement>('rbc-form').addEventListener('submit', event => {
      event.preventDefault();
      void this.enterText();
    });
    const steps: [string, (last: number) => number][] = [
      ['rbc-first', () => 0],
      ['rbc-previous', () => Math.max(0, this.truthIndex - 1)],
      ['rbc-next', last => Math.min(last, this.truthIndex + 1)],
      ['rbc-last', last => last],
    ];
    for (const [id, target] of steps) byId(id).addEventListener('click', () => this.step(target));
    setInterval(() => this.renderClocks(), 200);
  }

  get active(): boolean {
    return this.column !== null;
  }

  static hasStored(): boolean {
    return readTabJson<Stored>(KEY) !== null;
  }

  static forget(): void {
    writeTabJson(KEY, null);
  }

  /** Begins a game in place of the current one. Returns an error message, and then keeps the current one. */
  async start(game: NewRbcGame): Promise<string | null> {
    try {
      const reply = await this.socket.request<RbcReply>('rbc.new', game);
      this.resignUnfinished();
      this.game = game;
      this.token = reply.token;
      writeTabJson(KEY, { token: reply.token, game } satisfies Stored);
      this.open();
      this.accept(reply.view);
      return null;
    } catch (error) {
      return (error as Error).message;
    }
  }

  /** Continues the stored game. Returns an error message. A game that the server does not know is forgotten. */
  async resume(): Promise<string | null> {
    const stored = readTabJson<Stored>(KEY);
    if (stored === null) return 'there is no game of blind chess to continue';
    try {
      const reply = await this.socket.request<RbcReply>('rbc.resume', { token: stored.token });
      this.game = stored.game;
      this.token = stored.token;
      this.open();
      this.accept(reply.view);
      return null;
    } catch (error) {
      if (error instanceof RequestError) RbcGame.forget();
      return (error as Error).message;
    }
  }

  close(): void {
    this.resignUnfinished();
    this.board?.destroy();
    this.column?.remove();
    this.board = null;
    this.column = null;
    this.view = null;
    this.token = '';
    RbcGame.forget();
  }

  /** Ends the game on the server, which limits the number of games that are not over. */
  private resignUnfinished(): void {
    if (this.view === null || this.view.phase === 'over') return;
    this.socket.request('rbc.resign', { token: this.token }).catch(() => {});
  }

  flip(): void {
    this.flipped = !this.flipped;
    this.render();
  }

  /** Steps through the replay by the arrow keys. */
  key(key: string): boolean {
    const ids: Record<string, string> = { ArrowLeft: 'rbc-previous', ArrowRight: 'rbc-next', Home: 'rbc-first', End: 'rbc-last' };
    if (this.view?.truth === null || ids[key] === undefined) return false;
    byId(ids[key]).click();
    return true;
  }

  get lastGame(): NewRbcGame {
    return this.game;
  }

  private open(): void {
    this.board?.destroy();
    this.column?.remove();
    this.flipped = false;
    this.board = new BoardView(this.variant, 0, {
      onPly: legal => void this.requestMove(legal.ply),
      onSquare: square => this.squareChosen(square),
      onHover: square => this.hover(square),
    });
    const strip = (name: string, color: Color): HTMLElement => {
      const clock = create('span', { class: 'clock', role: 'timer' });
      this.clocks[color === 'white' ? 0 : 1] = clock;
      const mark = create('span', { class: `mark ${color}`, 'aria-hidden': 'true' });
      return create('div', { class: 'strips' }, create('div', { class: 'strip' }, mark, create('span', { class: 'name' }, name), clock));
    };
    const other = this.game.color === 'white' ? 'black' : 'white';
    this.column = create(
      'div',
      { class: 'column', role: 'group', 'aria-label': 'Blind chess' },
      strip(`${other === 'white' ? 'White' : 'Black'} (engine)`, other),
      this.board.element,
      strip(`${other === 'white' ? 'Black' : 'White'} (you)`, this.game.color),
    );
    const host = byId('boards');
    host.dataset.boards = '1';
    host.style.setProperty('--files', '8');
    host.style.setProperty('--ranks', '8');
    host.append(this.column);
  }

  private accept(view: RbcView): void {
    if (view.truth !== null && this.view?.truth === null) this.truthIndex = view.truth.fens.length - 1;
    else if (view.truth !== null && this.view === null) this.truthIndex = view.truth.fens.length - 1;
    this.view = view;
    this.received = performance.now();
    this.flagChecked = false;
    this.render();
  }

  private async send(type: string, body: object): Promise<void> {
    if (this.busy) return;
    this.busy = true;
    try {
      const reply = await this.socket.request<RbcReply>(type, { token: this.token, ...body });
      this.accept(reply.view);
    } catch (error) {
      this.onStatus((error as Error).message);
      this.board?.reset();
    } finally {
      this.busy = false;
    }
  }

  private squareChosen(square: string): void {
    if (this.view?.phase === 'sense') void this.send('rbc.sense', { square });
  }

  private requestMove(request: string): Promise<void> {
    return this.send('rbc.move', { request });
  }

  private async pass(): Promise<void> {
    if (this.view?.phase === 'sense') await this.send('rbc.sense', { square: null });
    else if (this.view?.phase === 'move') await this.send('rbc.move', { request: null });
  }

  private async enterText(): Promise<void> {
    const text = this.text.value.trim();
    if (text === '' || this.view === null) return;
    if (this.view.phase === 'sense') await this.send('rbc.sense', { square: text });
    else if (this.view.phase === 'move') await this.requestMove(text);
    this.text.value = '';
  }

  private hover(square: string | null): void {
    const sensing = this.view?.phase === 'sense' && square !== null;
    this.board?.overlay.setFrame(sensing ? squaresAround(square, SIZE) : this.lastSense());
  }

  /** The squares of the sense of this turn. */
  private lastSense(): string[] {
    const { view } = this;
    return view?.phase === 'move' ? Object.keys(view.seen).filter(square => view.seen[square] === 0) : [];
  }

  private step(target: (last: number) => number): void {
    const truth = this.view?.truth;
    if (!truth) return;
    this.truthIndex = target(truth.fens.length - 1);
    this.render();
  }

  private render(): void {
    const { view, board } = this;
    if (view === null || board === null) return;
    const orientation: Color = (view.color === 'black') !== this.flipped ? 'black' : 'white';
    const truth = view.truth === null ? null : view.truth.fens[this.truthIndex];
    board.show({
      board: truth === null || truth === undefined ? this.seenBoard(view) : boardOfFen(truth),
      legal: view.phase === 'move' ? view.requests.map(legalOfRequest) : [],
      movable: view.phase === 'move' ? view.color : null,
      lastMove: truth === null ? lastSquares(view) : this.truthSquares(view),
      orientation,
    });
    board.overlay.setFog(truth === null || truth === undefined ? this.unseen(view) : []);
    board.overlay.setFrame(this.lastSense());
    this.renderPanel(view);
    this.renderClocks();
  }

  /** The squares of the turn before the position that the replay shows. */
  private truthSquares(view: RbcView): string[] {
    const taken = view.log[this.truthIndex - 1]?.taken;
    return taken ? [taken.slice(0, 2), taken.slice(2, 4)] : [];
  }

  private seenBoard(view: RbcView): BoardState {
    return {
      turn: view.color,
      pieces: view.pieces,
      walls: [],
      pockets: null,
      check: null,
      promoted: [],
      checks: null,
      mayMove: view.phase === 'move',
      drawn: false,
    };
  }

  /** The squares that the side does not see now: not its own pieces, and not of the last sense. */
  private unseen(view: RbcView): string[] {
    const isOwn = (letter: string | undefined): boolean =>
      letter !== undefined && (letter === letter.toUpperCase()) === (view.color === 'white');
    const unseen: string[] = [];
    for (let file = 0; file < 8; file++) {
      for (let rank = 0; rank < 8; rank++) {
        const square = squareName(file, rank);
        if (!isOwn(view.pieces[square]) && view.seen[square] !== 0) unseen.push(square);
      }
    }
    return unseen;
  }

  private renderPanel(view: RbcView): void {
    const over = view.phase === 'over';
    byId('rbc-form').hidden = over;
    byId('rbc-pass').hidden = over;
    byId('rbc-resign').hidden = over;
    byId('rbc-again').hidden = !over;
    byId('rbc-steps').hidden = view.truth === null;
    byId('rbc-label').textContent = view.phase === 'sense' ? 'Square to sense' : 'Move';
    byId<HTMLButtonElement>('rbc-pass').disabled = view.phase === 'wait';
    byId('rbc-pass').textContent = view.phase === 'sense' ? 'Sense nothing' : 'Pass';
    byId('rbc-hint').textContent = this.hint(view);
    const log = byId('rbc-log');
    log.replaceChildren(...view.log.map(entry => create('li', {}, describeEntry(entry, view))));
    log.scrollTop = log.scrollHeight;
    this.onStatus(this.statusText(view));
  }

  private hint(view: RbcView): string {
    if (view.truth !== null) return `The true position ${this.truthIndex + 1} of ${view.truth.fens.length}.`;
    if (view.phase === 'sense') return 'Choose the center of a 3x3 square. Dark squares are not seen now; pieces on them are where they were last seen.';
    if (view.phase === 'move') return 'Choose a move. It may be taken as a shorter one, or not at all.';
    return '';
  }

  private statusText(view: RbcView): string {
    switch (view.phase) {
      case 'sense':
        return 'Your turn: sense.';
      case 'move':
        return 'Your turn: move.';
      case 'wait':
        return 'The engine thinks.';
      case 'over':
        return view.outcome === null ? 'The game is over.' : `${view.outcome.text}`;
    }
  }

  /** The server has no timer: it sees that a clock has run out when it is asked. */
  private checkFlag(): void {
    if (this.flagChecked) return;
    this.flagChecked = true;
    void this.send('rbc.resume', {});
  }

  private renderClocks(): void {
    const { view } = this;
    if (view === null) return;
    const running = view.phase === 'over' ? -1 : (view.phase === 'wait') === (view.color === 'white') ? 1 : 0;
    this.clocks.forEach((clock, side) => {
      const ms = view.clock?.[side];
      clock.hidden = ms === undefined || ms === null;
      if (clock.hidden) return;
      const left = ms - (side === running ? performance.now() - this.received : 0);
      clock.textContent = formatClock(left);
      if (left <= 0) this.checkFlag();
      clock.classList.toggle('running', side === running);
    });
  }
}

function legalOfRequest(request: string): Legal {
  return {
    ply: request,
    board: 0,
    from: request.slice(0, 2),
    to: request.slice(2, 4),
    promotion: request[4] ?? null,
    drop: null,
    wall: false,
    pass: false,
    castling: false,
  };
}

/** The squares of the last turn, or where the opponent captured. */
function lastSquares(view: RbcView): string[] {
  const last = view.log.at(-1);
  if (last === undefined) return [];
  if (last.color !== view.color) return last.captured === null ? [] : [last.captured];
  return last.taken === null ? [] : [last.taken.slice(0, 2), last.taken.slice(2, 4)];
}

function describeEntry(entry: RbcLogEntry, view: RbcView): string {
  const name = entry.color === 'white' ? 'White' : 'Black';
  if (entry.color !== view.color && view.truth === null) {
    return entry.captured === null ? `${name}: no capture` : `${name}: captured on ${entry.captured}`;
  }
  const parts: string[] = [];
  if (entry.sense !== null) parts.push(`sensed ${entry.sense}`);
  if (entry.request === null) parts.push('passed');
  else if (entry.taken === entry.request) parts.push(entry.request);
  else parts.push(entry.taken === null ? `${entry.request} was not possible` : `${entry.request} became ${entry.taken}`);
  if (entry.captured !== null) parts.push(`captured on ${entry.captured}`);
  return `${name}: ${parts.join(', ')}`;
}

function boardOfFen(fen: string): BoardState {
  const [rows, turn] = fen.split(' ');
  const pieces: Record<string, string> = {};
  rows.split('/').forEach((row, i) => {
    let file = 0;
    for (const letter of row) {
      if (/\d/.test(letter)) file += Number(letter);
      else {
        if (pieceName(letter) !== letter) pieces[squareName(file, 7 - i)] = letter;
        file += 1;
      }
    }
  });
  return {
    turn: turn === 'b' ? 'black' : 'white',
    pieces,
    walls: [],
    pockets: null,
    check: null,
    promoted: [],
    checks: null,
    mayMove: false,
    drawn: false,
  };
}
