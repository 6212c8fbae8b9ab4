// Play against the engine: players, strength, clocks, take back, resignation, draws, result.

import { engineSeats, nextPly, otherTeam, SIT_MS } from './bughouse';
import { depthOf, isAncestor, type TreeNode } from './game';
import type { BestMoveEvent, InfoEvent, Limits, Position, StateReply } from './messages';
import { expectedScore, normalizeWdl, wdlOfInfo, wdlOfSideZero } from './score';
import { isDuck, seatsToMove, winnerName } from './seats';
import type { Session } from './session';

export type PlayerKind = 'human' | 'engine';

export interface Strength {
  kind: 'time' | 'nodes' | 'elo';
  /** Seconds a move, nodes a move, or Elo. */
  value: number;
}

export interface TimeControl {
  minutes: number;
  increment: number;
}

export interface PlayOptions {
  players: PlayerKind[];
  strength: Strength;
  clock: TimeControl | null;
}

export interface GameResult {
  /** As in PGN: `1-0`, `0-1`, `1/2-1/2`; or the side that wins in games of more than two sides. */
  text: string;
  reason: string;
  winner: number | null;
}

export interface StoredPlay {
  options: PlayOptions;
  clocks: number[] | null;
  result: GameResult | null;
  active: boolean;
}

const TICK_MS = 100;
const ELO_MOVE_MS = 1000;
const DRAW_SEARCH_MS = 500;
const SHORTEST_MOVE_MS = 50;
/** The engine accepts a draw if its expected score is not above this: in the opening and later. */
const EARLY_ACCEPTED_SCORE = 0.4;
const ACCEPTED_SCORE = 0.5;
const EARLY_PLIES = 60;

export class Play {
  options: PlayOptions;
  clocks: number[] | null = null;
  result: GameResult | null = null;
  /** False while the game is analysed: clocks and engine stand still. */
  active = true;
  /** A remark for the user, such as a refused draw. */
  note = '';
  onChange: () => void = () => {};
  onTick: () => void = () => {};
  /** Called with the notes of the engine. */
  onNote: (text: string) => void = () => {};
  private liveState: StateReply | null = null;
  private lastTip: TreeNode;
  private lastTick = performance.now();
  private searching = false;
  private searchNumber = 0;
  private readonly sitting = new Set<number>();
  private lastTeam = 1;
  private offering = false;

  constructor(private readonly session: Session) {
    this.options = { players: ['human', 'engine'], strength: { kind: 'time', value: 1 }, clock: null };
    this.lastTip = session.tree.tip;
    session.clocks = () => (session.variant.boards === 2 && this.clocks !== null ? this.clocks.map(Math.round) : null);
    session.extendsGame = () => this.active;
    session.listeners.push(() => this.sessionChanged());
    setInterval(() => this.tick(), TICK_MS);
  }

  /** Prepares the play of the game that the session opens next. */
  start(options: PlayOptions, seats: number): void {
    this.stop();
    this.options = options;
    this.clocks = options.clock === null ? null : Array.from({ length: seats }, () => (options.clock as TimeControl).minutes * 60_000);
    this.result = null;
    this.note = '';
    this.active = true;
    this.liveState = null;
    this.sitting.clear();
  }

  /** Call after the session has a new tree and before it opens it. */
  adopt(tip: TreeNode): void {
    this.lastTip = tip;
  }

  store(): StoredPlay {
    return { options: this.options, clocks: this.clocks, result: this.result, active: this.active };
  }

  restore(stored: StoredPlay): void {
    this.stop();
    this.options = stored.options;
    this.clocks = stored.clocks;
    this.result = stored.result;
    this.active = stored.active;
    this.liveState = null;
  }

  setActive(active: boolean): void {
    if (this.active === active) return;
    this.active = active;
    this.note = '';
    if (active) this.lastTick = performance.now();
    else this.stop();
    this.onChange();
    this.think();
  }

  /** Continues the game from the current node. Later moves stay as variations. */
  async playFromHere(): Promise<void> {
    const { tree } = this.session;
    this.stop();
    this.result = null;
    this.note = '';
    tree.tip = tree.current;
    this.lastTip = tree.current;
    this.liveState = null;
    if (this.clocks !== null) this.clocks = tree.current.clocks?.slice() ?? this.clocks;
    this.active = true;
    this.lastTick = performance.now();
    await this.session.goTo(tree.current);
  }

