/** What a person at the counter has of a receipt: its id, the link that the seller sent, or the fiscal document on paper. */
export type ReceiptInHand =
  | { kind: 'receipt'; id: string }
  | { kind: 'document'; terminal_id: string; receipt_seq: string };

const RECEIPT_ID = /^rcp_(?:test_)?[0-9a-z]{26}$/;
/** The address of the buyer's page; its digest is of no use here, who searches has rights of its own. */
const RECEIPT_URL = /\/r\/((?:test_)?[0-9a-z]{26})\.[A-Za-z0-9_-]{16}(?=$|[/?#])/;
const SEQ = /^[1-9]\d{0,15}$/;
/** As a person reads it off the paper: `UZ230700000042 4711`, also with a slash, a dash or a number sign between. */
const TERMINAL_AND_SEQ = /^([a-z]{2}\d{12})[\s/№#,;:–-]+0*(\d{1,16})$/i;

export function receiptInHand(typed: string): ReceiptInHand | null {
  if (RECEIPT_ID.test(typed)) return { kind: 'receipt', id: typed };
  const [, number] = RECEIPT_URL.exec(typed) ?? [];
  if (number !== undefined) return { kind: 'receipt', id: `rcp_${number}` };
  const [, onPaper = '', seqOnPaper = ''] = TERMINAL_AND_SEQ.exec(typed) ?? [];
  return documentOf(onPaper, seqOnPaper) ?? ofVerificationLink(typed);
}

/** The text of the QR code: `https://ofd.soliq.uz/check?t=UZ230700000042&r=4711&c=…&s=…`. */
function ofVerificationLink(typed: string): ReceiptInHand | null {
  const query = new URLSearchParams(typed.slice(typed.indexOf('?') + 1));
  return typed.includes('?') ? documentOf(query.get('t') ?? '', query.get('r') ?? '') : null;
}

function documentOf(terminal: string, seq: string): ReceiptInHand | null {
  if (terminal === '' || !SEQ.test(seq)) return null;
  return { kind: 'document', terminal_id: terminal.toUpperCase(), receipt_seq: seq };
}
