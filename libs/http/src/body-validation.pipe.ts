import { Injectable, type ArgumentMetadata, type ExecutionContext, type PipeTransform } from '@nestjs/common';
import { ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import { Problem } from '#problems';
import { checkQuery, checkShape } from '#shapes';

/**
 * Stands for a JSON body of no bytes: some clients announce JSON with every POST. Routes without a body do not notice; where one
 * is expected it is as unreadable as any other broken JSON.
 */
export const EMPTY_BODY: object = Object.freeze({});

/** What Nest names as the type of a parameter that no class describes. */
const NO_CLASSES: ReadonlySet<unknown> = new Set([String, Boolean, Number, Array, Object, Buffer]);

/** The pipe of every body and query. A body that is no object is a 422 as well: 400 is only for what cannot be parsed. */
@Injectable()
export class BodyValidationPipe implements PipeTransform {
  transform(value: unknown, { type, metatype }: ArgumentMetadata): unknown {
    if (type === 'custom' || metatype === undefined || NO_CLASSES.has(metatype)) return value;
    if (value === EMPTY_BODY) throw new Problem('malformed_json', 'The body is empty, JSON was expected.');
    const shaped = (type === 'body' ? checkShape : checkQuery)(metatype as new () => object, value);
    if (shaped.kind === 'refused') throw shaped.problem;
    return shaped.value;
  }
}

/**
 * For a guard that keeps or asks for something because of a body, which no pipe has seen by then: what the handler would refuse is refused.
 * @throws Problem 422
 */
export function refuseWrongBody(context: ExecutionContext, body: unknown): void {
  const [type, name] = [context.getClass(), context.getHandler().name];
  const described: unknown = Reflect.getMetadata(ROUTE_ARGS_METADATA, type, name);
  const found = Object.entries((described ?? {}) as Record<string, { index: number }>).find(([key]) =>
    key.startsWith(`${String(RouteParamtypes.BODY)}:`),
  );
  const types = Reflect.getMetadata(
    'design:paramtypes',
    type.prototype as object,
    name,
  ) as ArgumentMetadata['metatype'][];
  if (found) new BodyValidationPipe().transform(body, { type: 'body', metatype: types[found[1].index] });
}