  get isLive(): boolean {
    return this.session.tree.current === this.session.tree.tip;
  }

  get hasEngine(): boolean {
    return this.options.players.includes('engine');
  }

  /** Returns whether the user may move the pieces of a seat now. */
  mayMove(seat: number): boolean {
    if (!this.active) return true;
    return this.result === null && this.isLive && this.options.players[seat] === 'human';
  }

  runningSeats(): number[] {
    if (!this.active || this.result !== null || this.liveState === null) return [];
    return seatsToMove(this.session.seats, this.liveState);
  }

  get thinking(): boolean {
    return this.searching;
  }

  /** The seats of the engine that sit now. */
  isSitting(team: number): boolean {
    return this.sitting.has(team);
  }

  get claimable(): boolean {
    return this.active && this.result === null && this.liveState?.claimable === true;
  }

  // Actions of the user

  /** Takes back the last move of a human and what followed. */
  async takeBack(): Promise<void> {
    const { tree } = this.session;
    let node = tree.tip;
    while (node.parent !== null && this.options.players[node.seat] !== 'human' && this.options.players.includes('human')) {
      node = node.parent;
    }
    const target = node.parent;
    if (target === null) return;
    this.stop();
    this.result = null;
    this.note = '';
    if (this.clocks !== null) this.clocks = target.clocks?.slice() ?? this.clocks;
    tree.remove(node);
    tree.tip = target;
    this.lastTip = target;
    await this.session.goTo(target);
  }

  resign(): void {
    if (this.result !== null) return;
    const seat = this.humanSeat();
    const { sides } = this.session.variant;
    const side = this.session.seats[seat].side;
    if (sides > 2) this.finish({ text: '*', reason: `${this.session.seats[seat].label} resigned`, winner: null });
    else this.finish(this.win(1 - side, `${this.session.seats[seat].label} resigned`));
  }

  /** Offers a draw, which another human accepts by the button and the engine by its evaluation. */
  async offerDraw(): Promise<void> {
    if (this.result !== null || this.offering) return;
    if (this.claimable && this.liveState !== null) {
      this.claim(this.liveState);
      return;
    }
    if (!this.hasEngine) {
      this.finish({ text: '1/2-1/2', reason: 'draw agreed', winner: null });
      return;
    }
    this.offering = true;
    this.note = 'The engine considers the draw.';
    this.onChange();
    const score = await this.evaluateForEngine();
    this.offering = false;
    const accepted = depthOf(this.session.tree.tip) < EARLY_PLIES ? EARLY_ACCEPTED_SCORE : ACCEPTED_SCORE;
    if (score !== null && score <= accepted && this.result === null) {
      this.finish({ text: '1/2-1/2', reason: 'draw agreed', winner: null });
      return;
    }
    this.note = 'The engine declines the draw.';
    this.onChange();
    this.think();
  }

  get canOfferDraw(): boolean {
    return this.active && this.result === null && this.session.variant.sides === 2 && this.options.players.includes('human');
  }

  // Changes of the game

  private sessionChanged(): void {
    const { tree, state, partial } = this.session;
    if (state === null) return;
    if (tree.current === tree.tip && partial.length === 0) this.liveState = state;
    if (tree.tip !== this.lastTip) {
      if (this.active && tree.tip.parent === this.lastTip) this.moved(tree.tip);
      this.lastTip = tree.tip;
      this.sitting.clear();
    }
    if (this.active && this.result === null && tree.current === tree.tip && state.outcome !== null) {
      this.finish({ text: state.outcome.text.split(' ')[0], reason: state.outcome.reason, winner: state.outcome.winner });
      return;
    }
    this.onChange();
    this.think();
  }

  private moved(node: TreeNode): void {
    this.note = '';
    if (this.clocks !== null && this.options.clock !== null) {
      this.tick();
      this.clocks[node.seat] += this.options.clock.increment * 1000;
      node.clocks = this.clocks.slice();
    }
  }

  private finish(result: GameResult): void {
    this.result = result;
    this.note = '';
    this.stop();
    this.onChange();
  }

