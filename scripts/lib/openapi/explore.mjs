import { pathToFileURL } from 'node:url';
import path from 'node:path';

import {
  EXCEPTION_FILTERS_METADATA,
  GUARDS_METADATA,
  HEADERS_METADATA,
  HTTP_CODE_METADATA,
  ROUTE_ARGS_METADATA,
} from '@nestjs/common/constants.js';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';

import { ROOT } from '../paths.mjs';

/** @typedef {new () => object} BodyClass */
/**
 * @typedef {object} Route
 * @property {string} path with `{name}` for parameters
 * @property {string} method in lower case
 * @property {string} controller
 * @property {string} handler
 * @property {number} status
 * @property {{ statuses?: number[], mediaTypes?: string[] } | null} answers
 * @property {boolean} setsStatusItself
 * @property {string[] | null} scopes null: public
 * @property {boolean} forPeople only a person's session
 * @property {boolean} overMerchants for the whole installation
 * @property {boolean} fromConsole only from a page of the console (`ConsolePagesOnly`)
 * @property {string[]} filters names of the handler's own exception filters
 * @property {boolean} takesForm
 * @property {BodyClass | null} body
 * @property {boolean} takesBody also one that no class describes
 * @property {boolean} mayLackBody
 * @property {boolean} takesFile
 * @property {BodyClass | null} query
 * @property {string | null} contentType
 */

/** Route parameters in Nest's metadata: `RouteParamtypes`. */
const ARGUMENT = { request: '0', response: '1', body: '3', query: '4', rawBody: '12' };
const NO_CLASSES = new Set(/** @type {unknown[]} */ ([String, Boolean, Number, Array, Object, Buffer, undefined]));

/**
 * Every route of the gateway as its decorators say, in the order of its paths. Nest builds its modules without creating
 * anything in them, so no database is needed.
 * @returns {Promise<Route[]>}
 */
export async function exploreRoutes() {
  const app = await openPreview();
  const document = SwaggerModule.createDocument(app, new DocumentBuilder().build(), {
    operationIdFactory: (controller, handler) => `${controller}.${handler}`,
  });
  const controllers = controllersOf(app);
  /** @type {Route[]} */
  const routes = [];
  for (const [routePath, item] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(item)) {
      const [controller = '', handler = ''] = String(operation?.operationId ?? '').split('.');
      const type = controllers.get(controller);
      if (!type) throw new Error(`${method} ${routePath} has no controller`);
      routes.push({ path: routePath, method, ...describeHandler(type, handler) });
    }
  }
  return routes.sort((one, other) => (`${one.path} ${one.method}` < `${other.path} ${other.method}` ? -1 : 1));
}

async function openPreview() {
  const fromDist = (/** @type {string} */ file) => import(pathToFileURL(path.join(ROOT, 'dist', file)).href);
  const { GatewayModule } = await fromDist('apps/gateway/src/gateway.module.js');
  const { SETTINGS } = await fromDist('apps/gateway/src/settings.js');
  const { readSettings, createLogger, Metrics } = await fromDist('libs/runtime/src/index.js');
  const settings = readSettings(SETTINGS, {
    DATABASE_URL: 'postgres://nowhere',
    SECRETS_KEY: Buffer.alloc(32).toString('base64'),
  });
  const module = GatewayModule.create(settings, createLogger('openapi', 'error'), new Metrics('openapi'));
  return NestFactory.create(module, new FastifyAdapter(), { preview: true, logger: false, abortOnError: false });
}

/** @param {Awaited<ReturnType<typeof openPreview>>} app */
function controllersOf(app) {
  /** @type {Map<string, Function>} */
  const found = new Map();
  const { container } = /** @type {any} */ (app);
  for (const module of container.getModules().values()) {
    for (const { metatype } of module.controllers.values()) found.set(metatype.name, metatype);
  }
  return found;
}

/**
 * @param {Function} type
 * @param {string} name
 */
function describeHandler(type, name) {
  const handler = type.prototype[name];
  const args = Reflect.getMetadata(ROUTE_ARGS_METADATA, type, name) ?? {};
  const types = Reflect.getMetadata('design:paramtypes', type.prototype, name) ?? [];
  const of = (/** @type {string} */ key) => Reflect.getMetadata(key, handler) ?? Reflect.getMetadata(key, type) ?? null;
  const argument = (/** @type {string} */ kind) => {
    const [, found] = Object.entries(args).find(([key]) => key.split(':', 1)[0] === kind) ?? [];
    return /** @type {{ index: number, data?: unknown } | undefined} */ (found);
  };
  const classOf = (/** @type {string} */ kind) => {
    const found = argument(kind);
    const parameter = found && found.data === undefined ? types[found.index] : undefined;
    return NO_CLASSES.has(parameter) ? null : parameter;
  };
  const config = of('__fastify_route_config__') ?? {};
  const verb = Reflect.getMetadata('method', handler);
  // A handler that is given the whole request and may have a body reads it by itself.
  const readsRequest = argument(ARGUMENT.request) !== undefined && [1, 2, 4].includes(verb);
  const isPost = verb === 1;
  const headers = Reflect.getMetadata(HEADERS_METADATA, handler) ?? [];
  return {
    controller: type.name,
    handler: name,
    status: Reflect.getMetadata(HTTP_CODE_METADATA, handler) ?? (isPost ? 201 : 200),
    answers: Reflect.getMetadata('answers', handler) ?? null,
    setsStatusItself: argument(ARGUMENT.response) !== undefined,
    scopes: config.scopes ?? null,
    forPeople: config.forPeople === true,
    overMerchants: config.overMerchants === true,
    fromConsole: (of(GUARDS_METADATA) ?? []).some(
      (/** @type {{ name: string }} */ { name: guard }) => guard === 'ConsolePagesOnly',
    ),
    filters: (of(EXCEPTION_FILTERS_METADATA) ?? []).map((/** @type {{ name: string }} */ filter) => filter.name),
    takesForm: config.acceptsForm === true,
    body: classOf(ARGUMENT.body) ?? of('takes'),
    mayLackBody: argument(ARGUMENT.body) === undefined,
    takesFile: config.acceptsFile === true,
    takesBody: ['body', 'rawBody'].some((kind) => argument(ARGUMENT[/** @type {'body'} */ (kind)])) || readsRequest,
    query: classOf(ARGUMENT.query),
    contentType:
      headers.find((/** @type {{ name: string }} */ { name: header }) => header.toLowerCase() === 'content-type')
        ?.value ?? null,
  };
}
