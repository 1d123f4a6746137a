// Promise: all shape violations are reported at once, each with an RFC 6901 pointer and a code.
import 'reflect-metadata';
import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayMinSize,
  IsArray,
  IsIn,
  IsInt,
  IsObject,
  IsString,
  Matches,
  Max,
  MaxLength,
  Min,
  ValidateNested,
} from 'class-validator';
import type { ProblemError } from '#problems';
import { JudgedApart } from './judged-apart.js';
import { checkQuery, checkShape } from './shape.js';

class Item {
  @IsString()
  @MaxLength(5)
  @Matches(/^[^\0]*$/, { context: { code: 'invalid_text' } })
  name!: string;

  @IsInt()
  @Min(1)
  @Max(10)
  price!: number;
}

class Body {
  @IsArray()
  @ArrayMaxSize(2)
  @ValidateNested({ each: true })
  @Type(() => Item)
  items!: Item[];

  @IsIn(['cash', 'card'])
  method!: string;
}

function errorsOf(body: unknown): Pick<ProblemError, 'pointer' | 'code'>[] {
  const shaped = checkShape(Body, body);
  if (shaped.kind === 'ok') return [];
  expect(shaped.problem.isRefusal).toBe(true);
  return shaped.problem.errors.map(({ pointer, code }) => ({ pointer, code }));
}

test('a right body becomes an instance', () => {
  const shaped = checkShape(Body, { items: [{ name: 'tea', price: 1 }], method: 'cash' });
  expect(shaped.kind === 'ok' && shaped.value).toBeInstanceOf(Body);
});

test('all violations are reported at once', () => {
  const items = [
    { name: 'a\0b', price: 11 },
    { name: 'too long a name', price: '1', colour: 'red' },
  ];
  expect(errorsOf({ items, method: 'gold', extra: 1 })).toEqual(
    expect.arrayContaining([
      { pointer: '/extra', code: 'unknown_field' },
      { pointer: '/items/0/name', code: 'invalid_text' },
      { pointer: '/items/0/price', code: 'out_of_range' },
      { pointer: '/items/1/name', code: 'too_long' },
      { pointer: '/items/1/price', code: 'invalid_type' },
      { pointer: '/items/1/colour', code: 'unknown_field' },
      { pointer: '/method', code: 'invalid_value' },
    ]),
  );
});

test('a missing field is one error, a fraction is a wrong type, too many entries are counted', () => {
  expect(errorsOf({ items: [{ price: 1.5, name: 'x' }] })).toEqual(
    expect.arrayContaining([
      { pointer: '/items/0/price', code: 'invalid_type' },
      { pointer: '/method', code: 'required' },
    ]),
  );
  const item = { name: 'x', price: 1 };
  expect(errorsOf({ items: [item, item, item], method: 'cash' })).toEqual([{ pointer: '/items', code: 'too_many' }]);
});

test.each([
  ['a list', [], 'invalid_type'],
  ['a text', 'x', 'invalid_type'],
  ['a number', 1, 'invalid_type'],
  ['null', null, 'required'],
  ['nothing', undefined, 'required'],
])('%s instead of a body', (_name, body, code) => {
  expect(errorsOf(body)).toEqual([{ pointer: '', code }]);
});

test.each([
  [{ items: 'x', method: 'cash' }],
  [{ items: {}, method: 'cash' }],
  [{ items: [null], method: 'cash' }],
  [{ items: [[]], method: 'cash' }],
  [{ items: [1], method: 'cash' }],
])('no item shape is a surprise: %j', (body) => {
  expect(errorsOf(body)).not.toEqual([]);
});

test('a body nested beyond all reason is refused, not walked', () => {
  const deep: unknown = JSON.parse(`${'{"a":'.repeat(40_000)}1${'}'.repeat(40_000)}`);
  expect(errorsOf({ items: [deep], method: 'cash' })).toMatchObject([{ code: 'too_deep' }]);
});

test('a value with a constructor of its own is refused, not constructed', () => {
  for (const [method, pointer] of [
    [{ constructor: 1 }, '/method/constructor'],
    [{ a: { constructor: 'x' } }, '/method/a/constructor'],
  ] as const) {
    expect(errorsOf({ items: [], method })).toEqual([{ pointer, code: 'unknown_field' }]);
  }
});

