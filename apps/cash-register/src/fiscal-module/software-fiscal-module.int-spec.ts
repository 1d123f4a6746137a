// Breaks if the software fiscal module would do what a real one refuses, or refuse what a real one does.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ReceiptType } from '#fiscal-domain';
import { closeDatabase, openDatabase } from '../journal/database.js';
import { Journal } from '../journal/journal.js';
import { MovableClock } from '../testing/fake-clock.js';
import {
  documentOf,
  fiscalModuleContract,
  type ModuleLimits,
  type ModuleUnderTest,
} from '../testing/fiscal-module.contract.js';
import {
  digestOf,
  type FiscalDocument,
  type FiscalModule,
  type RegisterOutcome,
  type Registration,
} from '#fiscal-module';
import { ModuleStore } from './module-store.js';
import { SoftwareFiscalModule, type SoftwareModuleOptions } from './software-fiscal-module.js';

function replacedBy(payload: string, seq: number): string {
  return `UPDATE documents SET payload = '${payload}', digest = '${digestOf(payload)}' WHERE seq = ${String(seq)}`;
}

/** The module writes its own journal rows here, as the register does. */
class RecordingModule {
  readonly folder = mkdtempSync(join(tmpdir(), 'module-'));
  readonly clock = new MovableClock();
  private db = openDatabase(this.folder);
  private journal = new Journal(this.db);
  software: SoftwareFiscalModule;

  constructor(private readonly changes: Partial<SoftwareModuleOptions>) {
    this.software = this.open();
  }

  register(document: FiscalDocument, record: (made: Registration) => void = () => undefined): Promise<RegisterOutcome> {
    return this.software.register(document, (made) => {
      this.journal.append(made, { idempotencyKey: null, requestHash: null });
      record(made);
    });
  }

  change(sql: string): void {
    this.db.exec(sql);
  }

  restart(): void {
    this.software.close();
    closeDatabase(this.db);
    this.db = openDatabase(this.folder);
    this.journal = new Journal(this.db);
    this.software = this.open();
  }

  close(): void {
    this.software.close();
    closeDatabase(this.db);
    rmSync(this.folder, { recursive: true });
  }

  private open(): SoftwareFiscalModule {
    return new SoftwareFiscalModule({
      ...{ db: this.db, journal: this.journal, clock: this.clock, minIntervalMs: 0 },
      ...{ receiptCapacity: 858, shiftCapacity: 832 },
      ...this.changes,
    });
  }
}

function underTest(limits: ModuleLimits): ModuleUnderTest {
  const recording = new RecordingModule(limits);
  const module = new Proxy({} as FiscalModule, {
    get: (_target, name: keyof FiscalModule) =>
      name === 'register' ? recording.register.bind(recording) : recording.software[name].bind(recording.software),
  });
  return {
    module: () => module,
    moveClock: (byMs) => recording.clock.move(byMs),
    restart: () => recording.restart(),
    close: () => recording.close(),
  };
}

fiscalModuleContract('software', underTest);

