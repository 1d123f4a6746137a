/** Which methods exist for a path: the router itself answers only 404. */
export class RouteTable {
  private readonly routes: { pattern: RegExp; methods: Set<string> }[] = [];
  private readonly byUrl = new Map<string, Set<string>>();

  /** @param url the router's pattern, e.g. `/v1/receipts/:id` */
  add(url: string, method: string | readonly string[]): void {
    let methods = this.byUrl.get(url);
    if (!methods) {
      methods = new Set();
      this.byUrl.set(url, methods);
      this.routes.push({ pattern: patternOf(url), methods });
    }
    for (const name of typeof method === 'string' ? [method] : method) methods.add(name);
  }

  /** @param url as the request line has it: escaped letters and the absolute form are read as the router reads them */
  methodsOf(url: string): readonly string[] {
    const path = decodeURI(url.split(/[?#]/, 1)[0] ?? '').replace(/^https?:\/\/[^/]*/i, '');
    const found = this.routes.filter(({ pattern }) => pattern.test(path)).flatMap(({ methods }) => [...methods]);
    return [...new Set(found)].sort();
  }
}

function patternOf(url: string): RegExp {
  const parts = url.split('/').map((part) => {
    if (part.startsWith(':')) return '[^/]+';
    return part.split('*').map(escapeText).join('.*');
  });
  return new RegExp(`^${parts.join('/')}$`);
}

function escapeText(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}
