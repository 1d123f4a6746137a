// What we send each provider, and what we make of its answers, is as its documentation writes them, not as our simulator does.
import { readFileSync } from 'node:fs';
import { thousandths, tiyin, type ReceiptLine } from '#fiscal-domain';
import { ClickClient } from './click/click.client.js';
import type { HttpExchange, HttpRequest } from './http-exchange.js';
import { MulticardClient } from './multicard/multicard.client.js';
import { PaymeClient } from './payme/payme.client.js';
import type { CallOutcome, PaymentFlow, PaymentProvider, PaymentRef, ProviderCode } from './port.js';
import { violationsOf, withExamples } from './testing/provider-schemas.js';

interface Fixture {
  name: string;
  call:
    | 'prepare'
    | 'authorize'
    | 'capture'
    | 'void'
    | 'refund'
    | 'fetchStatus'
    | 'attachLink'
    | 'submitLines'
    | 'fetchDocument';
  flow: PaymentFlow;
  providerRef: string | null;
  /** Whether the provider registers the sale. */
  lines?: boolean;
  /** Of a refund of a part. */
  refundTiyin?: number;
  /** An answer that no document has, to see what is made of it. */
  undocumented?: boolean;
  /** In order; no other request may leave. */
  exchanges: { request: HttpRequest; answer: { status: number; body: unknown } }[];
  outcome: Partial<CallOutcome>;
}

/** 2024-04-06 00:34:38 in Tashkent: the second of the documentation's own `Auth` vector. */
const NOW_MS = 1_712_345_678_000;
const LINES: ReceiptLine[] = [
  {
    ...{
      line: 1,
      sku: null,
      name: 'Non',
      quantity: thousandths(2_000),
      priceTiyin: tiyin(75_025),
      discountTiyin: tiyin(0),
    },
    ...{ totalTiyin: tiyin(150_050), vatPercent: 12, vatTiyin: tiyin(16_077), spic: '01905001001000001' },
    ...{ packageCode: '1500001', units: 796, barcode: null, labels: [], commission: null },
  },
];
const LINK = {
  ...{ terminalId: 'UZ000000000001', receiptSeq: 7, fiscalSign: '000000000007', dateTime: '20260102080405' },
  ...{ url: 'https://ofd.soliq.uz/check?t=UZ000000000001&r=7&c=20260102080405&s=000000000007', isRefund: false },
};

const CLIENTS: Record<string, (exchange: HttpExchange) => PaymentProvider> = {
  'payme/fixtures/subscribe.json': (exchange) => {
    const where = { apiUrl: 'https://checkout.paycom.uz/api', accountField: 'order_id' };
    return new PaymeClient({ ...where, cashboxId: '587f72c72cac0d162c722ae2', key: 'KEY' }, exchange);
  },
  'click/fixtures/merchant-api.json': (exchange) => {
    const who = { serviceId: '12345', merchantUserId: '3333', secretKey: 'SECRET123', sellerTin: '300000000' };
    return new ClickClient({ apiUrl: 'https://api.click.uz/v2/merchant', ...who, nowMs: () => NOW_MS }, exchange);
  },
  'multicard/fixtures/payments.json': (exchange) => {
    const who = { applicationId: 'app', secret: 'SECRET123', storeId: '6', sellerTin: '300000000' };
    return new MulticardClient({ apiUrl: 'https://mesh.multicard.uz', ...who, nowMs: () => NOW_MS }, exchange);
  },
};

function read(file: string): Fixture[] {
  return withExamples(providerOf(file), JSON.parse(readFileSync(`libs/payments/src/${file}`, 'utf8'))) as Fixture[];
}

function providerOf(file: string): ProviderCode {
  return file.split('/')[0] as ProviderCode;
}

const BASES: Record<ProviderCode, RegExp> = {
  payme: /^https:\/\/checkout\.paycom\.uz\/api/,
  click: /^https:\/\/api\.click\.uz\/v2\/merchant/,
  multicard: /^https:\/\/mesh\.multicard\.uz/,
  atmos: /^https:\/\/apigw\.atmos\.uz/,
  paynet: /^$/,
  stripe: /^https:\/\/api\.stripe\.com/,
  octo: /^https:\/\/secure\.octo\.uz/,
  uzum: /^https:\/\/(checkout-key\.inplat-tech\.com|mobile\.apelsin\.uz|ofd-key\.inplat-tech\.com)/,
};

/** What of the fixture's requests and answers is in no document of the provider's. */
function undocumentedIn(file: string, { exchanges, undocumented = false }: Fixture): string[] {
  const provider = providerOf(file);
  // Errors of its servers are none of the protocol.
  const shown = exchanges.filter(({ answer }) => !undocumented && answer.status < 500);
  return shown.flatMap(({ request, answer }) =>
    violationsOf({
      ...{ provider, by: 'us', method: request.method, path: request.url.replace(BASES[provider], '') },
      ...{ request: request.body, status: answer.status, answer: answer.body },
    }),
  );
}

function ask(client: PaymentProvider, fixture: Fixture): Promise<CallOutcome> | undefined {
  const { flow, providerRef } = fixture;
  const lines = fixture.lines === true ? LINES : null;
  const ref: PaymentRef = { ourRef: 'pay_1', providerRef, flow, amountTiyin: 150_050, createdAtMs: NOW_MS };
  const order = {
    ...{ ourRef: 'pay_1', amountTiyin: 150_050, description: 'Order pay_1', returnUrl: null, lines, saleLines: LINES },
    callbackUrl: 'https://gw.example/cb',
  };
  const instrument = {
    ...{ token: 'token-0001', phone: flow === 'invoice' ? '998901234567' : null, qr: 'qr-of-a-wallet', otp: null },
  };
  switch (fixture.call) {
    case 'prepare':
      return client.prepare?.(order, flow, instrument);
    case 'authorize':
      return client.authorize?.(order, instrument, ref);
    case 'capture':
      return client.capture?.(ref, lines);
    case 'refund':
      return client.refund?.(ref, { amountTiyin: fixture.refundTiyin ?? 150_050, key: '1', lines });
    case 'attachLink':
      return client.attachLink?.(ref, LINK);
    case 'submitLines':
      return client.submitLines?.(ref, LINES, 150_050);
    case 'fetchDocument':
      return client.fetchDocument?.(ref, { which: 'sale', sale: null, isMoneyBack: false, lines: LINES });
    case 'void':
    case 'fetchStatus':
      return client[fixture.call]?.(ref);
  }
}

describe.each(Object.keys(CLIENTS))('%s', (file) => {
  it.each(read(file).map((fixture): [string, Fixture] => [`${fixture.call}: ${fixture.name}`, fixture]))(
    '%s',
    async (_name, fixture) => {
      const open = [...fixture.exchanges];
      const client = CLIENTS[file]?.((request) => {
        const next = open.shift();
        expect(request).toEqual(next?.request);
        const { status = 0, body = null } = next?.answer ?? {};
        return Promise.resolve({ kind: 'answered', status, body });
      });
      expect(client && (await ask(client, fixture))).toMatchObject(fixture.outcome);
      expect(open).toEqual([]);
      expect(undocumentedIn(file, fixture)).toEqual([]);
    },
  );
});
