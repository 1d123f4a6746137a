import { markup, type Markup, type ReceiptLanguage } from '#paper';
import { PAGE_WORDS } from './page-words.js';
import type { ShownReceipt } from './shown-receipt.js';

/** The buyer has the receipt sent to an address, or to a chat: where its merchant can, and once it is registered. */
export function sendSection(receipt: ShownReceipt, language: ReceiptLanguage): Markup | null {
  const { sendWays, status, url } = receipt;
  const { email, sms, bot } = sendWays;
  if (status !== 'registered' || (!email && !sms && bot === null)) return null;
  const words = PAGE_WORDS[language];
  const telegram =
    bot === null
      ? null
      : markup`<a href="https://t.me/${bot}?start=${telegramStart(url)}" rel="noopener noreferrer">${words.inTelegram}</a>`;
  return markup`<nav class="take"><span>${words.send}</span>${[
    ...(email ? [sendForm({ url, channel: 'email', type: 'email', label: words.emailAddress }, language)] : []),
    ...(sms ? [sendForm({ url, channel: 'sms', type: 'tel', label: '+998901234567' }, language)] : []),
    ...(telegram ? [telegram] : []),
  ]}${stopForm(url, language)}</nav>`;
}

/** Links that another program of the reader's opens: nothing leaves before one is chosen. */
export function shareSection({ url, status }: ShownReceipt, title: string, language: ReceiptLanguage): Markup | null {
  if (status !== 'registered') return null;
  const [link, text] = [encodeURIComponent(url), encodeURIComponent(title)];
  const ways = [
    { name: 'Telegram', href: `https://t.me/share/url?url=${link}&text=${text}` },
    { name: 'WhatsApp', href: `https://wa.me/?text=${text}%20${link}` },
    { name: 'SMS', href: `sms:?&body=${text}%20${link}` },
    { name: 'E-mail', href: `mailto:?subject=${text}&body=${link}` },
  ];
  const links = ways.map(({ name, href }) => markup`<a href="${href}" rel="noopener noreferrer">${name}</a>`);
  return markup`<nav class="take"><span>${PAGE_WORDS[language].share}</span>${links}</nav>`;
}

/** A start parameter has no dot: it stands as an underscore at the same place (bot-updates.ts of notify). */
function telegramStart(url: string): string {
  return (url.split('/').pop() ?? '').replace('.', '_');
}

function sendForm(
  { url, channel, type, label }: { url: string; channel: string; type: string; label: string },
  language: ReceiptLanguage,
): Markup {
  return markup`<form method="post" action="${new URL(url).pathname}/messages?lang=${language}"><input type="hidden" name="channel" value="${channel}"><input type="${type}" name="to" placeholder="${label}" aria-label="${label}" maxlength="254" required><button>${PAGE_WORDS[language].sendButton}</button></form>`;
}

function stopForm(url: string, language: ReceiptLanguage): Markup {
  return markup`<form method="post" action="${new URL(url).pathname}/stop?lang=${language}"><button class="plain">${PAGE_WORDS[language].stopMessages}</button></form>`;
}
