/** The screen's style: one column on a phone, two on a desk, ink on white on paper. */
export const STYLE = `
:root{color-scheme:light;--ink:#17212b;--soft:#5a6772;--line:#dde3e8;--ground:#f2f5f7;--main:#0b6b57;--bad:#b3261e;--warn:#8a5a00}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--ground);color:var(--ink);font:16px/1.45 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;overflow-wrap:anywhere}
header{display:flex;flex-wrap:wrap;align-items:center;gap:4px 16px;padding:10px 16px;background:#fff;border-bottom:1px solid var(--line)}
.brand{font-weight:700;font-size:18px;color:var(--ink);text-decoration:none;flex:1 1 auto;min-width:0}
nav{display:flex;flex-wrap:wrap;order:3;width:100%;margin-left:-7px}
nav a{padding:8px 7px;border-radius:8px;font-size:15px;color:var(--ink);text-decoration:none}
nav a[aria-current]{background:#e2f1ed;color:var(--main);font-weight:600}
.languages{display:flex}
.languages a{padding:8px;color:var(--soft);text-decoration:none;font-size:14px}
.languages a[aria-current]{color:var(--main);font-weight:700}
main{max-width:1040px;margin:0 auto;padding:16px;display:grid;gap:16px}
main>*{min-width:0}
#live,.stack,.two{display:grid;gap:16px;align-items:start}
.card{background:#fff;border:1px solid var(--line);border-radius:12px;padding:16px;min-width:0}
.entrance{max-width:440px;width:100%;margin:24px auto}
h2{margin:0 0 12px;font-size:18px}
h3{margin:16px 0 4px;font-size:15px;color:var(--soft);font-weight:600}
p{margin:0 0 12px}
p:last-child{margin-bottom:0}
a{color:var(--main)}
dl{margin:0 0 12px}
dl div{display:flex;justify-content:space-between;gap:16px;padding:5px 0;border-bottom:1px solid var(--line)}
dl div:last-child{border-bottom:0}
dt{color:var(--soft);flex:0 1 auto;overflow-wrap:normal}
dd{margin:0;text-align:right;font-variant-numeric:tabular-nums;min-width:0}
table{width:100%;border-collapse:collapse;margin:0 0 12px;font-variant-numeric:tabular-nums}
th,td{padding:6px 0;border-bottom:1px solid var(--line);text-align:right;font-weight:400}
th:first-child,td:first-child{text-align:left;color:var(--soft)}
thead th{color:var(--soft);font-size:14px}
tr.sum td{font-weight:700;color:var(--ink)}
td+td,th+th{padding-left:12px;white-space:nowrap}
th:first-child,td:first-child{overflow-wrap:normal}
.card:has(table){overflow-x:auto}
@media (max-width:480px){table{font-size:14px}td+td,th+th{padding-left:8px}}
.tag{display:inline-block;padding:1px 10px;border-radius:99px;font-size:14px;font-weight:600;background:#e8edf1;color:var(--soft)}
.tag.good{background:#dcf3e6;color:#0a5c36}
.tag.bad{background:#fde5e3;color:var(--bad)}
.tag.warn{background:#fdf0d5;color:var(--warn)}
.banner{margin:0;padding:10px 16px;text-align:center;font-weight:700}
.emulator{background:#ffd43b;color:#3a2c00;border-bottom:3px dashed #3a2c00}
.notice{margin:0;padding:10px 14px;border-radius:10px;background:#dcf3e6;color:#0a5c36}
.notice.bad{background:#fde5e3;color:#8c1d18}
.notice.test,.notice.warn{background:#fdf0d5;color:#6b4500}
.card .notice{margin:0 0 12px}
.card>:last-child{margin-bottom:0}
.card>*+form,.card>*+details,.card>*+.row,form+.hint,details[open]>summary+*,.row+.asked{margin-top:12px}
.measure+dl{margin-top:16px}
form{margin:0}
label{display:block;margin:0 0 12px;color:var(--soft);font-size:15px}
input[type=password],input[type=text]{display:block;width:100%;margin-top:4px;padding:11px 12px;font:inherit;font-size:18px;border:1px solid #9fabb5;border-radius:10px;color:var(--ink);background:#fff}
label.tick{display:flex;gap:10px;align-items:flex-start;color:var(--ink)}
input[type=checkbox]{width:22px;height:22px;flex:none;margin:0}
button,.button{display:inline-block;min-height:44px;padding:10px 18px;border:0;border-radius:10px;background:var(--main);color:#fff;font:inherit;font-weight:600;cursor:pointer;text-decoration:none}
button:disabled{opacity:.55;cursor:default}
button.quiet,.button.quiet,.quiet button{background:#e8edf1;color:var(--ink)}
:focus-visible{outline:3px solid #4aa3ff;outline-offset:2px}
.entrance button{width:100%}
.hint{color:var(--soft);font-size:14px}
.row{display:flex;flex-wrap:wrap;gap:8px;align-items:flex-start}
.row details[open]{width:100%}
.asked summary{list-style:none}
.asked summary::-webkit-details-marker{display:none}
.asked[open] summary{display:none}
.asked button{background:var(--bad)}
.gauge{display:block;width:100%;height:12px;border-radius:6px;background:#e8edf1}
.gauge rect{fill:#1f9d76}
.gauge.warn rect{fill:#e0a100}
.gauge.bad rect{fill:var(--bad)}
.measure{margin:0 0 14px}
.measure div{display:flex;justify-content:space-between;gap:12px;margin-bottom:4px}
.receipts{list-style:none;margin:0;padding:0}
.receipts>li{border-top:1px solid var(--line)}
.receipts>li:first-child{border-top:0}
.receipts summary{display:grid;grid-template-columns:minmax(0,1fr) auto;gap:0 12px;padding:10px 0;cursor:pointer}
.receipts summary span:nth-child(2n){text-align:right;font-variant-numeric:tabular-nums}
.receipts .what{color:var(--soft);font-size:14px}
.receipt-detail{display:flex;flex-wrap:wrap;gap:16px;padding:4px 0 16px}
.receipt-detail>div{flex:1 1 240px;min-width:0}
.receipt-detail dd{flex:none}
.qr{width:168px;height:168px;flex:none;border:1px solid var(--line);border-radius:8px}
code{font:15px/1.4 ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace;background:#eef2f5;padding:6px 8px;border-radius:8px;display:inline-block;max-width:100%}
ul.plain{list-style:none;margin:0 0 12px;padding:0;display:grid;gap:8px;justify-items:start}
.token:has(details[open]) .mask{display:none}
.needs-script{display:none}
.scripted .needs-script{display:inline-block}
.danger{border-color:#e3a39e}
@media (min-width:800px){header{padding:10px 24px}nav{order:0;width:auto}
#live,.two{grid-template-columns:1fr 1fr;display:grid;gap:16px;align-items:start}#live .wide,.two .wide{grid-column:1/-1}}
@media print{body{background:#fff;font-size:12px}.brand,h2{font-size:14px}.hint,.what,.tag,thead th,h3{font-size:11px!important}
header{border:0;padding:0 0 8px}nav,.languages,form,.asked,.button,button,.no-print,script{display:none!important}
main{max-width:none;padding:0;gap:10px}#live,.stack{gap:10px}.notice{padding:6px 10px;border:1px solid #999}
.card{border:1px solid #999;border-radius:6px;padding:10px;break-inside:avoid}.receipt-detail{break-inside:avoid}.qr{width:120px;height:120px}}
`;
