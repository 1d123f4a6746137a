import { domainToASCII } from 'node:url';

/** What may stand in braces. `link` is the receipt's own address: the only one that a message holds. */
export const PLACEHOLDERS = ['merchant', 'kind', 'total', 'date', 'number', 'link'] as const;
export type Placeholder = (typeof PLACEHOLDERS)[number];
export type TemplateValues = Readonly<Record<Placeholder, string>>;

const MAX_PLACEHOLDERS = 20;
const PLACEHOLDER = /\{([^{}]{0,40})\}/g;

/** @returns why a merchant's text is no template; null: it is one */
export function templateFault(text: string): string | null {
  const names = [...text.matchAll(PLACEHOLDER)].map((match) => match[1] ?? '');
  const unknown = names.find((name) => !(PLACEHOLDERS as readonly string[]).includes(name));
  if (unknown !== undefined) return `{${unknown}} is none of ${PLACEHOLDERS.map((name) => `{${name}}`).join(', ')}`;
  if (names.length > MAX_PLACEHOLDERS) return `has more than ${String(MAX_PLACEHOLDERS)} placeholders`;
  if (/[{}]/.test(text.replaceAll(PLACEHOLDER, ''))) return 'has a brace without its other one';
  const address = addressIn(text);
  return address === null ? null : `must not name an address (${address}); {link} is the receipt's`;
}

/** Values are put in once: what they hold of braces stays as it is, so that nothing grows by itself. */
export function fillTemplate(text: string, values: TemplateValues): string {
  return text.replaceAll(PLACEHOLDER, (whole, name: string) => valueOf(values, name) ?? whole);
}

function valueOf(values: TemplateValues, name: string): string | undefined {
  return (PLACEHOLDERS as readonly string[]).includes(name) ? values[name as Placeholder] : undefined;
}

/** Words with a dot between letters, as mail programs and phones make links of. */
const DOTTED = /[\p{L}\p{N}-]{1,63}(?:[.。．｡][\p{L}\p{N}-]{1,63})+/gu;

/** A web address, or what a mail program would show as one. Numbers, and abbreviations of one letter, are none. */
export function addressIn(text: string): string | null {
  const scheme = /[a-z][a-z0-9+.-]{1,20}:\/\/|\bwww\.|\bmailto:/i.exec(text);
  if (scheme) return scheme[0];
  for (const [word] of text.matchAll(DOTTED)) {
    const ascii = domainToASCII(word);
    const labels = ascii.split('.');
    const last = labels.at(-1) ?? '';
    // An abbreviation has one letter behind its dot.
    const isShort = [...(word.split(/[.。．｡]/).at(-1) ?? '')].length < 2;
    if (ascii !== '' && !isShort && /^([a-z]{2,63}|xn--[a-z0-9-]+)$/.test(last) && labels.length >= 2) return word;
  }
  return null;
}

/**
 * A name that looks like a web address but is spelt with letters of another script, such as a Cyrillic "а" among Latin ones: no
 * program makes a link of it after this. A name in plain Latin letters is what it seems to be, and stays.
 */
export function withoutHomographs(name: string): string {
  return name.replaceAll(DOTTED, (word) => {
    const ascii = domainToASCII(word);
    const isForeign = /[^\x00-\x7f]/.test(word) && /[.]([a-z]{2,63}|xn--[a-z0-9-]+)$/.test(ascii);
    return isForeign ? word.replaceAll(/[.。．｡]/g, ' ') : word;
  });
}
