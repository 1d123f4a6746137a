// Receives webhooks and accepts only what is signed: PORT=3000 WEBHOOK_SECRETS="whsec_…" node webhook.mjs
import { createServer } from 'node:http';
import { verifyWebhook, WebhookVerificationError } from '@fiscal-gateway/sdk';

const { PORT = '3000', WEBHOOK_SECRETS = '' } = process.env;
/** Two while a secret changes. */
const secrets = WEBHOOK_SECRETS.split(/\s+/).filter(Boolean);
/** In earnest a table: the same event may come twice. */
const seen = new Set();

/**
 * @param {import('node:http').IncomingMessage} request
 * @param {import('node:http').ServerResponse} response
 */
async function receive(request, response) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  try {
    // The bytes as they came: JSON that was read and written again has another signature.
    const event = await verifyWebhook(Buffer.concat(chunks), request.headers, secrets);
    if (!seen.has(event.id)) console.log(`event ${event.type} ${event.id}`);
    seen.add(event.id);
    // Answer within ten seconds, once it is kept; then work on what the table has as not done.
    response.writeHead(204).end();
  } catch (error) {
    if (!(error instanceof WebhookVerificationError)) throw error;
    console.log(`refused: ${error.reason}`);
    response.writeHead(400).end();
  }
}

const server = createServer((request, response) => {
  receive(request, response).catch((/** @type {unknown} */ error) => {
    console.error(error);
    // It is sent again later.
    response.writeHead(500).end();
  });
});
server.listen(Number(PORT), '127.0.0.1', () => console.log('listening'));
