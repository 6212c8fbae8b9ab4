// One board: pieces by chessgroundx, or the cells of a connect game; pockets, promotion choice, walls.

import { Chessground } from 'chessgroundx';
import type { Api } from 'chessgroundx/api';
import type * as cg from 'chessgroundx/types';
import { create } from './dom';
import type { BoardState, Color, Legal, VariantInfo } from './messages';
import { Overlay } from './overlay';
import { isDuck, SIDE_NAMES } from './seats';
import { boardFen, fileOf, rankOf, screenPosition, squareName, type Size } from './squares';

const PIECE_NAMES: Record<string, string> = {
  p: 'pawn',
  n: 'knight',
  b: 'bishop',
  r: 'rook',
  q: 'queen',
  k: 'king',
};

export interface BoardUpdate {
  board: BoardState;
  legal: Legal[];
  /** The color that the user may move, `both` in games without colors. */
  movable: Color | 'both' | null;
  lastMove: string[];
  orientation: Color;
}

export interface BoardEvents {
  onPly: (legal: Legal) => void;
  /** Any click on a square. */
  onSquare?: (square: string) => void;
  onHover?: (square: string | null) => void;
}

export function pieceName(letter: string): string {
  return PIECE_NAMES[letter.toLowerCase()] ?? letter;
}

function roleOf(letter: string): cg.Role {
  return `${letter.toLowerCase()}-piece` as cg.Role;
}

function colorOf(letter: string): Color {
  return letter === letter.toUpperCase() ? 'white' : 'black';
}

export class BoardView {
  readonly element: HTMLElement;
  readonly overlay: Overlay;
  /** Pockets by color; empty in games without drops. The caller places them. */
  readonly pockets: Record<Color, HTMLElement>;
  private readonly size: Size;
  private readonly surface: HTMLElement;
  private readonly description: HTMLElement;
  private ground: Api | null = null;
  /** The position that chessgroundx shows; empty after a move by the user. */
  private shown = '';
  private cells = new Map<string, HTMLButtonElement>();
  private update: BoardUpdate | null = null;
  private chooser: HTMLElement | null = null;
  private readonly resizes: ResizeObserver;

  constructor(
    private readonly variant: VariantInfo,
    readonly index: number,
    private readonly events: BoardEvents,
  ) {
    this.size = { files: variant.files, ranks: variant.ranks };
    this.overlay = new Overlay(this.size);
    this.surface = create('div', { class: variant.places ? 'cells' : 'squares' });
    this.description = create('p', { class: 'visually-hidden', id: `board-text-${index}` });
    this.element = create('div', { class: isDuck(variant) ? 'board duck' : 'board', 'data-test': `board-${index}` }, this.surface, this.description);
    this.element.style.setProperty('--files', String(variant.files));
    this.element.style.setProperty('--ranks', String(variant.ranks));
    this.pockets = { white: this.createPocket('white'), black: this.createPocket('black') };
    if (variant.places) this.createCells();
    this.resizes = new ResizeObserver(() => this.ground?.state.dom.bounds.clear());
    this.resizes.observe(this.element);
    this.element.addEventListener('mousemove', event => this.events.onHover?.(this.squareAt(event)));
    this.element.addEventListener('mouseleave', () => this.events.onHover?.(null));
  }

  show(update: BoardUpdate): void {
    this.update = update;
    this.closeChooser();
    this.overlay.orientation = update.orientation;
    if (this.variant.places) this.showCells(update);
    else this.showPieces(update);
    this.showPocket('white');
    this.showPocket('black');
    this.overlay.setDots(this.placements(update).map(legal => legal.to as string));
    this.describe(update);
  }

  destroy(): void {
    this.resizes.disconnect();
    this.ground?.destroy();
    this.element.remove();
  }

  /** Shows the position again, without a move that was begun. */
  reset(): void {
    if (this.update !== null) this.show(this.update);
  }

  // Pieces

