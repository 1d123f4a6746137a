import { Writable } from 'node:stream';
import type { World } from '../session.js';

/** Streams of a command within the test's own process, and what it has written to them. */
export function heardStreams(): { streams: World['streams']; said: { stdout: string; stderr: string } } {
  const said = { stdout: '', stderr: '' };
  const to = (name: keyof typeof said): Writable =>
    new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        said[name] += chunk.toString();
        done();
      },
    });
  return { streams: { stdout: to('stdout'), stderr: to('stderr') }, said };
}
