// The game on the screen: the tree, the state of its current position, and moves by users and engine.

import { GameTree, movesTo, pathTo, type Setup, type TreeNode } from './game';
import type { Legal, Position, StateReply, VariantInfo } from './messages';
import { seatOnBoard, seatsOf, type Seat } from './seats';
import type { Socket } from './socket';

export class Session {
  tree: GameTree;
  variant: VariantInfo;
  seats: Seat[];
  /** The state of the current node and the partial turn, null until the server has replied. */
  state: StateReply | null = null;
  /** The plies of a turn that is not complete yet. */
  partial: string[] = [];
  /** Clocks for the position of bughouse. */
  clocks: () => number[] | null = () => null;
  /** Whether a move at the end of the game extends it. In analysis it is a variation. */
  extendsGame: () => boolean = () => true;
  /** Called after every change of position or tree. */
  readonly listeners: (() => void)[] = [];
  onError: (message: string) => void = () => {};
  private request = 0;

  constructor(
    readonly socket: Socket,
    readonly variants: VariantInfo[],
    setup: Setup,
  ) {
    this.tree = new GameTree(setup);
    this.variant = this.variantOf(setup);
    this.seats = seatsOf(this.variant);
  }

  /** Replaces the game. */
  async open(tree: GameTree): Promise<void> {
    this.tree = tree;
    this.variant = this.variantOf(tree.setup);
    this.seats = seatsOf(this.variant);
    this.state = null;
    this.partial = [];
    await this.refresh();
  }

  position(node: TreeNode = this.tree.current, partial: string[] = this.partial): Position {
    return { ...this.tree.setup, moves: movesTo(node), plies: partial, clocks: this.clocks() };
  }

  /** Asks for the state of the current node. */
  async refresh(): Promise<void> {
    const request = ++this.request;
    const node = this.tree.current;
    const state = await this.fetchState(node, this.partial);
    if (state === null || request !== this.request) return;
    this.accept(node, state);
  }

  async goTo(node: TreeNode): Promise<void> {
    this.tree.current = node;
    this.partial = [];
    await this.refresh();
  }

  /** Plays a ply at the current node. Returns whether it was accepted. */
  async play(legal: Legal): Promise<boolean> {
    const before = this.state;
    if (before === null) return false;
    const seat = seatOnBoard(this.seats, before, legal.board);
    if (this.variant.boards === 2) {
      const ply = /^[12]/.test(legal.ply) ? legal.ply : `${legal.board + 1}${legal.ply}`;
      return this.playTurn(ply, seat);
    }
    const node = this.tree.current;
    const partial = [...this.partial, legal.ply];
    const request = ++this.request;
    const state = await this.fetchState(node, partial);
    if (request !== this.request) return false;
    if (state === null) {
      await this.refresh();
      return false;
    }
    if (state.complete === null) {
      this.partial = partial;
      this.accept(node, state);
    } else {
      this.append(node, state.complete, state.completeSan ?? state.complete, seat, state);
    }
    return true;
  }

  /** Plays a whole turn at the current node, as the engine writes it. */
  async playTurn(move: string, seat: number): Promise<boolean> {
    const parent = this.tree.current;
    const request = ++this.request;
    const state = await this.fetchTurn(parent, move);
    if (request !== this.request) return false;
    if (state === null) {
      await this.refresh();
      return false;
    }
    this.append(parent, move, state.san.at(-1) ?? move, seat, state);
    return true;
  }

  /** Plays a move that the user has typed: a ply, a whole turn, or algebraic notation. Returns an error message. */
  async playText(text: string, board: number): Promise<string | null> {
    const state = this.state;
    if (state === null) return 'no position';
    const onBoard = this.variant.boards === 2 ? this.legal(board) : state.legal;
    const ply = onBoard.find(legal => legal.ply === text || legal.ply === `${board + 1}${text}`);
    if (ply !== undefined) return (await this.play(ply)) ? null : `illegal move "${text}"`;
    if (this.partial.length > 0) {
      const wall = onBoard.find(legal => legal.to === text);
      return wall !== undefined && (await this.play(wall)) ? null : `"${text}" does not complete the turn`;
    }
    try {
      const position = this.position();
      const request = this.variant.boards === 2 ? { position, text, board } : { position, text };
      const { move } = await this.socket.request<{ move: string }>('san', request);
      const seat = seatOnBoard(this.seats, state, this.variant.boards === 2 ? board : 0);
      return (await this.playTurn(move, seat)) ? null : `illegal move "${text}"`;
    } catch (error) {
      return (error as Error).message;
    }
  }

  /** Gives up the plies of a turn that is not complete. */
  async cancelPartial(): Promise<void> {
    this.partial = [];
    await this.refresh();
  }

  changed(): void {
    for (const listener of this.listeners) listener();
  }

  /** Returns the legal plies of a board. */
  legal(board: number): Legal[] {
    return this.state === null ? [] : this.state.legal.filter(legal => legal.board === board);
  }

  private append(parent: TreeNode, move: string, san: string, seat: number, state: StateReply): void {
    const played = parent === this.tree.tip && this.extendsGame();
    const node = this.tree.add(parent, move, san, seat);
    if (played) this.tree.tip = node;
    this.tree.current = node;
    this.partial = [];
    this.accept(node, state);
  }

  private accept(node: TreeNode, state: StateReply): void {
    pathTo(node).forEach((step, i) => {
      if (state.san[i] !== undefined) step.san = state.san[i];
    });
    this.state = state;
    this.changed();
  }

  private fetchTurn(parent: TreeNode, move: string): Promise<StateReply | null> {
    const position = { ...this.position(parent, []), moves: [...movesTo(parent), move] };
    return this.fetch(position);
  }

  private fetchState(node: TreeNode, partial: string[]): Promise<StateReply | null> {
    return this.fetch(this.position(node, partial));
  }

  private async fetch(position: Position): Promise<StateReply | null> {
    try {
      return await this.socket.request<StateReply>('state', { position });
    } catch (error) {
      this.onError((error as Error).message);
      return null;
    }
  }

  private variantOf(setup: Setup): VariantInfo {
    const variant = this.variants.find(other => other.name === setup.variant);
    if (variant === undefined) throw new Error(`unknown variant "${setup.variant}"`);
    return variant;
  }
}
