import { Injectable, type ArgumentMetadata, type PipeTransform } from '@nestjs/common';
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
