import { markup, trusted, type Markup } from '#paper';
import { EMAIL_WORDS, type MessageLanguage } from './words.js';

export interface EmailContent {
  language: MessageLanguage;
  subject: string;
  /** Of the template; each line a paragraph. */
  text: string;
  merchant: string;
  total: string;
  date: string;
  number: string;
  link: string;
  unsubscribeUrl: string;
  header: string;
  footer: string;
  /** The logo lies in the letter itself. */
  hasLogo: boolean;
  isTest: boolean;
}

export const LOGO_CID = 'logo';

/** Read by programs that know styles of a letter's head; what others need stands at the elements. */
const STYLE = `
:root{color-scheme:light dark;supported-color-schemes:light dark}
@media (prefers-color-scheme:dark){
.ground{background:#0f161c!important}
.sheet{background:#1a242d!important;color:#eef3f7!important}
.soft{color:#a9b7c3!important}
.line{border-color:#38464f!important}
.logo{background:#fff!important;border-radius:8px!important}
}
@media (max-width:480px){.sheet{padding:22px 18px!important}.sum{font-size:28px!important}}
`;

const FONT = 'font-family:system-ui,-apple-system,Segoe UI,Roboto,Helvetica,Arial,sans-serif';

/** The letter: no script, no picture from elsewhere, every value escaped, one link to the receipt and one to end it. */
export function emailHtml(content: EmailContent): string {
  const { language, subject, merchant, total, link } = content;
  const words = EMAIL_WORDS[language];
  const facts = [
    { label: words.number, value: content.number },
    { label: words.date, value: content.date },
  ].filter(({ value }) => value !== '');
  return markup`<!doctype html>
<html lang="${language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark"><meta name="supported-color-schemes" content="light dark">
<meta name="format-detection" content="telephone=no,date=no,address=no,email=no,url=no">
<title>${subject}</title><style>${trusted(STYLE)}</style></head>
<body class="ground" style="margin:0;padding:0;background:#e9eef2;${FONT}">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" class="ground" style="background:#e9eef2"><tr><td align="center" style="padding:20px 10px">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" style="max-width:520px"><tr>
<td class="sheet" style="background:#ffffff;color:#14202b;border-radius:14px;padding:30px 32px;font-size:16px;line-height:1.5;overflow-wrap:anywhere;word-break:break-word">
${content.isTest ? markup`<p class="soft" style="margin:0 0 12px;color:#8c1d18;font-weight:700;text-align:center">${words.test}</p>` : null}
${content.hasLogo ? markup`<p style="margin:0 0 12px;text-align:center"><img class="logo" src="cid:${LOGO_CID}" alt="" style="max-width:200px;max-height:80px"></p>` : null}
${optionalLine(content.header, 'margin:0 0 10px;text-align:center;font-size:14px;color:#566370')}
<h1 style="margin:0;font-size:20px;line-height:1.3;text-align:center">${merchant}</h1>
<p class="sum" style="margin:14px 0 4px;font-size:34px;line-height:1.2;font-weight:750;text-align:center">${total}</p>
${facts.map(({ label, value }) => markup`<p class="soft" style="margin:2px 0;font-size:14px;color:#566370;text-align:center">${label}: ${value}</p>`)}
<hr class="line" style="border:0;border-top:1px dashed #9aa7b2;margin:20px 0">
${paragraphs(content.text)}
<p style="margin:22px 0 8px;text-align:center"><a href="${link}" style="display:inline-block;padding:13px 26px;border-radius:11px;background:#0b6b57;color:#ffffff;font-weight:650;text-decoration:none">${words.open}</a></p>
<p class="soft" style="margin:10px 0 0;font-size:13px;color:#566370;text-align:center">${words.attached}</p>
${optionalLine(content.footer, 'margin:16px 0 0;text-align:center;font-size:14px;color:#566370')}
</td></tr><tr><td class="soft" style="padding:16px 12px;font-size:12px;line-height:1.5;color:#566370;text-align:center">
${words.sentBy} ${merchant}<br><a class="soft" href="${content.unsubscribeUrl}" style="color:#566370">${words.unsubscribe}</a></td></tr></table>
</td></tr></table></body></html>
`.text;
}

/** The same as text: what programs without HTML show, and filters read. */
export function emailText(content: EmailContent): string {
  const words = EMAIL_WORDS[content.language];
  const lines = [
    ...(content.isTest ? [words.test, ''] : []),
    ...(content.header === '' ? [] : [content.header, '']),
    content.text,
    '',
    `${words.total}: ${content.total}`,
    ...(content.date === '' ? [] : [`${words.date}: ${content.date}`]),
    ...(content.number === '' ? [] : [`${words.number}: ${content.number}`]),
    '',
    content.link,
    '',
    words.attached,
    ...(content.footer === '' ? [] : ['', content.footer]),
    '',
    '-- ',
    `${words.sentBy} ${content.merchant}`,
    `${words.unsubscribe}: ${content.unsubscribeUrl}`,
  ];
  return `${lines.join('\n')}\n`;
}

function paragraphs(text: string): Markup[] {
  return text
    .split(/\n{2,}/)
    .slice(0, 50)
    .map((paragraph) => markup`<p style="margin:0 0 12px">${lines(paragraph)}</p>`);
}

function lines(paragraph: string): Markup[] {
  return paragraph.split('\n').map((line, index) => markup`${index === 0 ? null : trusted('<br>')}${line}`);
}

function optionalLine(text: string, style: string): Markup | null {
  return text === '' ? null : markup`<p class="soft" style="${style}">${lines(text)}</p>`;
}