  private showPieces(update: BoardUpdate): void {
    const { board, movable, orientation } = update;
    const placement = boardFen(board.pieces, board.promoted, board.walls, this.size);
    const position = [placement, board.turn, movable, orientation].join(' ');
    const config = {
      fen: placement + this.pocketFen(board),
      orientation,
      turnColor: board.turn,
      check: board.check === null ? [] : [board.check as cg.Key],
      lastMove: update.lastMove as cg.Key[],
      movable: {
        free: false,
        color: movable ?? undefined,
        dests: this.destinations(update),
      },
      animation: { enabled: !matchMedia('(prefers-reduced-motion: reduce)').matches, duration: 180 },
    };
    if (this.ground !== null) {
      // A selected piece stays selected when only a pocket has changed.
      if (position !== this.shown) this.ground.unselect();
      this.shown = position;
      this.ground.set(config);
      return;
    }
    this.shown = position;
    const roles = [...this.variant.roles].map(roleOf);
    this.ground = Chessground(this.surface, {
      ...config,
      dimensions: { width: this.size.files, height: this.size.ranks },
      pocketRoles: { white: roles, black: roles },
      kingRoles: [],
      autoCastle: false,
      disableContextMenu: true,
      coordinates: true,
      movable: {
        ...config.movable,
        showDests: true,
        events: {
          after: (from, to) => this.moved(from, to),
          afterNewPiece: (piece, to) => this.dropped(piece.role, to),
        },
      },
      premovable: { enabled: false },
      drawable: { enabled: false, visible: false },
      events: {
        select: square => this.clicked(square),
        insert: elements => {
          elements.container.insertBefore(this.overlay.below, elements.board.nextSibling);
          elements.container.append(this.overlay.above);
        },
      },
    });
  }

  private pocketFen(board: BoardState): string {
    const pockets = board.pockets;
    if (pockets === null) return '';
    const letters = (color: Color): string =>
      Object.entries(pockets[color])
        .map(([letter, count]) => (color === 'white' ? letter.toUpperCase() : letter.toLowerCase()).repeat(count))
        .join('');
    return `[${letters('white')}${letters('black')}]`;
  }

  private destinations(update: BoardUpdate): cg.Dests {
    const destinations: cg.Dests = new Map();
    if (update.movable === null) return destinations;
    for (const legal of update.legal) {
      const origin = legal.drop !== null ? `${legal.drop.toUpperCase()}@` : legal.from;
      if (legal.to === null || origin === null || (legal.wall && legal.drop === null)) continue;
      const squares = destinations.get(origin as cg.Orig) ?? [];
      squares.push(legal.to as cg.Key, ...((legal.alternatives ?? []) as cg.Key[]));
      destinations.set(origin as cg.Orig, squares);
    }
    return destinations;
  }

  /** The plies that are chosen by a click on one square: cells and walls. */
  private placements(update: BoardUpdate): Legal[] {
    if (update.movable === null || this.variant.places) return [];
    return update.legal.filter(legal => legal.to !== null && legal.drop === null && (legal.wall || legal.from === null));
  }

  private moved(from: string, to: string): void {
    this.shown = '';
    const candidates = this.legal().filter(legal => legal.drop === null && !legal.wall && legal.from === from);
    const direct = candidates.filter(legal => legal.to === to);
    // A king step has priority over castling with the same destination, which a drop on the rook means.
    const steps = direct.filter(legal => !legal.castling);
    const chosen = steps.length > 0 ? steps : direct;
    this.choose(chosen.length > 0 ? chosen : candidates.filter(legal => legal.alternatives?.includes(to)), to);
  }

  private dropped(role: string, to: string): void {
    this.shown = '';
    const letter = role[0].toUpperCase();
    this.choose(
      this.legal().filter(legal => legal.drop?.toUpperCase() === letter && legal.to === to),
      to,
    );
  }

  private clicked(square: string): void {
    this.events.onSquare?.(square);
    if (this.update === null) return;
    const placement = this.placements(this.update).find(legal => legal.to === square);
    if (placement !== undefined) this.events.onPly(placement);
  }

  private choose(candidates: Legal[], square: string): void {
    if (candidates.length === 0) {
      this.reset();
      return;
    }
    if (candidates.length === 1) {
      this.events.onPly(candidates[0]);
      return;
    }
    this.openChooser(candidates, square);
  }

  private legal(): Legal[] {
    return this.update?.legal ?? [];
  }

