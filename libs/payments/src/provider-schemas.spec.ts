// The schema files say where each of their fields is published, and hold together: each can be checked against its page.
import { Ajv2020 } from 'ajv/dist/2020.js';
import { PROVIDERS } from './port.js';
import { schemaFile, violationsOf } from './testing/provider-schemas.js';

type Node = Record<string, unknown>;

/** Every object of a definition that describes a field, with its path. */
function fieldsIn(node: unknown, path: string): { path: string; field: Node }[] {
  if (typeof node !== 'object' || node === null) return [];
  const { properties = {}, items, anyOf } = node as { properties?: Node; items?: unknown; anyOf?: unknown[] };
  return [
    ...Object.entries(properties).flatMap(([name, field]) => [
      { path: `${path}.${name}`, field: field as Node },
      ...fieldsIn(field, `${path}.${name}`),
    ]),
    ...fieldsIn(items, `${path}[]`),
    ...(anyOf ?? []).flatMap((each) => fieldsIn(each, path)),
  ];
}

describe.each(PROVIDERS)('%s', (provider) => {
  const file = schemaFile(provider);
  const sources = Object.keys(file['x-sources']);
  const calls = file['x-calls'];

  it('names the source of each field and of each call', () => {
    const fields = Object.entries(file.$defs).flatMap(([name, definition]) => fieldsIn(definition, name));
    const unsourced = fields.filter(({ field }) => !sources.includes(String(field['x-source'])));
    expect(unsourced.map(({ path }) => path)).toEqual([]);
    expect(calls.filter((call) => !sources.includes(call['x-source'])).map(({ name }) => name)).toEqual([]);
    expect(fields.length).toBeGreaterThan(50);
  });

  it('uses every source, and every definition is part of a call', () => {
    const text = JSON.stringify([file.$defs, calls]);
    expect(sources.filter((source) => !text.includes(`"x-source":"${source}"`))).toEqual([]);
    const names = Object.keys(file.$defs);
    const unused = names.filter(
      (name) =>
        !text.includes(`"#/$defs/${name}"`) &&
        !calls.some(({ request, answer, failure }) => [request, answer, failure].includes(name)),
    );
    expect(unused).toEqual([]);
  });

  it('says what the documents leave open, and what is done about it', () => {
    expect(file['x-open'].length).toBeGreaterThan(5);
    for (const { point, handling } of file['x-open'])
      expect(Math.min(point.length, handling.length)).toBeGreaterThan(5);
  });

  it('says with which status a call of the provider is answered, and which document says so, or that none does', () => {
    const { 'x-statuses': statuses } = file;
    if (calls.some(({ by }) => by === 'provider'))
      expect(Object.keys(statuses ?? {}).sort()).toEqual(['answer', 'failure']);
    for (const { source } of Object.values(statuses ?? {})) expect([...sources, 'not documented']).toContain(source);
  });

  it('gives examples that are as it says', () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    ajv.addSchema(file, provider);
    for (const [name, { examples = [] }] of Object.entries(file.$defs) as [string, { examples?: unknown[] }][])
      for (const example of examples) {
        expect([name, ajv.validate(`${provider}#/$defs/${name}`, example), ajv.errors]).toEqual([name, true, null]);
      }
  });

  it('fails what no document has', () => {
    const unknown = {
      provider,
      by: 'us',
      method: 'POST',
      path: '/nowhere',
      request: {},
      status: 200,
      answer: {},
    } as const;
    expect(violationsOf(unknown)).not.toEqual([]);
  });
});

it('a field more or less is a violation', () => {
  const exchange = {
    ...({ provider: 'click', by: 'us', method: 'POST', path: '/invoice/create', status: 200 } as const),
    request: { service_id: 1, amount: 1500.5, phone_number: '998901234567', merchant_trans_id: 'pay_1' },
    answer: { error_code: 0, error_note: 'Success', invoice_id: 1 },
  };
  expect(violationsOf(exchange)).toEqual([]);
  expect(violationsOf({ ...exchange, request: { ...exchange.request, lang: 'ru' } })).toHaveLength(1);
  expect(violationsOf({ ...exchange, answer: { error_code: 0, error_note: 'Success' } })).toHaveLength(1);
});

it('a body where none is documented is a violation', () => {
  const reversal = {
    ...({ provider: 'click', by: 'us', method: 'DELETE', path: '/payment/reversal/1/2', status: 200 } as const),
    answer: { error_code: 0, error_note: 'Success', payment_id: 2 },
  };
  expect(violationsOf({ ...reversal, request: null })).toEqual([]);
  expect(violationsOf({ ...reversal, request: { amount: 1 } })).toHaveLength(1);
});

it('another HTTP status than the documented one is a violation', () => {
  const refused = {
    ...({ provider: 'payme', by: 'provider', method: 'POST', path: '', status: 200 } as const),
    request: { method: 'CheckTransaction', params: { id: '0123456789abcdef01234567' }, id: 1 },
    answer: {
      ...{ jsonrpc: '2.0', id: 1 },
      error: { code: -31003, message: { ru: 'нет', uz: 'yo‘q', en: 'no' }, data: null },
    },
  };
  expect(violationsOf(refused)).toEqual([]);
  expect(violationsOf({ ...refused, status: 500 })).toEqual(['payme, CheckTransaction, answer: status 500']);
});
