import type { FiscalDocument, FiscalModule, Registration } from '#fiscal-module';

/** One module to test, with the hands that a test needs on its surroundings. */
export interface ModuleUnderTest {
  module(): FiscalModule;
  /** Moves the module's clock. */
  moveClock(byMs: number): void;
  /** Powers the module off and on again. */
  restart(): void;
  close(): void;
}

export interface ModuleLimits {
  readonly receiptCapacity: number;
  readonly shiftCapacity: number;
}

const HOUR_MS = 60 * 60 * 1000;

export function documentOf(changes: Partial<FiscalDocument> = {}): FiscalDocument {
  const item = {
    ...{ amount: 1000, barcode: null, discount: 0, labels: [], name: 'Non', package_code: null, price: 100_000 },
    ...{ spic: '01905001001000001', total: 100_000, units: 796, vat: 10_714, vat_percent: 12 },
  };
  return {
    type: 'sale',
    items: [item],
    cashTiyin: 100_000,
    cardTiyin: 0,
    vatTiyin: 10_714,
    refundInfo: null,
    ...changes,
  };
}

/** What every fiscal module must do, whatever it is made of. */
export function fiscalModuleContract(name: string, make: (limits: ModuleLimits) => ModuleUnderTest): void {
  describe(`fiscal module contract: ${name}`, () => {
    let under: ModuleUnderTest;
    const limits = { receiptCapacity: 3, shiftCapacity: 3 };
    const module = (): FiscalModule => under.module();
    const register = async (document = documentOf()): Promise<Registration> => {
      let recorded: Registration | undefined;
      const outcome = await module().register(document, (made) => (recorded = made));
      if (outcome.kind === 'refused') throw new Error(outcome.reason);
      expect(recorded).toEqual(outcome.registration);
      return outcome.registration;
    };
    const refused = async (operation: Promise<{ kind: string }>): Promise<unknown> => {
      const outcome = await operation;
      return outcome.kind === 'refused' ? (outcome as { kind: string; reason?: string }).reason : outcome.kind;
    };
    const tryRegister = (document = documentOf()): Promise<unknown> =>
      refused(module().register(document, () => undefined));
    beforeEach(() => {
      under = make(limits);
    });
    afterEach(() => under.close());

    test('the sequence grows by one per document, over shifts and restarts', async () => {
      const seqs: number[] = [];
      for (let shift = 0; shift < 2; shift += 1) {
        await module().openShift();
        seqs.push((await register()).seq);
        under.restart();
        seqs.push((await register(documentOf({ type: 'advance' }))).seq);
        await module().closeShift();
        module().acknowledgeReceipts(seqs);
      }
      expect(seqs).toEqual([1, 2, 3, 4]);
      expect(module().info().receiptSeq).toBe(4);
    });

    test('sale and refund are signed with 12 digits, advance and credit are not', async () => {
      await module().openShift();
      const signs = [(await register()).sign, (await register(documentOf({ type: 'credit' }))).sign];
      const refundInfo = { terminalId: 'ZZ999999999999', receiptSeq: 1, dateTime: '20260101T000000', fiscalSign: '1' };
      signs.push((await register(documentOf({ type: 'refund', refundInfo }))).sign);
      expect(signs).toEqual([expect.stringMatching(/^\d{12}$/), null, expect.stringMatching(/^\d{12}$/)]);
    });

    test('lifetime and shift sums follow sales and refunds only', async () => {
      await module().openShift();
      await register();
      await register(documentOf({ type: 'advance', cashTiyin: 7 }));
      await register(documentOf({ cashTiyin: 1, cardTiyin: 2, vatTiyin: 3 }));
      under.restart();
      const sale = { cash: 100_001, card: 2, vat: 10_717 };
      expect(module().info()).toMatchObject({ sale, refund: { cash: 0, card: 0, vat: 0 } });
      expect(module().currentShift()).toMatchObject({ documents: 3, saleCount: 2, sale, refundCount: 0 });
    });

    test('a document stays unsent until it is acknowledged, and a full memory refuses', async () => {
      await module().openShift();
      for (let count = 0; count < limits.receiptCapacity; count += 1) await register();
      expect(await tryRegister()).toBe('memory_full');
      module().acknowledgeReceipts([2, 99]);
      under.restart();
      expect(module().unsentReceipts()).toEqual([1, 3]);
      expect(module().info().unsentReceipts).toBe(2);
      expect((await register()).seq).toBe(4);
    });

    test('48 hours after the oldest unsent document nothing goes on until it is sent', async () => {
      await module().openShift();
      await register();
      under.moveClock(48 * HOUR_MS - 60_000);
      expect((await register()).seq).toBe(2);
      under.moveClock(60_000);
      under.restart();
      expect([await tryRegister(), await refused(module().closeShift())]).toEqual(['unsent_too_old', 'unsent_too_old']);
      module().acknowledgeReceipts([1]);
      expect((await register()).seq).toBe(3);
    });

    test('a shift is opened once, not closed empty, and the shifts of its life are counted', async () => {
      expect(await tryRegister()).toBe('shift_not_open');
      expect(await refused(module().closeShift())).toBe('shift_not_open');
      for (let number = 1; number <= limits.shiftCapacity; number += 1) {
        expect(await module().openShift()).toMatchObject({ kind: 'opened', shift: { number } });
        expect(await refused(module().openShift())).toBe('shift_already_open');
        expect(await refused(module().closeShift())).toBe('shift_empty');
        await register();
        expect(await module().closeShift()).toMatchObject({ kind: 'closed', shift: { number, documents: 1 } });
        module().acknowledgeReceipts([number]);
      }
      expect(await refused(module().openShift())).toBe('shift_memory_full');
      expect(module().info()).toMatchObject({ shiftsUsed: 3, shiftCapacity: 3 });
    });

    test('a Z-report stays unsent until it is acknowledged', async () => {
      await module().openShift();
      await register();
      await module().closeShift();
      under.restart();
      expect(module().unsentZReports()).toEqual([1]);
      expect(JSON.parse(module().zReport(1)?.payload ?? '{}')).toMatchObject({ seq: 1, documents: 1, cash: 100_000 });
      module().acknowledgeZReports([1]);
      under.restart();
      expect(module().unsentZReports()).toEqual([]);
    });

    test('a refund needs sales that cover it, and its own receipt as it was', async () => {
      await module().openShift();
      const { seq, sign } = await register();
      const own = { terminalId: module().info().terminalId, receiptSeq: seq, dateTime: 'x', fiscalSign: sign ?? '' };
      const elsewhere = { ...own, terminalId: 'ZZ999999999999' };
      const refund = (changes: Partial<FiscalDocument>): Promise<unknown> =>
        tryRegister(documentOf({ type: 'refund', ...changes }));
      expect(await refund({ refundInfo: own })).toBe('refund_mismatch');
      expect(await refund({ refundInfo: { ...own, receiptSeq: 77 } })).toBe('refund_receipt_unknown');
      expect(await refund({ refundInfo: elsewhere, cashTiyin: 100_001 })).toBe('refund_exceeds_sales');
      expect(await refund({ refundInfo: elsewhere, cashTiyin: 0, cardTiyin: 1 })).toBe('refund_exceeds_sales');
      expect(await refund({ refundInfo: elsewhere, vatTiyin: 10_715 })).toBe('refund_exceeds_sales');
      expect(await refund({ refundInfo: elsewhere })).toBe('registered');
    });

    test('a clock that jumped back is refused, not waited for', async () => {
      await module().openShift();
      await register();
      expect(module().standingRefusal()).toBeNull();
      under.moveClock(-HOUR_MS);
      expect(await tryRegister()).toBe('clock_behind');
      expect(module().standingRefusal()).toMatchObject({ code: 'F-003', reason: 'clock_behind' });
      under.moveClock(HOUR_MS);
      expect(module().standingRefusal()).toBeNull();
      expect(await tryRegister()).toBe('registered');
    });

    test('operations asked for at once run one after another', async () => {
      await module().openShift();
      const made = await Promise.all([register(), register(), register()]);
      expect(made.map(({ seq }) => seq)).toEqual([1, 2, 3]);
      const times = made.map(({ timeMs }) => timeMs);
      expect([...times].sort((left, right) => left - right)).toEqual(times);
    });

    test('a record that fails leaves no trace of the document', async () => {
      await module().openShift();
      const failing = module().register(documentOf(), () => {
        throw new Error('disk full');
      });
      await expect(failing).rejects.toThrow('disk full');
      expect(module().info()).toMatchObject({ receiptSeq: 0, unsentReceipts: 0, sale: { cash: 0 } });
      expect((await register()).seq).toBe(1);
    });
  });
}
