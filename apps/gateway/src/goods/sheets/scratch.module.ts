import { Module } from '@nestjs/common';
import { ScratchFolders } from './scratch-folders.js';

/** Space on disk for files that are too large for memory. */
@Module({ providers: [ScratchFolders], exports: [ScratchFolders] })
export class ScratchModule {}
