// Receives webhooks and believes only what is signed: PORT=3000 WEBHOOK_SECRETS="whsec_…" node webhook.mjs
import { createServer } from 'node:http';
import { verifyWebhook, WebhookVerificationError } from '@fiscal-gateway/sdk';

const { PORT = '3000', WEBHOOK_SECRETS = '' } = process.env;
/** Two while a secret changes. */
const secrets = WEBHOOK_SECRETS.split(' ');
/** In earnest a table: the same event may come twice. */
const seen = new Set();

const server = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  try {
    // The bytes as they came: JSON that was read and written again has another signature.
    const event = await verifyWebhook(Buffer.concat(chunks), request.headers, secrets);
    if (!seen.has(event.id)) console.log(`event ${event.type} ${event.id}`);
    seen.add(event.id);
    // Answer first, within ten seconds; work on it afterwards.
    response.writeHead(204).end();
  } catch (error) {
    if (!(error instanceof WebhookVerificationError)) throw error;
    console.log(`refused: ${error.reason}`);
    response.writeHead(400).end();
  }
});
server.listen(Number(PORT), '127.0.0.1', () => console.log('listening'));
