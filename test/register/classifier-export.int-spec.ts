// Promise: what the gateway exports as the classification register is what a cash register imports, entry by entry.
import 'reflect-metadata';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Classifier } from '../../apps/cash-register/src/classifier/classifier.js';
import { CatalogFixture, sampleEntries } from '../../apps/gateway/src/goods/catalog/testing/catalog-fixture.js';

test('a register that loads the export knows every code as the gateway does', async () => {
  const catalog = await CatalogFixture.start();
  const folder = await mkdtemp(join(tmpdir(), 'classifier-export-'));
  try {
    const headers = { authorization: `Bearer ${catalog.gateway.token}` };
    const response = await fetch(`${catalog.gateway.base}/v1/classifier/export`, { headers });
    const file = join(folder, 'export.jsonl');
    await writeFile(file, await response.text());
    const register = Classifier.load(file);
    const entries = sampleEntries();
    expect(register.size).toBe(entries.length);
    for (const { spic, packages, marked, cash_allowed: cashAllowed, active } of entries) {
      const known = register.lookUp(spic);
      expect(known).toMatchObject({ marked, cashAllowed, active });
      expect(known?.packages).toEqual(packages.map(({ code }) => code));
    }
  } finally {
    await rm(folder, { recursive: true });
    await catalog.stop();
  }
});
