import { createHash } from 'node:crypto';
import { markup, trusted, type Markup, type ReceiptLanguage } from '#paper';

const STYLE = `
:root{color-scheme:light dark}
body{margin:0;background:#e9eef2;color:#14202b;font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;overflow-wrap:anywhere}
main{max-width:460px;margin:40px auto;padding:0 14px}
article{background:#fff;border-radius:14px;padding:30px 26px;text-align:center}
h1{font-size:20px;margin:0 0 10px}
a{color:inherit}
button{font:inherit;font-weight:650;padding:12px 24px;border:0;border-radius:11px;background:#0b6b57;color:#fff;cursor:pointer}
:focus-visible{outline:3px solid #4aa3ff;outline-offset:2px}
@media (prefers-color-scheme:dark){body{background:#0f161c}article{background:#1a242d;color:#eef3f7}}
`;

/** Nothing but this style and a form to this host. */
export const NOTICE_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  ...["form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"],
].join('; ');

export interface Notice {
  title: string;
  lines: readonly string[];
  /** Text of a button that posts to the same address; null: there is nothing to decide. */
  button: string | null;
  /** Where the reader came from; null: nowhere. */
  back: { href: string; label: string } | null;
}

/** A page that says one thing. */
export function noticePage(language: ReceiptLanguage, { title, lines, button, back }: Notice): string {
  const form: Markup | null = button === null ? null : markup`<form method="post"><button>${button}</button></form>`;
  const link = back === null ? null : markup`<p><a href="${back.href}">${back.label}</a></p>`;
  return markup`<!doctype html>
<html lang="${language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="robots" content="noindex"><title>${title}</title><style>${trusted(STYLE)}</style></head>
<body><main><article><h1>${title}</h1>${lines.map((line) => markup`<p>${line}</p>`)}${form}${link}</article></main></body></html>
`.text;
}
