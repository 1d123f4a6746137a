// Breaks if a data folder that cannot be used would be used, or would not be refused in one sentence.
import { closeSync, copyFileSync, mkdtempSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '#runtime';
import { Classifier } from '../classifier/classifier.js';
import { openRegister } from '../register.js';
import { readRegisterSettings } from '../settings.js';
import { withRegister } from '../testing/register-fixture.js';
import { sale } from '../testing/samples.js';
import { DataFolderError } from './database.js';

const PAGE_BYTES = 4096;

test('a file of which pages are unreadable is refused by name and reason', () =>
  withRegister({}, async (register) => {
    for (let count = 0; count < 200; count += 1) await register.sell(sale());
    await register.restart();
    const folder = mkdtempSync(join(tmpdir(), 'register-'));
    try {
      // After a start the whole of it lies in the one file.
      copyFileSync(join(register.folder, 'register.db'), join(folder, 'register.db'));
      const pages = statSync(join(folder, 'register.db')).size / PAGE_BYTES;
      expect(pages).toBeGreaterThan(20);
      const file = openSync(join(folder, 'register.db'), 'r+');
      for (let page = 12; page < pages; page += 1) {
        writeSync(file, Buffer.alloc(PAGE_BYTES, 0xff), 0, PAGE_BYTES, page * PAGE_BYTES);
      }
      closeSync(file);
      const parts = { classifier: Classifier.load(undefined), logger: createLogger('test', 'silent') };
      const open = (): unknown => openRegister({ ...parts, settings: readRegisterSettings({ DATA_DIR: folder }) });
      expect(open).toThrow(DataFolderError);
      expect(open).toThrow(`The data folder ${folder} cannot be used: database disk image is malformed.`);
    } finally {
      rmSync(folder, { recursive: true });
    }
  }));
