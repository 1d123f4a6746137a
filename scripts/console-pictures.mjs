import path from 'node:path';

import { runJest } from './lib/jest-run.mjs';
import { ROOT } from './lib/paths.mjs';
import { prepareWorkspace } from './lib/prepare.mjs';
import { runProgram, UserError } from './lib/user-error.mjs';

/** npm run console:pictures: every screen of the console in both themes, 1440 and 360 px wide, in .artifacts/console. */
await runProgram(async () => {
  await prepareWorkspace();
  const { pictures } = await runJest(['pictures'], []);
  if (pictures.failed > 0) throw new UserError('The pictures could not be taken.');
  console.log(path.relative(process.cwd(), path.join(ROOT, '.artifacts', 'console')));
});
