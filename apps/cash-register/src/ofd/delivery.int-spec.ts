// Breaks if a registered document could be lost, doubled or held up on its way to the OFD.
import { createServer, type Server } from 'node:http';
import { MAX_LOCAL_ANSWER_BYTES } from '#fiscal-domain';
import { MovableClock } from '../testing/fake-clock.js';
import { withRegister, type TestRegister } from '../testing/register-fixture.js';
import { item, sale } from '../testing/samples.js';

interface Call {
  readonly terminal_id: string;
  readonly documents: readonly { seq: number; prev_digest: string; digest: string }[];
}

/** An OFD of the test's own: keeps the calls and answers as the test says; `null` hangs, `close` breaks off. */
interface OwnOfd {
  readonly url: string;
  readonly calls: Call[];
  /** Ends the calls that it lets hang, and takes no others. */
  breakOff(): void;
}

const opened: Server[] = [];
afterEach(async () => {
  // Also after a failed test: a server left open would keep the whole run from ending.
  for (const server of opened.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

async function ownOfd(respond: (call: Call) => { status: number; body: string } | 'close' | null): Promise<OwnOfd> {
  const calls: Call[] = [];
  const server: Server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    request.on('end', () => {
      const call = JSON.parse(text) as Call;
      calls.push(call);
      const answer = respond(call);
      if (answer === 'close') request.socket.destroy();
      else if (answer) response.writeHead(answer.status, { 'content-type': 'application/json' }).end(answer.body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  opened.push(server);
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  return {
    url: `http://127.0.0.1:${String(port)}`,
    calls,
    breakOff: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

function accepting({ documents }: Call): { status: number; body: string } {
  return { status: 200, body: JSON.stringify({ results: documents.map(({ seq }) => ({ seq, status: 'accepted' })) }) };
}

async function unsentCount(register: TestRegister): Promise<number> {
  return (await register.call('GET', '/fm/info')).body.receiptCount as number;
}

describe('delivery within a sale', () => {
  test('a hanging first server leaves the second its share of the budget', async () => {
    const [hanging, working] = [await ownOfd(() => null), await ownOfd(accepting)];
    const environment = { OFD_URLS: `${hanging.url},${working.url}`, OFD_SALE_BUDGET_MS: '6000' };
    await withRegister({ environment }, async (register) => {
      expect((await register.sell(sale())).body.ofdSent).toBe(true);
      expect([hanging.calls.length, working.calls.length]).toEqual([1, 1]);
    });
  });

  test('when all servers hang the answer comes with the end of the budget, and the document stays', async () => {
    const hanging = [await ownOfd(() => null), await ownOfd(() => null)];
    const environment = { OFD_URLS: hanging.map(({ url }) => url).join(','), OFD_SALE_BUDGET_MS: '300' };
    await withRegister({ environment }, async (register) => {
      const answers = await Promise.all([1, 2, 3].map(() => register.sell(sale())));
      for (const { body } of answers) {
        expect(body).toMatchObject({ success: true, ofdSent: false });
        expect(body.ofdError).toContain('all OFD servers failed');
      }
      expect(await unsentCount(register)).toBe(3);
    });
  });

  test.each([
    ['no JSON', { status: 200, body: 'ok' }],
    ['no results', { status: 200, body: '{}' }],
    ['a doubtful status', { status: 200, body: '{"results":[{"seq":1,"status":"ACCEPTED"}]}' }],
    ['an acknowledgement of another document', { status: 200, body: '{"results":[{"seq":2,"status":"accepted"}]}' }],
    ['a redirect', { status: 302, body: '' }],
    [
      'a rejection and an acknowledgement of the same document',
      { status: 200, body: '{"results":[{"seq":1,"status":"rejected"},{"seq":1,"status":"accepted"}]}' },
    ],
  ])('%s is no acknowledgement', async (_name, answer) => {
    const ofd = await ownOfd(() => answer);
    await withRegister({ environment: { OFD_URLS: ofd.url } }, async (register) => {
      expect((await register.sell(sale())).body.ofdSent).toBe(false);
      expect(await unsentCount(register)).toBe(1);
    });
  });

  test('of an OFD that has much to say about each document a caller reads the beginning', async () => {
    const results = ({ documents }: Call): unknown[] =>
      documents.map(({ seq }) => ({ seq, status: 'rejected', code: 'c'.repeat(1_000), message: '"'.repeat(25_000) }));
    const ofd = await ownOfd((call) => ({ status: 200, body: JSON.stringify({ results: results(call) }) }));
    await withRegister({ environment: { OFD_URLS: ofd.url } }, async (register) => {
      const sold = (await register.sell(sale())).body.ofdError as string;
      expect(sold).toMatch(/^the OFD rejected the document: "{200} \[c{40}\] \(T-003\)$/);
      const { total, errors } = (await register.call('POST', '/receipts/send-unsent')).body;
      // As many as fit into a module, and no more than the gateway reads.
      expect([total, JSON.stringify(errors).length * 858 < MAX_LOCAL_ANSWER_BYTES]).toEqual([1, true]);
    });
  });

  test('what is registered while a call is under way goes together with the next one', async () => {
    const ofd = await ownOfd(accepting);
    await withRegister({ environment: { OFD_URLS: ofd.url } }, async (register) => {
      const answers = await Promise.all(Array.from({ length: 40 }, () => register.sell(sale())));
      expect(answers.every(({ body }) => body.ofdSent === true)).toBe(true);
    });
    const seqs = ofd.calls.flatMap(({ documents }) => documents.map(({ seq }) => seq));
    expect(seqs).toEqual(Array.from({ length: 40 }, (_, index) => index + 1));
    expect(ofd.calls.length).toBeLessThan(40);
  });

  test('a kept connection that the OFD has closed costs a sale nothing', async () => {
    let closeNext = false;
    const ofd = await ownOfd((call) => {
      if (!closeNext) return accepting(call);
      closeNext = false;
      return 'close';
    });
    await withRegister({ environment: { OFD_URLS: ofd.url } }, async (register) => {
      await register.sell(sale());
      closeNext = true;
      expect((await register.sell(sale())).body.ofdSent).toBe(true);
    });
    expect(ofd.calls.map(({ documents }) => documents.map(({ seq }) => seq))).toEqual([[1], [2], [2]]);
  });

  test('an acknowledgement that was lost is asked for again, and the OFD keeps one document', () =>
    withRegister({}, async (register) => {
      let forwarded: Promise<unknown> = Promise.resolve();
      const deaf = await ownOfd((call) => {
        forwarded = fetch(`${register.ofdUrl}/documents`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(call),
        });
        return null;
      });
      await register.restart({ OFD_URLS: deaf.url, OFD_SALE_BUDGET_MS: '300' });
      expect((await register.sell(sale())).body.ofdSent).toBe(false);
      await forwarded;
      await register.restart();
      expect((await register.call('POST', '/receipts/send-unsent')).body).toMatchObject({ total: 1, sent: 1 });
      expect((await register.ofd('/documents')).data).toMatchObject([{ seq: 1, deliveries: 2 }]);
    }));
});

describe('resending', () => {
  /** So many documents, unsent at a register whose OFD is this one. */
  async function unsentAt(ofd: OwnOfd, count: number, work: (register: TestRegister) => Promise<void>): Promise<void> {
    await withRegister({}, async (register) => {
      await register.ofd('/faults', { mode: 'down' });
      for (let sold = 0; sold < count; sold += 1) await register.sell(sale());
      await register.restart({ OFD_URLS: ofd.url });
      await work(register);
    });
  }
  const resend = async (register: TestRegister) => (await register.call('POST', '/receipts/send-unsent')).body;
  const documents = 40;

  test('goes in order, at most 32 documents in a call, and each names the digest of the one before', async () => {
    const ofd = await ownOfd(accepting);
    await withRegister({}, async (register) => {
      await register.ofd('/faults', { mode: 'down' });
      for (let count = 0; count < 70; count += 1) await register.sell(sale());
      await register.restart({ OFD_URLS: ofd.url });
      expect((await register.call('POST', '/receipts/send-unsent')).body).toEqual({
        ...{ success: true, total: 70, sent: 70, failed: 0, errors: [] },
      });
      expect(await unsentCount(register)).toBe(0);
    });
    expect(ofd.calls.map(({ documents }) => documents.length)).toEqual([32, 32, 6]);
    const sent = ofd.calls.flatMap(({ documents }) => documents);
    expect(sent.map(({ seq }) => seq)).toEqual(Array.from({ length: 70 }, (_, index) => index + 1));
    for (const [index, { prev_digest: previous }] of sent.entries()) {
      expect(previous).toBe(index === 0 ? '0'.repeat(64) : sent[index - 1]?.digest);
    }
  });

  test('one refused document does not hold up the others, and is reported with its code', async () => {
    const ofd = await ownOfd(({ documents }) => {
      const results = documents.map(({ seq }) =>
        seq === 2 ? { seq, status: 'rejected', code: 'X1', message: 'not good' } : { seq, status: 'accepted' },
      );
      return { status: 200, body: JSON.stringify({ results }) };
    });
    await withRegister({}, async (register) => {
      await register.ofd('/faults', { mode: 'down' });
      for (let count = 0; count < 3; count += 1) await register.sell(sale());
      await register.restart({ OFD_URLS: ofd.url });
      const { body } = await register.call('POST', '/receipts/send-unsent');
      expect(body).toMatchObject({ success: false, total: 3, sent: 2, failed: 1 });
      expect(body.errors).toEqual([{ receiptSeq: 2, code: 'T-003', message: expect.stringContaining('not good') }]);
      expect(await unsentCount(register)).toBe(1);
    });
  });

  describe('an OFD that answers, but not what it should', () => {
    const FAILS = { status: 500, body: 'no' };
    const isBad = (seq: number): boolean => seq === 1 || seq === 20;

    test('because of one document: it alone stays, the others are delivered', async () => {
      const ofd = await ownOfd((call) => (call.documents.some(({ seq }) => isBad(seq)) ? FAILS : accepting(call)));
      await unsentAt(ofd, documents, async (register) => {
        const body = await resend(register);
        expect(body).toMatchObject({ success: false, total: documents, sent: documents - 2, failed: 2 });
        const bad = { code: 'T-001', message: 'all OFD servers failed' };
        expect(body.errors).toEqual([
          { receiptSeq: 1, ...bad },
          { receiptSeq: 20, ...bad },
        ]);
        expect(register.register.module.unsentReceipts()).toEqual([1, 20]);
      });
    });

    test('because there are too many: fewer go at a time', async () => {
      const tooLarge = { status: 413, body: '' };
      const ofd = await ownOfd((call) => (call.documents.length > 5 ? tooLarge : accepting(call)));
      await unsentAt(ofd, documents, async (register) => {
        const { body } = await register.call('POST', '/receipts/send-unsent');
        expect(body).toMatchObject({ success: true, total: documents, sent: documents });
      });
    });

    test('whatever it is sent: a few calls find that out, and all stays', async () => {
      const ofd = await ownOfd(() => FAILS);
      await unsentAt(ofd, documents, async (register) => {
        const { body } = await register.call('POST', '/receipts/send-unsent');
        expect(body).toMatchObject({ success: false, total: documents, sent: 0, failed: documents });
        const left = body.errors as { receiptSeq: number }[];
        expect(left.map(({ receiptSeq }) => receiptSeq)).toEqual(Array.from({ length: documents }, (_, at) => at + 1));
      });
      expect(ofd.calls.length).toBeLessThan(10);
    });
  });

  describe('an OFD that breaks off without an answer', () => {
    test('because the line is too slow for so many: they go few at a time, and all arrive', async () => {
      const ofd = await ownOfd((call) => (call.documents.length > 5 ? 'close' : accepting(call)));
      await unsentAt(ofd, documents, async (register) => {
        expect(await resend(register)).toMatchObject({ success: true, total: 40, sent: 40 });
      });
      // What was too much is not tried again: each try costs the whole time of a call. A kept connection that broke off is, once.
      const sizes = ofd.calls.map((call) => call.documents.length);
      expect(sizes.filter((size) => size > 5)).toEqual([32, 8, 8]);
    });

    test('because of the oldest document: it alone stays', async () => {
      const ofd = await ownOfd((call) => (call.documents.some(({ seq }) => seq === 1) ? 'close' : accepting(call)));
      await unsentAt(ofd, documents, async (register) => {
        const errors = [{ receiptSeq: 1, code: 'T-001' }];
        expect(await resend(register)).toMatchObject({ total: 40, sent: 39, errors });
      });
    });

    test('whatever it is sent: three calls find that out, of nine seconds together, and two the next time', async () => {
      const ofd = await ownOfd((call) => (ofd.calls.length <= 5 ? null : accepting(call)));
      await unsentAt(ofd, 3, async (register) => {
        expect(await resend(register)).toMatchObject({ total: 3, sent: 0 });
        expect(await resend(register)).toMatchObject({ total: 3, sent: 0 });
        expect(await resend(register)).toMatchObject({ total: 3, sent: 3 });
      });
      expect(ofd.calls.map((call) => call.documents.length)).toEqual([3, 1, 1, 1, 1, 1, 2]);
    });

    test('because of one Z-report: it alone stays', async () => {
      const ofd = await ownOfd((call) => {
        const { z_reports: reports } = call as unknown as { z_reports: Call['documents'] };
        return reports.some(({ seq }) => seq === 1) ? 'close' : accepting({ ...call, documents: reports });
      });
      await withRegister({}, async (register) => {
        await register.ofd('/faults', { mode: 'down' });
        for (let shift = 0; shift < 4; shift += 1) {
          if (shift > 0) await register.call('POST', '/z-report/open');
          await register.sell(sale());
          expect((await register.call('POST', '/z-report/close')).status).toBe(200);
        }
        await register.restart({ OFD_URLS: ofd.url });
        const { body } = await register.call('POST', '/z-report/send-unsent');
        expect(body).toMatchObject({ success: false, sent: 3 });
        expect((await register.call('GET', '/z-report/stats')).body).toMatchObject({ unackedNumbers: [1] });
      });
    });
  });

  test('large documents go few at a time: a slow line takes them as well', async () => {
    const ofd = await ownOfd(accepting);
    const large = sale({ items: Array.from({ length: 400 }, () => item({ price: 5_000, vat: 536 })) });
    await withRegister({}, async (register) => {
      await register.ofd('/faults', { mode: 'down' });
      for (let count = 0; count < 6; count += 1) expect((await register.sell(large)).status).toBe(200);
      await register.restart({ OFD_URLS: ofd.url });
      expect((await register.call('POST', '/receipts/send-unsent')).body).toMatchObject({ total: 6, sent: 6 });
    });
    expect(ofd.calls.length).toBeGreaterThan(1);
    for (const call of ofd.calls) expect(JSON.stringify(call).length).toBeLessThan(300_000);
  });

  test('two resends at once send each document once', async () => {
    await withRegister({}, async (register) => {
      await register.ofd('/faults', { mode: 'down', next: 5 });
      for (let count = 0; count < 5; count += 1) await register.sell(sale());
      await Promise.all([1, 2, 3].map(() => register.call('POST', '/receipts/send-unsent')));
      const { data } = await register.ofd('/documents');
      const held = data as { seq: number; deliveries: number }[];
      expect(held.map(({ seq, deliveries }) => [seq, deliveries])).toEqual([1, 2, 3, 4, 5].map((seq) => [seq, 1]));
    });
  });

  test('leaves alone what a sale is delivering at the moment', async () => {
    const hanging = await ownOfd(() => null);
    const environment = { OFD_URLS: hanging.url, OFD_SALE_BUDGET_MS: '20000' };
    await withRegister({ environment }, async (register) => {
      const selling = register.sell(sale());
      while (hanging.calls.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      expect((await register.call('POST', '/receipts/send-unsent')).body).toMatchObject({ total: 0, failed: 0 });
      hanging.breakOff();
      expect((await selling).body.ofdSent).toBe(false);
      expect(hanging.calls).toHaveLength(1);
    });
  });

  test('with an OFD that does not answer it ends, counts all as failed and loses nothing', async () => {
    await withRegister({}, async (register) => {
      await register.ofd('/faults', { mode: 'down' });
      for (let count = 0; count < 40; count += 1) await register.sell(sale());
      const { body } = await register.call('POST', '/receipts/send-unsent');
      expect(body).toMatchObject({ success: false, total: 40, sent: 0, failed: 40 });
      expect(body.errors).toHaveLength(40);
      expect(await unsentCount(register)).toBe(40);
    });
  });
});

test('48 hours after the oldest unsent document sale, open and close are refused until it is sent', async () => {
  const clock = new MovableClock();
  await withRegister({ clock }, async (register) => {
    await register.ofd('/faults', { mode: 'down', next: 1 });
    await register.sell(sale());
    clock.move(48 * 60 * 60 * 1000);
    const refusal = { status: 503, body: { error: { code: 'F-003', details: { reason: 'unsent_too_old' } } } };
    expect(await register.sell(sale())).toMatchObject(refusal);
    expect(await register.call('POST', '/z-report/close')).toMatchObject(refusal);
    await register.call('POST', '/receipts/send-unsent');
    expect((await register.sell(sale())).status).toBe(200);
    expect((await register.call('POST', '/z-report/close')).status).toBe(200);
  });
});

test('a shift that was closed is answered so, also when its Z-report is acknowledged and the disk takes no note of it', () =>
  withRegister({}, async (register) => {
    await register.sell(sale());
    const full = "BEFORE DELETE ON unsent_z_reports BEGIN SELECT RAISE(FAIL, 'database or disk is full'); END";
    await register.tamper(`CREATE TRIGGER full ${full}`);
    expect(await register.call('POST', '/z-report/close')).toMatchObject({ status: 200, body: { ofdSent: true } });
    expect((await register.call('GET', '/z-report/stats')).body).toMatchObject({ totalClosed: 1, totalUnacked: 0 });
    await register.tamper('DROP TRIGGER full');
    expect((await register.call('GET', '/z-report/stats')).body).toMatchObject({ unackedNumbers: [1] });
    expect((await register.call('POST', '/z-report/send-unsent')).body).toMatchObject({ success: true, sent: 1 });
    expect((await register.ofd('/z-reports')).data).toMatchObject([{ seq: 1, deliveries: 2 }]);
  }));
