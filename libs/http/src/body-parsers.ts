import { isUtf8 } from 'node:buffer';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Problem } from '#problems';
import { inNfc, MAX_ENTRIES, MAX_FIELDS, mayNeedNfc } from '#shapes';
import { jsonFault, MAX_JSON_DEPTH, type JsonFault } from './json-bounds.js';
import { FILE_MEDIA_TYPES } from './route-config.js';
import { EMPTY_BODY } from './body-validation.pipe.js';

const FORM_MEDIA_TYPE = 'application/x-www-form-urlencoded';
export const FORM_LIMIT_BYTES = 16 * 1024;

/** Bodies are JSON; forms only where a route asks for them, as URLSearchParams; files only where a route asks for them. */
export function addBodyParsers(adapter: FastifyAdapter): void {
  const fastify = adapter.getInstance<FastifyInstance>();
  fastify.removeContentTypeParser('text/plain');
  addJson(adapter, fastify);
  adapter.useBodyParser(FORM_MEDIA_TYPE, true, { bodyLimit: FORM_LIMIT_BYTES }, (request, body, done) => {
    if (hasConfig(request, 'acceptsForm')) done(null, new URLSearchParams(body?.toString('utf8')));
    else done(jsonExpected(), undefined);
  });
  fastify.addContentTypeParser(Object.values(FILE_MEDIA_TYPES), (request, payload, done) => {
    if (hasConfig(request, 'acceptsFile')) done(null, payload);
    else done(jsonExpected(), undefined);
  });
}

function addJson(adapter: FastifyAdapter, fastify: FastifyInstance): void {
  const readJson = fastify.getDefaultJsonParser('error', 'error');
  adapter.useBodyParser('application/json', true, {}, (request, body, done) => {
    // Nothing but a form means anything to such a route, which says so itself: its callers are not known yet.
    if (body === undefined || body.length === 0 || hasConfig(request, 'acceptsForm')) return done(null, EMPTY_BODY);
    // Read all the same, another encoding becomes U+FFFD: goods without a name on a receipt, and ids that are no longer different.
    if (!isUtf8(body)) return done(new Problem('malformed_json', 'The body is not UTF-8.'), undefined);
    const fault = jsonFault(body);
    if (fault !== null) return done(problemOfBounds(fault), undefined);
    const text = body.toString('utf8');
    if (!mayNeedNfc(text)) return void readJson(request, text, done);
    return void readJson(request, text, (error, parsed?: unknown) => {
      if (error) done(error, undefined);
      else finish(() => inNfc(parsed), done);
    });
  });
}

function finish(make: () => unknown, done: (error: Error | null, body?: unknown) => void): void {
  let made: unknown;
  try {
    made = make();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    done(error, undefined);
    return;
  }
  done(null, made);
}

const BOUNDS: Readonly<Record<JsonFault['kind'], { code: 'too_deep' | 'too_many'; detail: string }>> = {
  too_deep: { code: 'too_deep', detail: `The body is nested deeper than ${MAX_JSON_DEPTH} levels.` },
  too_many_entries: { code: 'too_many', detail: `The list has more than ${MAX_ENTRIES} entries.` },
  too_many_fields: { code: 'too_many', detail: `The object has more than ${MAX_FIELDS} fields.` },
  too_many_values: { code: 'too_many', detail: 'The body has more than one value for each four of its bytes.' },
};

function problemOfBounds({ kind, pointer }: JsonFault): Problem {
  return Problem.fromErrors([{ pointer, ...BOUNDS[kind] }]);
}

function jsonExpected(): Problem {
  return new Problem('unsupported_media_type', 'Send the body as application/json.');
}

function hasConfig(request: FastifyRequest, name: 'acceptsForm' | 'acceptsFile'): boolean {
  return name in request.routeOptions.config;
}
