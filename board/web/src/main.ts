// The page: connects the socket, the game, its views and the keyboard.

import { Analysis } from './analysis';
import { byId } from './dom';
import { ExchangeDialog, type LoadedGame } from './exchange';
import { depthOf, GameTree, type StoredTree, type TreeNode } from './game';
import { GameView } from './gameview';
import type { HelloReply, Legal, VariantInfo } from './messages';
import { MoveList } from './movelist';
import { NewGameDialog, type NewGame, type NewRbcGame } from './newgame';
import { Play, type StoredPlay } from './play';
import { RbcGame } from './rbc';
import { seatsOf } from './seats';
import { Session } from './session';
import { applyTheme, readTabJson, saveSettings, settings, writeTabJson, type Theme } from './settings';
import { Socket } from './socket';

const GAME_KEY = 'menagerie.game';
const SAVE_INTERVAL_MS = 2000;

interface StoredGame {
  tree: StoredTree;
  play: StoredPlay;
}

class App {
  private readonly session: Session;
  private readonly play: Play;
  private readonly view: GameView;
  private readonly moveList: MoveList;
  private readonly analysis: Analysis;
  private readonly newGame: NewGameDialog;
  private readonly exchange: ExchangeDialog;
  private readonly rbc: RbcGame | null;
  private announced = '';
  private ready = false;

  constructor(
    private readonly socket: Socket,
    private readonly hello: HelloReply,
  ) {
    const { variants } = hello;
    const first = variants.find(variant => variant.name === 'chess') ?? variants[0];
    this.session = new Session(socket, variants, { variant: first.name, fen: null, chess960: false });
    this.play = new Play(this.session);
    this.view = new GameView(this.session, this.play, legal => void this.playPly(legal));
    this.moveList = new MoveList(byId('moves'), this.session, node => void this.session.goTo(node));
    this.analysis = new Analysis(
      this.session,
      message => this.showError(message),
      text => this.showNote(text),
    );
    this.newGame = new NewGameDialog(variants);
    this.exchange = new ExchangeDialog(this.session, this.play);
    const hidden = variants.find(variant => variant.hidden);
    this.rbc = hidden === undefined ? null : new RbcGame(socket, hidden);
    this.bind();
  }

  /** Opens the stored game, or a game of chess. */
  async begin(): Promise<void> {
    void this.analysis.sendOptions(this.hello.engine);
    const stored = readTabJson<StoredGame>(GAME_KEY);
    let tree: GameTree | null = null;
    if (stored !== null && this.isKnown(stored)) {
      try {
        tree = GameTree.restore(stored.tree);
        this.play.restore(stored.play);
      } catch {
        tree = null;
      }
    }
    const error = await this.resumeRbc();
    await this.openTree(tree ?? this.session.tree);
    this.setMode(this.play.active);
    this.ready = true;
    if (error !== null) this.showError(error);
  }

  reconnected(): void {
    byId('connection').hidden = true;
    if (!this.ready) {
      void this.begin();
      return;
    }
    void this.analysis.sendOptions(this.hello.engine);
    void this.resumeRbc().then(error => {
      if (error !== null) this.showError(error);
    });
    void this.session.refresh().then(() => {
      this.play.reconnected();
      this.analysis.reconnected();
    });
  }

  private isKnown(stored: StoredGame): boolean {
    const name = stored.tree?.setup?.variant;
    const variant = this.session.variants.find(other => other.name === name && !other.hidden);
    return variant !== undefined && stored.play?.options?.players?.length === seatsOf(variant).length;
  }

  private bind(): void {
    const { session, play } = this;
    session.listeners.push(() => this.changed());
    session.onError = message => this.showError(message);
    play.onChange = () => this.render();
    play.onNote = text => this.showNote(text);
    play.onTick = () => this.view.renderClocks();
    this.newGame.onStart = game => this.startGame(game);
    this.newGame.onStartRbc = game => this.startRbc(game);
    this.exchange.onLoad = game => this.load(game);
    if (this.rbc !== null) {
      this.rbc.onStatus = text => this.announce(text);
      this.rbc.onAgain = () => void this.rematchRbc();
    }
    this.bindHeader();
    this.bindPanel();
    this.bindKeys();
    setInterval(() => this.save(), SAVE_INTERVAL_MS);
    addEventListener('pagehide', () => this.save());
    for (const button of document.querySelectorAll<HTMLElement>('[data-close]')) {
      button.addEventListener('click', () => button.closest('dialog')?.close());
    }
  }