  // The choice of a promotion

  private openChooser(candidates: Legal[], square: string): void {
    const update = this.update as BoardUpdate;
    const color = update.board.turn;
    const [column, row] = screenPosition(square, this.size, update.orientation);
    const fromTop = row < this.size.ranks / 2;
    const list = create('div', { class: fromTop ? 'promotion' : 'promotion up', role: 'group', 'aria-label': 'Promotion' });
    list.style.setProperty('--column', String(column));
    for (const legal of candidates) {
      const letter = legal.promotion ?? (update.board.pieces[legal.from ?? ''] ?? 'p');
      const button = create('button', {
        type: 'button',
        class: `piece-button ${color} ${letter.toLowerCase()}-piece`,
        'aria-label': legal.promotion === null ? 'No promotion' : `Promote to ${pieceName(letter)}`,
      });
      button.addEventListener('click', () => {
        this.closeChooser();
        this.events.onPly(legal);
      });
      list.append(button);
    }
    const shade = create('div', { class: 'shade' }, list);
    shade.addEventListener('click', event => {
      if (event.target === shade) this.reset();
    });
    shade.addEventListener('keydown', event => {
      if (event.key === 'Escape') this.reset();
    });
    this.chooser = shade;
    this.element.append(shade);
    list.querySelector('button')?.focus();
  }

  private closeChooser(): void {
    this.chooser?.remove();
    this.chooser = null;
  }

  // Pockets

  private createPocket(color: Color): HTMLElement {
    const pocket = create('div', { class: 'pocket', role: 'group', 'aria-label': `Pocket of ${color}` });
    if (this.variant.drops === '') pocket.hidden = true;
    for (const letter of this.variant.drops.toLowerCase()) {
      const button = create('button', {
        type: 'button',
        class: `piece-button ${color} ${letter}-piece`,
        'data-role': roleOf(letter),
        'data-color': color,
        'data-nb': 0,
      });
      const start = (event: MouseEvent | TouchEvent): void => this.pickFromPocket(button, color, letter, event);
      button.addEventListener('mousedown', start);
      button.addEventListener('touchstart', start, { passive: false });
      button.addEventListener('click', event => {
        // A click without a pointer comes from the keyboard.
        if (event.detail === 0 && button.dataset.nb !== '0') this.ground?.selectPocket({ role: roleOf(letter), color });
      });
      pocket.append(button);
    }
    return pocket;
  }

  private showPocket(color: Color): void {
    const update = this.update as BoardUpdate;
    const counts = update.board.pockets?.[color] ?? {};
    for (const button of this.pockets[color].querySelectorAll('button')) {
      const letter = (button.dataset.role as string)[0];
      const count = counts[letter] ?? counts[letter.toUpperCase()] ?? 0;
      button.dataset.nb = String(count);
      button.disabled = count === 0;
      button.setAttribute('aria-label', `${count} ${pieceName(letter)}${count === 1 ? '' : 's'} in the pocket of ${color}`);
    }
  }

  private pickFromPocket(button: HTMLElement, color: Color, letter: string, event: MouseEvent | TouchEvent): void {
    const ground = this.ground;
    const movable = this.update?.movable ?? null;
    if (ground === null || button.dataset.nb === '0') return;
    if (movable !== 'both' && (movable !== color || this.update?.board.turn !== color)) return;
    if ('button' in event && event.button !== 0) return;
    const piece: cg.Piece = { role: roleOf(letter), color };
    event.preventDefault();
    const previous = ground.state.selectable.selected;
    ground.selectPocket(piece);
    ground.dragNewPiece(piece, true, event as cg.MouchEvent);
    // A second click on the same piece ends the selection.
    const drag = ground.state.draggable.current;
    if (drag !== undefined) drag.previouslySelected = previous;
  }

  // Cells of connect games