  private claim(state: StateReply): void {
    const claim = state.claim ?? { winner: null, reason: 'claimed', text: '1/2-1/2' };
    this.finish({ text: claim.text.split(' ')[0], reason: claim.reason, winner: claim.winner });
  }

  private win(side: number, reason: string): GameResult {
    return { text: side === 0 ? '1-0' : '0-1', reason, winner: side };
  }

  private humanSeat(): number {
    const toMove = this.liveState === null ? [] : seatsToMove(this.session.seats, this.liveState);
    const human = (seat: number): boolean => this.options.players[seat] === 'human';
    return toMove.find(human) ?? Math.max(0, this.options.players.indexOf('human'));
  }

  private tick(): void {
    const now = performance.now();
    const elapsed = now - this.lastTick;
    this.lastTick = now;
    const { clocks } = this;
    // The clock of the first move does not run.
    if (clocks === null || this.session.tree.tip.parent === null) return;
    const running = this.runningSeats();
    if (running.length === 0) return;
    for (const seat of running) clocks[seat] -= elapsed;
    const fallen = running.find(seat => clocks[seat] <= 0);
    if (fallen !== undefined) {
      clocks[fallen] = 0;
      const { seats, variant } = this.session;
      const reason = `${seats[fallen].label} lost on time`;
      if (variant.sides > 2) this.finish({ text: '*', reason, winner: null });
      else this.finish(this.win(1 - seats[fallen].side, reason));
      return;
    }
    this.onTick();
  }

  // The engine

  private stop(): void {
    this.searchNumber += 1;
    if (!this.searching) return;
    this.searching = false;
    this.session.socket.request('stop').catch(() => {});
  }

  /** Starts a search if the engine is to move. */
  private think(): void {
    const state = this.liveState;
    if (!this.active || this.searching || this.offering || this.result !== null || state === null) return;
    if (this.session.partial.length > 0) return;
    const toMove = seatsToMove(this.session.seats, state);
    if (state.boards.length === 2) {
      this.thinkForTeam(state, toMove);
      return;
    }
    const seat = toMove[0];
    if (seat === undefined || this.options.players[seat] !== 'engine') return;
    if (state.claimable) {
      this.claim(state);
      return;
    }
    const tip = this.session.tree.tip;
    this.search({ position: this.session.position(tip, []) }, this.limits([seat]), state, tip, move => this.playMove(move, seat, tip));
  }

  private thinkForTeam(state: StateReply, toMove: number[]): void {
    const { seats, tree } = this.session;
    // The teams search in turn, so that neither waits for the other for ever.
    for (const team of [1 - this.lastTeam, this.lastTeam]) {
      const engine = engineSeats(seats, this.options.players, toMove, team);
      if (engine.length === 0 || this.sitting.has(team)) continue;
      this.lastTeam = team;
      const tip = tree.tip;
      const teamState: StateReply = { ...state, turn: team };
      const position = this.session.position(tip, []);
      this.search({ position, team: otherTeam(team, state) }, this.limits(engine), teamState, tip, move => this.playTeamMove(move, team));
      return;
    }
  }

  private search(
    game: { position: Position; team?: number },
    limits: Limits,
    state: StateReply,
    tip: TreeNode,
    done: (move: string | null) => void,
  ): void {
    const number = ++this.searchNumber;
    this.searching = true;
    this.onChange();
    const elo = this.options.strength.kind === 'elo' ? this.options.strength.value : null;
    let last: InfoEvent | null = null;
    this.session.socket
      .search({ ...game, limits, multipv: 1, elo }, event => {
        if (number !== this.searchNumber) return;
        if (event.type === 'info' && event.rank === 1) last = event;
        if (event.type === 'note') this.onNote(event.text);
        if (event.type !== 'bestmove') return;
        this.searching = false;
        if (last !== null && state.sides === 2) tip.value = expectedScore(wdlOfSideZero(wdlOfInfo(last), state));
        done((event as BestMoveEvent).move);
      })
      .catch((error: Error) => {
        if (number !== this.searchNumber) return;
        this.searching = false;
        this.note = `The engine cannot search: ${error.message}`;
        this.onChange();
      });
  }

  private async playMove(move: string | null, seat: number, tip: TreeNode): Promise<void> {
    if (move === null) {
      this.onChange();
      return;
    }
    if (this.session.tree.current !== tip) await this.session.goTo(tip);
    await this.session.playTurn(move, seat);
  }

