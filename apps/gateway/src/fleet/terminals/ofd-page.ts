import { Inject, Injectable } from '@nestjs/common';
import { buildVerificationLink, type VerificationLink } from '#fiscal-domain';
import type { GatewaySettings } from '../../settings.js';
import { SETTINGS_TOKEN } from '../../tokens.js';

const TIMEOUT_MS = 10_000;
const MAX_PAGE_BYTES = 1024 * 1024;

export type OfdPageReading =
  | { kind: 'page'; text: string }
  | { kind: 'absent'; detail: string }
  | { kind: 'away'; detail: string };

/**
 * The tax office's public page of a document. Its address is the operator's OFD_CHECK_URL and not that of the link: a false
 * register names whichever page it likes.
 */
@Injectable()
export class OfdPage {
  constructor(@Inject(SETTINGS_TOKEN) private readonly settings: Pick<GatewaySettings, 'OFD_CHECK_URL'>) {}

  async read(link: VerificationLink): Promise<OfdPageReading> {
    try {
      const response = await fetch(buildVerificationLink(this.settings.OFD_CHECK_URL, link), {
        headers: { accept: 'text/html, application/json' },
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      if (response.ok) return { kind: 'page', text: await boundedText(response) };
      await response.body?.cancel();
      const detail = `the OFD answered ${response.status}`;
      return { kind: response.status >= 500 ? 'away' : 'absent', detail };
    } catch (error) {
      return { kind: 'away', detail: error instanceof Error ? error.message : String(error) };
    }
  }
}

/** What goes beyond is left out. */
async function boundedText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  if (response.body) {
    for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes >= MAX_PAGE_BYTES) break;
    }
  }
  return Buffer.concat(chunks).subarray(0, MAX_PAGE_BYTES).toString('utf8');
}
