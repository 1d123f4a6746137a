import { build, isBuilt } from './build.mjs';
import { generate, isGenerated } from './generate.mjs';
import { assertNodeVersion, ensureInstalled } from './install.mjs';
import { step } from './progress.mjs';

/** Everything between a fresh clone and programs that can be started. Done parts are skipped. */
export async function prepareWorkspace() {
  assertNodeVersion();
  await ensureInstalled();
  if (!isGenerated()) await step('Generating the database client and the types of the SDK', generate);
  if (!isBuilt()) await step('Building', build);
}
