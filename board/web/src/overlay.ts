// Drawings on a board: arrows, marked squares and the heat map, as one SVG above and one below the pieces.

import { createSvg } from './dom';
import type { Color } from './messages';
import { screenPosition, type Size } from './squares';

export interface Arrow {
  from: string | null;
  to: string;
  /** The width, from 0 to 1. */
  weight: number;
  kind: 'best' | 'other' | 'line';
  label?: string;
}

export interface Heat {
  square: string;
  probability: number;
}

const THINNEST = 0.06;
const THICKEST = 0.26;

export class Overlay {
  readonly above: SVGSVGElement;
  readonly below: SVGSVGElement;
  private arrows: Arrow[] = [];
  private heat: Heat[] = [];
  private dots: string[] = [];
  private fog: string[] = [];
  private frame: string[] = [];
  orientation: Color = 'white';
  /** Smaller on boards of few squares, which are drawn larger. */
  private readonly scale: number;

  constructor(private readonly size: Size) {
    this.scale = Math.max(0.5, Math.max(size.files, size.ranks) / 8);
    const viewBox = `0 0 ${size.files} ${size.ranks}`;
    this.above = createSvg('svg', { class: 'overlay above', viewBox, 'aria-hidden': 'true' });
    this.above.style.setProperty('--scale', String(this.scale));
    this.below = createSvg('svg', { class: 'overlay below', viewBox, 'aria-hidden': 'true' });
  }

  setArrows(arrows: Arrow[]): void {
    if (JSON.stringify(arrows) === JSON.stringify(this.arrows)) return;
    this.arrows = arrows;
    this.draw();
  }

  setHeat(heat: Heat[]): void {
    if (JSON.stringify(heat) === JSON.stringify(this.heat)) return;
    this.heat = heat;
    this.draw();
  }

  /** Marks squares that can be chosen. */
  setDots(dots: string[]): void {
    this.dots = dots;
    this.draw();
  }

  /** Darkens squares that are not seen. */
  setFog(fog: string[]): void {
    this.fog = fog;
    this.draw();
  }

  /** Frames squares, as those of a sense. */
  setFrame(frame: string[]): void {
    this.frame = frame;
    this.draw();
  }

  draw(): void {
    this.below.replaceChildren(...this.fog.map(square => this.cell(square, 'fog')), ...this.heat.map(heat => this.heatCell(heat)));
    this.above.replaceChildren(
      ...this.frame.map(square => this.cell(square, 'frame')),
      ...this.dots.map(square => this.dot(square)),
      // Thick arrows first, so that thin ones stay visible.
      ...[...this.arrows].sort((a, b) => b.weight - a.weight).map(arrow => this.arrow(arrow)),
      ...this.heat.flatMap(heat => this.heatLabel(heat)),
    );
  }

  private center(square: string): [number, number] {
    const [column, row] = screenPosition(square, this.size, this.orientation);
    return [column + 0.5, row + 0.5];
  }

  private cell(square: string, name: string): SVGElement {
    const [column, row] = screenPosition(square, this.size, this.orientation);
    return createSvg('rect', { class: name, x: column, y: row, width: 1, height: 1 });
  }

  private dot(square: string): SVGElement {
    const [x, y] = this.center(square);
    return createSvg('circle', { class: 'dot', cx: x, cy: y, r: 0.14 * this.scale });
  }

  private heatCell(heat: Heat): SVGElement {
    const cell = this.cell(heat.square, 'heat');
    cell.setAttribute('fill-opacity', String(Math.min(0.9, 0.15 + heat.probability)));
    return cell;
  }

  private heatLabel(heat: Heat): SVGElement[] {
    if (heat.probability < 0.01) return [];
    const [x, y] = this.center(heat.square);
    const label = createSvg('text', { class: 'heat-label', x, y: y - 0.5 + 0.22 * this.scale });
    label.textContent = `${Math.round(100 * heat.probability)}%`;
    return [label];
  }

  private arrow(arrow: Arrow): SVGElement {
    const width = this.scale * (THINNEST + (THICKEST - THINNEST) * Math.sqrt(Math.max(0, Math.min(1, arrow.weight))));
    const [x, y] = this.center(arrow.to);
    const group = createSvg('g', { class: `arrow ${arrow.kind}` });
    if (arrow.from === null || arrow.from === arrow.to) {
      group.append(createSvg('circle', { cx: x, cy: y, r: 0.42 - width / 2, fill: 'none', 'stroke-width': width }));
    } else {
      const [startX, startY] = this.center(arrow.from);
      const length = Math.hypot(x - startX, y - startY);
      const stepX = (x - startX) / length;
      const stepY = (y - startY) / length;
      const head = Math.min(0.2 * this.scale + 1.2 * width, length / 2);
      const baseX = x - head * stepX;
      const baseY = y - head * stepY;
      const half = 0.12 * this.scale + 0.75 * width;
      group.append(
        createSvg('line', { x1: startX + 0.2 * stepX, y1: startY + 0.2 * stepY, x2: baseX, y2: baseY, 'stroke-width': width }),
        createSvg('path', {
          d: `M${x} ${y}L${baseX - half * stepY} ${baseY + half * stepX}L${baseX + half * stepY} ${baseY - half * stepX}Z`,
        }),
      );
    }
    if (arrow.label !== undefined) {
      group.append(createSvg('circle', { class: 'badge', cx: x, cy: y, r: 0.19 * this.scale }));
      const text = createSvg('text', { class: 'badge-text', x, y: y + 0.09 * this.scale });
      text.textContent = arrow.label;
      group.append(text);
    }
    return group;
  }
}
