import path from 'node:path';

import { baseUrlOf, PROGRAMS } from './programs.mjs';
import { ROOT } from './paths.mjs';

/**
 * The facts of .data/demo.json.
 * @typedef {{
 *   gateway_url: string, token_url: string, client_id: string, client_secret: string, device_id: string,
 *   cashier_id: string, product_name: string, register_url: string, ofd_url: string, price?: number,
 *   payments_sim_url: string, invitation_url?: string | null,
 * }} Demo
 */

/** @param {Demo} demo */
function invitationLine({ invitation_url: url }) {
  return url ? `  First login    ${url} (opens once; owner of the demo merchant)\n` : '';
}

/**
 * Two commands that work in any shell without further tools: no jq, no variables to fill in.
 * @param {unknown} facts
 * @param {{ dataDir: string, env: NodeJS.ProcessEnv }} where
 */
export function printWelcome(facts, { dataDir, env }) {
  const demo = /** @type {Demo} */ (facts);
  const inside = path.relative(ROOT, dataDir);
  const shown = inside.startsWith('..') || path.isAbsolute(inside) ? dataDir : inside;
  const receipt = JSON.stringify({
    items: [{ name: demo.product_name, price: demo.price ?? 1_500_000, qty: 1 }],
    payment: { method: 'cash' },
    cashier_id: demo.cashier_id,
  });
  console.log(`
Running. Ctrl-C stops everything; the data stays in ${shown}/.

  Gateway        ${demo.gateway_url} (the API: /docs)
  Console        ${demo.gateway_url.replace('127.0.0.1', 'localhost')}/console
${invitationLine(demo)}  Device relay   ${baseUrlOf(PROGRAMS.relay, env)}/readyz
  Cash register  ${demo.register_url}
  OFD simulator  ${demo.ofd_url}
  Payments       ${demo.payments_sim_url} (Payme, Click, Multicard, simulated)
  Facts for programs ${shown}/demo.json · logs ${shown}/logs/

1. Get a token:

TOKEN=$(curl -s ${demo.token_url} -u '${demo.client_id}:${demo.client_secret}' -d grant_type=client_credentials | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/'); echo "$TOKEN"

2. Make a receipt:

curl -i ${demo.gateway_url}/v1/receipts -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d '${receipt.replaceAll("'", "'\\''")}'
`);
}