  private bindHeader(): void {
    this.click('new-game', () => this.newGame.open(this.rbc?.active ? 'rbc' : this.session.tree.setup.variant));
    this.click('exchange', () => this.exchange.open());
    this.click('flip', () => this.flip());
    this.click('help', () => byId<HTMLDialogElement>('help-dialog').showModal());
    const theme = byId<HTMLSelectElement>('theme');
    theme.value = settings.theme;
    theme.addEventListener('change', () => {
      settings.theme = theme.value as Theme;
      saveSettings();
    });
  }

  private bindPanel(): void {
    const { play } = this;
    this.click('take-back', () => void play.takeBack());
    this.click('draw', () => void play.offerDraw());
    this.click('resign', () => play.resign());
    this.click('rematch', () => void this.startGame({ setup: this.session.tree.setup, options: play.options }));
    this.click('play-here', () => {
      this.setMode(true);
      void play.playFromHere();
    });
    this.click('tab-play', () => this.setMode(true));
    this.click('tab-analysis', () => this.setMode(false));
    for (const id of ['tab-play', 'tab-analysis']) {
      byId(id).addEventListener('keydown', event => {
        if (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight') return;
        event.stopPropagation();
        const other = id === 'tab-play' ? 'tab-analysis' : 'tab-play';
        this.setMode(other === 'tab-play');
        byId(other).focus();
      });
    }
    this.click('first', () => this.goTo(this.session.tree.root));
    this.click('previous', () => this.goTo(this.session.tree.current.parent));
    this.click('next', () => this.goTo(this.session.tree.current.children[0] ?? null));
    this.click('last', () => this.goTo(this.endOfLine()));
    this.click('promote', () => {
      this.session.tree.promote(this.session.tree.current);
      this.session.changed();
    });
    this.click('delete', () => {
      this.session.tree.remove(this.session.tree.current);
      void this.session.refresh();
    });
    this.click('pass', () => this.passTurn());
    this.click('cancel-turn', () => void this.session.cancelPartial());
    byId<HTMLFormElement>('move-form').addEventListener('submit', event => {
      event.preventDefault();
      void this.enterMove();
    });
  }

  private bindKeys(): void {
    document.addEventListener('keydown', event => {
      const target = event.target as HTMLElement;
      if (document.querySelector('dialog[open]') !== null || event.ctrlKey || event.metaKey || event.altKey) return;
      if (target.matches('input, select, textarea')) {
        if (event.key === 'Escape') target.blur();
        return;
      }
      if (this.rbc?.active && this.rbc.key(event.key)) {
        event.preventDefault();
        return;
      }
      const action = this.keyAction(event.key);
      if (action === null) return;
      event.preventDefault();
      action();
    });
  }

  private keyAction(key: string): (() => void) | null {
    const { tree } = this.session;
    const common: Record<string, () => void> = {
      f: () => this.flip(),
      n: () => byId('new-game').click(),
      m: () => byId(this.rbc?.active ? 'rbc-text' : 'move-text').focus(),
      '?': () => byId('help').click(),
    };
    const game: Record<string, () => void> = {
      ArrowLeft: () => this.goTo(tree.current.parent),
      ArrowRight: () => this.goTo(tree.current.children[0] ?? null),
      ArrowUp: () => this.goToSibling(-1),
      ArrowDown: () => this.goToSibling(1),
      Home: () => this.goTo(tree.root),
      End: () => this.goTo(this.endOfLine()),
      a: () => {
        this.setMode(false);
        byId('analyse').click();
      },
      Escape: () => void this.session.cancelPartial(),
    };
    const name = key.length === 1 ? key.toLowerCase() : key;
    return common[name] ?? (this.rbc?.active ? null : (game[name] ?? null));
  }

  private click(id: string, action: () => void): void {
    byId(id).addEventListener('click', action);
  }

  // Games

  private async startGame(game: NewGame): Promise<string | null> {
    try {
      const position = { ...game.setup, moves: [], plies: [], clocks: null };
      await this.socket.request('state', { position });
    } catch (error) {
      return (error as Error).message;
    }
    this.closeRbc();
    const tree = new GameTree(game.setup);
    this.play.start(game.options, game.options.players.length);
    await this.openTree(tree);
    this.setMode(true);
    return null;
  }

  private async startRbc(game: NewRbcGame): Promise<string | null> {
    if (this.rbc === null) return 'blind chess is not available';
    const error = await this.rbc.start(game);
    if (error === null) this.showRbc();
    return error;
  }

  private async rematchRbc(): Promise<void> {
    if (this.rbc === null) return;
    const error = await this.startRbc(this.rbc.lastGame);
    if (error !== null) this.showError(error);
  }

  /** Continues the stored game of blind chess, if there is one. Returns an error message. */
  private async resumeRbc(): Promise<string | null> {
    if (this.rbc === null || !RbcGame.hasStored()) return null;
    const error = await this.rbc.resume();
    if (error === null) this.showRbc();
    return error;
  }

  private async load(game: LoadedGame): Promise<void> {
    this.closeRbc();
    const variant = this.session.variants.find(other => other.name === game.tree.setup.variant) as VariantInfo;
    const { players } = this.play.options;
    const seats = seatsOf(variant).length;
    const options = {
      ...this.play.options,
      players: players.length === seats ? players : Array.from({ length: seats }, () => 'human' as const),
      clock: null,
    };
    this.play.start(options, seats);
    this.play.result = game.result;
    this.play.active = false;
    await this.openTree(game.tree);
    this.setMode(false);
  }

  private async openTree(tree: GameTree): Promise<void> {
    this.analysis.stop();
    this.showNote('');
    this.play.adopt(tree.tip);
    await this.session.open(tree);
    this.view.orient();
    this.render();
  }

  private showRbc(): void {
    this.analysis.stop();
    this.play.setActive(false);
    document.body.classList.add('rbc');
    this.view.close();
    this.analysis.views = [];
    byId('game-panel').hidden = true;
    byId('rbc-panel').hidden = false;
    byId('exchange').hidden = true;
    byId('title').textContent = 'Reconnaissance blind chess';
  }

  private closeRbc(): void {
    this.rbc?.close();
    document.body.classList.remove('rbc');
    byId('game-panel').hidden = false;
    byId('rbc-panel').hidden = true;
    byId('exchange').hidden = false;
  }

  private setMode(playing: boolean): void {
    if (this.rbc?.active) return;
    if (playing) this.analysis.stop();
    if (playing) this.analysis.clear();
    document.body.classList.toggle('playing', playing);
    for (const [id, selected] of [
      ['tab-play', playing],
      ['tab-analysis', !playing],
    ] as const) {
      const tab = byId(id);
      tab.setAttribute('aria-selected', String(selected));
      tab.tabIndex = selected ? 0 : -1;
    }
    byId('play-panel').hidden = !playing;
    byId('analysis-panel').hidden = playing;
    this.play.setActive(playing);
    if (!playing) this.analysis.positionChanged();
    this.render();
  }

  private flip(): void {
    if (this.rbc?.active) this.rbc.flip();
    else this.view.flip();
    this.render();
  }

  private goTo(node: TreeNode | null): void {
    if (node !== null) void this.session.goTo(node);
  }

  private goToSibling(step: number): void {
    const { current } = this.session.tree;
    const siblings = current.parent?.children ?? [];
    this.goTo(siblings[siblings.indexOf(current) + step] ?? null);
  }

  private endOfLine(): TreeNode {
    let node = this.session.tree.current;
    while (node.children.length > 0) node = node.children[0];
    return node;
  }

  // Moves

  private async playPly(legal: Legal): Promise<void> {
    if (!(await this.session.play(legal))) this.view.render();
  }

  private async enterMove(): Promise<void> {
    const field = byId<HTMLInputElement>('move-text');
    const text = field.value.trim();
    if (text === '') return;
    if (this.play.active && !this.canEnterMove()) {
      this.showError('It is not your turn.');
      return;
    }
    const board = Number(byId<HTMLSelectElement>('move-board').value);
    const error = await this.session.playText(text, board);
    if (error === null) field.value = '';
    else this.showError(error);
  }

  private canEnterMove(): boolean {
    const { session } = this;
    if (session.state === null) return false;
    if (session.variant.boards === 2) {
      const board = Number(byId<HTMLSelectElement>('move-board').value);
      const seat = session.seats.findIndex(other => other.board === board && other.color === session.state?.boards[board].turn);
      return this.play.mayMove(seat);
    }
    return this.play.mayMove(session.state.turn);
  }

  private passTurn(): void {
    const pass = this.session.state?.legal.find(legal => legal.pass);
    if (pass !== undefined) void this.playPly(pass);
  }

  // Display

  private changed(): void {
    this.render();
    if (!this.rbc?.active && !this.play.active) this.analysis.positionChanged();
    this.save();
  }

  private render(): void {
    if (this.rbc?.active) return;
    const { session, play } = this;
    byId('title').textContent = session.variant.title;
    document.title = `${session.variant.title} · Menagerie`;
    this.view.render();
    this.analysis.views = this.view.views;
    this.moveList.render();
    this.renderButtons();
    if (session.state !== null) this.announce(play.statusText());
  }

  private renderButtons(): void {
    const { session, play } = this;
    const { tree, variant, state } = session;
    const hasHuman = play.options.players.includes('human');
    byId<HTMLButtonElement>('take-back').disabled = !hasHuman || tree.tip.parent === null;
    byId<HTMLButtonElement>('draw').disabled = !play.canOfferDraw;
    byId('draw').textContent = play.claimable ? 'Claim draw' : play.hasEngine ? 'Offer draw' : 'Agree draw';
    byId<HTMLButtonElement>('resign').disabled = play.result !== null || !hasHuman;
    byId('rematch').hidden = play.result === null;
    byId('move-board').hidden = variant.boards === 1;
    byId<HTMLInputElement>('move-text').placeholder = placeholder(variant);
    const pass = state?.legal.find(legal => legal.pass);
    byId('pass').hidden = variant.boards === 2 || pass === undefined || !this.canEnterMove();
    byId('cancel-turn').hidden = session.partial.length === 0;
    byId<HTMLButtonElement>('first').disabled = tree.current.parent === null;
    byId<HTMLButtonElement>('previous').disabled = tree.current.parent === null;
    byId<HTMLButtonElement>('next').disabled = tree.current.children.length === 0;
    byId<HTMLButtonElement>('last').disabled = tree.current.children.length === 0;
    byId<HTMLButtonElement>('delete').disabled = depthOf(tree.current) === 0;
    byId<HTMLButtonElement>('promote').disabled = depthOf(tree.current) === 0;
  }

  /** Writes to the live region. Equal texts are not announced again. */
  private announce(text: string): void {
    if (text === this.announced) return;
    this.announced = text;
    byId('status').textContent = text;
  }

  private showNote(text: string): void {
    byId('note').textContent = text;
    byId('note').title = text;
  }

  private showError(message: string): void {
    this.announce(`Error: ${message}`);
  }

  private save(): void {
    if (!this.ready) return;
    writeTabJson(GAME_KEY, { tree: this.session.tree.store(), play: this.play.store() } satisfies StoredGame);
  }
}

function placeholder(variant: VariantInfo): string {
  if (variant.places) return 'a1';
  if (variant.walls) return 'e2e4,e4e5';
  return variant.drops === '' ? 'Nf3 or g1f3' : 'Nf3 or N@f3';
}

function socketUrl(): string {
  const scheme = location.protocol === 'https:' ? 'wss' : 'ws';
  return `${scheme}://${location.host}/ws`;
}

function showConnection(text: string): void {
  const element = byId('connection');
  element.textContent = text;
  element.hidden = false;
}

function main(): void {
  applyTheme();
  const socket = new Socket(socketUrl());
  let app: App | null = null;
  let refusal = '';
  socket.onRefused = message => {
    refusal = message;
    showConnection(`The server refused the connection: ${message}`);
  };
  socket.onClose = () => showConnection(refusal || 'No connection to the server. Trying again.');
  socket.onOpen = () => {
    refusal = '';
    if (app !== null) {
      app.reconnected();
      return;
    }
    socket
      .request<HelloReply>('hello')
      .then(hello => {
        app = new App(socket, hello);
        byId('connection').hidden = true;
        return app.begin();
      })
      .catch((error: Error) => showConnection(refusal || error.message));
  };
  socket.connect();
}

main();
