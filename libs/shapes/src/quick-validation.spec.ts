// Promise: the quick walk over a body says yes to exactly what class-validator finds nothing wrong with.
import 'reflect-metadata';
import { plainToInstance, Type } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayMinSize,
  IsArray,
  IsIn,
  IsInt,
  IsObject,
  IsOptional,
  IsString,
  Matches,
  Max,
  MaxLength,
  Min,
  ValidateIf,
  ValidateNested,
  validateSync,
} from 'class-validator';
import fc from 'fast-check';
import { quickValidationOf } from './quick-validation.js';
import { checkShape } from './shape.js';

class Part {
  @IsInt()
  @Min(1)
  @Max(9)
  size!: number;

  @IsOptional()
  @IsString()
  @MaxLength(3)
  note?: string;
}

class Whole {
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(2)
  @ValidateNested({ each: true })
  @Type(() => Part)
  parts!: Part[];

  @IsOptional()
  @IsObject()
  @ValidateNested()
  @Type(() => Part)
  spare?: Part;

  @IsIn(['a', 'b'])
  kind!: string;

  @IsOptional()
  @IsArray()
  @IsString({ each: true })
  @Matches(/^[xy]+$/, { each: true })
  labels?: string[];

  @IsOptional()
  @IsObject()
  more?: object;
}

const RULES = { whitelist: true, forbidNonWhitelisted: true, forbidUnknownValues: true };

function bySlowWay(body: unknown): object | null {
  const instance = plainToInstance(Whole, body) as object;
  return validateSync(instance, RULES).length === 0 ? instance : null;
}

function hasListInList(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const inner: unknown[] = Object.values(value);
  return (Array.isArray(value) && inner.some((each) => Array.isArray(each))) || inner.some(hasListInList);
}

/** Values near the right ones: each field right, wrong, null or missing. */
const odd = fc.constantFrom<unknown>(null, undefined, 0, 10, 1.5, '', 'x', 'long text', true, [], {}, [[]], [{}]);
const orOdd = <T>(right: fc.Arbitrary<T>): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 12, arbitrary: right }, { weight: 1, arbitrary: odd });
const part = orOdd(
  fc.record(
    { size: orOdd(fc.integer({ min: 1, max: 9 })), note: orOdd(fc.string({ maxLength: 3 })) },
    { requiredKeys: ['size'] },
  ),
);
const whole = fc.record(
  {
    parts: orOdd(fc.array(part, { minLength: 1, maxLength: 2 })),
    kind: orOdd(fc.constantFrom('a', 'b')),
    spare: part,
    labels: orOdd(fc.array(orOdd(fc.constantFrom('x', 'yy')), { maxLength: 3 })),
    more: orOdd(fc.dictionary(fc.constantFrom('k', 'l'), fc.constantFrom<unknown>(1, 'text', null, true))),
    unknown: fc.constant(1),
  },
  { requiredKeys: ['parts', 'kind'] },
);
/** As JSON carries it, seldom with an unknown field. */
const received = whole.map((body): unknown => {
  const { unknown, ...known } = body;
  const sent = JSON.stringify(known);
  return JSON.parse(unknown === 1 && sent.length % 4 === 0 ? JSON.stringify(body) : sent);
});

test('both ways agree on every body, and make the same of it', () => {
  const quick = quickValidationOf(Whole);
  let taken = 0;
  fc.assert(
    fc.property(received, (body) => {
      const right = quick?.(body) ?? null;
      const slow = bySlowWay(body);
      if (right === null) {
        // A list in a list is let through by class-validator, and refused by the pipe itself.
        expect(slow === null || hasListInList(body)).toBe(true);
        return;
      }
      taken += 1;
      expect(slow).not.toBeNull();
      expect(right).toBeInstanceOf(Whole);
      expect(JSON.parse(JSON.stringify(right))).toEqual(JSON.parse(JSON.stringify(slow)));
    }),
    { numRuns: 3_000 },
  );
  expect(taken).toBeGreaterThan(300);
});

test('nested objects are instances of their class, an unknown field is refused at every level', () => {
  const quick = quickValidationOf(Whole);
  const right = quick?.({ parts: [{ size: 1 }], kind: 'a', spare: { size: 2 } });
  expect(right).toMatchObject({ parts: [expect.any(Part)], spare: expect.any(Part) as unknown });
  expect(quick?.({ parts: [{ size: 1, colour: 1 }], kind: 'a' })).toBeNull();
  expect(quick?.({ parts: [{ size: 1 }], kind: 'a', colour: 1 })).toBeNull();
  expect(quick?.(JSON.parse('{"parts":[{"size":1}],"kind":"a","__proto__":{}}'))).toBeNull();
});

test('a class with rules that are not understood is left to class-validator', () => {
  class Conditional {
    @ValidateIf(() => false)
    @IsString()
    name!: string;
  }
  class Grouped {
    @IsString({ groups: ['late'] })
    name!: string;
  }
  class Recursive {
    @IsOptional()
    @ValidateNested()
    @Type(() => Recursive)
    inner?: Recursive;
  }
  expect([Conditional, Grouped, Recursive].map((type) => quickValidationOf(type))).toEqual([null, null, null]);
  const shaped = checkShape(Conditional, { name: 1 });
  expect(shaped.kind === 'ok' && shaped.value).toBeInstanceOf(Conditional);
});
