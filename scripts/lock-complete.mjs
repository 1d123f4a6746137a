import { completeLock } from './lib/complete-lock.mjs';

const added = completeLock();
console.log(added.length === 0 ? 'The lock file is complete.' : `Added: ${added.join(', ')}`);
