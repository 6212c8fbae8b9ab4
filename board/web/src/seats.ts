// Seats: the players of a game. Chess has two, connect games up to three, bughouse four.

import type { BoardState, Color, StateReply, VariantInfo } from './messages';

export interface Seat {
  board: number;
  /** Null in games without colors of pieces. */
  color: Color | null;
  /** The side that wins or loses with this seat: the team in bughouse. */
  side: number;
  label: string;
}

export const SIDE_NAMES = ['Blue', 'Orange', 'Green'];

export function seatsOf(variant: VariantInfo): Seat[] {
  if (variant.boards === 2) {
    return [
      { board: 0, color: 'white', side: 0, label: 'White on A' },
      { board: 0, color: 'black', side: 1, label: 'Black on A' },
      { board: 1, color: 'white', side: 1, label: 'White on B' },
      { board: 1, color: 'black', side: 0, label: 'Black on B' },
    ];
  }
  if (variant.places) {
    return Array.from({ length: variant.sides }, (_, side) => ({
      board: 0,
      color: null,
      side,
      label: SIDE_NAMES[side] ?? `Player ${side + 1}`,
    }));
  }
  return [
    { board: 0, color: 'white', side: 0, label: 'White' },
    { board: 0, color: 'black', side: 1, label: 'Black' },
  ];
}

/** Returns the seat to move on a board. */
export function seatOnBoard(seats: Seat[], state: StateReply, board: number): number {
  if (state.boards.length === 1) return state.turn;
  return seats.findIndex(seat => seat.board === board && seat.color === state.boards[board].turn);
}

/** Returns the seats that are to move: one, or one of each board in bughouse. */
export function seatsToMove(seats: Seat[], state: StateReply): number[] {
  if (state.outcome !== null) return [];
  if (state.boards.length === 1) return [state.turn];
  return state.boards.flatMap((board: BoardState, i) => (board.mayMove ? [seatOnBoard(seats, state, i)] : []));
}

/** Returns whether the wall of a variant is shown as a duck. */
export function isDuck(variant: VariantInfo): boolean {
  return variant.name.includes('duck');
}

export function winnerName(seats: Seat[], side: number): string {
  return seats
    .filter(seat => seat.side === side)
    .map(seat => seat.label)
    .join(' and ');
}
