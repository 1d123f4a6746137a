import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** What a customer's attempt came to. */
export interface Paid {
  paid: boolean;
  result: unknown;
}

/** A payment as its page shows it. */
interface Shown {
  ourRef: string;
  amountTiyin: number;
}

interface PayPage {
  provider: string;
  find: (request: FastifyRequest) => Shown | undefined;
  pay: (request: FastifyRequest) => Paid | Promise<Paid>;
  /** The way back to the shop. */
  back?: (request: FastifyRequest) => string | null;
}

/** The page of a payment, and what its button does. */
export function addPayPage(server: FastifyInstance, path: string, { provider, find, pay, back }: PayPage): void {
  server.get(path, (request, reply) => {
    const shown = find(request);
    return shown ? html(reply, payPage(provider, shown, request.url)) : reply.code(404).send('no such payment');
  });
  server.post(path, async (request, reply) => {
    const paid = await pay(request);
    return html(reply, resultPage(paid, back?.(request) ?? null));
  });
}

export function idIn(request: FastifyRequest): string {
  return (request.params as { id: string }).id;
}

export function html(reply: FastifyReply, text: string): FastifyReply {
  return reply.type('text/html; charset=utf-8').send(text);
}

/** A page with one button: what a customer sees at a provider. */
function payPage(provider: string, { ourRef, amountTiyin }: Shown, action: string): string {
  const som = (amountTiyin / 100).toFixed(2);
  return page(
    `${provider} (simulated)`,
    `<p>Order <code>${escaped(ourRef)}</code></p><p class="sum">${som} so'm</p>
     <form method="post" action="${escaped(action)}"><button>Pay</button></form>`,
  );
}

/** What customers were asked for on their phones and have not paid. */
export function invoicesPage(invoices: readonly [order: string, amountTiyin: number][]): string {
  const rows = invoices.map(([order, amountTiyin]) => {
    const som = (amountTiyin / 100).toFixed(2);
    return `<li><a href="/click/invoice/${encodeURIComponent(order)}">${escaped(order)}</a>, ${som} so'm</li>`;
  });
  return page('A phone (simulated)', rows.length > 0 ? `<ul>${rows.join('')}</ul>` : '<p>No payment request.</p>');
}

function resultPage({ paid, result }: Paid, back: string | null): string {
  const link = back === null ? '' : `<p><a href="${escaped(back)}">Back to the shop</a></p>`;
  const title = paid ? 'Paid' : 'Not paid';
  return page(title, `<pre>${escaped(JSON.stringify(result, null, 2))}</pre>${link}`);
}

function page(title: string, body: string): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escaped(title)}</title>
<style>body{font:16px system-ui;max-width:30rem;margin:3rem auto;padding:0 1rem}.sum{font-size:2rem}
button{font:inherit;padding:.7rem 2rem;cursor:pointer}pre{white-space:pre-wrap}</style>
<h1>${escaped(title)}</h1>${body}</html>`;
}

function escaped(text: string): string {
  const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
  return text.replace(/[&<>"]/g, (char) => entities[char] ?? char);
}
