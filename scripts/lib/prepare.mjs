import { build, isBuilt } from './build.mjs';
import { generateClient, isGenerated } from './generate.mjs';
import { assertNodeVersion, ensureInstalled } from './install.mjs';
import { step } from './progress.mjs';

/** Everything between a fresh clone and programs that can be started. Done parts are skipped. */
export async function prepareWorkspace() {
  assertNodeVersion();
  await ensureInstalled();
  if (!isGenerated()) await step('Generating the database client', generateClient);
  if (!isBuilt()) await step('Building', build);
}
