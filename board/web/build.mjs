// Builds dist/: the bundle, the style sheet, the page and the images.
//
// chessgroundx embeds its pieces in a style sheet as data URLs, which the content security policy of the page refuses.
// They are written to files of their own.

import { build } from 'esbuild';
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(fileURLToPath(import.meta.url));
const dist = join(root, 'dist');
const LETTERS = { pawn: 'p', knight: 'n', bishop: 'b', rook: 'r', queen: 'q', king: 'k' };

async function writePieces() {
  const packageFile = createRequire(import.meta.url).resolve('chessgroundx/package.json');
  const css = await readFile(join(dirname(packageFile), 'assets/chessground.cburnett.css'), 'utf8');
  const pattern = /piece\.(\w+)\.(white|black)\s*\{\s*background-image:\s*url\('data:image\/svg\+xml;base64,([^']+)'\)/g;
  let count = 0;
  for (const [, role, color, data] of css.matchAll(pattern)) {
    await writeFile(join(dist, 'images', `${color}-${LETTERS[role]}.svg`), Buffer.from(data, 'base64'));
    count += 1;
  }
  if (count !== 12) throw new Error(`found ${count} pieces in the style sheet of chessgroundx instead of 12`);
}

await rm(dist, { recursive: true, force: true });
await mkdir(join(dist, 'images'), { recursive: true });
await writePieces();
await cp(join(root, 'images'), join(dist, 'images'), { recursive: true });
await cp(join(root, 'src/index.html'), join(dist, 'index.html'));
await build({
  absWorkingDir: root,
  entryPoints: { app: 'src/main.ts' },
  outdir: 'dist',
  bundle: true,
  minify: true,
  format: 'esm',
  target: ['es2022'],
  external: ['./images/*'],
  legalComments: 'eof',
  logLevel: 'warning',
});
await build({
  absWorkingDir: root,
  entryPoints: { app: 'src/app.css' },
  outdir: 'dist',
  bundle: true,
  minify: true,
  external: ['./images/*'],
  logLevel: 'warning',
});
