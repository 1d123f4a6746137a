import type { Readable, Writable } from 'node:stream';

/** Where the files of archives are kept: each is there as a whole, or not at all. */
export interface ArchiveStore {
  /** Characters of one archive, before compression: what is kept in memory until it is written has less. */
  readonly maxCharacters: number;
  /** Nothing has this name before keep() of what was written. */
  create(file: string): Promise<NewFile>;
  /** Null: there is none. @throws when that could not be found out */
  open(file: string): Promise<Readable | null>;
  /** What is not there is as removed. */
  remove(file: string): Promise<void>;
  /** What has a name has it durably: a process that died may have given it without that. */
  sync(): Promise<void>;
  /** @throws when nothing can be read from it: it is away, shut, or not there */
  reach(): Promise<void>;
  /** Before the first file of a round: a folder is made where there is none, a bucket is asked for one that is not there. @throws */
  prepare(): Promise<void>;
  /** What is under way fails soon, and all that comes after it. */
  end(): void;
}

/** Nothing can be said about a file: its store is away, shut or silent. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}

export interface NewFile {
  readonly sink: Writable;
  /** After its sink was ended: whole, named and durable when this resolves. */
  keep(): Promise<void>;
  /** Given up: nothing has the name. */
  drop(): Promise<void>;
}
