// Promise: the secret of `fgw listen` is drawn once, whole at every moment, and readable by its owner alone.
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { listenSecret } from './listen-place.js';

const CLIENT = { url: 'https://fiscal.example.uz', client_id: 'cli_01' };
let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'fiscal-fgw-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const drawn = () => listenSecret(join(folder, 'config.json'), CLIENT);
const files = () => readdirSync(join(folder, 'listen')).map((name) => join(folder, 'listen', name));

test('it is new once, then the same', async () => {
  const { secret, isNew } = await drawn();
  expect([secret, isNew]).toEqual([expect.stringMatching(/^whsec_.{44}$/), true]);
  expect(await drawn()).toEqual({ secret, isNew: false });
  expect(files().map((file) => statSync(file).mode & 0o777)).toEqual([0o600]);
});

test.each(['', '{"secret": "whsec_'])('a file that an interrupted write left (%j) is replaced', async (content) => {
  await drawn();
  const [file = ''] = files();
  writeFileSync(file, content);
  const { secret, isNew } = await drawn();
  expect(isNew).toBe(true);
  expect(await drawn()).toEqual({ secret, isNew: false });
  expect(files().map((one) => statSync(one).mode & 0o777)).toEqual([0o600]);
});

test('many that begin at the same time have the secret of one of them', async () => {
  const all = await Promise.all(Array.from({ length: 50 }, drawn));
  expect(new Set(all.map(({ secret }) => secret)).size).toBe(1);
  expect(all.filter(({ isNew }) => isNew)).toHaveLength(1);
  expect(files()).toHaveLength(1);
});
