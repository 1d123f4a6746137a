import { jestExpect } from '@jest/expect';
import { afterAll, afterEach, beforeAll, beforeEach, describe, it, test } from 'jest-circus';
import { ModuleMocker } from 'jest-mock';

/** What a test file takes from Jest: its own circus, expect and spies, in this process instead of in a context of its own. */

const mocker = new ModuleMocker(globalThis);

export { afterAll, afterEach, beforeAll, beforeEach, describe, it, test };
export const expect = jestExpect;
export const jest = {
  fn: mocker.fn.bind(mocker),
  spyOn: mocker.spyOn.bind(mocker),
  restoreAllMocks: () => mocker.restoreAllMocks(),
  setTimeout: (/** @type {number} */ ms) => {
    Object.assign(globalThis, { [Symbol.for('TEST_TIMEOUT_SYMBOL')]: ms });
    return jest;
  },
};

/** What is a global in every test file. */
export const GLOBALS = { afterAll, afterEach, beforeAll, beforeEach, describe, it, test, expect, jest };
