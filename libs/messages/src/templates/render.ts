import { truncateText } from '#fiscal-domain';
import { plainForSms, smsSize } from '../sms-parts.js';
import type { MessageChannel } from '../port.js';
import { fillTemplate, withoutHomographs, type TemplateValues } from './template.js';
import { CURRENCY_WORDS, KIND_WORDS, type MessageLanguage, type MessageTemplate } from './words.js';

/** What a message says of a receipt. */
export interface MessageFacts {
  merchant: string;
  type: 'sale' | 'refund' | 'advance' | 'credit';
  /** As it is written on the receipt, without its currency. */
  sum: string;
  /** Tashkent, day first. */
  date: string;
  number: string;
  link: string;
}

/** Of a rendered text: what a template can grow to is bounded by what it is filled with. */
const MAX_MERCHANT = 100;
const MAX_SUBJECT = 200;
const MAX_TEXT = 4_000;
/** A merchant's name is cut for an SMS of one part, but not below this. */
const LEAST_MERCHANT = 8;

export function templateValues(facts: MessageFacts, language: MessageLanguage): TemplateValues {
  return {
    merchant: oneLine(withoutHomographs(facts.merchant), MAX_MERCHANT),
    kind: KIND_WORDS[language][facts.type],
    total: `${facts.sum} ${CURRENCY_WORDS[language]}`,
    ...{ date: facts.date, number: facts.number, link: facts.link },
  };
}

export interface RenderedText {
  /** The seller's name as it stands in the text: an e-mail names it around the text too. */
  merchant: string;
  subject: string;
  text: string;
  /** Of an SMS; 1 otherwise. */
  parts: number;
}

export function renderText(
  channel: MessageChannel,
  template: MessageTemplate,
  { facts, language }: { facts: MessageFacts; language: MessageLanguage },
): RenderedText {
  const values = templateValues(facts, language);
  if (channel === 'sms') {
    const text = smsText(template.text, values);
    return { merchant: values.merchant, subject: '', text, parts: smsSize(text).parts };
  }
  const subject = oneLine(fillTemplate(template.subject, values), MAX_SUBJECT);
  const text = truncateText(clean(fillTemplate(template.text, values)), MAX_TEXT);
  return { merchant: values.merchant, subject, text, parts: 1 };
}

/** In one part where the merchant's name is all that stands in the way: it is cut, never the link. */
function smsText(template: string, values: TemplateValues): string {
  const fill = (merchant: string): string => {
    const filled = plainForSms(clean(fillTemplate(template, { ...values, merchant })));
    return truncateText(filled, MAX_TEXT);
  };
  const whole = fill(values.merchant);
  if (smsSize(whole).parts === 1) return whole;
  for (let length = values.merchant.length - 1; length >= LEAST_MERCHANT; length -= 1) {
    const cut = fill(truncateText(values.merchant, length).trimEnd());
    if (smsSize(cut).parts === 1) return cut;
  }
  return whole;
}

/** A subject is one header line: what could begin another one is a space. */
function oneLine(text: string, most: number): string {
  return truncateText(clean(text).replaceAll(/\s+/g, ' ').trim(), most);
}

/** Without control characters and without marks that turn the direction of writing around. */
function clean(text: string): string {
  return text.replaceAll(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\u200b\ufeff]/g, ' ');
}