  private async playTeamMove(move: string | null, team: number): Promise<void> {
    const { session } = this;
    const state = this.liveState;
    if (state === null) return;
    const toMove = seatsToMove(session.seats, state);
    const engine = engineSeats(session.seats, this.options.players, toMove, team);
    const next = move === null ? null : nextPly(move, state, session.seats, engine);
    if (next === null) {
      this.sit(team);
      return;
    }
    if (!this.isLive) await session.goTo(session.tree.tip);
    await session.playTurn(next.ply, next.seat);
  }

  private sit(team: number): void {
    this.sitting.add(team);
    const tip = this.session.tree.tip;
    setTimeout(() => {
      if (this.session.tree.tip !== tip) return;
      this.sitting.delete(team);
      this.think();
    }, SIT_MS);
    this.onChange();
    this.think();
  }

  private limits(seats: number[]): Limits {
    const { strength } = this.options;
    if (strength.kind === 'nodes') return { nodes: strength.value };
    const asked = strength.kind === 'time' ? strength.value * 1000 : ELO_MOVE_MS;
    if (this.clocks === null || this.options.clock === null) return { movetime: Math.round(asked) };
    const left = Math.min(...seats.map(seat => (this.clocks as number[])[seat]));
    const increment = this.options.clock.increment * 1000;
    const share = left / 30 + 0.8 * increment;
    return { movetime: Math.round(Math.max(SHORTEST_MOVE_MS, Math.min(asked, share, left / 4))) };
  }

  /** Returns the expected score of the engine in the live position. */
  private evaluateForEngine(): Promise<number | null> {
    const { session } = this;
    const state = this.liveState;
    const engineSeat = this.options.players.indexOf('engine');
    if (state === null || engineSeat < 0) return Promise.resolve(null);
    this.stop();
    const { side } = session.seats[engineSeat];
    const team = session.variant.boards === 2 ? otherTeam(side, state) : undefined;
    const number = this.searchNumber;
    let last: InfoEvent | null = null;
    return new Promise(resolve => {
      session.socket
        .search({ position: session.position(session.tree.tip, []), team, limits: { movetime: DRAW_SEARCH_MS }, multipv: 1, elo: null }, event => {
          if (event.type === 'info' && event.rank === 1) last = event;
          if (event.type !== 'bestmove') return;
          if (last === null || number !== this.searchNumber) {
            resolve(null);
            return;
          }
          const score = expectedScore(normalizeWdl(wdlOfInfo(last)));
          resolve(side === (team ?? state.turn) ? score : 1 - score);
        })
        .catch(() => resolve(null));
    });
  }

  /** Call after a new connection: searches of the old one are lost. */
  reconnected(): void {
    this.searchNumber += 1;
    this.searching = false;
    this.think();
  }

  /** Returns what the live region announces. */
  statusText(): string {
    const { session } = this;
    if (this.result !== null) return this.resultText(this.result);
    const state = session.state;
    if (state === null) return 'Loading';
    if (this.active && !this.isLive) return 'An earlier position. Press End to continue the game.';
    const parts: string[] = [];
    const last = session.tree.current;
    if (session.partial.length > 0) {
      const mover = session.seats[state.turn].label;
      return `Complete the turn of ${mover}: place the ${isDuck(session.variant) ? 'duck' : 'wall'}.`;
    }
    if (last.parent !== null) parts.push(`${session.seats[last.seat].label}: ${last.san}.`);
    if (state.outcome !== null) {
      parts.push(`${state.outcome.text}.`);
      return parts.join(' ');
    }
    const toMove = seatsToMove(session.seats, state).map(seat => session.seats[seat].label);
    parts.push(`${toMove.join(' and ')} to move.`);
    if (this.note !== '') parts.push(this.note);
    return parts.join(' ');
  }

  private resultText(result: GameResult): string {
    const { seats, variant } = this.session;
    const winner = result.winner === null ? '' : `${winnerName(seats, result.winner)} won: `;
    const text = variant.sides > 2 ? '' : `${result.text} `;
    return `${text}${winner}${result.reason}`;
  }

  /** Returns whether a node belongs to the game as it was played. */
  isPlayed(node: TreeNode): boolean {
    return isAncestor(node, this.session.tree.tip);
  }
}
