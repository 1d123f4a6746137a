import { FASTIFY_ROUTE_CONFIG_METADATA } from '@nestjs/platform-fastify/constants.js';

/** Media types of files; each only where a route asks for it. */
export const FILE_MEDIA_TYPES = {
  csv: 'text/csv',
  jsonl: 'application/x-ndjson',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
} as const;

/**
 * Adds to what the router keeps with a handler's route (`request.routeOptions.config`), where hooks read it that run before the
 * handler is known. Several decorators may add to the same handler; the first value of a name stays.
 */
export function addToRouteConfig(handler: object, config: Readonly<Record<string, unknown>>): void {
  const known = Reflect.getMetadata(FASTIFY_ROUTE_CONFIG_METADATA, handler) as Record<string, unknown> | undefined;
  Reflect.defineMetadata(FASTIFY_ROUTE_CONFIG_METADATA, { ...config, ...known }, handler);
}

/** On a handler: its body is `application/x-www-form-urlencoded`, parsed to URLSearchParams (also repeated names). */
export function AcceptsForm(): MethodDecorator {
  return onHandler({ acceptsForm: true });
}

/** On a handler: its body may be larger, or must be smaller, than others. */
export function BodyLimit(bodyLimitBytes: number): MethodDecorator {
  return onHandler({ bodyLimitBytes });
}

/** On a handler: its body is a file of one of FILE_MEDIA_TYPES, handed over as the stream that it arrives in, of any size. */
export function AcceptsFile(): MethodDecorator {
  return onHandler({ acceptsFile: true });
}

function onHandler(config: Readonly<Record<string, unknown>>): MethodDecorator {
  return (_target, _name, descriptor) => addToRouteConfig(descriptor.value as object, config);
}
