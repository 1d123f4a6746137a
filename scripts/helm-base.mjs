import fs from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';

import { renderChart, valuesWith } from './lib/helm.mjs';
import { ROOT } from './lib/paths.mjs';
import { runProgram } from './lib/user-error.mjs';

/** node scripts/helm-base.mjs: writes ops/kustomize/base from the chart, with the values that stand beside it. */
await runProgram(async () => {
  const folder = path.join(ROOT, 'ops', 'kustomize', 'base');
  const values = parse(fs.readFileSync(path.join(folder, 'values.yaml'), 'utf8'));
  const [{ files } = { files: {} }] = renderChart([{ values: valuesWith(values) }]);
  const texts = Object.entries(files).filter(([name, text]) => name.endsWith('.yaml') && text.trim() !== '');
  const documents = texts.map(([, text]) => text.trim().replace(/^---\n/, ''));
  fs.writeFileSync(path.join(folder, 'fiscal-gateway.yaml'), `${documents.join('\n---\n')}\n`);
});
