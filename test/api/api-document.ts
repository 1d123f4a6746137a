import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';

/** JSON Schema 2020-12, as far as the tests read it. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  const?: unknown;
  enum?: unknown[];
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  pattern?: string;
  format?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
}

export interface Media {
  schema?: Schema;
  example?: unknown;
}

export interface Response {
  $ref?: string;
  content?: Record<string, Media>;
}

export interface Operation {
  operationId: string;
  parameters: { name: string; in: 'path' | 'query' | 'header'; required: boolean; schema: Schema }[];
  requestBody?: { content: Record<string, Media> };
  responses: Record<string, Response>;
  security: Record<string, string[]>[];
  /** For the whole installation: no merchant is named. */
  'x-over-merchants'?: boolean;
}

interface ApiDocument {
  paths: Record<string, Record<string, Operation>>;
  components: { responses: Record<string, Response>; schemas: Record<string, Schema> };
}

/** One operation of the API with its place. */
export interface Endpoint {
  method: string;
  /** With `{name}` for parameters. */
  path: string;
  operation: Operation;
  /** All of them are needed; null: public, or for people alone. */
  scopes: string[] | null;
  /** A token or a session is needed. */
  isClosed: boolean;
  isOverMerchants: boolean;
}

export interface Exchange {
  method: string;
  /** With its query. */
  path: string;
  status: number;
  contentType: string | null;
  text: string;
}

/** Tests, benches and the fault suite run in the project's root, from the sources or compiled. */
const ROOT = process.cwd();
const DATE_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/;
const FORMATS = {
  'date-time': DATE_TIME,
  uri: (text: string): boolean => URL.canParse(text),
  'uri-reference': true,
  email: /^[^\s@]+@[^\s@]+$/,
  int32: true,
  int64: true,
  double: true,
} as const;

/** The published description, as a judge of what the gateway answers. @param root of a checkout: another release's description */
export class ApiDescriptionJudge {
  private readonly document: ApiDocument;
  private readonly ajv = new Ajv2020({ strict: false, allErrors: false, validateSchema: false, formats: FORMATS });
  private readonly validators = new Map<string, ValidateFunction>();
  private readonly patterns: { template: string; pattern: RegExp }[];

  constructor(root = ROOT) {
    this.document = JSON.parse(readFileSync(join(root, 'docs', 'openapi.json'), 'utf8')) as ApiDocument;
    this.ajv.addSchema(this.document, 'api');
    this.patterns = Object.keys(this.document.paths)
      // `/v1/devices/mine` before `/v1/devices/{id}`, as the router does.
      .sort((one, other) => (one.match(/\{/g)?.length ?? 0) - (other.match(/\{/g)?.length ?? 0))
      .map((template) => ({ template, pattern: patternOf(template) }));
  }

  endpoints(): Endpoint[] {
    return Object.entries(this.document.paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]) => {
        const scopes = operation.security[0]?.['oauth2'] ?? null;
        const isClosed = operation.security.some((way) => 'oauth2' in way || 'session' in way);
        const isOverMerchants = operation['x-over-merchants'] === true;
        return { method: method.toUpperCase(), path, operation, scopes, isClosed, isOverMerchants };
      }),
    );
  }

  /** The schema that a reference names, or the schema itself. */
  resolve(schema: Schema): Schema {
    if (schema.$ref === undefined) return schema;
    const found = this.document.components.schemas[schema.$ref.split('/').at(-1) ?? ''];
    if (!found) throw new Error(`the description has no ${schema.$ref}`);
    return found;
  }

  /** What of an answer is not as described; null when all is well. */
  faultOf(exchange: Exchange): string | null {
    const [path = ''] = exchange.path.split('?', 1);
    const template = this.patterns.find(({ pattern }) => pattern.test(path))?.template;
    const operation =
      template === undefined ? undefined : this.document.paths[template]?.[exchange.method.toLowerCase()];
    if (template === undefined || !operation) return this.faultOfUnknown(exchange, template !== undefined);
    const key = String(exchange.status) in operation.responses ? String(exchange.status) : 'default';
    const response = operation.responses[key];
    if (!response) return `${exchange.status} is not described`;
    const name = response.$ref?.split('/').at(-1);
    const at =
      name === undefined
        ? `#/paths/${escaped(template)}/${exchange.method.toLowerCase()}/responses/${key}`
        : `#/components/responses/${name}`;
    const content = name === undefined ? response.content : this.document.components.responses[name]?.content;
    return this.faultOfContent(exchange, content, at);
  }

  /** @throws Error naming what the description says otherwise */
  assertDescribed(exchange: Exchange): void {
    const fault = this.faultOf(exchange);
    if (fault === null) return;
    const { method, path, status, text } = exchange;
    throw new Error(
      `${method} ${path} answered ${status} as docs/openapi.json does not say: ${fault}\n${text.slice(0, 2_000)}`,
    );
  }

  /** What of an example is not as its schema says; null when all is well. @param at JSON pointer of the media type */
  faultOfExample(at: readonly string[], { schema, example }: Media): string | null {
    if (example === undefined) return 'there is none';
    if (!schema) return null;
    const validate = this.validatorOf(`#/${[...at, 'schema'].map(escaped).join('/')}`);
    return validate(example) ? null : this.ajv.errorsText(validate.errors);
  }

  /** Every answer that several operations share. */
  sharedAnswers(): [name: string, answer: Response][] {
    return Object.entries(this.document.components.responses);
  }

  private faultOfUnknown(exchange: Exchange, isPathKnown: boolean): string | null {
    const wanted = isPathKnown ? [400, 405] : [400, 404, 414];
    if (!wanted.includes(exchange.status))
      return isPathKnown ? 'the method is not described' : 'the path is not described';
    return this.faultOfContent(exchange, problemContent(), '#/components/responses/Problem');
  }

  private faultOfContent(exchange: Exchange, content: Record<string, Media> | undefined, at: string): string | null {
    const { text, contentType } = exchange;
    if (!content) return text === '' ? null : 'no body is described';
    const [mediaType = ''] = (contentType ?? '').split(';', 1);
    const described = Object.keys(content).find((type) => type === mediaType || type === '*/*');
    if (described === undefined) return `the media type ${contentType ?? 'none'} is not described`;
    if (!content[described]?.schema || !/json$/.test(mediaType)) return null;
    const validate = this.validatorOf(`${at}/content/${escaped(described)}/schema`);
    if (validate(JSON.parse(text))) return null;
    return this.ajv.errorsText(validate.errors);
  }

  private validatorOf(pointer: string): ValidateFunction {
    const known = this.validators.get(pointer);
    if (known) return known;
    const made = this.ajv.getSchema(`api${pointer}`);
    if (!made) throw new Error(`the description has nothing at ${pointer}`);
    this.validators.set(pointer, made);
    return made;
  }
}

let judge: ApiDescriptionJudge | null = null;

/** One for all tests of a file: compiling the schemas takes a while. */
export function apiDescription(): ApiDescriptionJudge {
  return (judge ??= new ApiDescriptionJudge());
}

function problemContent(): Record<string, Media> {
  return { 'application/problem+json': { schema: {} } };
}

function patternOf(template: string): RegExp {
  const parts = template.split(/\{\w+\}/).map((part) => part.replaceAll(/[.*+?^$()|[\]\\]/g, String.raw`\$&`));
  return new RegExp(`^${parts.join('[^/]+')}/?$`);
}

/** For a JSON pointer within a URI fragment. */
function escaped(step: string): string {
  return encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1'));
}
