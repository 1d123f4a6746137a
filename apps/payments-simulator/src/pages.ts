import type { FastifyReply } from 'fastify';

export function html(reply: FastifyReply, text: string): FastifyReply {
  return reply.type('text/html; charset=utf-8').send(text);
}

/** A page with one button: what a customer sees at a provider. */
export function payPage(facts: { provider: string; order: string; amountTiyin: number; action: string }): string {
  const som = (facts.amountTiyin / 100).toFixed(2);
  return page(
    `${facts.provider} (simulated)`,
    `<p>Order <code>${escaped(facts.order)}</code></p><p class="sum">${som} so'm</p>
     <form method="post" action="${escaped(facts.action)}"><button>Pay</button></form>`,
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

export function resultPage(paid: boolean, result: unknown, back: string | null): string {
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