describe('an unknown field that is named like a method of every object', () => {
  const right = { items: [{ name: 'tea', price: 1 }], method: 'cash' };

  test.each(['constructor', 'toString', 'valueOf', 'hasOwnProperty', 'toLocaleString'])('%s is refused', (name) => {
    const body = { ...right, [name]: 'x' };
    expect(errorsOf(body)).toEqual([{ pointer: `/${name}`, code: 'unknown_field' }]);
  });

  test('also within a list, and together with what else is wrong', () => {
    const items: object[] = [
      { name: 'tea', price: 1 },
      { name: 'bread', price: 11, valueOf: { a: 1 } },
    ];
    expect(errorsOf({ items, method: 'gold', toString: 1, extra: 1 })).toEqual(
      expect.arrayContaining([
        { pointer: '/toString', code: 'unknown_field' },
        { pointer: '/items/1/valueOf', code: 'unknown_field' },
        { pointer: '/items/1/price', code: 'out_of_range' },
        { pointer: '/method', code: 'invalid_value' },
        { pointer: '/extra', code: 'unknown_field' },
      ]),
    );
  });

  test('in a query too', () => {
    class Query {
      @IsIn(['a'])
      kind!: string;
    }
    const query: unknown = Object.assign(Object.create(null) as object, { kind: 'a', valueOf: '1' });
    const shaped = checkQuery(Query, query);
    expect(shaped.kind === 'refused' && shaped.problem.errors).toMatchObject([{ pointer: '/valueOf' }]);
  });
});

describe('a list that is judged apart', () => {
  class Batch {
    @IsArray()
    @ArrayMinSize(1)
    @ArrayMaxSize(3)
    @IsObject({ each: true })
    @JudgedApart()
    entries!: object[];

    @IsIn(['a', 'b'])
    kind!: string;
  }
  const batchErrors = (body: unknown): string[] => {
    const shaped = checkShape(Batch, body);
    return shaped.kind === 'ok' ? [] : shaped.problem.errors.map(({ pointer, code }) => `${pointer} ${code}`);
  };

  test('its entries stay as they were sent, whatever is in them', () => {
    const entries: object[] = [
      { valueOf: '12', toString: 'x', constructor: 'lego' },
      { a: [[{ constructor: 1 }]] },
      JSON.parse(`${'{"a":'.repeat(1_000)}1${'}'.repeat(1_000)}`) as object,
    ];
    const shaped = checkShape(Batch, { entries, kind: 'a' });
    expect(shaped.kind === 'ok' && shaped.value).toBeInstanceOf(Batch);
    expect(shaped.kind === 'ok' && shaped.value.entries).toBe(entries);
    expect(shaped.kind === 'ok' && shaped.value.kind).toBe('a');
  });

  test('the list itself and all beside it are held against the rules', () => {
    const [entry, kind] = [{ x: 1 }, 'a'];
    expect(batchErrors({ entries: [entry, entry, entry, entry], kind })).toEqual(['/entries too_many']);
    expect(batchErrors({ entries: Array(1_001).fill(entry), kind })).toEqual(['/entries too_many']);
    expect(batchErrors({ entries: [], kind })).toEqual(['/entries too_few']);
    for (const entries of [[entry, 1], [null], ['x'], { 0: entry }, 'x', 1])
      expect(batchErrors({ entries, kind })).toEqual(['/entries invalid_type']);
    expect(batchErrors({ entries: [[entry]], kind })).toEqual(['/entries/0 invalid_type']);
    expect(batchErrors({ kind })).toEqual(['/entries required']);
    expect(batchErrors({ entries: null, kind: { constructor: 1 } })).toEqual(['/kind/constructor unknown_field']);
    expect(batchErrors({ entries: [entry], kind: 'c', more: 1 }).sort()).toEqual([
      '/kind invalid_value',
      '/more unknown_field',
    ]);
    expect([batchErrors([]), batchErrors(null)]).toEqual([[' invalid_type'], [' required']]);
  });
});
