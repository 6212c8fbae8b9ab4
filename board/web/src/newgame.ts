// The dialog for a new game.

import { byId, create } from './dom';
import type { Setup } from './game';
import type { Color, VariantInfo } from './messages';
import type { PlayerKind, PlayOptions, Strength } from './play';
import { seatsOf } from './seats';
import { readJson, writeJson } from './settings';

export interface NewGame {
  setup: Setup;
  options: PlayOptions;
}

export interface NewRbcGame {
  color: Color;
  seconds: number;
  preset: string;
}

interface StoredChoice {
  variant: string;
  players: PlayerKind[];
  strength: Strength;
  minutes: string;
  increment: string;
}

const KEY = 'menagerie.newgame';
const GROUPS: [string, string[]][] = [
  ['Main', ['chess', 'crazyhouse', 'bughouse2', 'duck', 'atomic', '3check', 'kingofthehill', 'antichess', 'horde', 'racingkings', 'rbc']],
  ['Small boards', ['3x3', '3x3full', 'gardner', 'losalamos']],
  ['Connect games', ['tictactoe', 'tictacmo', 'connect3', 'connect4']],
];
const STRENGTH_DEFAULTS: Record<Strength['kind'], [number, number, number]> = {
  time: [1, 0.05, 600],
  nodes: [400, 1, 10_000_000],
  elo: [1500, 500, 2850],
};

export class NewGameDialog {
  onStart: (game: NewGame) => Promise<string | null> = () => Promise.resolve(null);
  onStartRbc: (game: NewRbcGame) => Promise<string | null> = () => Promise.resolve(null);
  private readonly dialog = byId<HTMLDialogElement>('new-game-dialog');
  private readonly variant = byId<HTMLSelectElement>('new-variant');
  private readonly kind = byId<HTMLSelectElement>('strength-kind');
  private readonly value = byId<HTMLInputElement>('strength-value');
  private readonly minutes = byId<HTMLSelectElement>('clock-minutes');
  private readonly increment = byId<HTMLInputElement>('clock-increment');
  private readonly fen = byId<HTMLInputElement>('new-fen');
  private readonly chess960 = byId<HTMLInputElement>('new-960');
  private readonly error = byId('new-error');

  constructor(private readonly variants: VariantInfo[]) {
    this.fillVariants();
    this.restoreChoice();
    this.variant.addEventListener('change', () => this.variantChanged());
    this.kind.addEventListener('change', () => this.kindChanged());
    byId<HTMLFormElement>('new-game-form').addEventListener('submit', event => {
      event.preventDefault();
      void this.submit();
    });
  }

  open(variant: string): void {
    this.variant.value = variant;
    this.fen.value = '';
    this.error.textContent = '';
    this.variantChanged();
    this.dialog.showModal();
  }

  private fillVariants(): void {
    const rest = new Map(this.variants.map(variant => [variant.name, variant]));
    for (const [label, names] of GROUPS) {
      const group = create('optgroup', { label });
      for (const name of names) {
        const variant = rest.get(name);
        if (variant === undefined) continue;
        group.append(create('option', { value: name }, variant.title));
        rest.delete(name);
      }
      if (group.children.length > 0) this.variant.append(group);
    }
    const others = [...rest.values()].sort((a, b) => a.title.localeCompare(b.title));
    if (others.length > 0) {
      this.variant.append(create('optgroup', { label: 'Others' }, ...others.map(other => create('option', { value: other.name }, other.title))));
    }
  }

  private selected(): VariantInfo {
    return this.variants.find(variant => variant.name === this.variant.value) ?? this.variants[0];
  }

  private variantChanged(): void {
    const variant = this.selected();
    const { hidden } = variant;
    for (const id of ['new-players', 'new-strength', 'new-clock', 'new-position']) byId(id).hidden = hidden;
    byId('new-rbc').hidden = !hidden;
    byId('new-network').hidden = variant.network;
    byId('new-960-label').hidden = variant.places || variant.files < 8;
    this.chess960.checked = false;
    if (!hidden) this.fillPlayers(variant);
  }

  private fillPlayers(variant: VariantInfo): void {
    const host = byId('new-players').querySelector('div') as HTMLElement;
    const old = [...host.querySelectorAll('select')].map(select => select.value);
    const stored = readJson<StoredChoice>(KEY)?.players ?? [];
    const seats = seatsOf(variant);
    host.className = 'row';
    host.replaceChildren(
      ...seats.map((seat, i) => {
        const select = create('select', { 'data-test': `player-${i}` });
        select.append(create('option', { value: 'human' }, 'You'), create('option', { value: 'engine' }, 'Engine'));
        const before = old.length === seats.length ? old[i] : stored.length === seats.length ? stored[i] : undefined;
        select.value = before ?? (i === 0 ? 'human' : 'engine');
        return create('label', {}, seat.label, select);
      }),
    );
  }

  private kindChanged(): void {
    const [initial, min, max] = STRENGTH_DEFAULTS[this.kind.value as Strength['kind']];
    this.value.min = String(min);
    this.value.max = String(max);
    this.value.value = String(initial);
  }

  private restoreChoice(): void {
    const stored = readJson<StoredChoice>(KEY);
    this.kind.value = stored?.strength.kind ?? 'time';
    this.kindChanged();
    if (stored === null) return;
    this.value.value = String(stored.strength.value);
    this.minutes.value = stored.minutes;
    this.increment.value = stored.increment;
  }

  private async submit(): Promise<void> {
    const variant = this.selected();
    this.error.textContent = '';
    const error = variant.hidden ? await this.startRbc() : await this.start(variant);
    if (error === null) this.dialog.close();
    else this.error.textContent = error;
  }

  private startRbc(): Promise<string | null> {
    return this.onStartRbc({
      color: byId<HTMLSelectElement>('rbc-color').value as Color,
      seconds: Math.max(1, Number(byId<HTMLInputElement>('rbc-minutes').value)) * 60,
      preset: byId<HTMLSelectElement>('rbc-preset').value,
    });
  }

  private start(variant: VariantInfo): Promise<string | null> {
    const players = [...byId('new-players').querySelectorAll('select')].map(select => select.value as PlayerKind);
    const kind = this.kind.value as Strength['kind'];
    const [initial, min, max] = STRENGTH_DEFAULTS[kind];
    const asked = Number(this.value.value);
    const strength: Strength = { kind, value: Number.isFinite(asked) ? Math.min(max, Math.max(min, asked)) : initial };
    const minutes = Number(this.minutes.value);
    const increment = Math.max(0, Number(this.increment.value));
    const choice: StoredChoice = {
      variant: variant.name,
      players,
      strength,
      minutes: this.minutes.value,
      increment: this.increment.value,
    };
    writeJson(KEY, choice);
    return this.onStart({
      setup: { variant: variant.name, fen: this.fen.value.trim() || null, chess960: this.chess960.checked },
      options: { players, strength, clock: minutes > 0 ? { minutes, increment } : null },
    });
  }
}
