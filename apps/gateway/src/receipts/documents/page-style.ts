import { createHash } from 'node:crypto';

/** A sheet of paper on a desk; on a phone it fills the screen, on real paper there is nothing around it. */
export const PAGE_STYLE = `
:root{color-scheme:light;--ink:#14202b;--soft:#566370;--line:#c9d2da;--ground:#e9eef2;--main:#0b6b57}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--ground);color:var(--ink);font:16px/1.45 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;overflow-wrap:anywhere;font-variant-numeric:tabular-nums}
main{max-width:480px;margin:0 auto;padding:16px 12px 32px}
.paper{background:#fff;border-radius:14px;padding:22px 20px;box-shadow:0 1px 2px rgba(20,32,43,.08),0 8px 28px rgba(20,32,43,.10)}
h1{margin:0;color:var(--ink);font-size:20px;line-height:1.25;text-align:center}
.logo{display:block;max-width:60%;max-height:96px;width:auto;height:auto;margin:0 auto 12px}
.seller{text-align:center;color:var(--soft);font-size:14px}
.seller p{margin:3px 0 0}
.kind{margin:16px 0 0;text-align:center;font-size:15px;color:var(--soft)}
.amount{margin:2px 0 0;text-align:center;font-size:34px;font-weight:750;line-height:1.2;letter-spacing:-.01em}
.amount.long{font-size:25px}
.status{margin:14px 0 0;padding:10px 14px;border-radius:10px;font-size:14px;text-align:center}
.status b{display:block;font-size:15px}
.paper>.warning:last-child{margin:18px 0 0}
.good{background:#dff4e8;color:#0a5232}
.waiting{background:#fdf1d6;color:#674300}
.bad{background:#fde6e4;color:#8c1d18}
.warning{margin:0 0 14px;padding:6px;border:2px solid #8c1d18;border-radius:8px;color:#8c1d18;font-weight:700;text-align:center}
hr{border:0;border-top:1px dashed #9aa7b2;margin:18px 0}
dl{margin:0}
dl div{display:flex;flex-wrap:wrap;justify-content:space-between;gap:0 14px;padding:2px 0}
dt{color:var(--soft);flex:0 1 auto;overflow-wrap:normal}
dd{margin:0 0 0 auto;text-align:right;min-width:0}
.items{list-style:none;margin:0;padding:0}
.items li+li{margin-top:14px}
.items h2{margin:0 0 2px;font-size:16px;line-height:1.35}
.items .priced dt,.items .priced dd{color:var(--ink)}
.items .priced dd{white-space:nowrap}
.items .priced div:first-child dd,.items .priced div:last-child dd{font-weight:600}
.small{font-size:12.5px;color:var(--soft)}
.small div{padding:0}
.sums{font-size:15px}
.sums dd{white-space:nowrap}
.sums .sum dt,.sums .sum dd{font-size:19px;font-weight:750;color:var(--ink);padding-bottom:4px}
.fiscal{font-size:15px}
.qr{display:block;width:204px;max-width:70%;height:auto;margin:12px auto 6px}
.note{margin:8px 0 0;font-size:13.5px;color:var(--soft);text-align:center}
.link{margin:4px 0 0;font-size:11px;text-align:center;color:var(--soft)}
a{color:var(--main)}
.link a{color:inherit}
.button{display:block;margin:12px 0 0;padding:12px 16px;border-radius:11px;background:var(--main);color:#fff;font-weight:650;text-align:center;text-decoration:none}
.related{font-size:15px}
.related a{font-weight:600}
.related dd{white-space:nowrap}
.take{margin:16px 0 0;display:flex;flex-wrap:wrap;gap:8px;align-items:center;justify-content:center;font-size:14px;color:var(--soft)}
.take span{width:100%;text-align:center}
.take a{padding:9px 18px;border:1px solid var(--line);border-radius:99px;background:#fff;color:var(--ink);text-decoration:none;font-weight:600}
.take form{display:flex;flex-wrap:wrap;gap:8px;width:100%;justify-content:center}
.take input{font:inherit;flex:1 1 160px;min-width:0;max-width:260px;padding:9px 14px;border:1px solid var(--line);border-radius:99px;background:#fff;color:var(--ink)}
.take button{font:inherit;font-weight:600;padding:9px 18px;border:0;border-radius:99px;background:var(--main);color:#fff;cursor:pointer}
.take .plain{background:none;color:var(--soft);font-weight:400;text-decoration:underline}
.languages{display:flex;justify-content:center;margin:14px 0 0;font-size:14px}
.languages a{padding:9px 11px;color:var(--soft);text-decoration:none}
.languages a[aria-current]{color:var(--main);font-weight:700}
:focus-visible{outline:3px solid #4aa3ff;outline-offset:2px}
.missing{text-align:center;padding:48px 20px}
.missing p{margin:10px 0 0;color:var(--soft)}
@media (min-width:600px){main{padding-top:40px}.paper{padding:30px 32px}}
@page{margin:4mm}
@media print{
body{background:#fff;color:#000;font-size:11.5px;line-height:1.3}
main{max-width:72mm;padding:0}
.paper{padding:0;border-radius:0;box-shadow:none}
.take,.languages,.button{display:none}
.seller,.kind,.sums,.fiscal,.related{font-size:11px}
.seller,.kind,dt,.small,.note,.link,.related a,.items .priced dt,.items .priced dd{color:#000}
h1,.items h2{font-size:12.5px}
.amount,.amount.long{font-size:20px}
.sums .sum dt,.sums .sum dd{font-size:14px}
.status,.warning{background:none;color:#000;border:1px solid #000;border-radius:0;padding:4px;font-size:11px}
.good{display:none}
.small,.link,.note{font-size:9.5px}
hr{border-color:#000;margin:8px 0}
.qr{width:40mm}
.items li,.fiscal,.sums{break-inside:avoid}
}
`;

/** Nothing but this style and forms to this host: no script, no picture, no other host, in no frame. */
export const PAGE_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(PAGE_STYLE).digest('base64')}'`,
  'img-src data:',
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');
