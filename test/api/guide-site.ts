import { get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Module } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { createFastifyNestApp, stopFastifyNestApp } from '#http';
import { createLogger } from '#runtime';
import { GuideController } from '../../apps/gateway/src/docs/guide.controller.js';
import { BuiltFiles } from '../../apps/gateway/src/http/built-files.js';

export interface GuideAnswer {
  status: number;
  type: string | null;
  text: string;
  policy: string;
  cache: string | null;
  location: string | null;
}

/** The guide as the gateway serves it, from any folder. */
export class GuideSite {
  private constructor(
    private readonly app: NestFastifyApplication,
    readonly base: string,
  ) {}

  static async start(folder: string): Promise<GuideSite> {
    @Module({
      controllers: [GuideController],
      providers: [{ provide: BuiltFiles, useFactory: () => new BuiltFiles(folder) }],
    })
    class SiteModule {}
    const app = await createFastifyNestApp(SiteModule, { logger: createLogger('guide', 'error') });
    await app.listen(0, '127.0.0.1');
    const { port } = app.getHttpServer().address() as AddressInfo;
    return new GuideSite(app, `http://127.0.0.1:${port}`);
  }

  async get(path: string): Promise<GuideAnswer> {
    const response = await fetch(`${this.base}${path}`, { redirect: 'manual' });
    const header = (name: string): string | null => response.headers.get(name);
    return {
      status: response.status,
      type: header('content-type'),
      text: await response.text(),
      policy: header('content-security-policy') ?? '',
      cache: header('cache-control'),
      location: header('location'),
    };
  }

  /** The body as it came over the wire. */
  async packed(path: string): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const request = get(`${this.base}${path}`, { headers: { 'accept-encoding': 'gzip' } }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => resolve(Buffer.concat(chunks))).on('error', reject);
      });
      request.on('error', reject);
    });
  }

  async stop(): Promise<void> {
    await stopFastifyNestApp(this.app);
  }
}
