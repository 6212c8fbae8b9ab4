// Bughouse on two boards: which team the engine searches for, which of its plies are played, sitting.

import type { StateReply } from './messages';
import type { Seat } from './seats';
import { pliesOfTeamTurn } from './turntext';

/** A team that sat searches again after this time, or after the next move. */
export const SIT_MS = 2000;

/** Returns the seats of a team that are to move and belong to the engine. */
export function engineSeats(seats: Seat[], players: string[], toMove: number[], team: number): number[] {
  return toMove.filter(seat => seats[seat].side === team && players[seat] === 'engine');
}

/** Returns a team for a search if it is not the team to move. Where the order of moves is fixed, no other can move. */
export function otherTeam(team: number, state: StateReply): number | undefined {
  return team === state.turn ? undefined : team;
}

/** Returns the first ply of a team's turn that a seat of the engine can play now, or null if it sits. */
export function nextPly(turn: string, state: StateReply, seats: Seat[], engine: number[]): { ply: string; seat: number } | null {
  for (const ply of pliesOfTeamTurn(turn)) {
    const board = Number(ply[0]) - 1;
    const seat = engine.find(index => seats[index].board === board);
    if (seat === undefined) continue;
    const bare = ply.slice(1);
    const legal = state.legal.some(other => other.board === board && (other.ply === bare || other.ply === ply));
    if (legal) return { ply, seat };
  }
  return null;
}