  private createCells(): void {
    this.surface.setAttribute('role', 'group');
    this.surface.setAttribute('aria-label', 'Cells');
    for (let rank = this.size.ranks - 1; rank >= 0; rank--) {
      for (let file = 0; file < this.size.files; file++) {
        const square = squareName(file, rank);
        const cell = create('button', { type: 'button', class: 'cell', 'data-square': square, tabindex: -1 });
        cell.addEventListener('click', () => this.chooseCell(square));
        cell.addEventListener('keydown', event => this.moveFocus(event, file, rank));
        this.cells.set(square, cell);
        this.surface.append(cell);
      }
    }
    this.cells.get('a1')?.setAttribute('tabindex', '0');
    this.surface.append(this.overlay.above, this.overlay.below);
  }

  private showCells(update: BoardUpdate): void {
    const { cells } = update.board;
    for (const [square, button] of this.cells) {
      const side = cells?.[square];
      const legal = this.legalCell(square);
      button.className = side === undefined ? 'cell' : `cell side-${side}`;
      button.classList.toggle('last', update.lastMove.includes(square));
      button.classList.toggle('free', legal?.to === square && update.movable !== null);
      button.setAttribute('aria-disabled', String(legal === undefined || update.movable === null));
      button.setAttribute('aria-label', `${square}, ${side === undefined ? 'empty' : (SIDE_NAMES[side] ?? `player ${side + 1}`)}`);
    }
  }

  /** Returns the legal ply of a cell. A column of a game with gravity has only one, which all its cells mean. */
  private legalCell(square: string): Legal | undefined {
    const legal = this.legal();
    const exact = legal.find(other => other.to === square);
    if (exact !== undefined || this.update?.board.cells?.[square] !== undefined) return exact;
    return this.isGravity() ? legal.find(other => other.to !== null && fileOf(other.to) === fileOf(square)) : undefined;
  }

  private isGravity(): boolean {
    const cells = this.update?.board.cells ?? {};
    const empty = [...this.cells.keys()].filter(square => cells[square] === undefined);
    const legal = this.legal().filter(other => other.to !== null);
    return legal.length > 0 && legal.length < empty.length && new Set(legal.map(other => other.to?.[0])).size === legal.length;
  }

  private chooseCell(square: string): void {
    this.events.onSquare?.(square);
    const legal = this.legalCell(square);
    if (legal !== undefined && this.update?.movable !== null) this.events.onPly(legal);
  }

  private moveFocus(event: KeyboardEvent, file: number, rank: number): void {
    const steps: Record<string, [number, number]> = {
      ArrowLeft: [-1, 0],
      ArrowRight: [1, 0],
      ArrowUp: [0, 1],
      ArrowDown: [0, -1],
    };
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const target = this.cells.get(squareName(file + step[0], rank + step[1]));
    if (target === undefined) return;
    this.cells.get(squareName(file, rank))?.setAttribute('tabindex', '-1');
    target.setAttribute('tabindex', '0');
    target.focus();
  }

  // Text for screen readers

  private describe(update: BoardUpdate): void {
    const { board } = update;
    const parts: string[] = [];
    if (board.cells) {
      for (const [square, side] of Object.entries(board.cells)) parts.push(`${SIDE_NAMES[side] ?? side} ${square}`);
    } else {
      for (const color of ['white', 'black'] as const) {
        const pieces = Object.entries(board.pieces).filter(([, letter]) => colorOf(letter.slice(-1)) === color);
        const texts = pieces
          .sort(([a], [b]) => rankOf(a) - rankOf(b) || fileOf(a) - fileOf(b))
          .map(([square, letter]) => `${pieceName(letter)} ${square}`);
        parts.push(`${color === 'white' ? 'White' : 'Black'}: ${texts.join(', ') || 'no pieces'}`);
      }
      if (board.walls.length > 0) parts.push(`Walls: ${board.walls.join(', ')}`);
    }
    this.description.textContent = parts.join('. ');
  }

  private squareAt(event: MouseEvent): string | null {
    const bounds = this.surface.getBoundingClientRect();
    const column = Math.floor((this.size.files * (event.clientX - bounds.left)) / bounds.width);
    const row = Math.floor((this.size.ranks * (event.clientY - bounds.top)) / bounds.height);
    if (column < 0 || row < 0 || column >= this.size.files || row >= this.size.ranks) return null;
    return this.update?.orientation === 'black'
      ? squareName(this.size.files - 1 - column, row)
      : squareName(column, this.size.ranks - 1 - row);
  }
}
