// The boards of a game with the strips of their players: name, pocket and clock.

import { BoardView } from './boardview';
import { byId, create, formatClock } from './dom';
import type { Color, Legal, PlySquares, VariantInfo } from './messages';
import type { Play } from './play';
import { seatOnBoard, type Seat } from './seats';
import type { Session } from './session';

const LOW_CLOCK_MS = 20_000;

interface Strip {
  element: HTMLElement;
  name: HTMLElement;
  clock: HTMLElement;
  info: HTMLElement;
}

export class GameView {
  views: BoardView[] = [];
  private flipped = false;
  private columns: HTMLElement[] = [];
  private strips: Strip[] = [];
  private variant: VariantInfo | null = null;
  private readonly host = byId('boards');

  constructor(
    private readonly session: Session,
    private readonly play: Play,
    private readonly onPly: (legal: Legal) => void,
  ) {}

  flip(): void {
    this.flipped = !this.flipped;
    this.render();
  }

  /** Shows the side of the user at the bottom. */
  orient(): void {
    const { players } = this.play.options;
    const { seats } = this.session;
    this.flipped = seats[0].color !== null && players[0] === 'engine' && players[1] === 'human';
  }

  /** Removes the boards, as for a game of blind chess. */
  close(): void {
    for (const view of this.views) view.destroy();
    for (const column of this.columns) column.remove();
    this.views = [];
    this.columns = [];
    this.strips = [];
    this.variant = null;
  }

  render(): void {
    const { session } = this;
    if (this.variant !== session.variant) this.build(session.variant);
    const { state } = session;
    this.host.classList.toggle('flipped', this.flipped);
    if (state === null) return;
    this.columns.forEach((column, board) => {
      const orientation = this.orientation(board);
      const body = state.boards[board];
      const seat = seatOnBoard(session.seats, state, board);
      const mayMove = body.mayMove && this.play.mayMove(seat);
      this.placeStrips(column, board, orientation);
      this.views[board].show({
        board: body,
        legal: session.legal(board),
        movable: mayMove ? (session.variant.places ? 'both' : body.turn) : null,
        lastMove: state.lastMoves.filter(squares => squares.board === board).flatMap(squaresOf),
        orientation,
      });
      column.classList.toggle('drawn', body.drawn);
    });
    this.renderStrips();
  }

  renderClocks(): void {
    const { clocks } = this.play;
    const running = this.play.runningSeats();
    this.strips.forEach((strip, seat) => {
      strip.clock.hidden = clocks === null;
      if (clocks === null) return;
      strip.clock.textContent = formatClock(clocks[seat]);
      strip.clock.classList.toggle('running', running.includes(seat));
      strip.clock.classList.toggle('low', clocks[seat] < LOW_CLOCK_MS);
    });
  }

  private renderStrips(): void {
    const { session, play } = this;
    const state = session.state;
    if (state === null) return;
    session.seats.forEach((seat, i) => {
      const strip = this.strips[i];
      const toMove = state.outcome === null && state.boards[seat.board].mayMove && seatOnBoard(session.seats, state, seat.board) === i;
      strip.name.textContent = this.nameOf(seat, i);
      strip.element.classList.toggle('to-move', toMove);
      const notes: string[] = [];
      const checks = state.boards[seat.board].checks;
      if (checks !== null && seat.color !== null) {
        const left = checks[seat.color === 'white' ? 0 : 1];
        notes.push(`${left} check${left === 1 ? '' : 's'} to win`);
      }
      if (play.active && play.options.players[i] === 'engine' && toMove) {
        if (state.boards.length === 2 && play.isSitting(seat.side)) notes.push('sits');
        else if (play.thinking) notes.push('thinks');
      }
      strip.info.textContent = notes.join(', ');
    });
    this.renderClocks();
  }

  private nameOf(seat: Seat, index: number): string {
    if (!this.play.active) return seat.label;
    return `${seat.label} (${this.play.options.players[index] === 'engine' ? 'engine' : 'you'})`;
  }

  private build(variant: VariantInfo): void {
    this.close();
    this.variant = variant;
    this.host.dataset.boards = String(variant.boards);
    this.host.classList.toggle('with-pockets', variant.drops !== '');
    this.host.style.setProperty('--files', String(variant.files));
    this.host.style.setProperty('--ranks', String(variant.ranks));
    this.strips = this.session.seats.map((seat, i) => this.createStrip(seat, i));
    for (let board = 0; board < variant.boards; board++) {
      const view = new BoardView(variant, board, { onPly: this.onPly });
      const column = create(
        'div',
        { class: 'column', role: 'group', 'aria-label': variant.boards === 2 ? `Board ${board === 0 ? 'A' : 'B'}` : variant.title },
        create('div', { class: 'strips top' }),
        view.element,
        create('div', { class: 'strips bottom' }),
      );
      this.views.push(view);
      this.columns.push(column);
      this.host.append(column);
    }
  }

  private createStrip(seat: Seat, index: number): Strip {
    const name = create('span', { class: 'name' });
    const info = create('span', { class: 'info' });
    const clock = create('span', { class: 'clock', role: 'timer', 'data-test': `clock-${index}` });
    const mark = create('span', { class: seat.color === null ? `mark side-${seat.side}` : `mark ${seat.color}`, 'aria-hidden': 'true' });
    const element = create('div', { class: 'strip', 'data-test': `strip-${index}` }, mark, name, info, clock);
    return { element, name, info, clock };
  }

  /** In bughouse partners sit on the same side, with different colors. */
  private orientation(board: number): Color {
    const black = this.flipped !== (board === 1);
    return black ? 'black' : 'white';
  }

  private placeStrips(column: HTMLElement, board: number, orientation: Color): void {
    const top = column.querySelector('.strips.top') as HTMLElement;
    const bottom = column.querySelector('.strips.bottom') as HTMLElement;
    const placed = `${orientation}`;
    if (column.dataset.placed === placed) return;
    column.dataset.placed = placed;
    top.replaceChildren();
    bottom.replaceChildren();
    this.session.seats.forEach((seat, i) => {
      if (seat.board !== board) return;
      const { element } = this.strips[i];
      if (seat.color === null) {
        top.append(element);
        return;
      }
      const pocket = this.views[board].pockets[seat.color];
      if (seat.color === orientation) bottom.append(pocket, element);
      else top.append(element, pocket);
    });
  }
}

function squaresOf(squares: PlySquares): string[] {
  return [squares.from, squares.to].filter(square => square !== null);
}
