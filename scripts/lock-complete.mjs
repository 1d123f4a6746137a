import { completeLock, LOCK_FILES } from './lib/complete-lock.mjs';

const added = LOCK_FILES.flatMap((file) => completeLock(file));
console.log(added.length === 0 ? 'The lock file is complete.' : `Added: ${added.join(', ')}`);