describe('the software fiscal module', () => {
  let recording: RecordingModule;
  const start = (changes: Partial<SoftwareModuleOptions> = {}): void => {
    recording = new RecordingModule(changes);
  };
  afterEach(() => recording.close());

  test('operations are at least the pacing interval apart, also the first after a restart', async () => {
    start({ minIntervalMs: 150 });
    const opened = await recording.software.openShift();
    await recording.register(documentOf());
    recording.restart();
    const made = await recording.register(documentOf());
    if (opened.kind !== 'opened' || made.kind !== 'registered') throw new Error('refused');
    expect(made.registration.timeMs - opened.shift.openedMs).toBeGreaterThanOrEqual(300);
  });

  test('a shift takes 29 999 documents and no more', async () => {
    start();
    await recording.software.openShift();
    await recording.register(documentOf({ type: 'advance' }));
    recording.change('UPDATE shifts SET documents = 29998');
    const { software } = recording;
    // Reads the counter as after 29 998 documents, without verifying a journal that was not written for the test.
    Object.assign(software, { shift: { ...software.currentShift(), documents: 29_998 } });
    expect((await recording.register(documentOf())).kind).toBe('registered');
    expect(await recording.register(documentOf())).toMatchObject({
      kind: 'refused',
      code: 'F-005',
      reason: 'shift_full',
    });
  });

  test('lifetime sums that would no longer be exact are refused', async () => {
    start();
    await recording.software.openShift();
    await recording.register(documentOf({ cashTiyin: Number.MAX_SAFE_INTEGER }));
    expect(await recording.register(documentOf({ cashTiyin: 1 }))).toMatchObject({
      code: 'F-003',
      reason: 'sums_full',
    });
  });

  test('a full disk is a refusal with its reason: nothing was registered, and it goes on once there is room', async () => {
    start();
    await recording.software.openShift();
    // What SQLite may not make longer, it finds full.
    recording.change('PRAGMA max_page_count = 1');
    const wide = documentOf({ items: documentOf().items.map((item) => ({ ...item, name: 'x'.repeat(200_000) })) });
    expect(await recording.register(wide)).toMatchObject({ kind: 'refused', code: 'F-003', reason: 'disk_full' });
    expect(await recording.software.closeShift()).toMatchObject({ reason: 'shift_empty' });
    const { software, clock } = recording;
    const ran = jest.spyOn(clock, 'monotonicMs');
    const standing = (afterMs: number): string | undefined => {
      ran.mockReturnValue(performance.now() + afterMs);
      return software.standingRefusal()?.reason;
    };
    // It is tried again now and then, without a sale.
    expect([standing(0), standing(10_000)]).toEqual(['disk_full', 'disk_full']);
    recording.change('PRAGMA max_page_count = 1000000');
    expect([standing(11_000), standing(20_000)]).toEqual(['disk_full', undefined]);
    ran.mockRestore();
    expect(await recording.register(wide)).toMatchObject({ kind: 'registered', registration: { seq: 1 } });
    recording.restart();
    expect(await recording.register(documentOf())).toMatchObject({ registration: { seq: 2 } });
  });

  test('a full disk of which nothing could be read back is no refusal: whether it was registered is not known', async () => {
    start();
    await recording.software.openShift();
    const full = Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' });
    const unread = jest.spyOn(ModuleStore.prototype, 'readState').mockImplementationOnce(() => {
      throw full;
    });
    const failing = recording.register(documentOf(), () => {
      throw full;
    });
    await expect(failing).rejects.toBe(full);
    unread.mockRestore();
  });

  describe('a payment that is not what the document comes to', () => {
    const outcomes = async (
      types: readonly ReceiptType[],
      paid: readonly (readonly [number, number])[],
    ): Promise<unknown[]> => {
      await recording.software.openShift();
      const seen: unknown[] = [];
      for (const type of types)
        for (const [cashTiyin, cardTiyin] of paid) {
          const outcome = await recording.register(documentOf({ type, cashTiyin, cardTiyin, vatTiyin: 0 }));
          seen.push(outcome.kind === 'refused' ? [outcome.code, outcome.reason] : outcome.kind);
        }
      return seen;
    };

    test('is refused from 10 001 tiyin on, up or down, whatever the type, and leaves nothing behind', async () => {
      start({ paymentToleranceTiyin: 10_000 });
      const types = ['sale', 'advance', 'credit'] as const;
      const refused = ['F-005', 'payment_mismatch'];
      const paid = [
        ...([
          [90_000, 0],
          [0, 110_000],
        ] as const),
        ...([
          [89_999, 0],
          [100_001, 10_000],
          [0, 0],
        ] as const),
      ];
      const each = ['registered', 'registered', refused, refused, refused];
      expect(await outcomes(types, paid)).toEqual([...each, ...each, ...each]);
      expect(recording.software.info()).toMatchObject({ receiptSeq: 6, sale: { cash: 90_000, card: 110_000 } });
      const details = { paidTiyin: 0, totalTiyin: 100_000, toleranceTiyin: 10_000 };
      expect(await recording.register(documentOf({ cashTiyin: 0 }))).toMatchObject({ details });
    });

    test('is registered where no bound is set: the specification names none', async () => {
      start();
      const paid = [
        [0, 0],
        [1, 2],
      ] as const;
      expect(await outcomes(['sale'], paid)).toEqual(['registered', 'registered']);
    });
  });

  test.each([
    [
      'a changed document',
      'UPDATE documents SET payload = replace(payload, \'"cash":100000\', \'"cash":1\') WHERE seq = 2',
      2,
    ],
    ['a changed document with a new digest', 'UPDATE documents SET digest = hex(randomblob(32)) WHERE seq = 2', 2],
    ['a changed sign', "UPDATE documents SET sign = '000000000000' WHERE seq = 2", 2],
    ['a changed time', 'UPDATE documents SET time_ms = time_ms + 5000 WHERE seq = 2', 2],
    ['a document taken out', 'DELETE FROM documents WHERE seq = 2', 3],
    ['the last document taken out', 'DELETE FROM documents WHERE seq = 3', 3],
    ['a document that is none, with its digest', replacedBy('null', 2), 2],
    ['a document that is no JSON, with its digest', replacedBy('{', 2), 2],
    ['a document of another shape, with its digest', replacedBy('[]', 2), 2],
    ['changed lifetime sums', 'UPDATE fiscal_module SET sale_cash = sale_cash - 1', null],
    ['a sequence set back', 'UPDATE fiscal_module SET receipt_seq = 2', 4],
    ['changed shift totals', 'UPDATE shifts SET sale_count = 1', null],
  ])('%s is found at the next start, and nothing is fiscalised any more', async (_name, sql, receiptSeq) => {
    start();
    await recording.software.openShift();
    for (let count = 0; count < 3; count += 1) await recording.register(documentOf());
    expect(recording.software.fault()).toBeNull();
    recording.change(sql);
    recording.restart();
    expect(recording.software.fault()).toMatchObject({
      code: 'F-001',
      reason: 'chain_broken',
      details: { receiptSeq },
    });
    expect((await recording.register(documentOf())).kind).toBe('refused');
    expect((await recording.software.closeShift()).kind).toBe('refused');
  });

  test('an unsigned document that was replaced together with its digest is found at its successor', async () => {
    start();
    await recording.software.openShift();
    await recording.register(documentOf());
    const advance = await recording.register(documentOf({ type: 'advance', cashTiyin: 5 }));
    await recording.register(documentOf());
    if (advance.kind !== 'registered') throw new Error('refused');
    const forged = advance.registration.payload.replace('"cash":5', '"cash":7');
    recording.change(`UPDATE documents SET payload = '${forged}', digest = '${digestOf(forged)}' WHERE seq = 2`);
    recording.restart();
    expect(recording.software.fault()).toMatchObject({ details: { receiptSeq: 3 } });
  });

  describe('a Z-report', () => {
    const report = (number: number): string => recording.software.zReport(number)?.payload ?? '';
    const replaced = (number: number, payload: string): string =>
      `UPDATE shifts SET payload = '${payload}', digest = '${digestOf(payload)}' WHERE number = ${String(number)}`;

    test.each<[string, () => string]>([
      ['with other sums', () => replaced(2, report(2).replace('"cash":100000', '"cash":1'))],
      ['with another count', () => replaced(2, report(2).replace('"count":1', '"count":2'))],
      ['of another time', () => replaced(2, report(2).replace(/"open_time":"\d/, '"open_time":"3'))],
      ['of another shift', () => replaced(2, report(1))],
      ['that is no report', () => replaced(2, 'null')],
      ['that is no JSON', () => replaced(2, '{')],
      ['with other sums of its sales', () => replaced(2, report(2).replace(/"sale":\{"card":0/, '"sale":{"card":1'))],
      [
        'that names another one before it',
        () => replaced(2, report(2).replace(/"prev_digest":"./, '"prev_digest":"x')),
      ],
      ['that is unsent and does not exist', () => 'INSERT INTO unsent_z_reports VALUES (77, 1)'],
      ['that is unsent though its shift is open', () => 'INSERT INTO unsent_z_reports VALUES (3, 1)'],
    ])('%s is found at the next start, also together with its digest', async (_name, change) => {
      start();
      for (let shift = 1; shift <= 2; shift += 1) {
        await recording.software.openShift();
        await recording.register(documentOf());
        await recording.software.closeShift();
      }
      await recording.software.openShift();
      recording.restart();
      expect(recording.software.fault()).toBeNull();
      recording.change(change());
      recording.restart();
      expect(recording.software.fault()).toMatchObject({ code: 'F-001', details: { receiptSeq: null } });
    });
  });

  test('an untouched journal verifies after a restart', async () => {
    start();
    await recording.software.openShift();
    await recording.register(documentOf());
    await recording.software.closeShift();
    await recording.software.openShift();
    await recording.register(documentOf({ type: 'advance' }));
    await recording.register(documentOf());
    recording.restart();
    expect(recording.software.fault()).toBeNull();
  });
});
