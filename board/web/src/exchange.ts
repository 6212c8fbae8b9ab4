// The dialog for FEN and PGN.

import { byId } from './dom';
import { GameTree } from './game';
import { readPgn, writePgn } from './notation';
import type { GameResult, Play } from './play';
import type { Session } from './session';

export interface LoadedGame {
  tree: GameTree;
  result: GameResult | null;
}

export class ExchangeDialog {
  onLoad: (game: LoadedGame) => Promise<void> = () => Promise.resolve();
  private readonly dialog = byId<HTMLDialogElement>('exchange-dialog');
  private readonly fen = byId<HTMLInputElement>('fen-text');
  private readonly pgn = byId<HTMLTextAreaElement>('pgn-text');
  private readonly error = byId('exchange-error');

  constructor(
    private readonly session: Session,
    private readonly play: Play,
  ) {
    byId('fen-copy').addEventListener('click', () => void this.copy(this.fen));
    byId('pgn-copy').addEventListener('click', () => void this.copy(this.pgn));
    byId('pgn-save').addEventListener('click', () => this.save());
    byId('fen-load').addEventListener('click', () => void this.loadFen());
    byId('pgn-load').addEventListener('click', () => void this.loadPgn());
    const file = byId<HTMLInputElement>('pgn-file');
    file.addEventListener('change', () => {
      const [chosen] = file.files ?? [];
      if (chosen === undefined) return;
      void chosen.text().then(text => {
        this.pgn.value = text;
        file.value = '';
        return this.loadPgn();
      });
    });
  }

  open(): void {
    const { tree, variant, seats } = this.session;
    this.error.textContent = '';
    this.fen.value = this.session.state?.fen ?? '';
    this.pgn.value = writePgn(tree, variant, seats, this.play.options.players, this.play.result);
    this.dialog.showModal();
  }

  private async copy(field: HTMLInputElement | HTMLTextAreaElement): Promise<void> {
    field.select();
    try {
      await navigator.clipboard.writeText(field.value);
      this.error.textContent = 'Copied.';
    } catch {
      this.error.textContent = 'The browser does not allow copying; the text is selected.';
    }
  }

  private save(): void {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([this.pgn.value], { type: 'application/x-chess-pgn' }));
    link.download = this.session.variant.boards === 2 ? 'game.bpgn' : 'game.pgn';
    link.click();
    URL.revokeObjectURL(link.href);
  }

  private async loadFen(): Promise<void> {
    const { setup } = this.session.tree;
    const fen = this.fen.value.trim();
    try {
      // The server refuses an invalid FEN here, before the game is replaced.
      const position = { ...setup, fen: fen || null, moves: [], plies: [], clocks: null };
      await this.session.socket.request('state', { position });
      await this.onLoad({ tree: new GameTree({ ...setup, fen: fen || null }), result: null });
      this.dialog.close();
    } catch (error) {
      this.error.textContent = (error as Error).message;
    }
  }

  private async loadPgn(): Promise<void> {
    this.error.textContent = 'Reading';
    try {
      const { tree, result, termination } = await readPgn(this.pgn.value, this.session.variants, this.session.socket);
      await this.onLoad({ tree, result: resultOf(result, termination) });
      this.dialog.close();
    } catch (error) {
      this.error.textContent = (error as Error).message;
    }
  }
}

function resultOf(text: string, termination: string): GameResult | null {
  const winners: Record<string, number | null> = { '1-0': 0, '0-1': 1, '1/2-1/2': null };
  const winner = winners[text];
  return winner === undefined ? null : { text, reason: termination || 'result of the PGN', winner };
}
