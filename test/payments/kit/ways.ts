import type { ProviderWay } from './provider-kit.js';

const BASIC = {
  showsCurrency: false,
  showsRefunded: false,
  repeatedRefund: 'another',
  timed: false,
  expires: false,
  held: 'authorized',
} as const;
const KEYED = { showsRefunded: true, repeatedRefund: 'replayed' } as const;
const CLICK = { service_id: '1', merchant_id: '2', merchant_user_id: '2', secret_key: 's' };
const TOKEN = { token: 'token-0001' };

const uzum = (more: Record<string, string>) => (url: string) => ({
  ...{ terminal_id: '5f0b2c1e-3d4a-4b5c-8d6e-7f8091a2b3c4', api_key: 'uzum-key', tin: '300000000' },
  ...{ checkout_url: `${url}/uzum/checkout`, fastpay_url: `${url}/uzum/fastpay`, ofd_url: `${url}/uzum/ofd` },
  ...{ fastpay_service_id: '77', fastpay_user_id: '8461', fastpay_secret: 's', cashbox_code: 'till-1', ...more },
});

/** Every way of every provider that we drive. */
export const WAYS: readonly ProviderWay[] = [
  {
    ...{ name: 'payme, by token', provider: 'payme', flow: 'hold', instrument: TOKEN, pays: 'by call' },
    values: (url) => ({ cashbox_id: 'b', key: 'k', api_url: `${url}/payme/api` }),
    ...{ ...BASIC, showsAmount: true, showsCurrency: true, expires: true },
  },
  {
    ...{ name: 'click, by token', provider: 'click', flow: 'charge', instrument: TOKEN, pays: 'by call' },
    values: (url) => ({ ...CLICK, api_url: `${url}/click/v2/merchant` }),
    ...{ ...BASIC, showsAmount: false },
  },
  {
    ...{ name: 'click, by phone', provider: 'click', flow: 'invoice', instrument: { phone: '998901234567' } },
    values: (url) => ({ ...CLICK, api_url: `${url}/click/v2/merchant` }),
    ...{ ...BASIC, pays: 'in the app', showsAmount: false },
  },
  {
    ...{ name: 'click, by a wallet’s code', provider: 'click', flow: 'hold', instrument: { qr: 'code-of-a-wallet' } },
    values: (url) => ({ ...CLICK, api_url: `${url}/click/v2/merchant` }),
    ...{ ...BASIC, pays: 'by call', showsAmount: false, expires: true, held: 'in_flight' },
  },
  {
    ...{ name: 'multicard, by token', provider: 'multicard', flow: 'hold', instrument: TOKEN, pays: 'by call' },
    values: (url) => ({ ...{ application_id: 'a', secret: 's', store_id: '6' }, api_url: `${url}/multicard` }),
    ...{ ...BASIC, showsAmount: true, expires: true },
  },
  {
    ...{ name: 'uzum checkout, two steps by token', provider: 'uzum', flow: 'hold', instrument: TOKEN },
    values: uzum({ pay_type: 'TWO_STEP' }),
    ...{ ...BASIC, pays: 'by call', showsAmount: true, ...KEYED, expires: true },
  },
  {
    ...{ name: 'uzum checkout, one step by token', provider: 'uzum', flow: 'invoice', instrument: TOKEN },
    values: uzum({}),
    ...{ ...BASIC, pays: 'by call', showsAmount: true, ...KEYED },
  },
  {
    ...{ name: 'uzum checkout, two steps on its page', provider: 'uzum', flow: 'hold', instrument: {} },
    values: uzum({ pay_type: 'TWO_STEP' }),
    ...{ ...BASIC, pays: 'on page', showsAmount: true, ...KEYED, expires: true },
  },
  {
    ...{ name: 'uzum checkout, one step on its page', provider: 'uzum', flow: 'invoice', instrument: {} },
    values: uzum({}),
    ...{ ...BASIC, pays: 'on page', showsAmount: true, ...KEYED },
  },
  {
    ...{ name: 'uzum fast pay', provider: 'uzum', flow: 'charge', instrument: { qr: `6385${'7'.repeat(39)}` } },
    values: uzum({}),
    ...{ ...BASIC, pays: 'by call', showsAmount: false, timed: true },
  },
  {
    ...{ name: 'octo, two stages', provider: 'octo', flow: 'hold', instrument: {}, pays: 'on page' },
    values: (url) => ({ shop_id: '1', secret: 's', api_url: `${url}/octo/api` }),
    ...{
      ...BASIC,
      showsAmount: true,
      showsCurrency: true,
      showsRefunded: true,
      repeatedRefund: 'refused',
      expires: true,
    },
  },
  {
    ...{ name: 'octo, one stage', provider: 'octo', flow: 'invoice', instrument: {}, pays: 'on page' },
    values: (url) => ({ shop_id: '1', secret: 's', api_url: `${url}/octo/api`, stages: 'one' }),
    ...{ ...BASIC, showsAmount: true, showsCurrency: true, showsRefunded: true, repeatedRefund: 'refused' },
  },
  {
    ...{ name: 'atmos, charged by token', provider: 'atmos', flow: 'charge', instrument: TOKEN, pays: 'by call' },
    values: (url) => ({ consumer_key: 'k', consumer_secret: 's', store_id: '1', api_url: `${url}/atmos` }),
    ...{ ...BASIC, showsAmount: true },
  },
  {
    ...{ name: 'atmos, held by token', provider: 'atmos', flow: 'hold', instrument: TOKEN, pays: 'by call' },
    values: (url) => ({
      ...{ consumer_key: 'k', consumer_secret: 's', store_id: '1', api_url: `${url}/atmos`, mode: 'hold' },
    }),
    ...{ ...BASIC, showsAmount: true, expires: true },
  },
  {
    ...{
      name: 'stripe, held by a saved card',
      provider: 'stripe',
      flow: 'hold',
      instrument: { token: 'pm_card_0001' },
    },
    values: (url) => ({ secret_key: 'sk_test_1', api_url: `${url}/stripe` }),
    ...{ ...BASIC, pays: 'by call', showsAmount: true, showsCurrency: true, ...KEYED, expires: true },
  },
  {
    ...{ name: 'stripe, charged', provider: 'stripe', flow: 'charge', instrument: { token: 'pm_card_0001' } },
    values: (url) => ({ secret_key: 'sk_test_1', api_url: `${url}/stripe`, capture: 'automatic' }),
    ...{ ...BASIC, pays: 'by call', showsAmount: true, showsCurrency: true, ...KEYED },
  },
];
