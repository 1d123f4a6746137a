/** GSM 03.38, the basic table; a character of it takes one of 160 places. */
const BASIC = new Set(
  '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà',
);
/** Its extension: two places each. */
const EXTENDED = new Set('^{}\\[~]|€\f');

const ONE_PART = { gsm7: 160, ucs2: 70 } as const;
/** Six bytes of each part say which part it is. */
const MANY_PARTS = { gsm7: 153, ucs2: 67 } as const;

export interface SmsSize {
  encoding: 'gsm7' | 'ucs2';
  units: number;
  /** What is paid for. */
  parts: number;
}

/** How many parts a text is sent in: one letter outside of GSM 03.38 makes each of them half as long. */
export function smsSize(text: string): SmsSize {
  let units = 0;
  let encoding: SmsSize['encoding'] = 'gsm7';
  for (const character of text) {
    if (BASIC.has(character)) units += 1;
    else if (EXTENDED.has(character)) units += 2;
    else {
      encoding = 'ucs2';
      units = text.length;
      break;
    }
  }
  const parts = units <= ONE_PART[encoding] ? 1 : Math.ceil(units / MANY_PARTS[encoding]);
  return { encoding, units, parts };
}

/** Signs that GSM 03.38 does not have and that mean the same: the apostrophes of Uzbek, quotes, dashes, spaces. */
const PLAIN: Readonly<Record<string, string>> = {
  ...{ '‘': "'", '’': "'", ʻ: "'", ʼ: "'", '`': "'", '´': "'" },
  ...{ '“': '"', '”': '"', '„': '"', '«': '"', '»': '"' },
  ...{ '–': '-', '—': '-', '−': '-', '…': '...', '\u00a0': ' ', '\u202f': ' ', '№': 'No' },
};

export function plainForSms(text: string): string {
  return text.replaceAll(/[‘’ʻʼ`´“”„«»–—−…\u00a0\u202f№]/g, (character) => PLAIN[character] ?? character);
}
