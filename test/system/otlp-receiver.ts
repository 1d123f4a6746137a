import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

export interface ReceivedSpan {
  traceId: string;
  spanId: string;
  /** Empty where it is the first of its trace. */
  parentSpanId: string;
  name: string;
  program: string;
  failed: boolean;
  links: string[];
  attributes: Record<string, unknown>;
}

interface WireSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  status?: { code?: number };
  links?: { spanId: string }[];
  attributes?: WireAttribute[];
}

interface WireAttribute {
  key: string;
  value: { stringValue?: string; intValue?: number; boolValue?: boolean };
}

interface WireTraces {
  resourceSpans: { resource: { attributes: WireAttribute[] }; scopeSpans: { spans: WireSpan[] }[] }[];
}

const FAILED = 2;

/** Takes traces by OTLP over HTTP with JSON, as a collector does. */
export class OtlpReceiver {
  readonly spans: ReceivedSpan[] = [];
  /** Everything that was sent, as it came. */
  raw = '';

  private constructor(private readonly server: Server) {}

  static async start(): Promise<OtlpReceiver> {
    const server = createServer();
    const receiver = new OtlpReceiver(server);
    server.on('request', (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        receiver.take(Buffer.concat(chunks).toString('utf8'));
        response.setHeader('content-type', 'application/json');
        response.end('{}');
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/v1/traces`;
  }

  /** Those of one trace. */
  of(traceId: string): ReceivedSpan[] {
    return this.spans.filter((span) => span.traceId === traceId);
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  private take(text: string): void {
    this.raw += text;
    for (const { resource, scopeSpans } of (JSON.parse(text) as WireTraces).resourceSpans) {
      const program = String(valuesOf(resource.attributes)['service.name']);
      for (const span of scopeSpans.flatMap(({ spans }) => spans)) this.spans.push(readSpan(span, program));
    }
  }
}

function readSpan(span: WireSpan, program: string): ReceivedSpan {
  const { traceId, spanId, parentSpanId = '', name, status, links = [], attributes = [] } = span;
  return {
    ...{ traceId, spanId, parentSpanId, name, program, failed: status?.code === FAILED },
    links: links.map((link) => link.spanId),
    attributes: valuesOf(attributes),
  };
}

function valuesOf(attributes: readonly WireAttribute[]): Record<string, unknown> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue ?? value.boolValue]),
  );
}

/**
 * The tree of a trace as lines: two blanks for each level, `program: name`, in the order of names. A span whose parent is none of ours
 * is at the top.
 */
export function treeOf(spans: readonly ReceivedSpan[]): string[] {
  const known = new Set(spans.map(({ spanId }) => spanId));
  const below = (parent: string | null, level: number): string[] =>
    spans
      .filter(({ parentSpanId }) => (parent === null ? !known.has(parentSpanId) : parentSpanId === parent))
      .sort((one, other) => (one.name < other.name ? -1 : 1))
      .flatMap((span) => [
        `${'  '.repeat(level)}${span.program}: ${span.name}${span.failed ? ' (failed)' : ''}`,
        ...below(span.spanId, level + 1),
      ]);
  return below(null, 0);
}
