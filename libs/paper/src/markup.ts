/** HTML that is ready to be sent. Only `markup` and `trusted` make it, so that nothing is sent unescaped by oversight. */
export class Markup {
  constructor(readonly text: string) {}
}

export type MarkupValue = Markup | string | number | null | readonly Markup[];

/** Template tag: every text put into it is escaped, markup goes in as it is, `null` as nothing. */
export function markup(parts: TemplateStringsArray, ...values: MarkupValue[]): Markup {
  let text = parts[0] ?? '';
  values.forEach((value, index) => {
    text += render(value) + (parts[index + 1] ?? '');
  });
  return new Markup(text);
}

/** For HTML that our own code made of escaped values, such as a QR code. */
export function trusted(text: string): Markup {
  return new Markup(text);
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ESCAPES[character] ?? character);
}

function render(value: MarkupValue): string {
  if (value === null) return '';
  if (value instanceof Markup) return value.text;
  if (typeof value === 'object') return value.map(({ text }) => text).join('');
  return escapeHtml(String(value));
}
