import path from 'node:path';
import { spawnSync } from 'node:child_process';

import { buildSite, SITE_TOOLS } from './lib/docs-site.mjs';
import { ROOT } from './lib/paths.mjs';
import { step } from './lib/progress.mjs';
import { runProgram } from './lib/user-error.mjs';

const TARGET = path.join(ROOT, 'dist', 'docs-site');

/** npm run docs: the documentation as a static, searchable site in dist/docs-site; `-- --serve` also shows it on this machine. */
await runProgram(async () => {
  const source = await step('Building the site', () => buildSite(TARGET));
  console.log(path.relative(ROOT, TARGET));
  if (!process.argv.includes('--serve')) return;
  const vitepress = path.join(SITE_TOOLS, 'node_modules', 'vitepress', 'bin', 'vitepress.js');
  spawnSync(process.execPath, [vitepress, 'preview', source], { stdio: 'inherit' });
});
