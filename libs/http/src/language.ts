import { LANGUAGES, type Language } from '#problems';

/** Longer headers are no real preference. */
const MAX_LENGTH = 500;

/**
 * The language that an Accept-Language header (RFC 9110) likes best of those we have.
 * @param otherwise when it names none of them
 */
export function preferredLanguage(header: string | undefined, otherwise: Language = 'en'): Language {
  if (header === undefined || header.length > MAX_LENGTH) return otherwise;
  let best: { language: Language; weight: number } | null = null;
  for (const part of header.toLowerCase().split(',')) {
    const [range = '', ...parameters] = part.split(';').map((text) => text.trim());
    const language = LANGUAGES.find((each) => range === each || range.startsWith(`${each}-`));
    const weight = weightOf(parameters);
    if (language !== undefined && weight > 0 && weight > (best?.weight ?? 0)) best = { language, weight };
  }
  return best?.language ?? otherwise;
}

function weightOf(parameters: readonly string[]): number {
  const text = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
  if (text === undefined) return 1;
  return /^(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(text) ? Number(text) : 0;
}
